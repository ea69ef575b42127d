"""Time as a key, beyond the beginning of the screen: the moments of the black box."""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from box_parts import Recorded, record
from scenes import lossy
from tui_app import Recorder

from nettop import panes
from nettop.box.earlier import Earlier
from nettop.box.past import Past
from nettop.facts import Facts
from nettop.terms.text import text_of
from nettop.tui.screen import Nettop, Tick
from nettop.tui.scrub import FIRST, READING, moments_of
from nettop.views.moments import Moments
from nettop.views.past import History, moment
from nettop.views.scene import JournalEntry, Scene
from nettop.views.view import View

BEGUN = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC, when the screen was started
DAY = 86400.0


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half a minute of yesterday, and 40 seconds that end 20 seconds before the screen begins."""
    path = tmp_path_factory.mktemp("host")
    record(path, Recorded(BEGUN - DAY), 30)
    return record(path, Recorded(BEGUN - 60, boot="two"), 40)


def facts(number: int) -> Facts:
    scene = lossy()
    assert scene.facts is not None
    return replace(scene.facts, at=float(number))


def second(number: int) -> Scene:
    """One sample of the run."""
    past = History(tuple(moment(facts(n), BEGUN + n) for n in range(number + 1)))
    return replace(lossy(), wall=BEGUN + number, facts=facts(number), past=past)


class Started:
    """The screen with three seconds of its own, and a box before them."""

    def __init__(self, box: Path | None, pane: str = "overview") -> None:
        self.app = Nettop(View(pane=pane), second(0))
        self.app.actions = Recorder()
        past = None if box is None else Past(box, BEGUN)
        tables = moments_of(recording=False).tables
        self.earlier = Earlier(lambda: past, tables, lambda: None)
        self.app.scrub.moments = Moments(tables=tables, earlier=self.earlier)

    def run(self) -> None:
        for number in range(1, 4):
            self.tick(number)

    def tick(self, number: int) -> None:
        self.app.on_tick(Tick(partial(_sample, second(number))))

    def arrive(self) -> None:
        """Let the thread end and its message come."""
        if self.earlier._thread is not None:
            self.earlier._thread.join()
        self.app.on_tick(Tick(lambda scene: scene))

    @property
    def header(self) -> str:
        return text_of(self.app.board.shown[0])

    @property
    def note(self) -> str:
        notes = self.app.scene.notes
        return notes[-1].text if notes else ""

    @property
    def received(self) -> float | None:
        facts = self.app.painted.facts
        assert facts is not None
        return facts.nics[0].per_s.rx_bytes


def _sample(new: Scene, old: Scene) -> Scene:
    return replace(new, notes=old.notes, journal=old.journal)


async def test_left_goes_on_into_the_box_and_right_comes_back(box: Path) -> None:
    screen = Started(box)
    async with screen.app.run_test(size=(120, 40)) as pilot:
        screen.run()
        await pilot.press(*["left"] * 2)
        assert not screen.app.painted.boxed
        await pilot.press("left")
        assert screen.note == READING
        assert "black box" not in screen.header
        screen.arrive()
        assert "22:12:59, 24 s ago, black box" in screen.header
        assert screen.received == 39_000
        assert screen.note == (
            "no sample between 2023-11-14 22:12:59 UTC and 2023-11-14 22:13:20 UTC"
        )
        await pilot.press("left")
        assert screen.received == 38_000
        assert screen.app.painted.past.fine[-1].wall == BEGUN - 22
        await pilot.press("right", "right")
        screen.arrive()
        assert screen.app.view.moment == BEGUN + 1
        assert "black box" not in screen.header
        await pilot.press("left", "end")
        assert not screen.app.view.moment


async def test_the_day_before_is_shown_with_its_date(box: Path) -> None:
    screen = Started(box)
    async with screen.app.run_test(size=(120, 40)) as pilot:
        screen.run()
        for _ in range(2):
            await pilot.press("shift+left")
            screen.arrive()
        assert "2023-11-13 22:13:49, 23 h 59 min ago, black box" in screen.header
        assert screen.note.startswith("no sample between 2023-11-13 22:13:49 UTC and")
        await pilot.press("left")
        assert screen.app.view.moment == BEGUN - DAY + 28
        await pilot.press("shift+left")
        screen.arrive()
        assert screen.app.view.moment == BEGUN - DAY + 1
        await pilot.press("left")
        screen.arrive()
        assert screen.app.view.moment == BEGUN - DAY + 1
        assert screen.note == FIRST


@pytest.mark.parametrize("pane", panes.names())
async def test_every_pane_shows_a_moment_of_the_box(box: Path, pane: str) -> None:
    screen = Started(box)
    async with screen.app.run_test(size=(120, 40)) as pilot:
        screen.run()
        await pilot.press("shift+left")
        screen.arrive()
        await pilot.press(panes.pane(pane).KEY)
        assert "black box" in screen.header
        assert screen.app.painted.boxed
        await pilot.press("f", "enter", "escape", "escape")
        assert len(screen.app.board.shown) == 40


async def test_a_moment_of_the_box_has_the_journal_of_then(box: Path) -> None:
    screen = Started(box)
    entries = tuple(
        JournalEntry(str(wall), wall, "ring.rx@eth0", "1", "2", "applied")
        for wall in (BEGUN - 59, BEGUN - 5)
    )
    screen.app.scene = replace(screen.app.scene, journal=entries)
    async with screen.app.run_test(size=(120, 40)) as pilot:
        screen.run()
        await pilot.press("shift+left")
        screen.arrive()
        assert screen.app.painted.boxed
        assert screen.app.painted.journal == entries[:1]
        await pilot.press("a")
        assert re.match("this is .* nothing is changed from the past", screen.note)


async def test_who_has_gone_elsewhere_stays_there(box: Path) -> None:
    screen = Started(box)
    async with screen.app.run_test(size=(120, 40)) as pilot:
        screen.run()
        await pilot.press("shift+left", "left")
        screen.arrive()
        await pilot.press("end", "shift+left", "end")
        screen.arrive()
        assert not screen.app.view.moment
        assert READING not in [one.text for one in screen.app.scene.notes]


async def test_without_a_box_the_first_moment_is_that_of_the_screen() -> None:
    screen = Started(None)
    async with screen.app.run_test(size=(120, 40)) as pilot:
        screen.run()
        await pilot.press("shift+left")
        assert screen.app.view.moment == BEGUN + 1
        await pilot.press("left")
        assert screen.note == FIRST
