"""The samples of the journal: changes by state, and settings that have another value now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from ..changes import matching, status
from ..changes.entry import JournaledChange
from ..changes.journal import Journal
from ..changes.lines import OPEN
from ..settings import Host
from . import families as f
from .families import Sample


def samples() -> Iterator[Sample]:
    """The series of this user's journal; none if it cannot be read."""
    try:
        entries = [entry for entry in Journal().entries() if entry.open]
    except OSError:
        return
    counts = Counter(entry.state for entry in entries)
    yield from (Sample(f.CHANGES, (state,), counts[state]) for state in sorted(OPEN))
    host = Host.at()
    yield Sample(f.DRIFT, (), sum(_drifted(entry, entries, host) for entry in entries))


def _drifted(entry: JournaledChange, others: Collection[JournaledChange], host: Host) -> bool:
    """Whether the host has another value than the newest change of the setting wrote.

    A value that cannot be read, for example of a device that is gone, is no drift. Other network
    namespaces are not searched: that takes a process for each look.
    """
    if entry.after is None:
        return False
    if any(o.id > entry.id and matching.same_setting(o, entry) for o in others):
        return False
    now, _ = status.shown(entry, host)
    return now is not None and now != entry.after
