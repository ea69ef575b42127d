"""Advice, journal, history and results in their panes."""

import re
from dataclasses import replace

import pytest
import stories
from folded import folded
from pane_text import bare, words
from scenes import WALL, big, lossy, storied

from nettop import panes
from nettop.panes import cores, history, journal, loads, outcome, page, tests
from nettop.terms.text import line, text_of
from nettop.tui.keys import KEYS, shown_as
from nettop.tui.palette import PAIRS, help_lines
from nettop.views.ask import Pointer
from nettop.views.past import FINE, History
from nettop.views.scene import Ended, JournalEntry, RunningTest, SceneOrigin
from nettop.views.view import View


def test_advice_shows_evidence_sources_commands_and_the_other_side() -> None:
    view = View(pane="advisor").at(open="rx-ring-overrun@eth0")
    told = " ".join(bare(panes.pane("advisor").lines(lossy(), view, 120, 60)).split())
    for part in (
        "ethtool -G eth0 rx 512", "the link may drop", "receive ring maximum", "section V",
        "Table 5", "here the ring overflows", "Expected:",
    ):  # fmt: skip
        assert part in told


def test_advice_names_the_finding_that_explains_it_in_one_line() -> None:
    seen = lossy()
    behind = replace(seen.findings[0], cause=seen.findings[1].id)
    view = View(pane="advisor").at(open=behind.id)
    for width in (120, 40):
        drawn = panes.pane("advisor").lines(
            replace(seen, findings=(behind, *seen.findings[1:])), view, width, 60
        )
        told = [text_of(one) for one in drawn if "its cause" in text_of(one)]
        assert len(told) == 1
        title = seen.findings[1].title[:8]
        assert told[0].strip("│ ").startswith(f"its cause, fix that first: {title}"), width
    assert "its cause" not in words(panes.pane("advisor").lines(seen, view, 120, 60))


def test_the_journal_of_another_host_is_said_not_to_be_here() -> None:
    scene = replace(storied(), journal=(), origin=SceneOrigin("host", "ssh web3"))
    told = words(panes.pane("journal").lines(scene, View(pane="journal"), 80, 20))
    assert "via ssh web3: its changes are in the journal of that host" in told
    told = words(panes.pane("journal").lines(replace(scene, origin=None), View(), 80, 20))
    assert "no changes" in told


def test_the_journal_of_a_recording_says_what_it_compares_and_what_is_advised() -> None:
    scene = replace(lossy(), origin=SceneOrigin("recording", "web1"))
    told = words(journal.lines(scene, View(pane="journal"), 120, 30))
    assert "the journal of that host is not in a recording" in told
    assert re.search(r"Compared from sample to sample: \d\d+ settings", told)
    assert "ADVISED 4 " in told
    assert re.search(r"advised +ring\.rx@eth0 +256 +512 +rx-ring-overrun@eth0", told)
    assert "u undo" not in told
    seen = JournalEntry("seen.1", WALL, "ring.rx@eth0", "256", "512", "seen")
    told = words(journal.lines(replace(scene, seen=(seen,)), View(pane="journal"), 120, 30))
    assert "1 seen in the recording" in told
    assert re.search(r"○ seen +ring.rx@eth0 +256 +512", told)
    assert not journal.command("seen.1")


def test_a_filter_that_hides_all_changes_is_named() -> None:
    view = View(pane="journal").at(filter="no such setting")
    told = words(journal.lines(storied(), view, 120, 30))
    assert "no change matches the filter" in told


@pytest.mark.parametrize(("kind", "text"), [("recording", "not in a recording"),
                                            ("host", "from a nettop there")])  # fmt: skip
def test_a_test_that_cannot_start_from_here_says_so(kind: str, text: str) -> None:
    scene = replace(lossy(), origin=SceneOrigin(kind, "web1"))  # type: ignore[arg-type]
    told = words(tests.lines(scene, View(pane="tests", form={"to": "192.0.2.1"}), 80, 24))
    assert f"[ start the test ({text}) ]" in told
    assert "none yet: enter an address" not in told


def test_journal_counts_what_is_in_force() -> None:
    told = words(panes.pane("journal").lines(storied(), View(pane="journal"), 160, 30))
    assert "3 in force of 4" in told
    assert "reverts in 22 s unless confirmed" in told


def test_the_past_is_bounded_and_coarsens() -> None:
    facts = lossy().facts
    assert facts is not None
    past = History()
    for second in range(FINE + 100):
        past = past.add(replace(facts, at=float(second)), WALL + second)
    assert len(past.fine) == FINE
    assert len(past.coarse) == 10
    assert past.moments(60.0)[0].at == FINE + 99 - 60


