"""What a reader takes from a pane: figures whole and with units, no assurance that is unknown."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from folded import folded
from scenes import SCENES, big, healthy, lossy, storied

from nettop import panes
from nettop.cli import main
from nettop.config import rules_folder
from nettop.facts import contended
from nettop.facts.kinds.nic import Counters
from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.interfaces import Interfaces
from nettop.panes import grid, headline, history, overview, page
from nettop.panes.parts import Column, widths
from nettop.panes.unlimited import without_limit
from nettop.terms import text, units
from nettop.terms.text import ascii_only, text_of
from nettop.tui.keys import KEYS, OWN
from nettop.tui.palette import PAIRS, help_lines
from nettop.views import kept
from nettop.views.scene import RunningTest, Scene
from nettop.views.stages import foremost
from nettop.views.view import View


def shown(scene: Scene, name: str, width: int = 80, height: int = 24, **view: Any) -> str:
    rows = page.compose(scene, View(pane=name, **view), width, height)
    return "\n".join(text_of(row) for row in rows)


def first(scene: Scene, width: int = 120) -> str:
    view = View()
    return text_of(overview.answer(scene, view, foremost(scene, view), width)[0][0]).strip()


def with_facts(scene: Scene, **change: Any) -> Scene:
    assert scene.facts is not None
    return replace(scene, findings=(), facts=replace(scene.facts, **{"paths": (), **change}))


@folded("width", range(30, 140))
def test_the_last_column_never_touches_the_edge(width: int) -> None:
    columns = (Column("a", 16, grow=1), Column("b", 10), Column("c", 12, ">"), Column("d", 19))
    sizes = [size for size in widths(columns, width) if size]
    assert sum(size + 1 for size in sizes) <= width


@folded("host", ["lossy", "storied", "healthy"])
@folded("name", ["overview", "flows"])
@folded("width", [80, 100, 120])
def test_no_table_of_figures_touches_the_edge(host: str, name: str, width: int) -> None:
    told = shown(SCENES[host](), name, width, 40).splitlines()
    heads = [i for i, row in enumerate(told) if "RECEIVES" in row or "PROCESS  " in row]
    assert heads or (host, name) == ("healthy", "overview")  # no flow carries data there
    assert all(told[at + 1].rstrip("│").endswith(" ") for at in heads)


def test_nothing_is_called_well_where_no_counter_is_known() -> None:
    scene = healthy()
    assert scene.facts is not None
    mute = tuple(replace(nic, per_s=Counters()) for nic in scene.facts.nics)
    assert "Cannot tell: no interface has counters" in first(with_facts(scene, nics=mute))
    assert "no interface but loopback" in first(with_facts(scene, nics=()))
    assert first(healthy()).startswith("✓ no drops here; nothing waits to be sent or read")


def test_no_loss_is_said_of_what_is_counted_only() -> None:
    scene = healthy()
    assert scene.facts is not None
    paths = tuple(
        replace(path, stages=tuple(
            replace(one, lost=None, why="not told") if one.name in ("ring", "backlog") else one
            for one in path.stages
        ))
        for path in scene.facts.paths
    )  # fmt: skip
    text = first(with_facts(scene, paths=paths))
    assert text.startswith("· no drops seen (not counted: receive ring, backlog); nothing waits")
    veth = tuple(replace(nic, kind="veth") for nic in scene.facts.nics if nic.kind == "nic")
    part = tuple(replace(nic, per_s=Counters(rx_bytes=0.0, tx_bytes=0.0)) for nic in veth)
    text = first(with_facts(scene, paths=(), nics=part))
    assert text.startswith("· no drops seen (not counted: drops of the interface)")


def test_loopback_is_no_place_whose_losses_are_unknown() -> None:
    scene = with_facts(healthy(), paths=())
    assert scene.facts is not None
    mute = replace(scene.facts.nics[0], name="lo", kind="loopback", per_s=Counters())
    for shown_nic in (None, mute):
        (told,) = without_limit(scene, 120, shown_nic)
        assert text_of(told).strip().startswith("✓ no drops here;")


@pytest.mark.parametrize(
    ("up", "carrier", "text"),
    [(False, None, "eth0: down"), (True, False, "eth0: no link"), (False, False, "eth0: down")],
)
def test_an_interface_that_carries_nothing_is_not_called_well(
    up: bool, carrier: bool | None, text: str
) -> None:
    scene = healthy()
    assert scene.facts is not None
    nics = tuple(replace(nic, up=up, carrier=carrier) for nic in scene.facts.nics)
    told = first(with_facts(scene, nics=nics))
    assert told == f"· {text}; it carries nothing"
    rows = page.compose(with_facts(scene, nics=nics), View(pane="nic"), 120, 40)
    assert any(text.partition(": ")[2].upper() in text_of(row) for row in rows)


def test_a_limit_that_is_reached_is_said_though_nothing_is_lost() -> None:
    scene = healthy()
    assert scene.facts is not None
    thread = Reading("thread", "here", "iperf3[7]", "measured", "ran 94%", 0.94, (2.7e10, 3.1e10))
    limit = Limit("nic", "eth0", "tx", 2.8e10, stage=thread, nic="eth0", pid=7, process="iperf3")
    told = first(with_facts(scene, limits=(limit,)))
    assert told == "! Limited by CPU time of thread iperf3[7]: ran 94%"
    for idle in (1.0, 0.0):
        full = replace(scene.facts.host, idle=idle)
        told = first(with_facts(scene, flows=(), host=full))
        said = "· nothing waits to be sent or read; the CPUs are full, by programs: a transfer "
        assert told == f"{said}would wait for CPU time; no drops here"
    for width in range(40, 120):  # of parts that do not fit on a line
        rows = without_limit(with_facts(scene, flows=(), host=full), width, None)
        assert not any(text_of(row).lstrip().startswith(";") for row in rows)


@pytest.mark.parametrize("width", [72, 80, 100, 160])
def test_what_full_cores_mean_is_never_cut(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = healthy()
    assert scene.facts is not None
    names = [f"compiler[{pid}]" for pid in (20777, 23232, 23414)]
    monkeypatch.setattr(contended, "shared", lambda *_: names)
    full = with_facts(scene, flows=(), host=replace(scene.facts.host, idle=0.0))
    rows = " ".join(text_of(row).strip() for row in without_limit(full, width, None))
    assert "…" not in rows
    assert "a transfer would wait for CPU time; no drops here" in rows


def test_a_limit_is_a_doubt_where_the_flows_were_not_read() -> None:
    scene = healthy()
    nic = Limit("nic", "eth0", "rx", 8.6e9, nic="eth0")
    for read, told in ((True, "● Limited by the peer"), (False, "? Cannot tell: no TCP flow was")):
        (limit,) = Interfaces().build([nic], [], read=read)
        shown = with_facts(scene, limits=(limit,))
        assert first(shown).startswith(told)
        rows = map(text_of, page.compose(shown, View(), 80, 24))
        assert any("not this host" in row for row in rows) is read


def test_the_profile_is_whole_and_its_reason_is_begun_only_where_there_is_room() -> None:
    for width in (80, 90, 100, 120, 200):
        row = text_of(headline.header(storied(), View(), width))
        assert "bulk-lan" in row
        assert "(" not in row or "(auto: rtt 0.2 ms)" in row
    assert "(auto: " in text_of(headline.header(storied(), View(), 200))


def test_the_lines_of_a_heat_map_begin_with_a_core_and_break_no_cache() -> None:
    scene = big()
    assert scene.facts is not None
    cores = [replace(core, l3=(core.cpu // 4 * 4,)) for core in scene.facts.cores]
    rows = [text_of(row) for row in grid.heat("", cores, 80, 4)]
    assert 1 < len(rows) <= 4
    numbers = [int(row[:6]) for row in rows]
    assert numbers == sorted(numbers)
    assert all(number % 4 == 0 for number in numbers)
    blocks = [block for row in rows for block in row[6:].replace("│", " ").split()]
    assert len({len(block) for block in blocks}) == 1
    assert len(blocks) == 64
    assert sum(row.count("│") for row in rows) >= 1  # where another node begins


def test_bytes_are_told_as_a_rate_and_never_cut() -> None:
    told = shown(storied(), "nic", 80, 40)
    row = next(row for row in told.splitlines() if " rx_bytes " in row)
    assert "b/s" in row
    assert "…" not in row


def test_a_history_without_loss_says_so() -> None:
    (row,) = history.band("lost", [0.0, 0.0], "pps", (40, 1), "bad", 0.0)
    assert "lost 0 pps" in text_of(row)
    (row,) = history.band("lost", [None, None], "pps", (40, 1), "bad", 0.0)
    assert "lost not known" in text_of(row)


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([4.0, 1.0], "        ⣿⣀"),  # a column each, at the right
        ([4.0] * 10 + [None] * 5 + [4.0] * 4, "⣿⣿⣿⣿⣿⣿  ⣿⣿"),  # squeezed, but not two to a column
        ([4.0] * 19 + [1.0], "⣿⣿⣿⣿⣿⣿⣿⣿⣿⣇"),  # two to a column
    ],
)
def test_a_value_of_the_history_is_in_the_column_of_its_marks(
    values: list[float | None], drawn: str
) -> None:
    (row,) = history.band("lost", values, "pps", (10, 1), "bad", 4.0)
    assert text_of(row)[-10:] == drawn
    (*_, top), (*_, low) = history.band("receive", [4.0], "b/s", (10, 2), "rx", 4.0)
    assert (top[1], low[1]) == ("rx-5", "rx-0")


def test_the_time_of_the_history_names_its_zone() -> None:
    assert " UTC" in shown(storied(), "history", 120, 40)


def test_hardly_any_is_not_none() -> None:
    assert [units.share(v) for v in (0.0, 0.00001, 0.0006, 0.5, None)] == [
        "0%", "<0.1%", "0.1%", "50%", "–",
    ]  # fmt: skip


def test_the_pane_of_settings_says_which_key_sets_one() -> None:
    for width in (80, 120, 200):
        assert "Enter sets" in shown(storied(), "nic", width, 24)
    assert set(panes.names()) >= {"nic", "overview"}


def test_a_test_that_runs_is_told_on_every_pane() -> None:
    scene = replace(
        storied(),
        progress=RunningTest("prove offloads-off@eth0", 4.0, 40.0, stage="baseline, run 1"),
    )
    for name in panes.names():
        told = shown(scene, name, 100, 30)
        assert "prove offloads-off@eth0" in told
        assert "Ctrl-X stops" in told
        assert name == "tests" or "36 s left, baseline, run 1" in told
        assert name == "tests" or " 36 s left" in shown(scene, name, 80, 24)


def test_the_form_says_what_its_tool_measures() -> None:
    scene = replace(storied(), about={"iperf3": "TCP or UDP transfer with iperf3"})
    view = View(pane="tests").at(on="form.tool")
    told = shown(scene, "tests", 100, 30, spots=view.spots)
    assert "TCP or UDP transfer with iperf3   ← → change" in told


def test_a_loss_that_is_small_against_the_gain_is_no_failure() -> None:
    guard = {"name": "retransmits", "a": 0.0005, "b": 0.0012, "ok": False}
    document = {"kind": "prove", "finding": "x@eth0", "guards": [guard], "a": [1.0], "b": [2.0]}
    marks = {
        verdict: next(
            label for label, _ in kept.result_of({**document, "verdict": verdict}).figures
            if "retransmits" in label
        )
        for verdict in ("better", "worse")
    }  # fmt: skip
    assert marks == {"better": "· retransmits", "worse": "✗ retransmits"}
    assert [kept.result_of({**document, "metric": one}).higher for one in ("rate", "p99")] == [
        True, False,
    ]  # fmt: skip
    assert kept.result_of({"kind": "test", "to": "h", "seconds": 1}).title.endswith("1 stream")


def test_a_proof_shows_what_was_predicted_where_something_was() -> None:
    document = {"kind": "prove", "finding": "x@eth0", "a": [1e8], "b": [2e8], "measured": 2e8}
    known = {**document, "predicted": {"rate": [1e8, 1e9], "next": None}, "inside": True}
    figure = ("predicted", "100 Mb/s–1 Gb/s, measured 200 Mb/s: right")
    assert figure in kept.result_of(known).figures
    for other in (document, {**known, "predicted": "x"}, {**known, "measured": None}):
        assert "predicted" not in dict(kept.result_of(other).figures)


PAIRED = {action for pair in PAIRS for action in pair}


@folded("name", panes.names())
def test_help_begins_with_the_signs_of_the_pane_where_there_is_room(name: str) -> None:
    told = " ".join(" ".join(text_of(row) for row in help_lines(View(pane=name), 100, 28)).split())
    assert panes.pane(name).LEGEND in told
    assert all(key.help in told for key in KEYS if key.action not in PAIRED)
    small = " ".join(" ".join(text_of(row) for row in help_lines(View(pane=name), 80, 22)).split())
    assert panes.pane(name).LEGEND in small
    own = [key for key in KEYS if OWN.get(key.action, (name,))[0] == name]
    assert all(key.help in small for key in own if key.action not in PAIRED)
    assert all(f"{keys} {text}" in small for keys, text in PAIRS.values())


@pytest.mark.parametrize(
    ("words", "plain"),
    [
        ({"LC_ALL": "C"}, True),
        ({"LANG": "POSIX"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),  # as Python leaves it
        ({"LANG": "C", "LC_CTYPE": "UTF-8"}, False),  # as a Mac sends it
        ({"LANG": "de_DE.UTF-8"}, False),
        ({"LC_ALL": "C.UTF-8", "LANG": "C"}, False),
        ({}, False),
    ],
)
def test_a_locale_without_utf_8_gets_ascii(
    words: dict[str, str], plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", SimpleNamespace(encoding="utf-8"))
    assert ascii_only() is plain
    assert ascii_only(not plain) is not plain


def test_what_is_not_known_of_losses_can_be_read() -> None:
    scene = lossy()
    assert scene.facts is not None
    (path,) = scene.facts.paths
    stages = tuple(
        replace(stage, lost=None, why="the driver does not tell")
        if stage.name == "backlog"
        else stage
        for stage in path.stages
    )
    facts = replace(scene.facts, paths=(replace(path, stages=stages),))
    told = overview.lines(replace(scene, facts=facts), View(), 120, 38)
    assert [role for text, role in told[4] if text.strip() == "uncounted"] == ["dim"]


def test_ascii_tells_an_unknown_load_from_a_small_one() -> None:
    signs = [
        text_of(text.plain(text.line(text.level(load)))) for load in (None, *range(5, 100, 13))
    ]
    assert len(set(signs)) == len(signs) == 9


def test_the_pane_of_tests_as_text_lists_the_studies(capsys: pytest.CaptureFixture[str]) -> None:
    demo = str(rules_folder() / "demo.host.gz")
    assert main(["show", "tests", "--once", "--replay", demo]) == 0
    assert "nasa-5" in capsys.readouterr().out
