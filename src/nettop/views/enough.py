"""Whether what was read of a host is enough to judge it by.

Tables without which a class of faults cannot be seen are needed (`Table` in `collect`); the others
are witnesses. Rules need rates. A copy of /proc and /sys does not change, a single sample has
nothing to compare with, and half a recording lacks counters. A host without findings is then not
known to be healthy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ..collect import collector, needed, table, title
from ..frame.rates import Entry, Frame
from ..host.source import UNRECORDED
from ..terms.dataclass import DataclassInstance
from ..terms.units import many

if TYPE_CHECKING:
    from ..facts import Facts
    from ..facts.limits import Limit
    from ..facts.losses import Accounting
    from .observer import Observation


_PORTS: Final = ("link_stats", "netdev")  # the second where the first cannot be read
_ABSENT: Final = ("No such file", UNRECORDED)
_BARRED: Final = ("ermission denied", "not permitted")  # EACCES, EPERM
MOST: Final = 3  # small things that are named
_MOVES: Final = (
    "idle", "user", "nice", "system", "softirq", "steal", "rx_packets", "tx_packets",
)  # fmt: skip


def shortfall(frame: Frame, *, live: bool) -> str | None:
    """What is missing for a judgement, a phrase; None when nothing is.

    `live`: this running machine, which may count nothing in a few milliseconds.
    """
    ports = [entry for name in _PORTS for entry in frame.tables.get(name, ())]
    if not ports:
        return "the counters of the interfaces could not be read"
    counted = False
    for rate in _rates((*ports, *frame.tables.get("cpu", ()))):
        if rate or live:
            return _lacking(frame)
        counted = True
    if not counted:
        return "one sample has no rates"
    if not frame.tables.get("cpu"):
        return "no packet was counted, and the CPU times could not be read"
    return "no counter changed between the samples: this is a copy, not a running host"


def _lacking(frame: Frame) -> str | None:
    """What cannot be judged since a needed table is missing."""
    asked = frozenset(frame.tables.keys() | frame.missing.keys())
    lacking = [words for name, words in needed(asked).items() if _lacks(frame, name)]
    return f"{', '.join(lacking)} could not be read" if lacking else None


def _lacks(frame: Frame, name: str) -> bool:
    """Whether a table and the one that replaces it were not read, or are empty and never are.

    An older recording lacks a part of a table that nobody read then; what it has can be judged.
    """
    declared, why = table(name), frame.missing.get(name)
    if why is not None and declared.whole and UNRECORDED not in why:
        return True
    tables = {name, declared.instead or name}
    if declared.may_be_empty:
        return not tables & frame.tables.keys()
    return not any(frame.tables.get(one) for one in tables)


def unread(frame: Frame) -> dict[str, str]:
    """The tables that could not be read, or not whole, and why: nobody knows what they would show.

    Without those that a table of the same counters replaces, and those that the host does not have.
    """
    return {
        name: why for name, why in sorted(frame.missing.items())
        if table(name).instead not in frame.tables
        and not table(name).optional
        and not (table(name).absent and any(one in why for one in _ABSENT))
    }  # fmt: skip


def witnesses(frame: Frame) -> list[str]:
    """What these tables are, for users."""
    return [title(name) for name in unread(frame)]


def not_looked_at(*frames: Frame) -> list[str]:
    """The phrase that names these tables of all hosts; none if there is no such table."""
    unseen = dict.fromkeys(name for frame in frames for name in witnesses(frame))
    return [f"not looked at: {', '.join(unseen)}"] if unseen else []


def all_clear(
    *frames: Frame, limits: Sequence[Limit] = (), losses: Accounting | None = None
) -> str:
    """The sentence where there is no finding on hosts that could be judged.

    `losses` are named where the kernel gave no reason of any drop. A stage that was seen to limit
    the busiest flow is named: without a finding it limits as well.
    """
    seen = [words for frame in frames for words in _below(frame)]
    if not seen and losses is not None and losses.counted:
        seen = [f"{many(losses.counted, 'packets')} lost"]
    parts = [f"seen: {', '.join(seen[:MOST])}{' …' if len(seen) > MOST else ''}"] if seen else []
    parts += not_looked_at(*frames)
    parts += [words for frame in frames for words in _rings(frame)]
    if limit := _limits(limits):
        return f"{'; '.join([limit, *parts])}."
    return (
        f"{'; '.join(['Nothing above its threshold', *parts])}." if parts else "No problem found."
    )


def _rings(frame: Frame) -> Iterator[str]:
    """The captures whose losses are not known: the kernel tells those of a ring to its owner."""
    from ..facts.flow_words import owners  # after the first paint

    rings = [row.inode for row in frame.rows("packet_sockets") if row.ring_bytes]
    named = {owners(frame).get(inode, "a program") for inode in rings}
    if named:
        yield f"not told by the kernel: what the receive ring of {', '.join(sorted(named))} loses"


def _limits(limits: Sequence[Limit]) -> str:
    """What limits the busiest flow, and what is known to help; empty: nothing was seen to."""
    from ..facts.limits import words  # after the first paint
    from ..facts.limits.stages import declared

    limit = words.busiest(limits)
    if limit is None or limit.stage.kind == "inferred" or words.paced(limit.stage):
        return ""
    text = words.limited(limit)
    advice = declared()[limit.stage.stage].advice
    if limit.stage.how == "throttled":  # more threads or less work get no more of a quota
        advice = f"raise what holds it: {limit.stage.because}"
    if limit.stage.how == "locked":  # more threads wait as well
        advice = "less work under that lock, or several processes"
    return f"{text[0].upper()}{text[1:]}, of which no finding says more ({advice})"


def _below(frame: Frame) -> Iterator[str]:
    """What the kernel dropped or refused here in such small numbers that no rule reports it."""
    from ..facts.kinds.call import words as call_words  # after the first paint

    drops, calls = collector("drop_reasons"), collector("failed_calls")
    lost, failures = Counter[tuple[str, str]](), Counter[tuple[str, ...]]()
    for row in frame.rows("drop_reasons"):
        words = drops.words(row.reason, row.place)
        if row.where == "here" and row.packets and not words.normal:
            done = "refused" if drops.answered(row.reason, row.place) else "dropped"
            lost[done, row.reason] += row.packets
    for (done, reason), packets in lost.items():
        yield f"{packets} {done} ({reason})"
    for row in frame.rows("failed_calls"):
        # programs ask local services that need not run, such as nscd, once each
        failed = row.where == "here" and row.error != calls.OPENED and row.address != calls.UNIX
        if failed and not call_words(row, frame).normal:
            failures[row.call, row.error, row.process] += row.events
    for (call, *by), events in failures.items():
        yield f"{events} {call} failed ({', '.join(by)})"


def obstacle(missing: Mapping[str, str], wanted: str = "") -> tuple[str, str]:
    """Why a table is missing without which nothing can be told, and what would read it.

    `wanted` is the table that is told of; else the first of those that are needed.
    """
    every = (wanted,) if wanted else (*_PORTS, "cpu", *needed(frozenset(missing)))
    name = next((one for one in every if one in missing), None)
    if name is None:
        return "", "record the running host: `nettop record FILE --seconds 10`"
    why = missing[name]
    if UNRECORDED in why:
        return why, "record it on that host: `nettop record FILE`"
    if any(word in why for word in _BARRED):
        return why, "start it as root: `sudo nettop`"
    return why, f"what the kernel answers: `nettop snapshot --table {name}`"


def unjudged(lacking: str) -> str:
    """The words for a shortfall where there is no finding, instead of `no findings`."""
    return f"not enough to judge: {lacking}"


def _rates(entries: Iterable[Entry[DataclassInstance]]) -> Iterable[float]:
    """The known rates of counters that move on every running host."""
    for entry in entries:
        for name in _MOVES:
            rate = entry.rate(name) if hasattr(entry.now, name) else None
            if rate is not None:
                yield rate


def not_read(last: Observation) -> Iterator[str]:
    """A line for each reason for which tables could not be read, and what is therefore unknown."""
    from ..facts import elsewhere

    reasons: dict[str, list[str]] = {}
    for name, why in unread(last.frame).items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        yield f"not read: {', '.join(names)}: {why}"
    yield from _seldom(last)
    yield from _links_only(last.facts)
    yield from elsewhere.limited(last.frame, last.facts)


def _seldom(last: Observation) -> Iterator[str]:
    """A line for each table that is too slow for every sample; its last reading was the last one.

    Meanwhile facts and findings were of readings up to that old.
    """
    for name, wait in sorted(last.stretched.items()):
        took = last.frame.cost.get(name)
        if took is not None:
            yield f"{name}: read every {wait:g} s and at the end only; a reading took {took:.1f} s"


def link_only(facts: Facts) -> list[str]:
    """The interfaces with a link whose drops are not known by kind."""
    return [nic.name for nic in facts.nics if nic.link_only and nic.carrier]


def _links_only(facts: Facts) -> list[str]:
    """A line for each of them."""
    from ..facts.kinds.path import LINK_ONLY

    return [f"{name}: {LINK_ONLY}" for name in link_only(facts)]
