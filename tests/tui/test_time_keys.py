"""Time as a key: back and forth on every pane, without a write to the host."""

import pickle
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from scenes import lossy
from tui_app import Recorder

from nettop import panes
from nettop.facts import Facts
from nettop.terms.text import text_of
from nettop.tui.screen import Nettop, Tick
from nettop.tui.scrub import FIRST, moments_of
from nettop.views.past import History, Summary, moment
from nettop.views.scene import Note, Question, Scene
from nettop.views.view import View

BEGUN = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC


def facts(number: int) -> Facts:
    """The facts of one second; each NIC receives a million bytes/s more than in the one before."""
    scene = lossy()
    assert scene.facts is not None
    nics = tuple(
        replace(nic, per_s=replace(nic.per_s, rx_bytes=1e6 * number)) for nic in scene.facts.nics
    )
    return replace(scene.facts, at=float(number), nics=nics)


@cache
def summary(number: int) -> Summary:
    """What the graphs keep of it."""
    return moment(facts(number), BEGUN + number)


def second(number: int) -> Scene:
    """One sample of a run."""
    past = History(tuple(summary(n) for n in range(number + 1)))
    return replace(lossy(), wall=BEGUN + number, facts=facts(number), past=past)


def header(app: Nettop) -> str:
    return text_of(app.board.shown[0])


def tick(number: int) -> Tick:
    """The sample of one second, as the engine posts it."""
    return Tick(lambda _old: second(number))


async def run(app: Nettop, seconds: range) -> None:
    for number in seconds:
        app.on_tick(tick(number))


def screen(pane: str = "overview") -> Nettop:
    app = Nettop(View(pane=pane), second(0))
    app.actions = Recorder()
    return app


@pytest.mark.parametrize("pane", panes.names())
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
async def test_left_goes_back_and_the_header_says_when(pane: str, width: int, height: int) -> None:
    app = screen(pane)
    async with app.run_test(size=(width, height)) as pilot:
        await run(app, range(1, 31))
        await pilot.press(*["left"] * 3)
        if pane in ("tests", "options"):  # where the cursor is on a choice, it moves that
            return
        assert "22:13:47" in header(app)
        assert "3 s ago" in header(app)
        assert "End" in header(app)
        await pilot.press("right")
        assert "22:13:48" in header(app)
        await pilot.press("end")
        assert "ago" not in header(app)
        await pilot.press("left", "escape")
        assert "ago" not in header(app)


async def test_the_panes_show_the_moment_while_the_present_goes_on() -> None:
    app = screen()
    async with app.run_test(size=(120, 40)) as pilot:
        await run(app, range(1, 31))
        await pilot.press("left", "left")
        assert app.painted.facts is not None
        assert app.painted.facts.nics[0].per_s.rx_bytes == 28e6
        assert app.painted.past.fine[-1].wall == BEGUN + 28
        await run(app, range(31, 41))
        assert app.painted.facts.nics[0].per_s.rx_bytes == 28e6
        assert "12 s ago" in header(app)
        await pilot.press("end")
        assert app.painted.facts is not None
        assert app.painted.facts.nics[0].per_s.rx_bytes == 40e6


async def test_a_minute_back_and_the_first_moment() -> None:
    app = screen()
    async with app.run_test(size=(120, 40)) as pilot:
        await run(app, range(1, 121))
        await pilot.press("shift+left")
        assert "1 min 4 s ago" in header(app)
        await pilot.press("shift+left", "left", "left")
        assert app.scene.notes[-1].text == FIRST
        await pilot.press(*["shift+right"] * 3)
        assert not app.view.moment


@pytest.mark.parametrize("key", ["a", "p", "u", "c", "s", "x", "m", "e", "S", "r", "D"])
async def test_nothing_is_changed_from_the_past(key: str) -> None:
    app = screen("nic" if key == "e" else "advisor")
    assert isinstance(app.actions, Recorder)
    async with app.run_test(size=(120, 40)) as pilot:
        await run(app, range(1, 11))
        await pilot.press("left", key)
        assert app.actions.requests == []
        assert app.scene.notes[-1].text == (
            "this is 22:13:29 UTC: nothing is changed from the past; End: the present"
        )
        assert not app.view.editing


async def test_a_question_leads_back_to_the_present() -> None:
    app = screen()
    async with app.run_test(size=(120, 40)) as pilot:
        await run(app, range(1, 11))
        await pilot.press("left")
        question = Question("Apply", (("", ()),), "change")
        app.on_tick(Tick(lambda scene: replace(scene, question=question)))
        assert not app.view.moment


async def test_a_key_draws_from_one_moment_and_samples_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = screen()
    async with app.run_test(size=(120, 40)) as pilot:
        await run(app, range(1, 61))
        opened = Counter[str]()
        inner = pickle.loads

        def counted(data: bytes) -> object:
            opened["moments"] += 1
            return inner(data)

        monkeypatch.setattr(pickle, "loads", counted)
        await pilot.press(*["left"] * 12)
        assert (
            1 <= opened["moments"] <= 8
        )  # a packed moment is unpacked for a key, the live ones never


async def test_the_present_opens_no_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    app = screen()
    async with app.run_test(size=(120, 40)):
        monkeypatch.setattr(app.scrub.moments, "scene", lambda _wall: pytest.fail("looked back"))
        await run(app, range(1, 31))


class Recording:
    """An engine on a recording."""

    interval = 1.0

    def __init__(self) -> None:
        self.advanced = 0

    def advance(self) -> bool:
        self.advanced += 1
        return True

    def set_view(self, view: View) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def refresh(self) -> None: ...
    def look(self) -> None: ...
    def record(self, path: str) -> None: ...


async def test_in_a_recording_the_keys_move_beyond_what_was_played() -> None:
    app = screen()
    engine = app.engine = Recording()
    app.scrub.moments = moments_of(recording=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await run(app, range(1, 31))
        assert len(app.scrub.moments.times) == 30
        await pilot.press("left", "left", "right", "right")
        assert engine.advanced == 1
        assert "held" in header(app)
        await run(app, range(31, 32))
        assert app.view.moment == BEGUN + 31
        assert "22:13:51, held" in header(app)
        await run(app, range(32, 33))  # one key, one moment
        assert app.view.moment == BEGUN + 31


async def test_history_moves_its_cursor_and_every_pane_follows() -> None:
    app = screen("history")
    async with app.run_test(size=(120, 40)) as pilot:
        await run(app, range(1, 31))
        await pilot.press(*["left"] * 5, "1")
        assert app.painted.facts is not None
        assert app.painted.facts.nics[0].per_s.rx_bytes == 25e6
        await pilot.press("7")
        assert "rx 200 Mb/s" in " ".join(text_of(row) for row in app.board.shown)


def test_notes_are_not_moments() -> None:
    app = screen()
    app.scrub.add(Scene(notes=(Note("x"),)), View())
    assert list(app.scrub.moments.times) == []
