"""Losses of a look, accounted for: by counters, by the kernel's reasons, and the rest by stage.

A counter says how many packets were lost and the kernel's reasons say why. What has no packet
buffer (a ring, a FIFO, XDP in a driver) is in counters alone, and what a rule or a route drops in
the reasons alone. `counter` of rules/drop-reasons.toml says which counter a packet with a reason
raises, so that none is counted twice: an interface that counts what a backlog or a queue below it
dropped (rx_dropped, tx_dropped of stacked and paired ones) has no part in it.

A reason counts the segments of a packet and some counters count the packet, so what is explained
is at most what is counted. A packet that the host answers (no socket has its port) is refused, not
lost. Both are read one after the other: a difference that may come from that
is `uncertain`, no rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from itertools import takewhile
from operator import attrgetter
from typing import Any, Final

from ..collect import drop_reasons
from ..collect._counted import UNKNOWN
from ..collect.snmp import Row as SnmpRow
from ..frame.rates import Frame
from . import Facts
from .flow_words import total
from .limits.stages import declared
from .losses import PROTOCOLS, Accounting, Place
from .sums import backlog_drops

# the tables of counters: of one look they are read at its begin and at its end
COUNTERS: Final = (
    "link_stats", "netdev", "nicqueues", "nicstats", "packet_sockets", "qdiscs", "queues", "snmp",
    "softnet",
)  # fmt: skip
PROTOCOLS_READ: Final = "snmp"
FILTERS: Final = "filter_drops"  # of the qdiscs ingress and clsact
COPIES: Final = "capture_drops"  # of packet sockets: what a capture misses
BACKLOG: Final = "cpu_backlog_drops"  # of the CPUs: it serves every network namespace
# counters that have others in them, which have reasons of their own
OF: Final = {"udp_errors": ("udp_rcvbuf_errors", "udp_memory_errors", "udp_checksum_errors")}
# those that count more than losses: as far as a reason of a loss says so
SOFT: Final = ("udp_errors", "frag_refused", "paws_drops", "reasm_fails")
OWN: Final = ("tun",)  # drivers of virtual interfaces that have a ring of their own
# of what a counter counts: so much may have come between both readings, or what both last apart
ERROR: Final = 0.05
SURE: Final = 2.0  # times what a counter counts: more packets of no interface are of others
FEW: Final = 2.0  # packets: the same
SLACK: Final = 1.0  # seconds by which the kernel may begin to count before the look
_SILENT: Final = ("NOT_SPECIFIED", drop_reasons.NO_REASON)  # reasons of which the place says more


def account(first: tuple[Frame, Facts], last: tuple[Frame, Facts]) -> Accounting:
    """What was lost between two moments of one look, the first of which begins it."""
    frame, _ = last
    totals = {nic.name: nic.total for nic in first[1].nics}
    moved = {nic.name for nic in last[1].nics if nic.total != totals.get(nic.name)}
    before, now = dict(_counts(*first, moved)), dict(_counts(*last, moved))
    grown = Counter[str]()
    for (counter, owner), count in now.items():
        # what is new may bring old counts along: an interface of another namespace
        grown[counter] += max(0, round(count - before.get((counter, owner), count)))
    seconds, whole = _seconds(frame), _read_at(frame) - _read_at(first[0])
    part = 0.0 < seconds < whole - SLACK  # of the time, as in the recording of an incident
    read = "drop_reasons" in frame.tables and not part
    refused = sum(grown.pop(counter, 0) for counter in drop_reasons.refusals())
    told, reasons, alone, answered = _told(first[0], frame, grown)
    for counter in SOFT:
        grown[counter] = min(grown[counter], told[counter])
    passed = whole if part else _passed(first[0], frame)
    apart = abs(1.0 - passed / (whole or passed or 1.0))
    places = [
        _place(counter, packets, told[counter] if read else 0, max(ERROR, apart))
        for counter, packets in grown.most_common() if packets
    ]  # fmt: skip
    why = None if read else frame.missing.get("drop_reasons", "")
    why = f"the kernel's reasons are of {seconds:.0f} s alone" if part else why
    named, others = tuple(reasons.most_common()), tuple(alone.most_common())
    return Accounting(passed, tuple(places), named, others, why, refused + answered)


def _passed(first: Frame, last: Frame) -> float:
    """The seconds of the look: those for which drops were counted, with the protocols' counters."""
    read = _read_at(last) - _read_at(first)
    was, now = _seconds(first), _seconds(last)
    if not _earlier(now, first, last):
        return now or read
    return now - was if was else read


def _seconds(frame: Frame) -> float:
    """For how long drops were counted; 0: there were none."""
    return max((row.seconds for row in frame.rows("drop_reasons")), default=0.0)


def _earlier(seconds: float, first: Frame, last: Frame) -> bool:
    """Whether drops that were counted for so long were so before the look began."""
    return seconds > _read_at(last) - _read_at(first) + SLACK


