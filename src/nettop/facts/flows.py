"""Flows: sockets joined with route, receive queue, interrupt core and process.

What limits them is decided from several frames, in `limits`.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final, TypeAlias

from ..collect.drop_reasons import Row as DropReasonRow
from ..collect.sockets_tcp import Row as TcpRow
from ..collect.sockets_udp import Row as UdpRow
from ..frame.pairs import SLOW, Calm
from ..frame.rates import Entry
from ..terms import formulas
from ..terms.dataclass import dataclass
from . import crowd, place
from .flow_words import CALM, SHOWN, joined, part
from .kinds.core import Core
from .kinds.flow import Flow
from .kinds.nic import Nic
from .kinds.process import Tasks, Use
from .kinds.queue import Queue
from .landing import COMPUTED, Landed, Sites, identity, seen

UDP_MOST: Final = 64
BULK_RATE: Final = 10e6  # bit/s
BULK_SHARE: Final = 0.01  # of its link
FULL: Final = 0.7  # of the send buffer in flight, on average
ROOM: Final = 0.5  # of the congestion window in use, at most: then the window has room
BUSY: Final = 0.5  # of the time with data in flight: then the flow has data to send
NOTHING: Final = "moves little, and nothing waits"
ONE_CPU: Final = 0.9  # of a NIC's interrupts: then all are attributed to this CPU


@dataclass(frozen=True, slots=True)
class Full:
    """A listening socket whose accept queue is full: connections dropped per second, backlog.

    `waiting` is what the queue holds at the look: less than the backlog between bursts.
    """

    drops: float
    name: str
    backlog: int
    waiting: int | None = None
    bound: bool = False  # by a setting of the host, not by the socket


@dataclass(slots=True)
class Sockets:
    """The sockets of a frame before they become flows: receive queues, rates, owners, totals."""

    connections: int = 0  # established ones
    udp: list[Entry[UdpRow]] = field(default_factory=list)
    by_nic: dict[str, int] = field(default_factory=dict)
    bulk: dict[str, int] = field(default_factory=dict)  # bulk flows of each interface
    owners: Mapping[int, tuple[int, str]] = field(default_factory=dict)
    placed: dict[str, dict[str, float]] = field(default_factory=dict)  # bytes/s by port and queue
    known: bool = False
    full: Full | None = None  # the listener whose accept queue overflows most
    busiest: list[tuple[float, Entry[TcpRow], Landed]] = field(default_factory=list)
    uses: dict[int, Use] = field(default_factory=dict)  # the network use of each process by pid

    @classmethod
    def of(
        cls, tcp: Sequence[Entry[TcpRow]] | None, udp: Sequence[Entry[UdpRow]], landing: Sites,
        owners: Mapping[int, tuple[int, str]], dropped: Sequence[Entry[DropReasonRow]] = (),
    ) -> Sockets:  # fmt: skip
        """Join the socket tables; `owners` maps an inode to the process and its name.

        `tcp` is None when the table could not be read; `dropped` are packets that the kernel did.
        """
        found = cls(owners=owners, udp=list(udp), known=tcp is not None)
        tcp_flows: list[crowd.Moving] = []
        landing.begin()
        others, calm = crowd.split(tcp or ())
        places = crowd.sites(calm, landing)
        alone = {ends for ends, (site, _) in places.items() if _counts_alone(site, landing)}
        if alone:
            others, calm = crowd.apart(others, calm, alone)
            places = crowd.sites(calm, landing)
        for entry in others:
            row = entry.now
            if row.state == "listen":
                found.full = _fuller(found.full, entry, owners)
            if not joined(entry):
                continue
            site = landing.site(row.cookie, "tcp", row)
            received, sent = _moved(entry)
            moved = (received or 0.0) + (sent or 0.0)
            found.count(site, 1)
            if moved and site.nic is not None and _bulk(moved, _speed(landing, site)):
                found.bulk[site.nic] = found.bulk.get(site.nic, 0) + 1
            if site.why == COMPUTED and site.port is not None and site.queue is not None:
                placed = found.placed.setdefault(site.port, {})
                placed[site.queue] = placed.get(site.queue, 0.0) + (received or 0.0)
            tcp_flows.append((moved, received, sent, entry, site))
        found.busiest = [
            (moved, entry.unpacked(), site)
            for moved, _, _, entry, site in heapq.nlargest(
                SHOWN, tcp_flows, key=lambda item: item[0]
            )
        ]
        for entry in crowd.busiest(calm, min(CALM, SHOWN - len(found.busiest))):
            site = landing.site(entry.now.cookie, "tcp", entry.now)
            found.busiest.append((sum(crowd.moved(entry)), entry.unpacked(), site))
        for site, count in places.values():
            found.count(site, count)
        found.connections = len(tcp_flows) + len(calm)
        found.uses = crowd.uses(tcp_flows, found.udp, calm, places, owners, dropped)
        return found

    def count(self, site: Landed, connections: int) -> None:
        """Add connections to their interface and the port below it."""
        if site.nic is not None:
            self.by_nic[site.nic] = self.by_nic.get(site.nic, 0) + connections
        if site.port is not None and site.port != site.nic:
            self.by_nic[site.port] = self.by_nic.get(site.port, 0) + connections


def _fuller(
    known: Full | None, entry: Entry[TcpRow], owners: Mapping[int, tuple[int, str]]
) -> Full | None:
    """This listener if it drops more than the known one; the kernel counts drops by socket.

    The queue is full when it is longer than the backlog (include/net/sock.h, sk_acceptq_is_full()).
    """
    row, drops = entry.now, entry.rate("drops") or 0.0
    if not drops and row.recv_q <= row.send_q:
        return known
    if known is not None and known.drops >= drops:
        return known
    return Full(drops, name_of(row, owners), row.send_q, row.recv_q)


def name_of(row: TcpRow, owners: Mapping[int, tuple[int, str]]) -> str:
    """A listening socket by process and address: `app[7], 0.0.0.0:80`."""
    owner = owners.get(row.inode)
    place = f"[{row.local}]" if ":" in row.local else row.local
    name = f"{place}:{row.local_port}"
    return f"{owner[1]}[{owner[0]}], {name}" if owner else name


def _counts_alone(site: Landed, landing: Sites) -> bool:
    """Whether each connection counts: its ports decide the queue, or the link is slow."""
    return site.why == COMPUTED or _bulk(SLOW, _speed(landing, site))


def _moved(entry: Entry[TcpRow]) -> tuple[float | None, float | None]:
    """Bytes received and acknowledged per second."""
    if isinstance(entry, Calm):
        return entry.rx_tx
    if entry.still and entry.now.bytes_received is not None:  # of many sockets most are idle
        return 0.0, 0.0
    return entry.rate("bytes_received"), entry.rate("bytes_acked")


@dataclass(frozen=True, slots=True)
class FlowInputs:
    """The other facts that a flow is joined with."""

    landing: Sites
    nics: Mapping[str, Nic]
    queues: Mapping[str, list[Queue]]
    cores: Mapping[int, Core]
    tasks: Tasks
    served: Mapping[tuple[str, str], int | None]  # CPU of each queue, by interface and name
    rmem: tuple[int, ...] = ()
    wmem: tuple[int, ...] = ()
    doubts: Mapping[str, str] = field(default_factory=dict)  # why RSS gives no queue, by port
    kept: Kept = field(default_factory=dict)


Kept: TypeAlias = "dict[int, tuple[Entry[TcpRow], tuple[object, ...], Flow]]"
"""TCP flows built before, by cookie of the socket: its entry, the other inputs, the flow."""


def build(sockets: Sockets, around: FlowInputs) -> tuple[Flow, ...]:
    """The busiest flows, and UDP sockets that lose or hold datagrams."""
    tcp = sockets.busiest
    flows = [_tcp(moved, entry, site, sockets, around) for moved, entry, site in tcp]
    if len(around.kept) > 2 * len(tcp):
        shown = {entry.now.cookie for _, entry, _ in tcp}
        for cookie in [cookie for cookie in around.kept if cookie not in shown]:
            del around.kept[cookie]
    waiting = [entry for entry in sockets.udp if _matters(entry)][:UDP_MOST]
    return (*flows, *(_udp(entry, sockets, around) for entry in waiting))


def _tcp(
    moved: float, entry: Entry[TcpRow], site: Landed, sockets: Sockets, around: FlowInputs
) -> Flow:
    row = entry.now
    nic = around.nics.get(site.port or site.nic or "")
    speed = nic.speed if nic is not None else None
    owner = sockets.owners.get(row.inode)
    place = _place(site, entry.rate("bytes_received"), nic, around, owner[0] if owner else None)
    share = speed / max(1, sockets.bulk.get(site.nic or "", 1)) if speed else 0.0
    inputs = entry, (site, owner, place, speed, share, around.rmem, around.wmem)
    old = around.kept.get(row.cookie)
    if old is not None and old[0] is entry and old[1] == inputs[1]:
        return old[2]
    rate = entry.per_s
    rx, tx, again, sent, busy, rwnd, sndbuf, drops, had, reordered, gaps, came, carried = (
        (rate.bytes_received, rate.bytes_acked, rate.total_retrans, rate.segs_out, rate.busy_time,
         rate.rwnd_limited, rate.sndbuf_limited, rate.drops, rate.dsack_dups, rate.reord_seen,
         rate.rcv_ooopack, rate.data_segs_in, rate.data_segs_out)
        if rate is not None else (None,) * 13
    )  # fmt: skip
    rtt, min_rtt = _seconds(row.rtt), _seconds(row.min_rtt)
    trip = rtt if rtt is not None else _seconds(row.rcv_rtt)
    sends = None if not (moved or row.unacked) else (tx or 0.0) >= (rx or 0.0)
    bulk = _bulk(moved, speed)
    values = (
        identity("tcp", row, site), "tcp", row.local, row.local_port, row.remote, row.remote_port,
        row.inode,
        owner[0] if owner is not None else None, owner[1] if owner is not None else None,
        site.nic, rx, tx, rtt, min_rtt, _seconds(row.rttvar), row.cwnd, row.ssthresh, row.mss,
        _bits(row.delivery_rate), _bits(row.pacing_rate), again,
        part(again, sent),
        row.lost, row.unacked, row.notsent, part(rwnd, busy), part(sndbuf, busy),
        part(busy, 1e6), row.app_limited, row.rcv_space,
        row.rcvbuf, row.sndbuf, _fixed(row.rcvbuf, around.rmem), row.recv_q, row.send_q, drops,
        row.congestion, row.timestamps, row.sack, row.wscale,
        _bdp(8 * max(rx or 0.0, tx or 0.0), share, min_rtt if min_rtt is not None else trip),
        _window(sends, trip, around),
        None if sends is None else "send" if sends else "receive",
        bulk, bulk or _waits(row, busy), row.probes, row.backoff, row.total_retrans,
        row.bytes_acked, row.snd_wnd, _offers(row), _loss_total(row), *place,
    )  # fmt: skip
    last = (
        _full(row, tx, rtt), *_lost(sent, again, had), reordered, site.namespace,
        part(gaps, came),
        row.rmem_alloc if row.rcv_ooopack and not row.recv_q else 0,
        row.bytes_received, came, carried,
        max(0.0, sent - carried) if sent is not None and carried is not None else None,
        row.last_sent / 1e3 if row.last_sent is not None else None,
        _seconds(row.busy_time), _seconds(row.rcv_rtt or None),
        row.last_received / 1e3 if row.last_received is not None else None,
        row.pmtu, formulas.loss_bound(row.mss, trip, _loss_total(row)),
    )  # fmt: skip
    rests, why = ("none", NOTHING) if tx is not None else (None, None)  # until `limits` names one
    flow = Flow(*values, rests, why, *last)
    around.kept[row.cookie] = *inputs, flow
    return flow


def _lost(
    sent: float | None, again: float | None, had: float | None
) -> tuple[float | None, float | None]:
    """The share of sent segments that was lost, and the share of retransmissions sent needlessly.

    The receiver reports each segment that it got twice (DSACK, RFC 2883). On a kernel that does not
    count these reports, every retransmission counts as a loss. Before Linux 5.9 a report counted as
    one segment, so the loss is too high (net/ipv4/tcp_input.c, tcp_dsack_seen()).
    """
    if again is None:
        return None, None
    return part(max(0.0, again - (had or 0.0)), sent), part(had, again)


def _full(row: TcpRow, tx: float | None, rtt: float | None) -> bool | None:
    """Whether data in flight fills the send buffer while the path could carry more.

    The kernel's own clock (sndbuf_limited) starts only when data is sent while the program waits
    for room (net/ipv4/tcp_output.c, tcp_cwnd_validate()), so it misses a buffer so small that its
    data always leaves at once. The average data in flight is the rate times the round trip; the
    amount at the moment of the sample may be zero, just before the buffer is filled again.
    """
    if tx is None or rtt is None or row.sndbuf is None or row.cwnd is None or row.mss is None:
        return None
    return FULL * row.sndbuf <= tx * rtt <= ROOM * row.cwnd * row.mss


def _place(
    site: Landed, rx: float | None, nic: Nic | None, around: FlowInputs, pid: int | None
) -> tuple[str | None, str, int | None, int | None, str | None, bool | None]:
    """Queue, how the queue is known, interrupt CPU, process CPU, place, whether it is far."""
    queue, why = _believed(site, around)
    queues = around.queues.get(site.port or "")
    if queue is None and nic is not None and queues:
        whole = nic.per_s.rx_bytes
        found = seen(rx / whole if rx is not None and whole else None, queues)
        if found is not None:
            queue, why = found, "seen from counters"
    irq_cpu = around.served.get((site.port or "", queue)) if queue is not None else None
    if irq_cpu is None and nic is not None and (nic.irq_top_share or 0.0) >= ONE_CPU:
        irq_cpu = nic.irq_top_cpu
    task = around.tasks.by_pid.get(pid) if pid is not None else None
    app_cpu = task.cpu if task is not None else None
    step = place.between(around.cores, irq_cpu, app_cpu)
    return queue, why, irq_cpu, app_cpu, step, None if step is None else step == place.STEPS[-1]


def _udp(entry: Entry[UdpRow], sockets: Sockets, around: FlowInputs) -> Flow:
    row, rate = entry.now, entry.per_s
    site = around.landing.site(("udp", row.inode, row.local, row.local_port), "udp", row)
    queue, why = _believed(site, around)
    owner = sockets.owners.get(row.inode)
    task = around.tasks.by_pid.get(owner[0]) if owner is not None else None
    connected = bool(row.remote_port)
    return Flow(
        identity("udp", row, site), "udp", row.local, row.local_port, row.remote, row.remote_port,
        row.inode,
        owner[0] if owner is not None else None, owner[1] if owner is not None else None,
        site.nic if connected else None,
        recv_q=row.recv_q, send_q=row.send_q,
        drops_per_s=rate.drops if rate is not None else None,
        queue=queue if connected else None,
        queue_why=why if connected else "the socket takes datagrams of any sender",
        app_cpu=task.cpu if task is not None else None,
        namespace=site.namespace,
    )  # fmt: skip


def _believed(site: Landed, around: FlowInputs) -> tuple[str | None, str]:
    """The queue and how it is known; no queue if the queue counters contradict RSS."""
    doubt = around.doubts.get(site.port or "") if site.why == COMPUTED else None
    return (site.queue, site.why) if doubt is None else (None, doubt)


def _matters(entry: Entry[UdpRow]) -> bool:
    return bool(entry.now.recv_q or (entry.per_s is not None and entry.per_s.drops))


def _speed(landing: Sites, site: Landed) -> float | None:
    port = landing.ports.get(site.port or site.nic or "")
    return port.speed if port is not None else None


def _bulk(moved: float, speed: float | None) -> bool:
    """Whether `moved` (bytes/s) exceeds 10 Mbit/s or, if less, 1 % of the link."""
    least = min(BULK_RATE, BULK_SHARE * speed) if speed else BULK_RATE
    return moved * 8 > least


def _waits(row: TcpRow, busy: float | None) -> bool:
    """Whether data waits to be sent, a timer waits for an answer, or data is mostly in flight."""
    waits = row.notsent or row.backoff or row.probes or row.lost
    return bool(waits) or (busy is not None and busy >= BUSY * 1e6)


def _offers(row: TcpRow) -> int | None:
    """The largest window that this end can offer: no more than 16 bits and its scale express."""
    most, scale = row.rcv_ssthresh, row.rcv_wscale if row.wscale else None
    return most if most is None or scale is None else min(most, formulas.largest_window(scale))


def _loss_total(row: TcpRow) -> float | None:
    """The shares of `_lost` since the connection began; what was sent again counts as sent too."""
    again, sent = row.total_retrans, row.data_segs_out
    if again is None or not sent or again > sent:
        return None
    return max(0, again - (row.dsack_dups or 0)) / sent


def _bdp(rate: float, share: float, trip: float | None) -> float | None:
    """Bytes in flight without a queue, at the flow's rate or its share of the link."""
    return None if trip is None else formulas.bdp(max(rate, share), trip)


def _window(sends: bool | None, trip: float | None, around: FlowInputs) -> float | None:
    """The rate in bit/s that the largest window allows.

    Half of the largest buffer holds payload, the rest the structures of packets:
    tcp_adv_win_scale is 1 by default (Documentation/networking/ip-sysctl.rst).
    """
    triple = around.wmem if sends else around.rmem
    if sends is None or not trip or len(triple) != 3:
        return None
    return formulas.window_cap(triple[2] / 2, trip)


def _fixed(rcvbuf: int | None, rmem: tuple[int, ...]) -> bool | None:
    """True for a buffer size that autotuning cannot produce (set by the application); else None."""
    if rcvbuf is None or len(rmem) != 3:
        return None
    return True if rcvbuf < rmem[1] or rcvbuf > rmem[2] else None


def _seconds(microseconds: float | None) -> float | None:
    return None if not microseconds else microseconds / 1e6


def _bits(size: float | None) -> float | None:
    return None if size is None else 8.0 * size
