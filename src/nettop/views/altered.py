"""Settings that changed while a recording was made: whoever changed them, its samples show it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from ..facts import Facts
from .inventory import inventory
from .scene import JournalEntry, Scene

SEEN: Final = "seen"  # the state of such a change, and the beginning of its id
MOST: Final = 200  # changes that are kept


def changes(scene: Scene) -> tuple[JournalEntry, ...]:
    """The changes of the journal, then those that the recording shows."""
    return (*scene.journal, *scene.seen)


def altering(old: Scene, new: Scene) -> tuple[JournalEntry, ...]:
    """The changes seen up to `new`, the latest first; of a recording only.

    A setting counts from the sample in which it is read first. When a recording starts again, what
    was seen after the present moment is left out.
    """
    if new.origin is None or new.origin.kind != "recording":
        return ()
    known = tuple(one for one in old.seen if one.wall <= new.wall)
    if old.facts is None or new.facts is None or not old.wall < new.wall:
        return known
    before, after = settings(old.facts), settings(new.facts)
    altered = [
        JournalEntry(f"{SEEN}.{name}.{new.wall:.0f}", new.wall, name, before[name], value, SEEN)
        for name, value in after.items()
        if before.get(name, value) != value
    ]
    return (*altered, *known)[:MOST]


def settings(facts: Facts) -> Mapping[str, str]:
    """The settings and properties of a host by address, as far as they were read."""
    return _settings(_Same(facts))


class _Same:
    """The facts of one moment as a key: compared by identity, since they are never changed."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def __hash__(self) -> int:
        return id(self.facts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.facts is self.facts


@lru_cache(maxsize=2)  # of two moments, one is asked for again
def _settings(moment: _Same) -> Mapping[str, str]:
    return MappingProxyType(inventory(moment.facts, 0.0)["settings"])
