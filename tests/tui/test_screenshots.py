"""The screenshots of README, and its recorded session, are what the program draws."""

import pathlib
import re
import tomllib
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from itertools import pairwise

import animated
import demo_story
import pytest
import session
import stories
from golden_text import same
from scenes import SCENES
from told_rates import wrong
from tui_app import SHOTS, settled

from nettop import panes
from nettop.facts.journey import EVERY
from nettop.host.recording import Replay, load
from nettop.terms.text import line_cells, text_of
from nettop.tui import themes
from nettop.tui.engine import Engine
from nettop.tui.screen import Nettop
from nettop.views.scene import Scene, SceneOrigin
from nettop.views.view import Options, View


@dataclass(frozen=True)
class Shot:
    """One picture: the scene, how it is looked at, its size and theme."""

    host: str
    view: View
    width: int = 120
    height: int = 36
    theme: str = "dark"

    def scene(self) -> tuple[Scene, View]:
        if self.host.startswith("story"):
            return demo_story.scene_and_view(int(self.host[-1]))
        if self.host in SCENES:
            return SCENES[self.host](), self.view
        return recorded(self.host, self.view.pane), self.view


@cache
def recorded(host: str, pane: str) -> Scene:
    """The end of a recorded host, read and judged as the screen does it."""
    told: list[Scene] = []
    source = Replay(load(str(pathlib.Path(__file__).parents[2] / host)))
    Engine(source, told.append, 1.0, View(pane=pane)).run()
    return replace(told[-1], origin=SceneOrigin("recording", source.host))


DEMO = "rules/demo.host.gz"
BIG = "tests/hosts/big-256.host.gz"
LOSSES = "tests/tui/losses.host.gz"  # recorded with --drop-reasons --journey
SCREENS = {
    "overview": Shot(DEMO, View(), 120, 36),
    "overview-light": Shot(DEMO, View(), 120, 36, "light"),
    "overview-ansi": Shot(DEMO, View(), 120, 36, "ansi"),
    "overview-colourblind": Shot(DEMO, View(), 120, 36, "colourblind"),
    "overview-contrast": Shot(DEMO, View(), 120, 36, "contrast"),
    "overview-many-cores": Shot(BIG, View(), 120, 40),
    "cores": Shot(DEMO, View(pane="cores"), 120, 34),
    "cores-many": Shot(BIG, View(pane="cores"), 120, 40),
    "nic": Shot(DEMO, View(pane="nic"), 120, 44),
    "flows": Shot(DEMO, View(pane="flows")),
    "advisor": Shot(DEMO, View(pane="advisor"), 120, 44),
    "tests": Shot("storied", View(pane="tests", form=stories.FORM), 120, 36),
    "history": Shot("storied", View(pane="history", span=2, marks=(200.0, 560.0))),
    "journal": Shot("storied", View(pane="journal"), 120, 40),
    "losses": Shot(LOSSES, View(), 120, 34),
    "core": Shot(LOSSES, View(pane="cores").at(open="core:1"), 120, 36),
    "journey": Shot(LOSSES, View(journey=EVERY), 120, 13),
    "options": Shot("storied", View(pane="options"), 160, 40),
    **{f"story-{number}": Shot(f"story-{number}", View(), 110, 30) for number in (1, 2, 3, 4)},
}
for pane in panes.names():  # a pane without a picture of its own choice
    SCREENS.setdefault(pane, Shot(DEMO, View(pane=pane), 120, 24))


PROJECT = tomllib.loads((SHOTS.parent / "pyproject.toml").read_text())["project"]
PINNED = PROJECT["optional-dependencies"]["dev"]


def footer_of(own: str, patch: pytest.MonkeyPatch) -> None:
    """The footer has the panes 1 to 9 and its own: a new pane, with the key 0, changes no other."""
    drawn = tuple(name for name in panes.names() if panes.pane(name).KEY != "0" or name == own)
    patch.setattr(panes.page, "names", lambda: drawn)


def normal(svg: str) -> str:
    """The picture without Rich's random ids."""
    return re.sub(r"terminal-\d+-", "terminal-", svg)


@pytest.mark.skipif(
    f"textual=={version('textual')}" not in PINNED,
    reason=f"screenshots are drawn by another version of Textual than {version('textual')}",
)
@pytest.mark.parametrize("name", SCREENS)
async def test_screenshot(name: str, update: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shot = SCREENS[name]
    footer_of(shot.view.pane, monkeypatch)
    scene, view = shot.scene()
    app = Nettop(replace(view, options=Options(theme=shot.theme)), scene)
    async with app.run_test(size=(shot.width, shot.height)) as pilot:
        await settled(app, pilot)
        svg = normal(app.export_screenshot(title="nettop"))
    same(SHOTS / f"{name}.svg", svg, update)


def test_every_pane_has_its_picture_and_none_is_left_over() -> None:
    assert {path.stem for path in SHOTS.glob("*.svg")} == {*SCREENS, "session"}


SESSION = SHOTS / "session.svg"


@pytest.fixture(scope="module")
def frames() -> list[session.Frame]:
    with pytest.MonkeyPatch.context() as patch:
        footer_of("", patch)
        return list(session.played())


def test_the_picture_is_that_of_the_program(frames: list[session.Frame], update: bool) -> None:
    made = animated.svg(frames, themes.palette("dark"))
    same(SESSION, made, update)
    assert len(made.encode()) < 300 * 1024
    assert f"screenshots/{SESSION.name}" in (SHOTS.parent / "README.md").read_text(encoding="utf-8")


def test_it_shows_a_problem_its_fix_and_the_proof_in_half_a_minute(
    frames: list[session.Frame],
) -> None:
    assert 25 <= sum(one.seconds for one in frames) <= 40
    assert {len(one.rows) for one in frames} == {session.SIZE[1]}
    assert {line_cells(row) for one in frames for row in one.rows} == {session.SIZE[0]}
    texts = ["\n".join(text_of(row) for row in one.rows) for one in frames]
    expected = (
        "Limited by the receive ring", "SOURCE", "address of the peer",
        "Prove: Receive ring", "so far", "BETTER", "Limited by the link",
    )  # fmt: skip
    places = [next(at for at, text in enumerate(texts) if words in text) for words in expected]
    assert places == sorted(places)
    assert "0 NIC drops" not in texts[0]
    assert "Limited by the receive ring" not in texts[-1]


def test_every_moment_shows_exactly_one_frame(frames: list[session.Frame]) -> None:
    root = ET.fromstring(animated.svg(frames, themes.palette("dark")))
    space = "{http://www.w3.org/2000/svg}"
    for group in root.iter(f"{space}g"):
        (animate,) = group.iter(f"{space}animate")
        times = [float(one) for one in animate.attrib["keyTimes"].split(";")]
        values = animate.attrib["values"].split(";")
        assert times == sorted(set(times))
        assert times[0] == 0 <= times[-1] < 1
        assert len(times) == len(values)
        assert all(a != b for a, b in pairwise(values))
        assert group.attrib["visibility"] == values[-1]
    assert not re.search(r"\bNaN\b|None", SESSION.read_text(encoding="utf-8"))


def test_every_rate_of_the_session_is_that_of_the_last_second_or_says_what_it_is() -> None:
    others = ("tests", "options")  # of pairs of tests, and a preview
    assert wrong(session.problem(session.START), others) == []
    assert wrong(demo_story.proved(-1), others) == []
