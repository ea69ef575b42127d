"""Key J: where packets wait, over any pane; its programs run only while it is shown."""

from pathlib import Path

import pytest
from folded import folded
from golden_text import same
from pane_text import above_footer, words
from scenes import storied

from nettop.facts.journey import EVERY
from nettop.host.recording import Replay, load
from nettop.host.source import Live
from nettop.panes import journey, page
from nettop.tui import keys
from nettop.tui.notes import refused
from nettop.views.build import Plans, scene_of
from nettop.views.observer import Observer
from nettop.views.past import History
from nettop.views.scene import Scene
from nettop.views.view import View

TESTS = Path(__file__).parents[1]
SLOW = TESTS / "collect/slow-reader.host"
SEND = TESTS / "hosts/guest-transfer.host"


def seen(path: Path, *shown: str) -> Scene:
    source = Replay(load(str(path)))
    observer = Observer(source)
    observer.glance(shown)
    source.wait(1.0)
    return scene_of(observer.glance(shown), History(), Plans(source))


@pytest.fixture(scope="module")
def slow() -> Scene:
    return seen(SLOW, *journey.TABLES)


def test_the_page(slow: Scene, update: bool) -> None:
    drawn = above_footer(slow, View(pane="nic", journey=EVERY), 80, 20)
    same(TESTS / "golden/panes/journey.txt", words(drawn[1:]), update)


@folded("width", [40, 60, 80, 200])
@folded("height", [10, 24, 60])
def test_it_fits(slow: Scene, width: int, height: int) -> None:
    drawn = page.compose(slow, View(journey=EVERY), width, height)
    assert len(drawn) == height


def test_a_host_that_shows_no_journey_says_why_and_one_that_was_not_asked_that_it_begins() -> None:
    view = View(journey=EVERY)
    text = words(page.compose(seen(SEND, *journey.TABLES), view, 100, 30))
    assert "the journey of packets cannot be seen: not in the recording" in text
    assert "begin to look" in words(page.compose(seen(SEND), view, 100, 30))
    assert "begin to look" in words(page.compose(Scene(), view, 100, 30))


def pressed(view: View, scene: Scene, *names: str) -> View:
    for name in names:
        view, _ = keys.press(name, name if len(name) == 1 else None, view, scene)
    return view


def test_key_j_shows_the_journey_of_what_is_under_the_cursor(slow: Scene) -> None:
    moved = storied()
    assert moved.facts is not None
    flow = moved.facts.flows[0]
    flows = View(pane="flows").at(on=flow.id)
    assert pressed(flows, moved, "J").journey == f":{flow.local_port}>:{flow.remote_port}"
    assert pressed(View(pane="nic", nic="eth0"), slow, "J").journey == "eth0"
    assert pressed(View(), slow, "J").journey == EVERY


def test_it_ends_with_the_same_key_with_esc_and_with_another_pane(slow: Scene) -> None:
    view = pressed(View(pane="cores"), slow, "J")
    for name in ("J", "escape", "1", "tab"):
        after = pressed(view, slow, name)
        assert (name, after.journey) == (name, "")
    assert pressed(view, slow, "escape").pane == "cores"


def test_a_screen_that_only_shows_loads_no_program() -> None:
    assert refused(View(), View(journey=EVERY), None)
    assert not refused(View(journey=EVERY), View(), None)


class Asked(Live):
    """A host that counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__("/nonexistent")
        self.live = True
        self.counts: set[str] = set()

    def counted(self, what: str) -> str:
        self.counts.add(what)
        return "1.000\n1.000 0\n"

    def end_counting(self, what: str) -> None:
        self.counts.discard(what)


def test_the_programs_run_while_the_page_is_shown() -> None:
    source = Asked()
    observer = Observer(source)
    observer.glance(journey.TABLES)
    assert source.counts == {"journey"}
    observer.deep = True
    observer.glance(journey.TABLES)
    assert source.counts == {"journey", "drops", "calls", "profile", "arp", "moves"}
    observer.glance(())
    assert source.counts == {"drops", "calls", "profile", "arp", "moves"}
