"""Wall clock times as text."""

from __future__ import annotations

from datetime import UTC, datetime


def when(wall: float) -> str:
    """Date and time in UTC, which is the same on all hosts; empty for 0 (unknown)."""
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if wall else ""


def clock(wall: float) -> str:
    """The time of day in UTC; empty for 0 (unknown)."""
    return when(wall)[11:]
