"""Chains: the unconfirmed changes of one device wait together and go back together.

A person who tries MTU 9000, loses the link, and tries 8000 wants the value of before the first try
back. So the unconfirmed changes of one device are one chain:

- its base is what each setting showed before the first change of the chain that touched it;
- its deadline is that of its newest change: every change gives the whole chain new time;
- when the deadline passes, or a guard is stopped, every setting goes back to its base;
- confirming the newest change keeps all of them; confirming an older one keeps it and those before
  it, so that its values are the base of the ones that still wait.

A device is an interface, with every kind of setting that it has, whatever its name is; for other
settings it is the target (a process, a route), or the setting itself. A chain is of one network
namespace: its guard reaches no other. Changes that were made together are one group: they are
confirmed together, and so they join the chains of all the devices that they touch.

Nothing of this is stored: chains follow from the entries that the journal holds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from . import context, matching
from .journal import Entry

READY = 60.0  # seconds a guard may take to start and load all it needs, on a very busy machine


def unconfirmed(entry: Entry) -> bool:
    """Whether it goes back by itself unless somebody confirms it. Another boot has forgotten it."""
    return entry.open and entry.due is not None and entry.boot in ("", context.boot())


def of_group(entries: Sequence[Entry], group: int) -> tuple[Entry, ...]:
    """The chain that a group of changes is part of, oldest first; empty when none of it waits."""
    waiting = [entry for entry in entries if unconfirmed(entry)]
    return _linked(waiting, [entry for entry in waiting if entry.group == group])


def kept_by(entries: Sequence[Entry], numbers: Collection[int] = ()) -> tuple[Entry, ...]:
    """What a confirmation of these numbers keeps, oldest first; without numbers, all that waits.

    A number stands for its group, and for everything before the group's newest change that was in
    the same chain then. What was cut short is kept only when a newer change is: alone, nobody
    knows what it is.
    """
    groups = {e.group for e in entries if not numbers or e.id in numbers}
    asked = [e for e in entries if e.group in groups and unconfirmed(e) and e.state == "pending"]
    kept: dict[int, Entry] = {}
    for last in asked:
        before = [
            e for e in entries if unconfirmed(e) and (e.id <= last.id or e.group == last.group)
        ]
        kept |= {e.id: e for e in _linked(before, [last])}
    return tuple(kept[number] for number in sorted(kept))


def expiry(chain: Sequence[Entry]) -> float:
    """When a chain goes back, in seconds since boot: the time of its newest change that counts.

    Time counts from the moment in which a change's guard waits (`armed`). While no guard does, the
    starting one has READY for it.
    """
    counted = [e.due for e in chain if e.due is not None and e.group in _armed(chain)]
    return counted[-1] if counted else starting(chain)


def starting(chain: Sequence[Entry]) -> float:
    """Until when a guard of this chain may still be starting, since boot; 0 when none is."""
    fresh = [e.due + READY for e in chain if e.due is not None and e.group not in _armed(chain)]
    return max(fresh, default=0.0)


def base(entry: Entry, entries: Collection[Entry]) -> Entry:
    """The first of the changes of this setting, among `entries`, that led to this one.

    Each took up what the one before it had left; where something else changed the value in
    between, the way back ends.
    """
    older = [e for e in entries if e.id < entry.id and matching.one_setting(e, entry)]
    for one in sorted(older, key=lambda e: -e.id):
        left = (one.wanted, one.before) if one.after is None else (one.after,)
        if entry.before not in left:
            break
        entry = one
    return entry


def _armed(chain: Sequence[Entry]) -> set[int]:
    return {entry.group for entry in chain if entry.armed}


def _linked(waiting: Sequence[Entry], chosen: Sequence[Entry]) -> tuple[Entry, ...]:
    """`chosen`, and every other that shares a device or a group with one of them, and so on."""
    found = {entry.id: entry for entry in chosen}
    while more := [
        entry
        for entry in waiting
        if entry.id not in found and any(_joined(entry, other) for other in found.values())
    ]:
        found |= {entry.id: entry for entry in more}
    return tuple(found[number] for number in sorted(found))


def _joined(one: Entry, other: Entry) -> bool:
    """Whether two changes belong together."""
    if one.group == other.group:
        return True
    return matching.one_place(one, other) and matching.one_device(one, other)


def joining(entries: Sequence[Entry], first: Entry, others: Sequence[Entry]) -> tuple[int, ...]:
    """The numbers of the chain that `first` joins, with `others` of its group still to be begun."""
    drafts = [
        replace(e, id=-at, group=first.group, due=first.due) for at, e in enumerate(others, 1)
    ]
    linked = of_group([*drafts, *entries], first.group)
    return tuple(e.id for e in linked if e.id > 0 and e.id != first.id)
