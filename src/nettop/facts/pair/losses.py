"""Where segments of a flow are lost: between the two stacks, in a queue of a host, at the socket.

A stack counts a segment with data when it hands it to the device (data_segs_out,
net/ipv4/tcp_output.c, __tcp_transmit_skb()) and when it arrives, before the socket's own backlog
(data_segs_in, net/ipv4/tcp.c, tcp_segs_in()). The difference is what is on the way, what the
sender's own queues refused, and what was lost. Data on the way is at most what was sent and not yet
received. The clocks differ, so this host is read before and after the other one, and both counts
bound the result.

Refused locally: bytes sent, without retransmitted ones, that are neither acknowledged nor in
flight. A qdisc that takes a large packet apart, or drops it later, does not refuse it.

The counters of one host count all flows, so each gives a range for one flow. A qdisc also counts
the drops of its children (net/sched/sch_htb.c, htb_enqueue()). So the drops of an interface are the
larger of the root's count and the sum of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from math import ceil, inf
from operator import itemgetter
from typing import Any, Final

from ...collect.sockets_tcp import Row as TcpRow
from ...frame.rates import Frame
from ...terms import units
from ...terms.dataclass import dataclass
from .. import Facts
from ..kinds.nic import Nic
from ..kinds.path import lost
from ..limits import Interval
from ..limits.stages import declared, way
from ..sums import backlog_drops
from . import BETWEEN, HERE, THERE, Losses, Place

MERGED: Final = 1.1  # segments' worth of bytes in what the receiver counts as one
PACKET: Final = 65_536  # bytes of the largest packet before segmentation
_UNCOUNTED: Final = "no counter of the host says which"
COUNTED: Final = (  # fields of tcp_info without which nothing is counted: of sender, of receiver
    ("data_segs_out", "bytes_sent", "bytes_retrans", "bytes_acked", "unacked"),
    ("data_segs_in", "bytes_received"),
)
FEW: Final = 0.1  # of a socket's drops: duplicates are reported a moment after they are dropped
SOCKET: Final = "receiving socket"
_MERGED: Final = ("backlog", "qdisc")  # of a receiver: what they drop may be merged segments


@dataclass(frozen=True, slots=True)
class FlowRows:
    """The rows of one flow, read close together, and what both hosts lost until then.

    `sender` and `receiver`: the earliest and the latest row that may be of the same moment.
    """

    at: float  # seconds
    sender: tuple[TcpRow, TcpRow]
    receiver: tuple[TcpRow, TcpRow]
    leaving: Counts
    arriving: Counts


def losses(first: FlowRows, last: FlowRows, *, sends: bool) -> Losses | None:
    """What was lost between two looks; `sends`: this host is the sender. None: not counted."""
    out, mss = _grown(first.sender, last.sender, "data_segs_out"), last.sender[0].mss
    arrived = _grown(first.receiver, last.receiver, "data_segs_in")
    received = _grown(first.receiver, last.receiver, "bytes_received")
    if out is None or arrived is None or received is None or not mss or last.at <= first.at:
        return None
    merged = arrived > 0 and received > MERGED * mss * arrived
    begin, end = _missing(first, mss, merged=merged), _missing(last, mss, merged=merged)
    refused = _refused(last.sender[0], first.sender[0], mss)
    if begin is None or end is None or refused is None:
        return None
    again = (_grown(first.sender, last.sender, "total_retrans") or 0.0) - (
        _grown(first.sender, last.sender, "dsack_dups") or 0.0
    )
    spurious = _grown(first.sender, last.sender, "dsack_dups") or 0.0
    least = end[0] - begin[1] - refused - (spurious if merged else 0.0)
    most = min(end[1] - begin[0] - refused, _unrepaired(first, last))
    between = max(0.0, min(least, most)), max(0.0, most)
    places = _places(first, last, between, refused, (again, spurious), sends=sends)
    return Losses(
        last.at - first.at, int(out), max(0, int(again)), refused, between, places, merged=merged
    )


def _unrepaired(first: FlowRows, last: FlowRows) -> float:
    """The most that can have been lost: segments sent again or not yet acknowledged."""
    now, was = last.sender[1], first.sender[0]
    if now.total_retrans is None or was.total_retrans is None or now.unacked is None:
        return inf
    return float(now.total_retrans - was.total_retrans + now.unacked)


def _grown(first: tuple[TcpRow, TcpRow], last: tuple[TcpRow, TcpRow], name: str) -> float | None:
    was, now = getattr(first[0], name), getattr(last[0], name)
    return None if was is None or now is None or now < was else float(now - was)


def _missing(look: FlowRows, mss: int, *, merged: bool) -> Interval | None:
    """Segments that were sent until this look and have neither arrived nor are on the way."""
    early, late = look.sender
    before, after = look.receiver
    if early.unacked is None or before.bytes_received is None:
        return None
    if merged:
        sent, got = ("bytes_sent", "bytes_received")
        scale = float(mss)
    else:
        sent, got, scale = "data_segs_out", "data_segs_in", 1.0
    low, high = getattr(early, sent), getattr(late, sent)
    least, most = getattr(before, got), getattr(after, got)
    flying = _unarrived(early, before, mss)
    if low is None or high is None or least is None or most is None:
        return None
    return (low - most) / scale - flying, (high - least) / scale


def _unarrived(sender: TcpRow, receiver: TcpRow, mss: int) -> float:
    """The most segments that can be on the way: sent and not yet received in order."""
    acked, got = sender.bytes_acked, receiver.bytes_received
    flying = float(sender.unacked or 0)
    if acked is None or got is None:
        return flying
    return min(flying, max(0.0, ceil((acked + flying * mss - got) / mss)))


def _refused(now: TcpRow, was: TcpRow, mss: int) -> float | None:
    """Segments that the sending host itself refused; each is sent again, and counted again.

    Data in flight is counted in bytes and in segments. The kernel reads the bytes first and waits
    for the lock of the socket before it reads the other figures, so on a busy host they may be of
    an earlier moment; a segment may be smaller than the MSS.
    """
    queued, counted = [], []
    for row in (now, was):
        if row.bytes_sent is None or row.bytes_retrans is None or row.bytes_acked is None:
            return None
        sent = row.bytes_sent - row.bytes_retrans - row.bytes_acked
        queued.append(sent - (row.send_q - (row.notsent or 0)))
        counted.append(sent - (row.unacked or 0) * mss)
    return max(0.0, min(queued[0] - queued[1], counted[0] - counted[1]) / mss)


def _places(
    first: FlowRows,
    last: FlowRows,
    between: Interval,
    refused: float,
    again: Interval,
    *,
    sends: bool,
) -> tuple[Place, ...]:
    """Each counter of a host that grew, the network, and the socket; the most likely first."""
    sender, receiver = (HERE, THERE) if sends else (THERE, HERE)
    repaired, spurious = again
    mss = last.sender[0].mss or 1
    lost = between[1] + refused
    about = min(max(repaired, between[0]), between[1])  # retransmissions give the likely count
    likely = about + refused
    found: list[tuple[float, Place]] = []  # with the segments that it explains, roughly
    for stage, count in _grew(first.leaving, last.leaving):
        # each packet refused by a qdisc is one count, of many segments
        sizes = max(refused, 0.0), min(count * ceil(PACKET / mss), lost)
        place = Place(sender, stage, last.leaving.names[stage], _ordered(sizes), _words(count))
        found.append((min(sizes[1] if refused >= 1 else count, likely), place))
    if refused >= 1 and not found:
        place = Place(sender, "qdisc", "queues of the sender", (refused, refused), _UNCOUNTED)
        found.append((refused, place))
    merged = max(1.0, last.arriving.mean(first.arriving) / mss)
    for stage, count in _grew(first.arriving, last.arriving):
        most = count * (ceil(PACKET / mss) if stage in _MERGED else 1)
        place = Place(receiver, stage, last.arriving.names[stage], (0.0, min(most, lost)),
                      _words(count))  # fmt: skip
        found.append((min(count * merged, likely), place))
    explained = sum(place.segments[1] for _, place in found) - refused
    network = max(0.0, between[0] - max(0.0, explained)), between[1]
    if network[1] >= 1 and (between[0] >= 1 or repaired >= 1):
        why = "no counter of either host accounts for it" if found else "no host counts a drop"
        rest = about - max(0.0, sum(weight for weight, _ in found) - refused)
        weight = max(network[0], rest)
        found.append((weight, Place(BETWEEN, "path", _way(sends=sends), network, why)))
    drops = _grown(first.receiver, last.receiver, "drops") or 0.0
    if drops - spurious >= max(1.0, FEW * drops):  # it also drops segments that it has already
        why = f"{units.many(drops, 'packets')} dropped at the socket, after they were counted"
        place = Place(receiver, "rcvbuf", SOCKET, (drops - spurious, drops), why)
        found.append((drops - spurious, place))

    def likely_first(known: tuple[float, Place]) -> tuple[float, int, int]:
        """What explains most; of two equal places the farther one, the network last."""
        weight, place = known
        stage = declared()[place.stage]
        if place.end == receiver:
            return -weight, 0, -stage.receiving
        return (-weight, 1, -stage.sending) if place.end == sender else (-weight, 2, 0)

    return tuple(place for _, place in sorted(found, key=likely_first))


def _grew(was: Counts, now: Counts) -> Iterator[tuple[str, float]]:
    """The counters that grew, by how much."""
    for stage, count in now.lost.items():
        if (grown := count - was.lost.get(stage, count)) >= 1:
            yield stage, grown


def _words(count: float) -> str:
    return f"{units.many(count, 'packets')} of all flows"


def _ordered(sizes: Interval) -> Interval:
    return min(sizes), max(sizes)


def _way(*, sends: bool) -> str:
    return "network from here to there" if sends else "network from there to here"


@dataclass(frozen=True, slots=True)
class Counts:
    """Packets that a host lost since it started, by stage; what is not known is absent."""

    lost: dict[str, float] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # stage → the place in words
    received: tuple[float, float] | None = None  # bytes and packets of the interface
    waits: str = ""  # the queue in which packets wait to leave; empty: in none

    def mean(self, before: Counts) -> float:
        """Mean bytes of a received packet, which may be several merged segments; 0 if not known."""
        if self.received is None or before.received is None:
            return 0.0
        size, count = (now - was for now, was in zip(self.received, before.received, strict=True))
        return size / count if count > 0 else 0.0


def leaving(frame: Frame, facts: Facts, interface: str | None) -> Counts:
    """What is lost on the way out of an interface."""
    ports = _ports(facts, interface)
    names = {nic.name for nic in ports}
    rows = [
        row for row in frame.rows("qdiscs") if row.interface in names and row.parent != "ingress"
    ]
    full = max(rows, key=lambda row: row.backlog or 0, default=None)
    known = Counts(waits=_qdisc_name([full]) if full is not None and full.backlog else "")
    drops = _qdiscs(rows)
    if drops is not None:
        known.lost["qdisc"] = drops
        known.names["qdisc"] = _qdisc_name(rows)
    _add(known, ports, "tx")
    return known


def arriving(frame: Frame, facts: Facts, interface: str | None) -> Counts:
    """What is lost between the wire and the socket."""
    ports = _ports(facts, interface)
    known = Counts(received=_received(ports))
    _add(known, ports, "rx")
    names = {nic.name for nic in ports}
    policed = [
        row
        for row in frame.rows("qdiscs")
        if row.interface in names and row.parent == "ingress" and row.drops is not None
    ]
    if policed:
        known.lost["qdisc"] = float(sum(row.drops for row in policed))
        known.names["qdisc"] = f"filters of {_qdisc_name(policed)}"
    dropped = backlog_drops(frame)
    if dropped is not None:
        known.lost["backlog"] = dropped
        known.names["backlog"] = "backlog of its CPUs"
    return known


def _ports(facts: Facts, interface: str | None) -> list[Nic]:
    """The interface and the ports below it."""
    top = next((nic for nic in facts.nics if nic.name == interface), None)
    if top is None:
        return []
    return [top, *(nic for nic in facts.nics if nic.name in top.lower and nic is not top)]


def _received(ports: list[Nic]) -> tuple[float, float] | None:
    if not ports or ports[0].total.rx_bytes is None or ports[0].total.rx_packets is None:
        return None
    return ports[0].total.rx_bytes, ports[0].total.rx_packets


def _add(known: Counts, ports: list[Nic], direction: str) -> None:
    """What the stages of the card lost."""
    for stage in way(direction):
        if not stage.card or stage.name == "wire":  # what the wire damages is lost in the network
            continue
        values = [
            (value, nic.name)
            for nic in ports
            if (value := lost(stage, nic.total, direction)) is not None
        ]
        if values:
            known.lost[stage.name] = float(sum(value for value, _ in values))
            known.names[stage.name] = f"{max(values, key=itemgetter(0))[1]}, {stage.why}"


def _qdiscs(rows: list[Any]) -> float | None:
    totals: dict[str, list[float]] = {}
    for row in rows:
        if row.drops is not None:
            total = totals.setdefault(row.interface, [0.0, 0.0])
            total[0 if row.root else 1] += row.drops
    return sum(max(total) for total in totals.values()) if totals else None


def _qdisc_name(rows: list[Any]) -> str:
    most = max(rows, key=lambda row: row.drops or 0)
    return f"{most.kind} {most.handle} of {most.interface}"
