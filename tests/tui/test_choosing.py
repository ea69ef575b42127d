"""What is chosen stays chosen: cursors, pages and lists while findings come and go."""

from dataclasses import replace
from pathlib import Path

import fake_host
import pytest
from hang import HANG
from scenes import FAR, RING, SACK, Found, lossy
from textual import events

from nettop import config, panes
from nettop.advice.rules.rule import Finding, Wanted
from nettop.host.source import Live
from nettop.panes import asking
from nettop.panes.cursor import target
from nettop.terms.text import line, text_of
from nettop.tui.actions import Actions
from nettop.tui.gate import RowsRead
from nettop.tui.keys import Ask, press
from nettop.tui.notes import Update
from nettop.tui.planning import Planning, to_undo
from nettop.tui.screen import Nettop, Tick
from nettop.views.build import merge
from nettop.views.form import peers
from nettop.views.scene import Ended, JournalEntry, Pending, Question, Scene, SceneOrigin
from nettop.views.view import View

NEW = Found("udp-overflow@python3", "critical", "python3 loses datagrams", "why")


def painted(view: View, scene: Scene) -> View:
    return panes.page.painted(scene, view, 120, 40)


def told(scene: Scene, view: View) -> str:
    return "\n".join(text_of(row) for row in panes.page.compose(scene, view, 120, 40))


def pressed(names: str, view: View, scene: Scene) -> tuple[View, Ask | None]:
    ask = None
    for name in names.split():
        view, ask = press(name, name if len(name) == 1 else None, view, scene)
    return view, ask


def with_findings(*found: Finding) -> Scene:
    return replace(lossy(), findings=found)


@pytest.mark.parametrize("pane", ["overview", "advisor"])
def test_a_finding_that_comes_does_not_get_under_the_cursor(pane: str) -> None:
    first = with_findings(SACK)
    view, _ = pressed("a", painted(View(pane=pane), first), first)  # someone chose it
    more = with_findings(NEW, RING, SACK)
    view = painted(view, more)
    assert pressed("a", view, more)[1] == Ask("apply", SACK.id)


def test_an_open_page_stays_on_its_finding_when_it_ends() -> None:
    before = with_findings(SACK)
    view, _ = pressed("enter", painted(View(pane="advisor"), before), before)
    after = merge(before, replace(with_findings(NEW), wall=1_790_000_060.0))
    assert "over since 14:14:20 UTC" in told(after, view)
    assert SACK.title in told(after, view)
    assert NEW.title not in told(after, view)
    assert pressed("a", view, after)[1] == Ask("apply", SACK.id)


def test_u_on_a_change_that_is_not_in_force_names_the_others(tmp_path: Path) -> None:
    made = JournalEntry("1", 5.0, "a", "0", "1", "applied")
    past = JournalEntry("2", 6.0, "b", "0", "1", "undone")
    said: list[Scene] = []
    planning = Planning(Live(str(tmp_path)), lambda update: said.append(update(Scene())))
    for journal, text in (((made, past), "move to one with ●"), ((past,), "no change is in force")):
        scene = replace(lossy(), journal=journal)
        planning.do_undo(Ask("undo", "2"), painted(View(pane="journal"), scene), scene)
        assert text in said[-1].notes[-1].text


def test_a_row_that_goes_leaves_nothing_under_the_cursor() -> None:
    one, two = (
        JournalEntry("1", 5.0, "a", "0", "1", "applied"),
        JournalEntry("2", 6.0, "b", "0", "1", "applied"),
    )
    scene = replace(lossy(), journal=(one, two))
    view = painted(View(pane="journal"), scene)
    assert target(view, scene) == "2"
    less = replace(scene, journal=(one,))
    view = painted(view, less)
    assert target(view, less) == ""
    assert to_undo(target(view, less), view, less) == []
    moved, _ = pressed("j", view, less)
    assert target(moved, less) == "1"


def test_a_filter_frees_the_cursor_from_a_row_that_it_hides() -> None:
    scene = lossy()
    view = painted(View(pane="advisor"), scene)
    view, _ = pressed("/ s a c k", view, scene)
    view = painted(view, scene)
    assert target(view, scene) == SACK.id


