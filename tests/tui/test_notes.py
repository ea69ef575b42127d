"""A note belongs to what is on the screen: it ends with the next step once it has been read."""

import time
from dataclasses import replace

import pytest
from scenes import RING, SACK, lossy
from tui_app import Recorder, settled

from nettop.terms.text import text_of
from nettop.tui import effect, internals, notes
from nettop.tui.screen import Nettop, Tick
from nettop.views.scene import Ended, JournalEntry, Note, Pending, Question, Scene
from nettop.views.view import Options, View

PLAN = Question("Set link.mtu@eth0", (("", ()),), "change")


def said(age: float) -> Scene:
    """A scene with a note of that age, in seconds."""
    return replace(lossy(), notes=(Note("cannot exceed 65535", "bad", time.time() - age),))


@pytest.mark.parametrize(
    "step",
    [View(pane="nic"), View(help=True), View(editing="link.mtu@eth0"), View(moment=5.0),
     View().at(open="x")],
)  # fmt: skip
def test_a_note_that_was_read_ends_with_a_step_elsewhere(step: View) -> None:
    assert notes.after(said(notes.READ + 1), View(), step).notes == ()
    assert len(notes.after(said(0.0), View(), step).notes) == 1  # nobody has read it


def test_a_note_stays_while_the_cursor_moves_and_a_filter_is_typed() -> None:
    for step in (View().at(on="a"), View().at(filter="eth"), View(nic="eth0")):
        assert len(notes.after(said(9.0), View(), step).notes) == 1


def test_a_question_is_not_shown_above_a_note_about_something_else() -> None:
    shown = notes.ask_question(PLAN)(said(9.0))
    assert (shown.question, shown.notes) == (PLAN, ())


async def test_the_note_is_gone_from_the_next_pane() -> None:
    app = Nettop(View(pane="nic"), said(9.0))
    app.actions = Recorder()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        assert "cannot exceed 65535" in "\n".join(map(text_of, app.board.shown))
        await pilot.press("1")
        await settled(app, pilot)
        assert "cannot exceed 65535" not in "\n".join(map(text_of, app.board.shown))


async def test_only_esc_of_an_open_question_can_be_clicked() -> None:
    app = Nettop(View(), replace(lossy(), question=PLAN))
    recorder = app.actions = Recorder()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        foot = text_of(app.board.shown[-1])
        assert "Enter yes  Esc no" in foot
        assert "apply" not in foot
        for word in ("Enter yes", "3NIC"):
            await pilot.click(offset=(foot.index(word) + 1, 23))
            await settled(app, pilot)
            assert (app.view.pane, app.scene.question, recorder.requests) == ("overview", PLAN, [])
        await pilot.click(offset=(foot.index("Esc no") + 1, 23))
        await settled(app, pilot)
        assert app.scene.question is None
        assert recorder.requests == []


def test_a_change_that_the_time_reverted_is_told_once() -> None:
    now = time.time()
    over, later = Pending("7", "link.mtu@eth0", now - 1), Pending("8", "link.mtu@eth1", now + 9)
    entry = JournalEntry("7", now - 30, over.setting, "1500", "1400", "reverted")
    other = replace(entry, id="8", setting=later.setting)  # taken back by the user before the time
    (told,) = notes.reverts((over, later), (entry, other))
    assert told.text == "link.mtu@eth0: reverted to 1500: not confirmed in time"
    assert not notes.reverts((over,), (replace(entry, state="applied"),))
    assert not notes.reverts((), (entry,))


def test_of_several_changes_of_one_setting_the_oldest_says_what_it_is_now() -> None:
    """An undo that nobody confirmed: its change stands again, whatever was set meanwhile."""
    now = time.time()
    undone = JournalEntry("41", now - 90, "link.mtu@eth0", "1500", "1400", "applied")
    newer = JournalEntry("43", now - 31, "link.mtu@eth0", "1500", "1300", "reverted")
    late = tuple(Pending(one.id, one.setting, now - 1) for one in (undone, newer))
    (told,) = notes.reverts(late, (undone, newer))
    assert told.text == "link.mtu@eth0: reverted to 1400: not confirmed in time"


# The bell and the notification for a new critical finding.


CALM = replace(lossy(), findings=(SACK,), ended=())
BAD = replace(CALM, findings=(RING, SACK))


def test_only_a_critical_finding_that_is_new_in_this_run_signals() -> None:
    assert effect.newly_critical(CALM, BAD) == [RING]
    assert effect.newly_critical(BAD, BAD) == []
    assert effect.newly_critical(Scene(), BAD) == []  # it held at the start
    assert (
        effect.newly_critical(replace(CALM, ended=(Ended(RING),)), BAD) == []
    )  # it comes and goes
    assert effect.newly_critical(replace(CALM, findings=()), CALM) == []  # not critical


def test_a_title_cannot_send_control_sequences() -> None:
    hostile = replace(RING, title="a\x07b\x1b]52;c;x\x07")
    text = effect.bell([hostile, RING])
    assert text.startswith("\a\x1b]9;nettop: a")
    assert text.endswith(" and 1 more\a")
    assert text.count("\x1b") == 1
    assert text.count("\a") == 2
    assert effect.bell([]) == ""


@pytest.mark.parametrize("rings", [True, False])
async def test_it_is_off_unless_it_is_configured(
    rings: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def write(_app: object, text: str) -> bool:
        written.append(text)
        return True

    monkeypatch.setattr(internals, "write", write)
    app = Nettop(View(options=Options(bell=rings)), CALM)
    async with app.run_test(size=(100, 30)) as pilot:
        app.post_message(Tick(lambda _old: BAD))
        await pilot.pause()
    assert any("\x1b]9;nettop: 1,204 packets/s lost" in text for text in written) is rings
