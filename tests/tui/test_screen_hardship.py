"""What a screen must bear: cut recordings, interfaces that come and go, crowds, many sizes.

Counted, never timed.
"""

import argparse
import gzip
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from rich.cells import cell_len
from scenes import lossy
from small_host import Small
from thinned import thinned
from tui_app import resized

from nettop import panes
from nettop.commands import open_source
from nettop.facts import Facts
from nettop.facts.kinds.flow import Flow
from nettop.host.recording import Replay
from nettop.host.source import Source
from nettop.panes import flows, page
from nettop.panes.parts import Cell
from nettop.terms.errors import Refused
from nettop.terms.text import line_cells
from nettop.tui.engine import Engine
from nettop.tui.screen import Nettop, Tick
from nettop.views.observer import Observer
from nettop.views.past import History
from nettop.views.scene import Scene
from nettop.views.view import View

HOSTS = Path(__file__).parents[1] / "hosts"


def scenes(source: Source, count: int) -> list[Scene]:
    """What the engine posts of a source, at most so many."""
    told: list[Scene] = []
    engine = Engine(source, told.append, 0.0, View())

    def post(scene: Scene) -> None:
        told.append(scene)
        engine.stopping = len(told) >= count

    engine.post = post
    engine.run()
    return told


# -- recordings ------------------------------------------------------------


@pytest.mark.parametrize("tenth", thinned(range(1, 10), 3))
def test_a_recording_cut_anywhere_is_drawn_as_far_as_it_goes(tenth: int) -> None:
    text = (HOSTS / "guest-idle.host").read_text(encoding="utf-8")
    cut = text[: len(text) * tenth // 10]
    told = scenes(Replay(cut), 9)
    assert told
    for scene in told:
        assert scene.facts is not None, scene.notes
        for name in panes.names():
            rows = page.compose(scene, View(pane=name), 100, 30)
            assert {line_cells(row) for row in rows} == {100}


def test_a_packed_recording_cut_in_the_middle_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "cut.host.gz"
    data = gzip.compress((HOSTS / "guest-idle.host").read_bytes())
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(Refused) as caught:
        open_source(argparse.Namespace(replay=str(path)))
    assert "cut or damaged" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.code == 3


# -- interfaces that come and go ------------------------------------------------------------


class Blinking(Small):
    """A host whose second interface is there in odd seconds only, each time with counters of 0."""

    def data(self, path: str) -> bytes:
        """The files, and eth1 among the interfaces."""
        found = super().data(path)
        if path == "/proc/net/dev" and self.second % 2:
            found += b" eth1: 900 9 0 0 0 0 0 0 900 9 0 0 0 0 0 0\n"
        return found


def test_an_interface_that_blinks_is_there_or_not_and_has_no_absurd_rate() -> None:
    source = Blinking()
    observer = Observer(source)
    past = History()
    seen = []
    for _ in range(12):
        observation = observer.step(panes.pane("nic").NEEDS)
        past = past.add(observation.facts, observation.frame.wall)
        scene = Scene(observation.facts, observation.frame, observation.judgement.findings,
                      past=past)  # fmt: skip
        known = {nic.name: nic for nic in observation.facts.nics}
        seen.append("eth1" in known)
        if "eth1" in known:
            rates = known["eth1"].per_s
            assert rates.rx_bytes in (None, 0.0)  # never negative, never the total as a rate
        for name in panes.names():  # the interface chosen may be the one that is gone
            rows = page.compose(scene, View(pane=name, nic="eth1"), 90, 28)
            assert {line_cells(row) for row in rows} == {90}
        source.second += 1
    assert seen == [False, True] * 6


# -- crowds ------------------------------------------------------------


@cache
def crowd(number: int = 0) -> Scene:
    """Ten thousand flows and five thousand interfaces; of another number other objects, equal."""
    scene = lossy()
    facts = scene.facts
    assert isinstance(facts, Facts)
    flows = tuple(
        replace(facts.flows[0], id=f"f{i}", remote_port=i, rx_per_s=1e7 - i) for i in range(10_000)
    )
    nics = (*facts.nics, *(replace(facts.nics[1], name=f"v{i}") for i in range(5_000)))
    return replace(scene, facts=replace(facts, flows=flows, nics=nics))


@pytest.mark.parametrize(("height", "below"), [(26, 0), (40, 14)])
async def test_one_key_among_ten_thousand_flows_draws_few_rows(height: int, below: int) -> None:
    app = Nettop(View(pane="flows"), crowd())
    async with app.run_test(size=(120, height)) as pilot:
        await pilot.pause()
        step = 2 + below  # the row left, the row reached, and the flow that is shown below
        for key, most in (("j", step), ("k", step), ("G", height), ("g", height), ("/", 1)):
            before = app.board.drawn
            await pilot.press(key)
            await pilot.pause()
            assert 0 < app.board.drawn - before <= most, key


def instead(scene: Scene) -> Tick:
    return Tick(lambda _old: scene)


async def test_an_unchanged_crowd_writes_nothing() -> None:
    for pane in ("overview", "nic", "flows"):
        app = Nettop(View(pane=pane), crowd())
        async with app.run_test(size=(120, 40)) as pilot:
            drawn = [-1, app.board.drawn]
            while (
                drawn[-1] != drawn[-2] and len(drawn) < 10
            ):  # what the start left to draw is first
                app.post_message(instead(crowd(1 + len(drawn) % 2)))
                await pilot.pause()
                drawn.append(app.board.drawn)
            assert drawn[-1] == drawn[-2], (pane, drawn)


def test_only_the_rows_in_sight_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0
    whole = flows.flow_cells

    def counted(flow: Flow, scene: Scene) -> tuple[Cell, ...]:
        nonlocal made
        made += 1
        return whole(flow, scene)

    monkeypatch.setattr(flows, "flow_cells", counted)
    scene = crowd()
    for index in (0, 1_000, 1_999):
        made = 0
        view = View(pane="flows").at(index=index)
        flows.lines(scene, view, 120, 40)
        assert made <= 2 * 40


# -- sizes ------------------------------------------------------------


async def test_a_hundred_sizes_end_in_the_last_one() -> None:
    app = Nettop(View(), lossy())
    async with app.run_test(size=(120, 40)) as pilot:
        for step in range(100):
            size = 20 + step * 7 % 180, 5 + step * 3 % 60
            await pilot.resize_terminal(*size)
        await resized(app, pilot, 97, 31)
        assert len(app.board.shown) == 31
        assert {sum(cell_len(text) for text, _ in row) for row in app.board.shown} == {97}
        before = app.board.drawn
        app.post_message(Tick(lambda _old: lossy()))
        await pilot.pause()
        assert app.board.drawn == before  # nothing of the hundred waits to be drawn