def test_nothing_is_chosen_before_it_was_painted() -> None:
    assert pressed("a", View(pane="advisor"), lossy())[1] == Ask("apply", "")


def test_a_finding_that_was_put_right_is_listed_as_done_and_taken_back_from_there() -> None:
    before = with_findings(SACK, RING)
    after = merge(before, with_findings(RING))
    made = JournalEntry("7", after.wall, "sysctl.net.ipv4.tcp_sack", "0", "1", "applied", SACK.id)
    other = JournalEntry("8", after.wall + 9, "sysctl.vm.x", "0", "1", "applied")
    done = replace(after, journal=(made, other))
    view = View(pane="advisor")
    rows = told(done, view).splitlines()
    assert any(SACK.title[:10] in row and "done  u undoes it" in row for row in rows)
    assert any("─ FINDINGS ─" in row and "1, most severe first, 1 done" in row
               for row in rows)  # fmt: skip
    view = painted(view.at(on=SACK.id), done)
    assert "journal 7; u undoes it" in told(done, view)
    assert to_undo(SACK.id, view, done) == [made]
    assert to_undo(RING.id, view, done) == [other]
    undone = replace(done, journal=(replace(made, state="undone"), other))
    assert "over since 14:14:20" in told(undone, view.at(open=SACK.id))
    assert "○ 1 ended" in told(undone, view)


def test_what_waits_for_its_confirmation_is_taken_back_together() -> None:
    made = tuple(JournalEntry(str(n), 5.0 + n, f"s{n}", "0", "1", "pending") for n in range(3))
    scene = replace(
        lossy(), journal=made, pending=tuple(Pending(m.id, m.setting, lossy().wall) for m in made)
    )
    assert to_undo("", View(), scene) == list(reversed(made))
    assert "2 more changes are pending: c keeps all" in told(scene, View())


def test_ended_findings_are_few_and_those_of_a_later_moment_are_forgotten() -> None:
    scene = lossy()
    for number in range(60):
        one = Found(f"r@{number}", "info", "t", "w", 1.0)
        scene = merge(scene, replace(lossy(), findings=(one,), wall=lossy().wall + number))
    assert len(scene.ended) == 20
    again = merge(scene, lossy())  # a recording begins anew
    assert all(one.wall <= lossy().wall for one in again.ended)


def test_p_offers_the_peer_of_the_busiest_flow() -> None:
    scene = lossy()
    view, ask = pressed("p", painted(View(pane="advisor"), scene), scene)
    assert ask is None
    assert f"address of the peer ▏{peers(scene)[0]}" in told(scene, view)
    view, _ = pressed("enter", view, scene)
    assert view.form["to"] == peers(scene)[0]
    narrow = text_of(panes.page.footer(scene, view, 80))
    assert narrow.rstrip().endswith("Esc cancel")


def test_p_asks_for_the_address_in_place_also_of_a_finding_that_ended() -> None:
    scene = replace(with_findings(), ended=(Ended(RING, (), 1.0),))
    view = painted(replace(View(pane="advisor"), fold_idle=False), scene)
    view, ask = pressed("p", view, scene)
    assert ask is None
    assert "address of the peer" in told(scene, view)
    view, ask = pressed("1 0 . 0 . 0 . 2 enter", view, scene)
    assert ask is None
    assert "peer by (ssh host2; env: here)" in told(scene, view)
    view, ask = pressed("enter", view, scene)
    assert ask == Ask("prove", RING.id)
    assert view.form["to"] == "10.0.0.2"
    assert not view.editing
    assert pressed("p", view, scene)[1] == Ask("prove", RING.id)  # it is known now
    left, ask = pressed("p escape", replace(view, form={}), scene)
    assert (left.editing, left.proving, ask) == ("", "", None)


# -- a plan ------------------------------------------------------------

LONG = Question("Set many", (("", tuple(line(f" row {n}") for n in range(50))),), "change")


