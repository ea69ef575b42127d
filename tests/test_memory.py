"""Nothing grows with the number of frames: what a run remembers is bounded. Counted, not timed."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
from test_facts_big import load

from nettop.facts.joined import NEEDS
from nettop.observe import Observer
from nettop.panes import page
from nettop.panes.past import COARSE, FINE, Past
from nettop.panes.scene import Scene, View

memory_flat = load(Path(__file__).parent / "benchmarks/memory_flat.py")


@pytest.fixture
def observer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Observer:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return Observer(memory_flat.Small())


def frames(observer: Observer, count: int, past: Past) -> Past:
    source: Any = observer.source
    for _ in range(count):
        seen = observer.step(NEEDS)
        past = past.add(seen.facts, seen.frame.at)
        page.compose(Scene(facts=seen.facts, frame=seen.frame, past=past), View(), 120, 40)
        source.second += 1
    return past


def objects() -> int:
    gc.collect()
    return len(gc.get_objects())


def test_frames_leave_nothing_behind(observer: Observer) -> None:
    frames(observer, 100, Past())
    before = objects()
    frames(observer, 300, Past())
    assert objects() - before < 100  # less than one object in three frames


def test_the_past_is_bounded(observer: Observer) -> None:
    past = frames(observer, 3, Past())
    last = past.fine[-1]
    full = Past((last,) * FINE, (last,) * COARSE)
    full = frames(observer, 50, full)
    assert len(full.fine) == FINE
    assert len(full.coarse) == COARSE
