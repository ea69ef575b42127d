"""Findings: the list and one finding side by side, and what could not be evaluated in words."""

from dataclasses import replace

from pane_text import words
from scenes import PAUSE, RING, lossy

from nettop.advice.rules.rule import Evidence, Silent
from nettop.panes import advisor, checks, listed, page
from nettop.terms.text import text_of
from nettop.terms.units import Units
from nettop.tui import mouse
from nettop.views.scene import Ended
from nettop.views.view import View

UNKNOWN = "not evaluated: receive ring maximum unknown (not reported by the driver); x unknown"
SILENT = (
    Silent("ring-small", "eth0", UNKNOWN),
    Silent("ring-small", "eth1", UNKNOWN),
    Silent("far-core", "cpu0", "not evaluated: nettop on an interrupt CPU of a NIC unknown"),
    Silent("no-data", "flow", "not evaluated: no data"),
    Silent("link-full", "eth0", "needs receive load > 95%; now 3%"),
    Silent("link-full", "eth1", "needs receive load > 95%; now 4%"),
    Silent("elsewhere", "eth0", UNKNOWN, applies=False),
)


def test_an_ended_finding_keeps_its_state_in_the_list_beside() -> None:
    scene = replace(lossy(), findings=(), ended=(Ended(RING, (), lossy().wall),))
    view = replace(View(pane="advisor"), fold_idle=False)
    rows = words(advisor.lines(scene, view, 120, 40)).splitlines()
    assert "ended 14:14:20" in rows[1][:48]


def test_findings_that_are_over_are_one_line_below_those_that_hold() -> None:
    gone = tuple(Ended(replace(RING, id=f"r@{n}"), (), lossy().wall) for n in range(18))
    scene = replace(lossy(), ended=gone)
    view = View(pane="advisor")
    held = [one.id for one in scene.findings]
    titles = [one.title[:10] for one in scene.findings]
    for on in (held[0], "r@17"):  # the cursor was on one that has ended
        rows = words(advisor.lines(scene, view.at(on=on), 120, 40)).splitlines()
        told = [row[:48] for row in rows]
        assert all(any(one in row for row in told) for one in titles), told[:6]
        assert "○ 18 ended   z lists them" in told[1 + len(held)]
    assert advisor.items(scene, view)[: len(held)] == tuple(held)
    assert "r@17" not in advisor.items(scene, view)
    assert "r@17" in advisor.items(scene, replace(view, fold_idle=False))
    assert "r@17" in advisor.items(scene, view.at(filter="r@17"))
    assert "r@17" in advisor.items(scene, view.at(open="r@17"))


def test_what_could_not_be_evaluated_is_one_sentence_by_reason() -> None:
    text = "4 not possible here: 2 not reported by the driver, 1 with an unknown value, 1 no data"
    assert checks.unevaluated(SILENT[:-1]) == text
    rows = words(checks.silent_lines(SILENT, 110, 10)).splitlines()
    assert rows[1].strip() == text
    assert rows[2].split() == ["link-full", "×", "2", *"needs receive load > 95%; now 3%".split()]
    assert len(rows) == 3


def test_without_a_rule_that_could_not_be_evaluated_there_is_no_sentence() -> None:
    assert checks.unevaluated(SILENT[4:6]) == ""


def test_an_experiment_does_not_offer_to_be_applied() -> None:
    view = View(pane="advisor").at(open=PAUSE.id)
    text = words(advisor.lines(lossy(), view, 100, 40))
    assert "an experiment: p prove" in text
    assert "a apply" not in text


def test_findings_with_the_same_title_are_told_apart_by_their_targets() -> None:
    scene, title = lossy(), "Cached TCP metrics will bias the next test"
    flows = tuple(
        replace(RING, id=f"test-remembers-the-last@{flow}", target=flow, title=title)
        for flow in ("10.0.0.1:41000>10.0.0.2:5201", "10.0.0.1:42000>10.0.0.2:5201")
    )
    same = replace(scene, findings=flows, plans={})
    drawn = [listed.finding_lines(same, View(), width, 8, framed=False) for width in (80, 96, 200)]
    for draw in (*drawn, advisor.lines(same, View(pane="advisor"), 100, 40)):
        rows = [row for row in words(draw).splitlines() if title[:14] in row]
        assert ":41" in rows[0]
        assert ":42" in rows[1]
    other = replace(same, findings=flows[:1])
    assert ":41000" not in words(listed.finding_lines(other, View(), 80, 8, framed=False))


def test_the_evidence_of_a_finding_stands_under_it_and_a_click_there_is_about_it() -> None:
    scene = lossy()
    rows = page.compose(scene, page.painted(scene, View(), 120, 40), 120, 40)
    told = [text_of(row) for row in rows]
    own = next(y for y, row in enumerate(told) if row.startswith("│ ✗ 1,204 packets/s lost"))
    assert told[own + 1].startswith("│   packets dropped, receive ring full")
    other = next(y for y, row in enumerate(told) if row.startswith("│ ! iperf3 runs on node 0"))
    assert "descriptors" in told[other - 1]
    view = page.painted(scene, View(), 120, 40)
    for y, name in ((own + 1, RING.id), (other, "app-on-other-node@3391")):
        after, _ = mouse.clicked((20, y), rows, view, scene)
        assert (after.pane, after.spot.on) == ("advisor", name)


def test_the_evidence_has_the_units_that_the_user_chose() -> None:
    seen = Evidence(field="nic.per_s.rx_bytes", value=125e6, unit="bytes/s")
    finding = replace(RING, evidence=(seen,))
    for bits, told in ((True, "1 Gb/s"), (False, "125 MB/s")):
        scene = replace(lossy(), findings=(finding,), units=Units(bits))
        for draw in (
            listed.finding_lines(scene, View(), 100, 9, framed=True),
            advisor.lines(scene, View(pane="advisor"), 120, 40),
        ):
            assert told in words(draw)