def test_enter_agrees_only_when_every_row_was_on_the_screen() -> None:
    scene = replace(lossy(), question=LONG)
    view = View()
    assert pressed("enter", view, scene) == (view, None)  # not painted yet
    seen: set[int] = set()
    for _ in range(9):
        view = painted(view, scene)
        seen |= {n for n in range(50) if f" row {n} " in told(scene, view)}
        if view.unread:
            assert "show the rest first" in told(scene, view)
        view, ask = pressed("enter", view, scene)
        if ask is not None:
            break
    assert ask == Ask("agree")
    assert seen == set(range(50))


def test_a_page_that_was_jumped_over_is_not_read() -> None:
    scene = replace(lossy(), question=LONG)
    view = painted(replace(View(), scroll=40), scene)
    assert view.unread == 50


def test_a_terminal_too_low_to_show_the_plan_takes_no_agreement() -> None:
    view = asking.shown(LONG, View(), 80, 3)
    assert view.unread == -1
    assert "needs a taller terminal" in "".join(map(text_of, asking.lines(LONG, View(), 80, 3)))


def test_a_plan_is_read_when_the_terminal_has_drawn_it() -> None:
    reading = RowsRead()
    written = replace(View(), read=3, unread=0)
    view, waits = reading.paint(View(), written)
    assert waits
    assert view.unread == -1  # on its way
    assert not reading.paint(view, written)[1]  # asked once
    reading.owed = 2  # the answer to an earlier question comes first
    view = reading.answered(view, 5.0)
    assert view.unread == -1
    view = reading.answered(view, 6.0)
    assert (view.read, view.unread, reading.seen) == (3, 0, 6.0)
    reading.paint(View(), written)
    other = reading.forget(View())
    assert reading.answered(other, 7.0).unread == -1  # of another question


@pytest.mark.parametrize("width", [12, 20, 33, 80])
def test_a_row_of_a_plan_is_folded_not_cut(width: int) -> None:
    row = line(" sysctl.net.ipv4.tcp_rmem: ", ("4096 131072 6291456", "dim"), " → 漢字",
               ("   it may drop", "warn"))  # fmt: skip
    parts = asking.wrapped(row, width)
    assert "".join(map(text_of, parts)).replace(" ", "") == text_of(row).replace(" ", "")
    assert all(len(text_of(part).replace("漢字", "1234")) <= width for part in parts)


class Desk:
    """The application before the fake host."""

    def __init__(self, folder: Path, live: bool = True) -> None:
        self.folder = folder
        self.host = fake_host.make(folder)
        self.host.source.live = live  # type: ignore[misc]
        wanted = Wanted("sysctl.net.core.rmem_max", "4194304")
        found = Found("caps@host", "warning", "the cap is low", "why", wanted=(wanted,))
        self.app = Nettop(View(pane="advisor"), with_findings(found))
        self.actions = Actions(self.host.source, self.post, lambda: None, self.host)
        self.app.actions = self.actions

    def post(self, update: Update) -> None:
        self.app.post_message(Tick(update))

    @property
    def value(self) -> str:
        return (self.folder / "proc/sys/net/core/rmem_max").read_text().strip()

    @property
    def text(self) -> str:
        return "\n".join(text_of(row) for row in self.app.board.shown)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from nettop.changes import privilege

    monkeypatch.setattr(privilege, "needed", lambda _address: False)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    for variable in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    return tmp_path


async def test_a_shows_the_plan_and_writes_nothing_when_the_host_moved(own: Path) -> None:
    desk = Desk(own / "host")
    async with desk.app.run_test(size=(80, 24)) as pilot:

        async def done(*names: str) -> None:
            await pilot.press(*names)
            assert desk.actions.wait(HANG)
            await pilot.pause()

        await done("a")
        assert "sysctl.net.core.rmem_max: 212992 → 4194304" in desk.text
        assert "sysctl -w net.core.rmem_max=4194304" in desk.text
        assert desk.value == "212992"
        (own / "host/proc/sys/net/core/rmem_max").write_text("300000\n")
        await done("enter")
        assert desk.value == "300000"
        assert "nothing was changed" in desk.text
        await done("a", "enter")
        await done("enter")
        assert desk.value == "4194304"
        await done("u")
        assert "sysctl.net.core.rmem_max: 4194304 → 300000" in desk.text
        assert desk.value == "4194304"
        await done("enter")
        assert desk.value == "300000"


