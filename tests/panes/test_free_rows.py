"""What the panes do with rows that their lists leave free, and where a word has no room."""

from dataclasses import replace

import pytest
import scenes
from pane_text import words
from scenes import lossy, storied

from nettop.panes import cursor, flows, hints, journal, nic, overview, page
from nettop.panes import niccounters as pane
from nettop.panes.parts import section
from nettop.terms.text import text_of
from nettop.views.scene import JournalEntry, RunningTest, Scene
from nettop.views.view import View


def calm() -> Scene:
    return replace(storied(), notes=(), pending=(), progress=None)


def test_a_large_nic_pane_draws_the_rates_in_its_free_rows() -> None:
    view = View(pane="nic")
    rows = words(nic.lines(calm(), view, 200, 58)).splitlines()
    assert any(" RATES ─" in row and "rx 616.4 Mb/s (65%)" in row for row in rows)
    assert "0 NIC drops" in rows[-3]
    assert "now" in rows[-2]
    assert " RATES " not in words(nic.lines(calm(), view, 80, 22))


@pytest.mark.parametrize("size", [(80, 22), (120, 38)])
def test_a_nic_that_is_gone_is_named_where_another_one_is_shown(size: tuple[int, int]) -> None:
    gone = words(nic.lines(lossy(), View(pane="nic", nic="veth7"), *size))
    assert "! veth7 is not there now: this is eth0" in gone
    for chosen in ("", "eth0"):
        assert "is not there" not in words(nic.lines(lossy(), View(pane="nic", nic=chosen), *size))


def test_flows_name_the_chosen_interface() -> None:
    assert "over eth0: 3 of 3" in words(flows.lines(lossy(), View(nic="eth0"), 80, 22))
    told = words(flows.lines(lossy(), View(pane="flows", nic="eth1"), 80, 22))
    assert "no flow over eth1   i next interface" in told
    assert " over " not in words(flows.lines(lossy(), View(), 80, 22)).splitlines()[0]


def test_below_the_processes_are_the_flows_of_the_one_under_the_cursor() -> None:
    view = View(pane="flows").at(mode=1)
    view = cursor.bound(view, lossy())
    rows = words(flows.lines(lossy(), view, 120, 38)).splitlines()
    at = next(n for n, row in enumerate(rows) if "FLOWS OF iperf3[3391]" in row)
    assert "PROCESS" in rows[at + 1]
    assert "iperf3[3391]" in rows[at + 2]
    assert "FLOWS OF" not in words(flows.lines(lossy(), view, 80, 12))


def test_the_overview_says_that_flows_cannot_be_read() -> None:
    scene = lossy()
    assert scene.facts is not None
    facts = replace(scene.facts, flows=(), processes=(), missing={"sockets_tcp": "EPERM"})
    told = words(overview.lines(replace(scene, facts=facts), View(), 120, 40))
    assert "flows cannot be read: EPERM" in told
    assert "no flow carries data" not in told


def test_values_in_the_journal_begin_where_they_differ() -> None:
    rmem = "sysctl.net.ipv4.tcp_rmem"
    long = JournalEntry("1", 5.0, rmem, "4096 16384 16384", "4096 16384 33554432", "applied")
    short = JournalEntry("2", 6.0, rmem, "1 2 3", "1 2 4", "applied")
    view = View(pane="journal").at(on="1")
    told = words(journal.lines(replace(calm(), journal=(long, short)), view, 80, 22))
    row = next(row for row in told.splitlines() if "… 33554432" in row)
    assert "… 16384    … 33554432" in row
    assert "1 2 3      1 2 4" in told


def test_a_heading_keeps_its_rule_where_its_remark_has_no_room() -> None:
    assert text_of(section("RUNNING", "changed, run 12", 20)) == " RUNNING ───────────"
    assert text_of(section("RUNNING", "run 2", 20)) == " RUNNING ──── run 2 "


def test_the_footer_of_a_whole_graph_leads_back() -> None:
    view = cursor.bound(View(full=True), lossy())
    text = text_of(page.footer(lossy(), view, 80))
    assert "Esc back" in text
    assert "a apply" not in text
    assert hints.hints(lossy(), replace(view, full=False))[0].key == "a"


def test_the_stage_of_a_running_test_ends_after_a_clause() -> None:
    from nettop.panes.tests import running

    stage = "loss-recovery-crippled@host, baseline, stability check"
    for width in range(40, 110):
        head = text_of(running(RunningTest("tune", 1.0, 9.0, stage=stage), width, 8)[0])
        assert "─" in head, width
        assert width < 58 or "loss-recovery-crippled@host" in head


# The NIC pane says whose losses are not known by kind.


LINE = "drops not by kind: link statistics only"


@pytest.mark.parametrize(
    ("link_only", "raw", "shown"), [(True, False, 1), (True, True, 0), (False, False, 0)]
)
def test_losses_that_are_not_known_by_kind_are_named(
    link_only: bool, raw: bool, shown: int
) -> None:
    scene = scenes.lossy()
    assert scene.facts is not None
    nics = tuple(replace(nic, link_only=link_only) for nic in scene.facts.nics)
    scene = replace(scene, facts=replace(scene.facts, nics=nics))
    lines = pane.counters(scene, View(nic=nics[0].name, driver_names=raw), 45)
    assert [text_of(line).strip() for line in lines].count(LINE) == shown


def test_one_flow_leaves_no_more_than_a_row_of_its_box_empty() -> None:
    scene = calm()
    assert scene.facts is not None
    alone = replace(scene, facts=replace(scene.facts, flows=scene.facts.flows[:1]))
    rows = words(page.compose(alone, View(), 120, 40)).splitlines()
    (first,) = (at for at, row in enumerate(rows) if "FLOWS ·" in row)
    box = rows[first + 1 : next(at for at in range(first, 40) if rows[at].startswith("╰"))]
    assert sum(not row.strip("│ ") for row in box) <= 1
