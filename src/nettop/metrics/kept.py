"""The samples of the journal: changes by state, and settings that have another value now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from ..changes import matching, status
from ..changes.journal import OPEN, Entry, Journal
from ..changes.namespaces import Survey
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
    host, survey = Host.at(), Survey()
    yield Sample(f.DRIFT, (), sum(_drifted(entry, entries, host, survey) for entry in entries))


def _drifted(entry: Entry, others: Collection[Entry], host: Host, survey: Survey) -> bool:
    """Whether the host has another value than the newest change of the setting wrote.

    A value that cannot be read, for example of a device that is gone, is no drift.
    """
    if entry.after is None:
        return False
    if any(o.id > entry.id and matching.same_setting(o, entry) for o in others):
        return False
    now, _ = status.shown(entry, host, survey)
    return now is not None and now != entry.after
