"""Moments of the past as text."""

from __future__ import annotations

from datetime import UTC, datetime


def when(wall: float) -> str:
    """In UTC, so that two hosts' journals compare; nothing for a moment that is not known."""
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if wall else ""


def clock(wall: float) -> str:
    """The time of that day, as `when`."""
    return when(wall)[11:]
