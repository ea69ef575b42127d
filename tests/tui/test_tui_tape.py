"""Key r: what is recorded from the screen is as whole as what `nettop record` writes."""

from __future__ import annotations

from pathlib import Path

from nettop.host.recording import Replay, load
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler
from nettop.tui.engine import Engine
from nettop.views.observer import Observer
from nettop.views.scene import Scene, View

KNOWN_ONCE = ["topology", "features", "linkmodes", "links"]


def test_a_recording_begun_in_the_middle_has_what_was_read_before_it(tmp_path: Path) -> None:
    told: list[Scene] = []
    engine = Engine(Live(), told.append, 1.0, View())
    observer = Observer(engine.source)
    before = observer.step(KNOWN_ONCE).frame
    path = engine.tape = str(tmp_path / "tape.host")
    engine._tape(observer)
    observer.step(KNOWN_ONCE)
    observer.step(KNOWN_ONCE)
    engine.tape = ""
    engine._tape(observer)
    assert told
    assert observer.sampler.source is engine.source

    again = Sampler(Replay(load(path))).take(KNOWN_ONCE)
    assert not again.missing
    for name in KNOWN_ONCE:
        assert again.rows(name), name
        assert len(again.rows(name)) == len(before.rows(name)), name
    assert again.rows("topology") == before.rows("topology")
    assert again.rows("features") == before.rows("features")