def test_the_past_keeps_one_moment_a_second_at_ten_a_second() -> None:
    facts = lossy().facts
    assert facts is not None
    past = History()
    for tick in range(100):
        past = past.add(replace(facts, at=tick / 10), WALL)
    assert len(past.fine) == 10


def test_the_ruler_is_exact() -> None:
    scene = storied()
    told = "  ".join(history.between(scene.past.moments(), "eth0", (100.0, 160.0)))
    assert "1 m 00 s" in told
    assert "rx average 612 Mb/s, peak 617.4 Mb/s, 4,590,000,000 bytes" in told
    assert "3,174,000 packets (52.9 kpackets/s)" in told
    assert "average 612 Mb/s" in told


def test_history_marks_changes_and_marks() -> None:
    scene = storied()
    view = replace(View(pane="history"), span=2, marks=(100.0, 160.0))
    told = words(panes.pane("history").lines(scene, view, 120, 38))
    assert "◆" in told
    assert "A–B" in told


def test_the_time_axis_has_the_marks_and_the_changes_in_their_columns() -> None:
    scene = storied()
    moments = scene.past.moments()
    (entry,) = [one for one in scene.journal if one.id == scene.journal[0].id]
    at = entry.wall - (moments[-1].wall - moments[-1].at)
    view = replace(View(pane="history"), marks=(moments[-2].at, moments[1].at))
    axis = text_of(history.ruler(scene, view, moments, 100)[0])[-100:]
    column = [history.column_of(one, moments, 100) for one in (moments[1].at, at, moments[-2].at)]
    assert [axis[one or 0] for one in column] == ["A", "◆", "B"]


