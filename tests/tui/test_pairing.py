"""A recorded pair on the screen: both ends are of the moment that is shown."""

import argparse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nettop.commands import open_peer
from nettop.commands.top import demo
from nettop.facts.limits.words import early
from nettop.host.recording import Mark, Replay, load, other_end
from nettop.panes import page
from nettop.terms.text import text_of
from nettop.tui import app, peering
from nettop.tui.engine import Engine
from nettop.tui.peering import Pairing
from nettop.views.scene import Note, Peer, Scene
from nettop.views.view import View

HERE, THERE = Mark("0123abcd", True, 1.5, 0.002), Mark("0123abcd", False, -1.5, 0.002)


class Canned:
    """Stands in for both hosts; `step` gives the moment of the other end."""

    made = 0
    observer = SimpleNamespace(judge=None)

    def __init__(self, _near: Replay, far: Replay) -> None:
        self.far = far
        Canned.made += 1

    def begin(self) -> None:
        """Nothing is remembered."""

    def step(self, here: object) -> tuple[Peer, tuple[Any, ...]]:
        if here == "broken":
            raise ValueError(here)
        return Peer(("host", "peer"), message=self.far.text("/n").strip()), ("pair",)


def archive(mark: Mark, wall: float, count: int) -> str:
    name = "-- /proc/sys/kernel/hostname --\nhost\n"
    moments = (f"-- @{n}.000 wall {wall + n:.3f} --\n-- /n --\n{n}\n{name}" for n in range(count))
    return f"A host.{mark.words()}\n{''.join(moments)}"


@pytest.fixture
def ends(tmp_path: Path) -> tuple[Replay, Replay]:
    near = Replay(archive(HERE, 100.0, 4), loop=True)
    path = tmp_path / "far.host"
    path.write_text(archive(THERE, 101.5, 3))
    return near, other_end(near, str(path), HERE)


def test_both_ends_go_on_together_and_begin_again_together(
    ends: tuple[Replay, Replay], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peering, "BothEnds", Canned)
    notes: list[Note] = []
    near, far = ends
    both = Pairing(near, far, HERE, notes.append)
    both.start()
    assert [one.text for one in notes] == [
        "recorded at both ends; the clock of peer is 1.5 s ahead, within 2 ms"
    ]
    shown: list[str] = []
    pairs: list[Any] = []
    for _ in range(8):
        if near.opening:
            both.restart()
        else:
            both.offer(near.text("/n"))  # type: ignore[arg-type]
        shown.append(both.shown.message)
        pairs.append(both.pairs)
        near.wait(0)
    absent = "peer was not recorded at this moment"
    assert shown[1:] == ["1", "2", absent, absent, "1", "2", absent]
    assert pairs[1:4] == [("pair",), ("pair",), ()]
    assert Canned.made == 2
    assert both.shown.clock.startswith("recorded at both ends")


def test_what_cannot_be_judged_is_a_sentence(
    ends: tuple[Replay, Replay], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peering, "BothEnds", Canned)
    both = Pairing(*ends, HERE, lambda _note: None)
    both.restart()
    ends[0].wait(0)
    both.offer("broken")  # type: ignore[arg-type]
    assert both.shown.message == "peer cannot be judged: broken"
    assert both.pairs == ()


def test_a_recording_without_another_end_has_nothing_to_show(ends: tuple[Replay, Replay]) -> None:
    told: list[Scene] = []
    assert app._other_end(argparse.Namespace(), ends[0], None, told.append) is None  # type: ignore[arg-type]
    made = app._other_end(argparse.Namespace(), *ends, told.append)  # type: ignore[arg-type]
    assert isinstance(made, Pairing)


def test_the_demo_of_both_ends_names_the_limit_and_its_host() -> None:
    source = Replay(load(demo("ends")), loop=True)
    args = argparse.Namespace(replay=demo("ends"), peer=None)
    told: list[Scene] = []
    engine = Engine(source, told.append, 0.0, View())
    engine.peering = app._other_end(args, source, open_peer(args, source), lambda _note: None)

    def post(scene: Scene) -> None:
        told.append(scene)
        engine.stopping = len(told) == 2 * len(source.moments)

    engine.post = post
    engine.run()
    late = [scene.peer for scene in told if scene.peer is not None and scene.peer.joined]
    assert len(late) > len(source.moments)
    assert {
        (flow.limit.stage.stage, flow.limit.stage.end)
        for peer in late
        for flow in peer.joined
        if not early(flow.limit)
    } == {("rcvbuf", "there")}
    for peer in late[len(source.moments) // 2 :]:  # and where it begins again
        (flow,) = peer.joined
        assert peer.hosts == ("dtn1", "dtn2")
        assert any(one.rule == "receive-cap-below-bdp" for one in peer.findings)
    for peer in late[len(source.moments) // 2 : len(source.moments) - 2]:
        (flow,) = peer.joined
        assert flow.losses is not None  # the sockets were read within milliseconds
        assert flow.losses.between[1] < 0.02 * flow.losses.sent


@pytest.mark.parametrize(
    ("name", "headline", "finding"),
    [("ends", "Limited by the receive buffer, at dtn2", "receive-cap-below-bdp@"),
     ("ring", "Limited by the receive ring", "rx-ring-overrun@")],
)  # fmt: skip
def test_the_first_picture_of_a_demo_has_an_answer(name: str, headline: str, finding: str) -> None:
    source = Replay(load(demo(name)), loop=True, pace=1.0)
    args = argparse.Namespace(replay=demo(name), peer=None)
    told: list[Scene] = []
    engine = Engine(source, told.append, 0.0, View())
    if name == "ends":
        engine.peering = app._other_end(args, source, open_peer(args, source), lambda _note: None)
    app._answered_at_once(engine, source)

    def post(scene: Scene) -> None:
        told.append(scene)
        engine.stopping = True

    engine.post = post
    engine.run()
    first = next(scene for scene in told if scene.facts is not None)
    shown = "\n".join(text_of(row) for row in page.compose(first, View(), 120, 40))
    assert headline in shown
    there = first.peer.findings if first.peer is not None else ()
    assert any(finding in one.id for one in (*first.findings, *there))


def test_a_name_that_mutes_a_finding_here_mutes_none_of_the_other_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "nettop").mkdir()
    (tmp_path / "nettop/muted").write_text("receive-cap-below-bdp@host\n")
    source = Replay(load(demo("ends")))
    far = open_peer(argparse.Namespace(replay=demo("ends"), peer=None), source)
    assert far is not None
    both = peering.BothEnds(source, far)
    assert both.observer.judge.muted == frozenset()