def _read_at(frame: Frame) -> float:
    """When the protocols' counters of a frame were read: after the tables that come before them.

    The first frame of a look starts programs in the kernel, which takes a part of a second.
    """
    before = takewhile(lambda one: one[0] != PROTOCOLS_READ, frame.cost.items())
    return frame.at + sum(cost for _, cost in before)


def accounted(first: tuple[Frame, Facts], last: tuple[Frame, Facts]) -> Facts:
    """The facts of the last moment with the losses of the whole look."""
    return replace(last[1], losses=account(first, last))


def _place(counter: str, packets: int, told: int, error: float) -> Place:
    """`told`: packets that have a reason, by the kernel; `error`: of what is counted."""
    near = told and packets - told <= max(FEW, error * packets)
    rest = 0 if near or told >= packets else packets - told
    return Place(counter, _stages().get(counter, PROTOCOLS), packets, min(packets, told), rest)


@cache
def _stages() -> Mapping[str, str]:
    """The stage of each counter that belongs to one."""
    found = {
        name: stage.name
        for stage in declared().values()
        for name in (*stage.lost_rx, *stage.lost_tx, *stage.lost_here)
    }
    return {**found, FILTERS: "qdisc", COPIES: "capture", "xdp_drops": "xdp"}


def _counts(
    frame: Frame, facts: Facts, nics: Container[str]
) -> Iterator[tuple[tuple[str, str], float]]:
    """The counters of lost packets, by name and what they belong to; `nics`: interfaces to read."""
    for nic in facts.nics:
        if nic.name not in nics:
            continue
        names, values = _of_device(card=nic.kind == "nic", ring=nic.driver in OWN)
        for name, count in zip(names, values(nic.total), strict=True):
            if count is not None:
                yield (name, nic.name), count
    for counter, row, owner in _queues(frame):
        if row.drops is not None:
            yield (counter, owner), row.drops
    for row in frame.rows("snmp"):
        for name in _of_host():
            count = getattr(row, name)
            if count is not None:
                yield (name, ""), count - sum(getattr(row, one) or 0 for one in OF.get(name, ()))
    dropped = backlog_drops(frame)
    if facts.host.container and dropped is not None:  # as `core.of_namespace`
        dropped = min(dropped, total(nic.total.rx_dropped for nic in facts.nics) or 0.0)
    if dropped is not None:
        yield (BACKLOG, ""), dropped


def _queues(frame: Frame) -> Iterator[tuple[str, Any, str]]:
    """The filters and packet sockets that count what they drop, with their counter and name."""
    for row in frame.rows("qdiscs"):
        if row.parent == "ingress":
            yield FILTERS, row, f"{row.interface} {row.handle}"
    for row in frame.rows("packet_sockets"):
        yield COPIES, row, str(row.inode)


@cache
def _of_device(*, card: bool, ring: bool) -> tuple[tuple[str, ...], Callable[[object], Any]]:
    """The counters of an interface for what it loses itself, and no other place counts.

    `card`: it is a network card; `ring`: a virtual interface with a ring. And what reads them.
    """
    stages = [stage for stage in declared().values() if card or not stage.card]
    found = [name for one in stages for name in (*one.lost_rx, *one.lost_tx)]
    names = tuple(dict.fromkeys(["xdp_drops", *found, *(["tx_dropped"] if ring else [])]))
    return names, attrgetter(*names)


@cache
def _of_host() -> tuple[str, ...]:
    """The counters of the protocols: those of stages, and those that a reason names."""
    names = {*_stages(), *drop_reasons.counters()}
    return tuple(one.name for one in fields(SnmpRow) if one.name in names)


def _told(
    first: Frame, last: Frame, grown: Mapping[str, int]
) -> tuple[Counter[str], Counter[str], Counter[str], int]:
    """Packets with a reason: by counter; by reason those of counters; by reason all others.

    And the number of those that are answered and have no counter. A reason that says nothing is
    none, and what no counter has is told of this namespace alone.
    """
    was = {_key(row): row.packets for row in first.rows("drop_reasons")}
    told, reasons, alone = Counter[str](), Counter[str](), Counter[str]()
    answered = 0
    for row in last.rows("drop_reasons"):
        before = was.get(_key(row), 0) if _earlier(row.seconds, first, last) else 0
        packets = row.packets - before
        words = drop_reasons.words(row.reason, row.place)
        counter = drop_reasons.counted_by(row.reason, row.place, row.protocol)
        ours = row.where == "here" or counter == BACKLOG
        ours = ours or (row.where == "unknown" and packets <= SURE * grown.get(counter, 0))
        if packets <= 0 or words.normal or not ours:
            continue
        if drop_reasons.answered(row.reason, row.place):
            answered += packets if counter not in drop_reasons.refusals() else 0
        elif grown.get(counter):
            told[counter] += packets
            reasons[row.reason] += packets
        elif words.kind != UNKNOWN and row.where == "here":
            alone[row.place if row.reason in _SILENT else row.reason] += packets
    return told, reasons, alone, answered


def _key(row: drop_reasons.Row) -> tuple[str, ...]:
    return row.reason, row.place, row.where, row.interface, row.protocol, row.port
