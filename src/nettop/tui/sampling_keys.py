"""Keys of the engine: the interval between samples, and recording to a file."""

from __future__ import annotations

import os
import time
from typing import Final

from .working import Engine

INTERVALS: Final = (0.5, 1.0, 2.0, 5.0, 10.0)  # seconds


def next_interval(now: float, by: int) -> float:
    """The interval `by` steps longer than the one nearest to `now` (seconds)."""
    place = min(range(len(INTERVALS)), key=lambda i: abs(INTERVALS[i] - now))
    return INTERVALS[max(0, min(len(INTERVALS) - 1, place + by))]


def record(engine: Engine, running: str) -> tuple[str, str]:
    """Begin a recording in the current directory, or end the running one; a note and its role."""
    if running:
        engine.record("")
        return "the recording is being written", "dim"
    path = os.path.abspath(time.strftime("nettop-%Y%m%d-%H%M%S.host.gz", time.gmtime()))
    engine.record(path)
    return f"recording to {path}; r ends it", "good"
