"""The standard statistics of every interface, asked once for all collectors of one frame.

`ethstats` shows them, `nicstats` takes from them what a driver's own statistics do not tell. Few
drivers give them: who does is looked up by one question to all, now and then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..host.netlink import statistics
from ..host.source import Source

_MOMENT = 0.05  # seconds: collectors of one frame run one after the other
_LOOK = 10.0  # seconds between questions to all


@dataclass
class _Known:
    """What stays from frame to frame."""

    looked: float = float("-inf")
    at: float = float("-inf")
    values: dict[str, dict[str, int]] = field(default_factory=dict)
    error: OSError | None = None


def readings(source: Source, memory: dict[str, Any]) -> Mapping[str, Mapping[str, int]]:
    """By interface and name what is counted; OSError on a kernel without the question."""
    known: _Known = memory.setdefault("standard", _Known())
    now = source.now()
    if not 0 <= now - known.looked < _LOOK:
        known.looked, known.error = now, None
        try:
            known.values = statistics.every(source)
        except OSError as error:
            known.values, known.error = {}, error.with_traceback(None)
    elif not 0 <= now - known.at < _MOMENT and known.values:
        known.values = {
            interface: found for interface in known.values if (found := _one(source, interface))
        }
    known.at = now
    why = known.error
    if why is not None:  # made anew: one raised again would keep every frame it passed
        raise OSError(why.errno, why.strerror, why.filename)
    return known.values


def _one(source: Source, interface: str) -> dict[str, int]:
    try:
        return statistics.one(source, interface)
    except (OSError, ValueError):  # renamed or gone
        return {}
