"""What the kernel counts of a host, or has counted so far in a recording."""

from __future__ import annotations

from contextlib import suppress

from .. import collect, config
from ..facts.rhythm import Rhythm
from ..host.source import Source

BURSTS = ("drops", "calls")  # what is counted with its moments


def rhythms(source: Source, *counters: str) -> tuple[Rhythm, ...]:
    """What came in bursts, of what these counters have counted: `drops`, `calls`."""
    from ..collect._counted import moments  # after the first paint
    from ..facts.rhythm import rhythms as found

    events = []
    for what in counters:
        with suppress(OSError):  # it was not counted
            events += moments(source.counted(what))
    return tuple(found(events))


def countable(source: Source, settings: config.Config) -> bool:
    """Whether the kernel of the source may count unasked: a running host, not forbidden there."""
    return source.live and bool(settings.get("deep", True))


def recorded(source: Source) -> frozenset[str]:
    """The tables of what the kernel counted that a recording has."""
    return frozenset(name for name, what in collect.counted().items() if _has(source, what))


def _has(source: Source, what: str) -> bool:
    if source.live:
        return False
    try:
        return bool(source.counted(what))
    except OSError:
        return False
