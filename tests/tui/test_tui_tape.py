"""Key r: what is recorded from the screen is as whole as what `nettop record` writes."""

import threading
from pathlib import Path

import pytest
from hang import HANG

from nettop.files import bounds
from nettop.host.recording import Replay, load
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler
from nettop.tui.engine import Engine
from nettop.views.observer import Observer
from nettop.views.scene import Scene
from nettop.views.view import View

KNOWN_ONCE = ["topology", "features", "linkmodes", "links"]


class Screen:
    """An engine whose steps a test takes, and what it posts."""

    def __init__(self) -> None:
        self.scenes: list[Scene] = []
        self.engine = Engine(Live(), self.scenes.append, 1.0, View())
        self.observer = Observer(self.engine.source)

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.engine._step(self.observer)

    def notes(self) -> list[str]:
        return [note.text for scene in self.scenes for note in scene.notes]


def test_a_recording_begun_in_the_middle_has_what_was_read_before_it(tmp_path: Path) -> None:
    screen = Screen()
    before = screen.observer.step(KNOWN_ONCE).frame
    path = str(tmp_path / "tape.host")
    screen.engine.record(path)
    screen.step()
    assert screen.scenes[-1].recording == path
    screen.observer.step(KNOWN_ONCE)
    screen.step()
    screen.engine.record("")
    screen.step()
    assert screen.notes() == [f"recorded to {path}, names scrubbed"]
    assert screen.scenes[-1].recording == ""
    assert screen.observer.sampler.source is screen.engine.source

    replay = Replay(load(path))
    assert len(replay.moments) >= 2
    while replay.wait(0):
        pass
    again = Sampler(replay).take(KNOWN_ONCE)
    assert not again.missing
    for name in KNOWN_ONCE:
        assert again.rows(name), name
        assert len(again.rows(name)) == len(before.rows(name)), name
    assert again.rows("topology") == before.rows("topology")
    assert again.rows("features") == before.rows("features")


def test_each_sample_of_the_screen_is_a_moment_of_its_recording(tmp_path: Path) -> None:
    screen = Screen()
    screen.engine.record(str(tmp_path / "tape.host.gz"))
    screen.step(4)
    recording = screen.engine.recording
    assert recording is not None
    assert recording.record._done == [], "what is written is not held in memory"
    screen.engine.record("")
    screen.step()
    moments = Replay(load(str(tmp_path / "tape.host.gz"))).moments
    assert len(moments) == 4
    assert [one.at for one in moments] == sorted({one.at for one in moments})


def test_it_ends_at_the_bound_of_reading_and_what_was_recorded_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(bounds.BOUNDS, "moments", bounds.Bound(3, "moments", "a recording", ""))
    screen = Screen()
    path = str(tmp_path / "tape.host")
    screen.engine.record(path)
    screen.step(5)
    say = f"more than 3 moments, the bound of a recording: recorded to {path}, names scrubbed"
    assert screen.notes() == [say]
    assert screen.scenes[-1].recording == ""
    assert screen.observer.sampler.source is screen.engine.source
    assert len(Replay(load(path)).moments) == 3


def test_a_recording_that_runs_at_the_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "tape.host"
    begun = threading.Event()

    def post(scene: Scene) -> None:
        if scene.recording:
            begun.set()

    engine = Engine(Live(), post, 0.05, View())
    engine.record(str(path))
    engine.start()
    assert begun.wait(HANG)
    engine.stop()
    engine.join(HANG)
    assert Replay(load(str(path))).moments
    assert engine.recording is not None
    assert engine.recording.outcome == f"recorded to {path}, names scrubbed"


@pytest.mark.parametrize("place", ["none/x.host", "", "full"])
def test_a_file_that_cannot_be_is_one_note_and_the_screen_goes_on(
    place: str, tmp_path: Path
) -> None:
    screen = Screen()
    path = "/dev/full" if place == "full" else str(tmp_path / place)
    screen.engine.record(path)
    screen.step(3)
    assert len(screen.notes()) == 1
    assert screen.notes()[0].startswith(f"cannot write {path}: ")
    assert screen.engine.recording is None
    assert screen.observer.sampler.source is screen.engine.source
    assert list(tmp_path.iterdir()) == []
