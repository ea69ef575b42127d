"""Values that facts take from one table alone, and the numbers in the text of a sysctl."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ..collect.drop_reasons import Row as DropReasonRow
from ..collect.half_open import Row as HalfOpenRow
from ..collect.nicqueues import Row as NicQueueRow
from ..collect.packet_sockets import Row as PacketSocketRow
from ..collect.rdma import Row as RdmaRow
from ..collect.socket_owners import Row as SocketOwnerRow
from ..collect.sockets_tcp import Row as TcpRow
from ..collect.sysctl_files import Row as SysctlLineRow
from ..frame.rates import Entry
from .counters import grown
from .flow_words import EVERYWHERE, total
from .flows import Full, name_of
from .kinds import path
from .kinds.queue import CountedRates
from .port import Port

DIGITS: Final = 20  # of the largest number of 64 bits


def triple(text: str | None) -> tuple[int, ...]:
    """The numbers of a sysctl such as tcp_rmem; empty if absent or not numbers."""
    words = (text or "").split()
    numbers = all(word.isascii() and word.isdigit() and len(word) <= DIGITS for word in words)
    return tuple(map(int, words)) if numbers else ()


def harmful(lines: Iterable[SysctlLineRow]) -> list[str]:
    """The harmful lines of sysctl files, as `file:line key=value`."""
    return [f"{row.file}:{row.line} {row.key}={row.value}" for row in lines if row.harmful]


def socket_owners(rows: Sequence[SocketOwnerRow]) -> dict[int, tuple[int, str]]:
    """The process (number, name) that holds each socket, by inode."""
    owners: dict[tuple[int, str], tuple[int, str]] = {}  # one object for all sockets of a process
    return {
        row.inode: owners.setdefault(owner, owner)
        for row in rows
        if row.inode and row.pid is not None and (owner := (row.pid, row.name))
    }


def captured(entries: Sequence[Entry[PacketSocketRow]], here: Mapping[str, Port]) -> frozenset[str]:
    """The interfaces that captures are bound to; an unbound capture counts for every NIC."""
    names = indices(here)
    bound = {names[e.now.index] for e in entries if e.now.index in names}
    if any(not e.now.index for e in entries):
        bound |= {name for name, port in here.items() if port.kind == "nic"}
    return frozenset(bound)


def indices(here: Mapping[str, Port]) -> dict[int, str]:
    """The name of each interface by its index."""
    return {port.nic.index: name for name, port in here.items() if port.nic.index}


def by_queue(entries: Sequence[Entry[NicQueueRow]]) -> dict[tuple[str, str], CountedRates]:
    """Rates of each queue; none of an interface whose queues all count zero.

    The queues of a veth count only packets that XDP or NAPI passes through its rings, so their
    zeros are no rates.
    """
    counting = {e.now.interface for e in entries if e.now.packets or e.now.bytes or e.now.drops}
    return {
        (e.now.interface, e.now.queue): CountedRates(e.per_s.packets, e.per_s.bytes, e.per_s.drops)
        for e in entries
        if e.per_s is not None and e.now.interface in counting
    }


def queue_drops(entries: Sequence[Entry[NicQueueRow]]) -> dict[str, tuple[int, float | None]]:
    """Packets lost at the rings of all receive queues, by interface: counted, and per second."""
    drops: dict[str, tuple[int, float | None]] = {}
    for entry in entries:
        row, rate = entry.now, entry.per_s
        if row.drops is None or not row.queue.startswith("rx-"):
            continue
        whole, per_s = drops.get(row.interface, (0, None))
        lost = rate.drops if rate is not None else None
        drops[row.interface] = whole + row.drops, total((per_s, lost))
    return drops


def rdma(entries: Sequence[Entry[RdmaRow]]) -> dict[str, bool]:
    """Whether RDMA moves packets on an interface, by the counters of its port."""
    active: dict[str, bool] = {}
    for entry in entries:
        rate = entry.per_s
        if entry.now.nic and rate is not None and rate.rx_packets is not None:
            moves = bool(rate.rx_packets or rate.tx_packets)
            active[entry.now.nic] = active.get(entry.now.nic, False) or moves
    return active


def drop_reasons(entries: Sequence[Entry[DropReasonRow]] | None) -> path.Reasons | None:
    """Drop reasons with packets per second, most frequent first; None if not counted."""
    if entries is None:
        return None
    rates = [(entry.now.reason, grown(entry, "packets")) for entry in entries]
    if rates and all(rate is None for _, rate in rates):
        return None
    sums: dict[str, float] = {}
    for reason, rate in rates:
        if rate:
            sums[reason] = sums.get(reason, 0.0) + rate
    return tuple(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])))


def full(
    waiting: Sequence[Entry[HalfOpenRow]], sockets: Sequence[Entry[TcpRow]],
    owners: Mapping[int, tuple[int, str]], most_of_host: int | None = None,
) -> Full | None:  # fmt: skip
    """That socket if it has no room for one more handshake; `owners` are processes by inode.

    The queue is full when as many handshakes wait as the backlog allows
    (include/net/inet_connection_sock.h, inet_csk_reqsk_queue_is_full()), or `most_of_host`.
    """
    if not waiting:
        return None
    listening: dict[int, list[TcpRow]] = {}
    for entry in sockets:
        if entry.now.state == "listen":
            listening.setdefault(entry.now.local_port, []).append(entry.now)
    counts: dict[int, tuple[TcpRow, int]] = {}
    for one in (entry.now for entry in waiting):
        rows = [
            row
            for row in listening.get(one.local_port, ())
            if row.local in (one.local, *EVERYWHERE)
        ]
        if rows:
            row = next((row for row in rows if row.local == one.local), rows[0])
            counts[row.inode] = row, one.waiting + counts.get(row.inode, (row, 0))[1]
    if not counts:
        return None
    most, count = max(counts.values(), key=lambda found: found[1])
    bound = most_of_host is not None and most_of_host < most.send_q
    limit = most_of_host if bound and most_of_host is not None else most.send_q
    return Full(count, name_of(most, owners), limit, bound=bound) if count >= limit else None


def room(sysctls: Mapping[str, str]) -> int | None:
    """Handshakes of unknown clients that a queue takes while cookies are off; None: any number.

    Beyond three quarters of net.ipv4.tcp_max_syn_backlog the SYN is dropped
    (net/ipv4/tcp_input.c, tcp_conn_request()).
    """
    most = sysctls.get("net.ipv4.tcp_max_syn_backlog", "")
    if sysctls.get("net.ipv4.tcp_syncookies") != "0" or not most.isdigit():
        return None
    return int(most) - (int(most) >> 2) + 1