async def test_a_key_typed_before_the_plan_was_drawn_does_not_agree(own: Path) -> None:
    desk = Desk(own / "host")
    async with desk.app.run_test(size=(80, 24)) as pilot:
        early = events.Key("enter", "\r")
        await pilot.press("a")
        assert desk.actions.wait(HANG)
        await pilot.pause()
        assert desk.app.view.unread == 0
        desk.app.on_key(early)
        assert desk.actions.wait(HANG)
        assert desk.app.scene.question is not None
        assert desk.app.scene.notes[-1].text.endswith("press Enter again")
        assert desk.value == "212992"


async def test_muting_asks_lists_the_muted_and_is_undone_on_the_screen(own: Path) -> None:
    desk = Desk(own / "host")
    async with desk.app.run_test(size=(100, 30)) as pilot:

        async def done(*names: str) -> None:
            await pilot.press(*names)
            assert desk.actions.wait(HANG)
            await pilot.pause()

        await done("m")
        assert "Mute caps@host" in desk.text
        assert config.muted() == []
        await done("enter")
        assert config.muted() == ["caps@host"]
        assert "muted  m unmutes" in desk.text
        await done("1")
        assert "1 muted (M)" in desk.text
        await done("M", "m")
        assert "Unmute caps@host" in desk.text
        await done("enter")
        assert config.muted() == []
        assert [f.id for f in desk.app.scene.findings] == ["caps@host"]


async def test_a_paused_screen_lists_no_finding_twice(own: Path) -> None:
    desk = Desk(own / "host")
    async with desk.app.run_test(size=(100, 30)) as pilot:
        await pilot.press("space")
        gone = replace(with_findings(), wall=lossy().wall + 1)
        desk.post(lambda old: merge(old, gone))
        await pilot.press("m")
        assert desk.actions.wait(HANG)
        await pilot.pause()
        await pilot.press("enter")
        assert desk.actions.wait(HANG)
        await pilot.pause()
        rows = [row for row in desk.text.splitlines() if "muted  m unmutes" in row]
        assert len(rows) == 1, rows
        assert sum("caps@host" in row for row in desk.text.splitlines()) == 1  # in the note


async def test_in_a_recording_no_key_touches_this_host(own: Path) -> None:
    desk = Desk(own / "host", live=False)
    desk.app.scene = replace(desk.app.scene, origin=SceneOrigin("recording", "web"))
    before = fake_host.contents(own)
    async with desk.app.run_test(size=(100, 30)) as pilot:
        for name in "a m u p s c x r S".split():
            await pilot.press(name, "enter")
            assert desk.actions.wait(HANG)
            await pilot.pause()
            assert desk.app.scene.question is None
            told = [note.text for note in desk.app.scene.notes]
            assert any("nothing can be changed" in text for text in told), name
        await pilot.press("3", "e")
        assert desk.app.view.editing == ""
    assert fake_host.contents(own) == before


def test_a_finding_that_ended_is_planned_anew(own: Path) -> None:
    heard: list[Update] = []
    actions = Actions(Live(), heard.append, lambda: None)
    now = Path("/proc/sys/net/ipv4/tcp_sack").read_text().strip()
    other = "0" if now == "1" else "1"
    ended = replace(SACK, wanted=(Wanted("sysctl.net.ipv4.tcp_sack", other),))
    scene = replace(with_findings(FAR), ended=(Ended(ended, (), 1.0),))
    actions.planning.do_apply(Ask("apply", SACK.id), View(), scene)
    question = heard[-1](scene).question
    assert question is not None
    assert question.changes == (("sysctl.net.ipv4.tcp_sack", now, other),)
