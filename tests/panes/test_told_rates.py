"""In one frame a flow or an interface has one rate; another one says over which time it is."""

import argparse
import re
from dataclasses import replace
from pathlib import Path

import told_rates
from folded import folded
from recorded_hosts import HOSTS, last, name
from scenes import SCENES, lossy

from nettop import panes
from nettop.commands import open_peer
from nettop.facts.flow_words import together
from nettop.facts.limits.stages import declared
from nettop.host.recording import Replay, load
from nettop.panes import overview, page
from nettop.terms.text import text_of
from nettop.terms.units import Units
from nettop.tui.app import _other_end
from nettop.tui.engine import Engine
from nettop.views.build import Plans, scene_of
from nettop.views.observer import Observer
from nettop.views.past import History
from nettop.views.scene import Scene
from nettop.views.stages import PROGRAM, bars, foremost, process_of
from nettop.views.view import View


def test_a_program_has_its_own_rate_and_not_that_of_its_interface() -> None:
    path = Path(__file__).parents[2] / "rules/demo.host.gz"
    scene = scene_of(last(path), History(), Plans(Replay(load(str(path)))))
    found = foremost(scene, View())
    assert found is not None
    assert scene.facts is not None
    assert found.rate is not None
    bar = bars(scene.facts, found)[-1]
    assert process_of(bar).startswith("iperf3")
    assert bar.moved is not None
    assert 8 * bar.moved < 0.5 * found.rate  # there are seven others


def test_a_program_with_several_flows_has_their_sum() -> None:
    (path,) = (path for path in HOSTS if name(path) == "vm-virtio-unsent")
    scene = scene_of(last(path), History(), Plans(Replay(load(str(path)))))
    found = foremost(scene, View())
    assert found is not None
    assert scene.facts is not None
    (bar,) = (one for one in bars(scene.facts, found) if declared()[one.stage].bar == PROGRAM)
    assert len(scene.facts.flows) > 1
    assert process_of(bar) == "iperf3[265]"
    assert bar.moved == together(scene.facts.flows)


SENDERS = ("limit-htb-50mbit-writer", "loss-far-filter", "limit-loss-100-writer")


@folded("name", SENDERS)
def test_flows_carry_no_more_than_the_wire_and_have_the_round_trip_of_their_verdict(
    name: str,
) -> None:
    source = Replay(load(f"tests/live/recordings/{name}.host.gz"))
    observer, frames = Observer(source), 0
    while source.wait(1):
        seen = observer.glance(overview.NEEDS)
        scene = scene_of(seen, History(), Plans(source))
        assert scene.facts is not None
        assert scene.mean is not None
        assert list(told_rates.above(scene.facts)) == []
        assert list(told_rates.above(scene.mean)) == []
        assert list(told_rates.trips(scene)) == []
        frames += bool(seen.facts.flows)
    assert frames >= 3


def test_an_older_rate_of_flows_says_so() -> None:
    scene = lossy()
    table = "sockets_tcp"
    older = replace(scene, stretched={table: 4.0}, ages={table: 2.0})
    for pane in ("overview", "flows"):
        for one, told in ((scene, "payload ─"), (older, "payload, read 2 s ago ─")):
            rows = [text_of(row) for row in page.compose(one, View(pane=pane), 120, 40)]
            assert any(told in row for row in rows), pane


# Rates are in the wanted unit on every pane; only links and published figures are in bit/s.


RATE = re.compile(r"[\d.]+ [kMGT]?b/s")
LINK = re.compile(r"(· |link +|carries )[\d.]+ [MG]b/s")  # its nominal speed


@folded("name", ("overview", "cores", "nic", "flows", "advisor"))
@folded("host", SCENES)
def test_with_bytes_no_rate_is_in_bits(host: str, name: str) -> None:
    scene = replace(SCENES[host](), units=Units(bits=False))
    for size in ((80, 24), (120, 40), (200, 60)):
        view = page.painted(scene, View(pane=name), *size)
        opened = [view.at(open=row) for row in panes.pane(name).items(scene, view)[:3]]
        for one in (view, *opened):
            for row in page.compose(scene, one, *size):
                assert not RATE.search(LINK.sub("", text_of(row))), text_of(row)


def played(name: str) -> list[Scene]:
    """The scenes of a demo, with its other end where it has one."""
    told: list[Scene] = []
    path = str(Path(__file__).parents[2] / f"rules/{name}.host.gz")
    source = Replay(load(path))
    words = argparse.Namespace(peer=None, replay=path, host=None)
    engine = Engine(source, told.append, 1.0, View())
    engine.peering = _other_end(words, source, open_peer(words, source), lambda _note: None)
    engine.run()
    return [one for one in told if one.facts is not None]


@folded("name", ("demo", "demo-ends"))
def test_each_frame_of_a_demo_has_one_rate_for_each_thing(name: str) -> None:
    scenes = played(name)
    assert len(scenes) > 12
    for scene in scenes[::4]:
        assert told_rates.wrong(scene, set(panes.names()) - {"overview", "flows"}) == []
    assert (scenes[-1].peer is not None) == (name == "demo-ends")
    assert [one.window for one in scenes[:3]] == ["last 1 s", "mean of 2 s", "mean of 3 s"]
    assert scenes[-1].window == "mean of 10 s"
