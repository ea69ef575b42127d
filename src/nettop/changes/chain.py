"""Chains: the unconfirmed changes of one device are pending together and revert together.

A user who tries MTU 9000, loses the link and tries 8000 wants the value before the first try back.
So the unconfirmed changes of one device form one chain:

- its base is the value of each setting before the first change of the chain to that setting;
- its deadline is that of its newest change: each change gives the whole chain new time;
- when the deadline passes, or a guard is stopped, every setting reverts to its base;
- confirming the newest change keeps all of them; confirming an older one keeps it and those before
  it, and its values become the base of the rest.

A device is an interface with all its settings, even if it is renamed; for other settings it is the
target (a process, a route), or the setting itself. A chain belongs to one network namespace,
because its guard cannot reach another. Changes made together form one group: they are confirmed
together, so they join the chains of all devices that they change.

Chains are not stored: they are derived from the entries of the journal.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from . import context, target
from .entry import JournaledChange

READY = 60.0  # seconds for a guard to start and load its modules on a very busy host


def unconfirmed(entry: JournaledChange) -> bool:
    """Whether the change reverts unless it is confirmed. Changes of another boot are lost."""
    return entry.open and entry.due is not None and context.maybe_this_boot(entry.boot)


def of_group(entries: Sequence[JournaledChange], group: int) -> tuple[JournaledChange, ...]:
    """The chain of a group of changes, oldest first; empty if none of them is unconfirmed."""
    pending = [entry for entry in entries if unconfirmed(entry)]
    return _linked(pending, [entry for entry in pending if entry.group == group])


def kept_by(
    entries: Sequence[JournaledChange], numbers: Collection[int] = ()
) -> tuple[JournaledChange, ...]:
    """The entries that a confirmation of these numbers keeps, oldest first; by default all pending.

    A number includes its group, and all earlier changes of the chain of that group. An interrupted
    change is kept only with a newer one: alone, its state is unknown.
    """
    groups = {e.group for e in entries if not numbers or e.id in numbers}
    pending = [e for e in entries if e.group in groups and unconfirmed(e) and e.state == "pending"]
    kept: dict[int, JournaledChange] = {}
    for last in pending:
        before = [
            e for e in entries if unconfirmed(e) and (e.id <= last.id or e.group == last.group)
        ]
        kept |= {e.id: e for e in _linked(before, [last])}
    return tuple(kept[number] for number in sorted(kept))


def expiry(chain: Sequence[JournaledChange]) -> float:
    """When a chain reverts, in seconds since boot: the time of its newest armed change.

    The time of a change counts from the start of its guard (`armed`). Without an armed change, the
    guard has READY seconds to start.
    """
    times = [e.due for e in chain if e.due is not None and e.group in _armed(chain)]
    return times[-1] if times else starting(chain)


def starting(chain: Sequence[JournaledChange]) -> float:
    """Until when a guard of this chain may be starting, in seconds since boot; 0 if none is."""
    times = [e.due + READY for e in chain if e.due is not None and e.group not in _armed(chain)]
    return max(times, default=0.0)


def base(entry: JournaledChange, entries: Collection[JournaledChange]) -> JournaledChange:
    """The first change of this setting, among `entries`, in an unbroken series to this one."""
    return series(entry, entries)[-1]


def series(
    entry: JournaledChange, entries: Collection[JournaledChange]
) -> tuple[JournaledChange, ...]:
    """The changes of this setting, among `entries`, that led to this one; newest first.

    Each change of the series began with the value that the previous one left. Where another program
    changed the value in between, the series ends.
    """
    run = [entry]
    older = [e for e in entries if e.id < entry.id and target.same_setting(e, entry)]
    for previous in sorted(older, key=lambda e: -e.id):
        unknown = previous.after is None
        left = (previous.wanted, previous.before) if unknown else (previous.after,)
        if run[-1].before not in left:
            break
        run.append(previous)
    return tuple(run)


def _armed(chain: Sequence[JournaledChange]) -> set[int]:
    return {entry.group for entry in chain if entry.armed}


def _linked(
    pending: Sequence[JournaledChange], chosen: Sequence[JournaledChange]
) -> tuple[JournaledChange, ...]:
    """`chosen`, and all entries that share a device or group with one of them, transitively."""
    linked = {entry.id: entry for entry in chosen}
    while more := [
        entry
        for entry in pending
        if entry.id not in linked and any(_joined(entry, other) for other in linked.values())
    ]:
        linked |= {entry.id: entry for entry in more}
    return tuple(linked[number] for number in sorted(linked))


def _joined(a: JournaledChange, b: JournaledChange) -> bool:
    """Whether two changes belong to one chain."""
    same_device = target.same_namespace(a, b) and target.same_device(a, b)
    return a.group == b.group or same_device


def joining(
    entries: Sequence[JournaledChange], first: JournaledChange, others: Sequence[JournaledChange]
) -> tuple[int, ...]:
    """The other numbers of the chain of `first`, if `others` of its group are begun as well."""
    drafts = [
        replace(e, id=-at, group=first.group, due=first.due) for at, e in enumerate(others, 1)
    ]
    linked = of_group([*drafts, *entries], first.group)
    return tuple(e.id for e in linked if e.id > 0 and e.id != first.id)
