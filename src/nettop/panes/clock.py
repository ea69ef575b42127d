"""Wall clock times, and the time that is left, as text."""

from __future__ import annotations

from datetime import UTC, datetime

from ..terms.units import seconds
from ..views.scene import RunningTest


def when(wall: float) -> str:
    """Date and time in UTC, which is the same on all hosts; empty for 0 (unknown)."""
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if wall else ""


def clock(wall: float) -> str:
    """The time of day in UTC; empty for 0 (unknown)."""
    return when(wall)[11:]


def left_of(test: RunningTest) -> str:
    """The time that the running test still takes, in whole seconds; empty if it is not known."""
    if not test.seconds:
        return ""
    least = "≥ " if test.open_ended else ""
    return f"{least}{seconds(max(1, round(test.seconds - test.elapsed)))} left"