@folded("width", [60, 80, 120, 200, 300])
@folded("count", [2, 5, 20, 40, 70, 100])
@folded("side", ["", "│", "|"])
def test_a_click_on_the_column_of_a_moment_finds_that_moment(
    width: int, count: int, side: str
) -> None:
    scene = storied()
    past = History(scene.past.fine[-count:])
    scene, view = replace(scene, past=past), replace(View(pane="history"), span=5)
    moments = history.visible(scene, view)
    row = line((side, "faint"), "graph")
    points = width - 2 * bool(side) - loads.MARGIN
    columns = {one.at: history.column_of(one.at, moments, points) for one in moments}
    for moment in moments[:: max(1, len(moments) // points + 1)]:
        column = columns[moment.at]
        assert column is not None
        x = column + loads.MARGIN - 1 + bool(side)
        found = history.moment_at(scene, view, Pointer(x, 9, width, 40, row))
        assert found in columns
        assert columns[found] == column


def test_the_history_marks_the_findings_that_began_and_ended() -> None:
    scene = storied()
    view = View(pane="history")
    moments = history.visible(scene, view)
    last = moments[-1]
    held = replace(scene.findings[0], held=90.0, severity="critical")
    gone = replace(scene.findings[0], title="gone", id="gone@eth0")
    scene = replace(
        scene, findings=(held,), ended=(Ended(gone, wall=last.wall - 30.0),), journal=()
    )
    axis = text_of(history.ruler(scene, view, moments, 150)[0])[-150:]
    for mark, at, name in (("✗", last.at - 90.0, "1,204 packets"), ("○", last.at - 30.0, "gone ")):
        column = history.column_of(at, moments, 150) or 0
        assert axis[column:].startswith(f"{mark} {name}")
    ruled = replace(view, marks=(last.at - 85.0, last.at - 70.0))
    axis = text_of(history.ruler(scene, ruled, moments, 150)[0])[-150:]
    assert axis[history.column_of(last.at - 90.0, moments, 150) or 0 :][:2] == "✗ "
    assert "1,2" not in axis  # a mark of the ruler is not written into a name
    then = replace(view, moment=last.wall - 90.0)
    text = words(history.reading(scene, then, moments, "eth0", 150))
    assert f"✗ began: {held.title}" in text
    then = replace(view, moment=last.wall - 30.0)
    assert "○ ended: gone" in words(history.reading(scene, then, moments, "eth0", 150))


@pytest.mark.parametrize(("width", "height"), [(140, 60), (120, 38), (100, 28)])
def test_help_names_every_key_whole(width: int, height: int) -> None:
    told = words(help_lines(View(), width, height))
    assert all(keys in told and text in told for keys, text in PAIRS.values())
    paired = {action for pair in PAIRS for action in pair}
    for key in KEYS:
        if key.action in paired:
            continue
        assert shown_as(key) in told
        assert key.help in told


def test_hot_queues_of_many_come_first_with_their_cores() -> None:
    scene = big(256)
    assert scene.facts is not None
    hot = {c.cpu for c in scene.facts.cores if (c.idle or 100) < 10 and c.queues}
    first = cores.rows_of(scene, View(pane="cores"))[: len(hot)]
    assert {group[0].cpu for _, group in first} == hot
    columns = cores.of_interest(scene.facts, cores.rows_of(scene, View())[:16], fold_idle=True)
    assert {c.cpu for c in columns[: len(hot)]} == hot


def test_a_running_proof_shows_its_pairs_the_interval_and_the_time_left() -> None:
    from stories import PROOF

    half = replace(PROOF, before=PROOF.before[:3], after=PROOF.after[:2], interval=(0.31, 0.36),
                   middle=0.335)  # fmt: skip
    scene = replace(
        lossy(),
        progress=RunningTest("prove rx-ring-overrun@eth0", 60.0, 145.0, (7e9, 8e9), 5.0,
                          {0: 91.0}, {1: 40.0}, "changed, run 3", half, open_ended=True),
    )  # fmt: skip
    for width, height in ((200, 60), (120, 40), (80, 24), (80, 11)):
        told = words(page.compose(scene, View(pane="tests"), width, height))
        assert "changed, run 3" in told
        assert " ≥ 1 m 25 s left " in told
        assert "so far +33.5%, +31.0% to +36.0%: median gain of 2 pairs" in told
    wide = words(page.compose(scene, View(pane="tests"), 200, 60))
    assert outcome.figure(half.before[1], half.unit) in wide
    assert outcome.figure(half.after[1], half.unit) in wide
    assert "no gain" in wide
    first = replace(half, after=(), interval=(0.0, 0.0))
    scene = replace(scene, progress=replace(scene.progress, proof=first))  # type: ignore[type-var]
    assert "so far" not in words(page.compose(scene, View(pane="tests"), 120, 40))
    long = replace(half, before=tuple(range(1, 40)), after=tuple(range(2, 41)))
    assert "    39  " in text_of(outcome.so_far(long, 80, 10)[5])  # the latest stay in sight


def test_busy_cores_that_serve_nothing_are_shown_too() -> None:
    scene = big(256)
    assert scene.facts is not None
    movers = {core.cpu for core in scene.facts.cores if core.processes}
    columns = cores.of_interest(scene.facts, cores.rows_of(scene, View())[:16], fold_idle=True)
    shown = [core.cpu for core in columns]
    assert movers <= set(shown)
    assert shown.index(min(movers)) > 0  # behind the hot cores that serve queues


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_the_pairs_that_are_left_out_are_counted(rows: int) -> None:
    result = stories.PROOF
    shown = [text_of(row) for row in outcome.pairs(result, 80, rows)]
    assert len(shown) == rows
    assert shown[-1].strip() == f"… {5 - max(0, rows - 2)} more pairs"


def test_the_scale_of_the_interval_has_its_own_ends_and_no_gain_in_the_middle() -> None:
    scale, below = (text_of(row) for row in outcome.span(stories.PROOF, 80))
    assert scale.split()[0] == "-44%"
    assert scale.split()[-1] == "+44%"
    assert abs(scale.index("│") - (below.index("no gain") + 3)) <= 1


def test_the_runs_of_a_test_are_one_row_of_the_journal() -> None:
    def run(number: int, after: str, state: str = "reverted") -> JournalEntry:
        return JournalEntry(
            str(number), WALL + number, "ring.rx@eth0", "256", after, state, "rx-ring-overrun@eth0",
            test="812-1",
        )  # fmt: skip

    made = JournalEntry("9", WALL + 9, "mtu@eth1", "1500", "9000", "applied", space="blue")
    journal_ = (run(1, "512"), run(2, "512"), run(3, "1024"), run(4, "512", "held"), made)
    scene = replace(storied(), journal=journal_)
    view = View(pane="journal")
    assert journal.items(scene, view) == ("9", "4", "3")
    told = words(journal.lines(scene, view.at(on="4"), 160, 30))
    assert "3 runs for rx-ring-overrun@eth0" in told
    assert "a test set it 3 times; this is its last run" in told
    assert "mtu@eth1 in blue" in told
    assert journal.undoes(scene, "4") == [run(4, "512", "held")]
    assert journal.items(scene, view.at(filter="held")) == ("4",)
