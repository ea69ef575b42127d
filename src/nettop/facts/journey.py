"""Where packets wait on their way through this host, from the rows of the collector `journeys`.

A stage is between two points of the kernel, see `bpf.journey`. A time is long from `LONG` on, by
which a stage is named; the limits are engineering judgement: what one run of softirqs may take
(kernel/softirq.c, MAX_SOFTIRQ_TIME), and what a user begins to notice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ..collect import drop_reasons
from ..collect.journeys import SOFTIRQS, Row
from ..terms.buckets import above, quantile
from ..terms.dataclass import dataclass
from ..terms.units import many, seconds

LONG: Final[Mapping[str, float]] = {  # seconds, by stage in the order of the way
    "softirq-rx": 0.002, "socket": 0.010, "woken": 0.010, "queue": 0.010, "softirq-tx": 0.002,
}  # fmt: skip
BRIEF: Final[Mapping[str, str]] = {
    "softirq-rx": "receive: raised → runs", "socket": "in the stack → copied",
    "woken": "reader: woken → runs", "queue": "queued → at the driver",
    "softirq-tx": "transmit: raised → runs",
}  # fmt: skip
MEANS: Final[Mapping[str, str]] = {
    "softirq-rx": "a core raises the receive softirq → the softirq runs",
    "socket": "the stack takes a packet → the reader copies it",
    "woken": "the reader is woken → it runs",
    "queue": "a packet is given to an interface → its driver takes it",
    "softirq-tx": "a core raises the transmit softirq → the softirq runs",
}
EVERY: Final = "*"  # the target of the whole host
_END: Final = re.compile(r"(?:.*:)?(\d{1,5})", re.ASCII)  # of a flow, or a port alone
PART: Final = 0.5  # of the longest wait in sockets: from here on the core makes it, not the reader
STANDS: Final = 0.001  # seconds that half of the packets wait where a queue stands
OFTEN: Final = 0.01  # of the packets: what waits long more rarely names no stage
UNSEEN: Final = (
    "How long a packet waited in the ring of the NIC, before the kernel polled it, has no stamp "
    "and is not known."
)


class Whose(NamedTuple):
    """What the packets of a stage waited for: a core, a reader or an interface."""

    name: str  # core 3, python3[123] or eth0; empty: unknown
    packets: int
    long: int  # of these
    longest: float  # seconds


@dataclass(frozen=True, slots=True)
class Stage:
    """The times of one stage, seconds; None without a packet."""

    stage: str
    packets: int
    p50: float | None = None
    p99: float | None = None
    longest: float | None = None
    long: int = 0  # packets that waited `LONG` or more
    whose: tuple[Whose, ...] = ()  # those with most long waits first


class Lost(NamedTuple):
    """Segments of TCP that a port of this host sent again, and why."""

    port: str
    again: int
    here: int | None  # segments of it that this host dropped, at the most `again`; None: unknown
    reason: str = ""  # the foremost of these drops
    place: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """The packets to show: all, of some ports, or of an interface."""

    ports: frozenset[str] = frozenset()  # a flow has two; empty: all
    number: str = ""  # of the interface; empty: all

    def has(self, row: Row, pids: frozenset[int]) -> bool:
        """Whether a row is of it; `pids` are its readers. Softirqs are of the whole host."""
        if row.stage in SOFTIRQS:
            return True
        if row.stage == "woken":
            return row.pid in pids
        port = not self.ports or row.port in self.ports
        return port and (not self.number or row.stage == "again" or row.number == self.number)


def target(text: str, nics: Mapping[str, str]) -> Target | None:
    """The target of `*`, an interface, `:443`, `443` or `LOCAL>REMOTE`; None for another text.

    `nics` has the names of the interfaces by their number.
    """
    if text == EVERY:
        return Target()
    number = next((number for number, name in nics.items() if name == text), "")
    if number:
        return Target(number=number)
    ends = [_END.fullmatch(end) for end in text.split(">")]
    ports = [int(end[1]) for end in ends if end]
    if len(ports) < len(ends) or not all(0 < port < 1 << 16 for port in ports):
        return None
    return Target(frozenset(map(str, ports)))


def chosen(rows: Iterable[Row], target: Target) -> list[Row]:
    """The rows of this namespace, and of all softirqs, that belong to the target."""
    here = [row for row in rows if row.where != "elsewhere"]
    nobody = frozenset[int]()
    pids = frozenset(
        row.pid for row in here if row.stage == "socket" and target.has(row, nobody)
    )  # fmt: skip
    return [row for row in here if target.has(row, pids)]


def stages(rows: Sequence[Row], nics: Mapping[str, str]) -> list[Stage]:
    """Every stage in the order of the way; `nics` has names of interfaces by their number."""
    return [_stage(name, [row for row in rows if row.stage == name], nics) for name in LONG]


def _stage(name: str, rows: Sequence[Row], nics: Mapping[str, str]) -> Stage:
    times = Counter[int]()
    by = dict[str, Counter[int]]()
    for row in rows:
        times[row.bucket] += row.packets
        by.setdefault(_whose(row, nics), Counter())[row.bucket] += row.packets
    if not times.total():
        return Stage(name, 0)
    found = [
        Whose(who, own.total(), above(own, LONG[name]), quantile(own, 1.0))
        for who, own in by.items()
    ]
    found.sort(key=lambda one: (-one.long, -one.packets, one.name))
    return Stage(
        name, times.total(), quantile(times, 0.5), quantile(times, 0.99), quantile(times, 1.0),
        above(times, LONG[name]), tuple(found),
    )  # fmt: skip


def _whose(row: Row, nics: Mapping[str, str]) -> str:
    if row.stage in SOFTIRQS:
        return f"core {row.number}"
    if row.stage == "queue":
        return nics.get(row.number) or (f"interface {row.number}" if row.number else "")
    return f"{row.name or '?'}[{row.pid or '?'}]"


def foremost(known: Iterable[Stage]) -> Stage | None:
    """The stage in which packets wait longest; None where few wait long.

    A packet whose reader was woken, but waits for a core, waits in both stages: the core is named.
    """
    late = {one.stage: one for one in known if one.long and one.long >= OFTEN * one.packets}
    woken, waiting = late.get("woken"), late.get("socket")
    if woken and waiting and (woken.longest or 0.0) >= PART * (waiting.longest or 0.0):
        del late["socket"]
    return max(late.values(), key=lambda one: one.p99 or 0.0, default=None)


def queued(known: Iterable[Stage]) -> str:
    """The sentence about a stage in which half of the packets wait, none of them long; else empty.

    A queue that stands is that: what sends fills it up to its length, and each packet waits.
    """
    half = max((one for one in known if one.packets), key=lambda one: one.p50 or 0.0, default=None)
    if half is None or (half.p50 or 0.0) < STANDS:
        return ""
    least, limit = seconds(half.p50), seconds(LONG[half.stage])
    name = half.whose[0].name if half.stage == "queue" and half.whose else ""
    if half.stage != "queue":
        return f"half of the packets wait {least} or more, few > {limit}: {MEANS[half.stage]}"
    where = f"the queue of {name}" if name else "a queue"
    return (
        f"half of the packets wait {least} or more in {where}: it stands, though few wait > {limit}"
    )


def losses(rows: Iterable[Row], drops: Iterable[drop_reasons.Row] | None) -> list[Lost]:
    """Who lost what TCP sent again, by port of this host; `drops` None: they were not counted."""
    again = Counter[str]()
    for row in rows:
        if row.stage == "again":
            again[row.port] += row.packets
    reasons = dict[str, Counter[tuple[str, str]]]()
    for drop in drops or ():
        known = drop.protocol == "tcp" and drop.where == "here" and drop.port in again
        if known and not drop_reasons.words(drop.reason, drop.place).normal:
            own = reasons.setdefault(drop.port, Counter())
            own[drop.reason, drop.place] += drop.packets
    found = []
    for port, count in again.most_common():
        if drops is None or port not in reasons:
            found.append(Lost(port, count, None if drops is None else 0))
            continue
        ((reason, place), _), *_ = reasons[port].most_common(1)
        found.append(Lost(port, count, min(count, reasons[port].total()), reason, place))
    return found


def sentences(known: Sequence[Stage], lost: Sequence[Lost]) -> list[str]:
    """What waited long and for whom, and who lost what was sent again."""
    found = [
        _waited(stage, one) for stage in known for one in stage.whose if one.long and one.name
    ]  # fmt: skip
    return found + [_told(one) for one in lost]


def _waited(stage: Stage, one: Whose) -> str:
    limit = seconds(LONG[stage.stage])
    longest = f"; the longest {seconds(one.longest)}"
    if stage.stage == "socket":
        return f"{many(one.long, 'packets')} waited > {limit} for the reader {one.name}{longest}"
    if stage.stage == "woken":
        return (
            f"the reader {one.name} was woken and waited > {limit} for a core: "
            f"{many(one.long, 'times')}{longest}"
        )
    if stage.stage == "queue":
        return f"{many(one.long, 'packets')} waited > {limit} in the queue of {one.name}{longest}"
    which = "receive" if stage.stage == "softirq-rx" else "transmit"
    return (
        f"{one.name}: {many(one.long, f'{which} softirqs')} ran > {limit} after "
        f"{'it was' if one.long == 1 else 'they were'} raised{longest}"
    )


def _told(one: Lost) -> str:
    text = f"{many(one.again, 'segments')} sent again by port {one.port or '?'}: "
    if one.here is None:
        return text + "whether this host dropped them was not counted"
    if not one.here:
        return text + "this host dropped none, the network or the other end lost them"
    where = f"{one.reason}{f' in {one.place}' if one.place else ''}"
    rest = one.again - one.here
    if rest:
        return f"{text}this host lost {one.here:,} ({where}), the network or the other end {rest:,}"
    return f"{text}this host lost them ({where})"
