"""TCP sockets with tcp_info, memory and congestion control, by sock_diag (net/ipv4/tcp_diag.c).

Ten thousand connections must cost less than with `ss`. So a row is a named tuple from one unpack
of tcp_info, and a socket without activity keeps its row: only the timers and the four ages in
tcp_info differ between its messages.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Final, NamedTuple

from ..frame.fields import counter, gauge, label, light
from ..host.netlink import diag, route
from ..host.netlink.codec import attributes, text
from ..host.source import Source
from ._memory import Memory, recall

MAY_REST = True
MEMORY = "sockets"  # `threads` looks at the processes whose sockets move data

_HEAD: Final = struct.Struct("=IH")
_NAMES: Final = struct.Struct("=B3x4s16s16sI")  # family, ports, addresses, interface; after 16
_COUNTS: Final = struct.Struct("=IIII")  # what waits to be read and sent, owner, inode
_NAMES_AT, _COOKIE_AT, _COUNTS_AT, _ATTRIBUTES_AT = 16, 60, 72, 88
# struct tcp_info as of Linux 5.4 from `snd_mss` at byte 16, in the order of `Row`; older kernels
# send less, newer ones more
_INFO: Final = struct.Struct("=16xI4xI4xI24xI4xIIII8xIIIQQQQIIIIIIQQQQIIQQIIII")
_AGES_AT: Final = 44  # tcpi_last_data_sent and the three after it, 16 bytes
_MEMORY: Final = struct.Struct("=9I")
_ENDLESS: Final = 0x7FFFFFFF
_UNKNOWN: Final = 0xFFFFFFFF
_NO_LIMIT: Final = 0xFFFFFFFFFFFFFFFF


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One TCP socket. None: not known to this kernel, or without meaning (a listening socket)."""

    cookie: int = label("socket cookie of the kernel, unique since boot")
    namespace: int = label("inode of its network namespace; 0: this one")
    family: int = gauge("4 or 6")
    local: str = gauge("local address")
    local_port: int = gauge("local port")
    remote: str = gauge("remote address")
    remote_port: int = gauge("remote port")
    interface: str | None = gauge("interface of the binding; None: not bound")
    state: str = gauge("established listen close-wait …")
    congestion: str | None = gauge("congestion control")
    timestamps: bool | None = gauge("TCP timestamps in use")
    sack: bool | None = gauge("SACK in use")
    wscale: bool | None = gauge("window scaling in use")
    ecn: bool | None = gauge("ECN negotiated")
    snd_wscale: int | None = gauge("scale of the peer's window", "bits")
    rcv_wscale: int | None = gauge("scale of our window", "bits")
    app_limited: bool | None = gauge("application-limited delivery rate")
    probes: int | None = gauge("unanswered window probes", "probes")
    backoff: int | None = gauge("doublings of the retransmission timeout", "doublings")
    recv_q: int = gauge("unread bytes; listening: connections not yet accepted", "bytes")
    send_q: int = gauge("unacknowledged bytes; listening: backlog limit", "bytes")
    uid: int = gauge("owning process")
    inode: int = gauge("socket inode")
    rmem_alloc: int | None = gauge("receive memory in use", "bytes", default=None)
    rcvbuf: int | None = gauge("receive buffer", "bytes", default=None)
    wmem_alloc: int | None = gauge("send memory in use below the socket", "bytes", default=None)
    sndbuf: int | None = gauge("send buffer", "bytes", default=None)
    fwd_alloc: int | None = gauge("memory reserved", "bytes", default=None)
    wmem_queued: int | None = gauge("send memory in use", "bytes", default=None)
    optmem: int | None = gauge("option memory", "bytes", default=None)
    backlog: int | None = gauge("socket backlog", "bytes", default=None)
    drops: int | None = counter("packets dropped at the socket", "packets", default=None)
    mss: int | None = gauge("segment size", "bytes", default=None)
    unacked: int | None = gauge("segments in flight", "segments", default=None)
    lost: int | None = gauge("segments marked lost", "segments", default=None)
    pmtu: int | None = gauge("path MTU", "bytes", default=None)
    rtt: int | None = gauge("smoothed round-trip time", "us", default=None)
    rttvar: int | None = gauge("round-trip time variation", "us", default=None)
    ssthresh: int | None = gauge(
        "slow-start threshold; None: not yet set", "segments", default=None
    )
    cwnd: int | None = gauge("congestion window", "segments", default=None)
    rcv_rtt: int | None = gauge("round-trip time measured by the receiver", "us", default=None)
    rcv_space: int | None = gauge("receive space", "bytes", default=None)
    total_retrans: int | None = counter("retransmitted segments", "segments", default=None)
    pacing_rate: int | None = gauge("pacing rate; None: unlimited", "bytes/s", default=None)
    max_pacing_rate: int | None = gauge(
        "pacing rate limit (SO_MAX_PACING_RATE); None: unlimited", "bytes/s", default=None
    )
    bytes_acked: int | None = counter("bytes the peer acknowledged", "bytes", default=None)
    bytes_received: int | None = counter("bytes received", "bytes", default=None)
    segs_out: int | None = counter("segments sent", "segments", default=None)
    segs_in: int | None = counter("segments received", "segments", default=None)
    notsent: int | None = gauge("unsent bytes", "bytes", default=None)
    min_rtt: int | None = gauge("minimum round-trip time", "us", default=None)
    data_segs_in: int | None = counter("segments received with data", "segments", default=None)
    data_segs_out: int | None = counter("segments sent with data", "segments", default=None)
    delivery_rate: int | None = gauge("delivery rate; None: none yet", "bytes/s", default=None)
    busy_time: int | None = counter("busy time: data in flight", "us", default=None)
    rwnd_limited: int | None = counter("time limited by the peer's window", "us", default=None)
    sndbuf_limited: int | None = counter("time limited by the send buffer", "us", default=None)
    delivered: int | None = counter("segments delivered", "segments", default=None)
    delivered_ce: int | None = counter(
        "segments delivered with an ECN mark", "segments", default=None
    )
    bytes_sent: int | None = counter("bytes sent, with retransmissions", "bytes", default=None)
    bytes_retrans: int | None = counter("retransmitted bytes", "bytes", default=None)
    dsack_dups: int | None = counter("spurious retransmissions (DSACK)", "segments", default=None)
    reord_seen: int | None = counter("reordering events", "events", default=None)
    rcv_ooopack: int | None = counter("segments received out of order", "segments", default=None)
    snd_wnd: int | None = gauge("window the peer offers", "bytes", default=None)


_PLACES: Final = {f.name: place for place, f in enumerate(fields(Row))}
_SSTHRESH, _PACING, _MAX_PACING, _MIN_RTT, _DELIVERY = (
    _PLACES[name] - _PLACES["recv_q"]
    for name in ("ssthresh", "pacing_rate", "max_pacing_rate", "min_rtt", "delivery_rate")
)


# What is remembered of a socket: the hash of its bytes but for timers and ages; where in its
# message the ages begin; its row. The bytes of 10,000 sockets would take 4 MB. The hash is keyed
# (SipHash, PEP 456) and has 64 bits: of 10,000 sockets that change each second, one change would be
# missed in fifty million years.
Seen = tuple[int, int, Row]


class _Layout(NamedTuple):
    """Start and end of each attribute's payload in messages of one length; 0: absent."""

    memory: int
    memory_end: int
    info: int
    info_end: int
    congestion: int
    congestion_end: int
    memory_header: bytes
    info_header: bytes
    congestion_header: bytes
    numbers: struct.Struct | None  # from `recv_q` on, when all three are there and whole


@dataclass
class Known:
    """The sockets of the last reading and the names of interfaces."""

    seen: dict[bytes, Seen] = field(default_factory=dict)  # by cookie
    names: dict[int, str] = field(default_factory=dict)  # interfaces by index
    subflows: bool = False  # whether one belongs to an MPTCP socket
    reading: int = 0  # its number
    listening: frozenset[int] = frozenset()  # inodes of sockets that listen


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every TCP socket that moves data or listens; an unchanged one keeps its row. OSError."""
    last = recall(memory, Known)
    seen: dict[bytes, Seen] = {}

    def name_of(index: int) -> str:
        if index not in last.names:
            last.names = dict(route.names(source))
        return last.names.setdefault(index, str(index))

    reply = diag.tcp(source)
    rows = parse(reply, last.seen, seen, name_of)
    last.seen, last.subflows = seen, diag.SUBFLOW in reply
    last.reading += 1
    last.listening = frozenset([row.inode for row in rows if row.state == "listen"])
    return rows


def parse(
    reply: bytes,
    before: dict[bytes, Seen],
    seen: dict[bytes, Seen],
    name_of: Callable[[int], str] = str,
    namespace: int = 0,
) -> list[Row]:
    """The rows of one answer; `seen` is filled with what the next call needs as `before`.

    `name_of` gives the name of an interface by its index, for sockets bound to one. ValueError if
    the answer is cut off.
    """
    rows = []
    layouts: dict[int, _Layout] = {}
    at, whole = 0, len(reply)
    while at < whole:
        if whole - at < _HEAD.size:
            raise ValueError("a socket is cut off")
        length, kind = _HEAD.unpack_from(reply, at)
        end = at + length
        if length < 16 or end > whole:
            raise ValueError("a netlink message has a wrong length")
        if kind in (diag.BY_FAMILY, diag.EVERY_FAMILY):
            if length < _ATTRIBUTES_AT:
                raise ValueError("a socket is cut off")
            cookie = reply[at + _COOKIE_AT : at + _COUNTS_AT - 4]
            old = before.get(cookie)
            if old is not None and _digest(reply, at, old[1], end) == old[0]:
                seen[cookie] = old
                rows.append(old[2])
            else:
                layout = layouts.get(length)
                if layout is None or not _fits(reply, at, layout):
                    layout = layouts[length] = _layout(reply, at, end)
                names = old[2][:8] if old else _identity(reply, at, name_of, namespace)  # type: ignore[index]
                row = _row(reply, at, layout, names)
                ages = layout.info + _AGES_AT if layout.info else length
                seen[cookie] = _digest(reply, at, ages, end), ages, row
                rows.append(row)
        at += (length + 3) & ~3
    return rows


def _digest(reply: bytes, at: int, ages: int, end: int) -> int:
    """The hash of a message but for its timers and the four ages, which begin at `ages`."""
    return hash((reply[at + _COUNTS_AT : at + ages], reply[at + ages + 16 : end]))


def _layout(reply: bytes, at: int, end: int) -> _Layout:
    found = {
        number: (a - at, e - at) for number, a, e in attributes(reply, at + _ATTRIBUTES_AT, end)
    }
    none = (0, 0)
    memory, info, name = (found.get(what, none) for what in (diag.SKMEMINFO, diag.INFO, diag.CONG))
    places = (memory, info, name)
    first, second, third = (reply[at + start - 4 : at + start] for start, _end in places)
    numbers = _numbers(memory, info) if all(start for start, _end in places) else None
    return _Layout(*memory, *info, *name, first, second, third, numbers)


@cache
def _numbers(memory: tuple[int, int], info: tuple[int, int]) -> struct.Struct | None:
    """The format of all numbers of a row; None if the kernel has fewer or in another order."""
    between = info[0] - memory[0] - _MEMORY.size
    ahead = memory[0] - _ATTRIBUTES_AT
    if between < 0 or ahead < 0 or memory[1] - memory[0] < _MEMORY.size:
        return None
    if info[1] - info[0] < _INFO.size:
        return None
    return struct.Struct(f"=4I{ahead}x9I{between}x{_INFO.format.removeprefix('=')}")


def _fits(reply: bytes, at: int, layout: _Layout) -> bool:
    """Whether a message of the same length has its attributes at the same places."""
    info, memory, name = at + layout.info, at + layout.memory, at + layout.congestion
    return (
        layout.numbers is not None
        and reply[info - 4 : info] == layout.info_header
        and reply[memory - 4 : memory] == layout.memory_header
        and reply[name - 4 : name] == layout.congestion_header
    )


def _row(reply: bytes, at: int, layout: _Layout, names: tuple[object, ...]) -> Row:
    """A socket's row; `names` are its first fields, which never change."""
    state = reply[at + 17]
    name = diag.STATES[state] if state < len(diag.STATES) else str(state)
    if state == diag.LISTEN or not layout.info:
        waits = _COUNTS.unpack_from(reply, at + _COUNTS_AT)
        memory = _memory(reply, at, layout)
        return _make((*names, name, None, *_NO_OPTIONS, *waits, *memory, *_NO_INFO))
    begin = at + layout.info
    if layout.numbers is not None:
        numbers: list[int | None] = list(layout.numbers.unpack_from(reply, at + _COUNTS_AT))
    else:
        numbers = [
            *_COUNTS.unpack_from(reply, at + _COUNTS_AT),
            *_memory(reply, at, layout),
            *_short(reply[begin : at + layout.info_end]),
        ]
    if (numbers[_SSTHRESH] or 0) >= _ENDLESS:
        numbers[_SSTHRESH] = None
    for place in (_PACING, _MAX_PACING):
        if numbers[place] == _NO_LIMIT:
            numbers[place] = None
    if numbers[_MIN_RTT] == _UNKNOWN:
        numbers[_MIN_RTT] = None
    if not numbers[_DELIVERY]:
        numbers[_DELIVERY] = None
    congestion = _congestion(reply[at + layout.congestion : at + layout.congestion_end])
    options = _options(reply[begin + 3 : begin + 8])
    return _make((*names, name, congestion, *options, *numbers))


def _identity(
    reply: bytes, at: int, name_of: Callable[[int], str], namespace: int
) -> tuple[object, ...]:
    family, ports, source, destination, interface = _NAMES.unpack_from(reply, at + _NAMES_AT)
    local_port, remote_port = struct.unpack(">HH", ports)
    size = 4 if family == diag.IPV4 else 16
    return (
        struct.unpack_from("=Q", reply, at + _COOKIE_AT)[0],
        namespace,
        4 if family == diag.IPV4 else 6,
        sys.intern(route.ip(source[:size])),  # many sockets have the same addresses
        local_port,
        sys.intern(route.ip(destination[:size])),
        remote_port,
        name_of(interface) if interface else None,
    )


_NO_OPTIONS: Final = (None,) * 9
_NO_MEMORY: Final = (None,) * 9
_NO_INFO: Final = (None,) * (len(fields(Row)) - _PLACES["mss"])


def _make(values: tuple[object, ...]) -> Row:
    """A row from all its fields, faster than by keyword arguments."""
    return tuple.__new__(Row, values)  # type: ignore[type-var]


@cache
def _options(raw: bytes) -> tuple[bool | int | None, ...]:
    """What five bytes of tcp_info say: probes, backoff, options, scales, application-limited."""
    if len(raw) < 5:
        return _NO_OPTIONS
    probes, backoff, bits, scales, flags = raw
    scaled = bool(bits & 4)
    return (
        bool(bits & 1), bool(bits & 2), scaled, bool(bits & 8),
        scales & 15 if scaled else None, scales >> 4 if scaled else None, bool(flags & 1),
        probes, backoff,
    )  # fmt: skip


@cache
def _congestion(raw: bytes) -> str | None:
    return text(raw) or None


def _memory(reply: bytes, at: int, layout: _Layout) -> tuple[int | None, ...]:
    """The memory of the socket (SK_MEMINFO); `drops` since Linux 4.10."""
    size = layout.memory_end - layout.memory
    if size >= _MEMORY.size:
        return _MEMORY.unpack_from(reply, at + layout.memory)
    if not size:
        return _NO_MEMORY
    known = struct.unpack_from(f"={size // 4}I", reply, at + layout.memory)
    return (*known, *_NO_MEMORY[len(known) :])


@cache
def _ends() -> tuple[int, ...]:
    """The end of each field of `_INFO` in tcp_info, in bytes."""
    whole = _INFO.format.removeprefix("=")
    ends, at, count = [], 0, ""
    for letter in whole:
        if letter.isdigit():
            count += letter
            continue
        at += struct.calcsize(f"={count}{letter}")
        count = ""
        if letter != "x":
            ends.append(at)
    return tuple(ends)


def _short(raw: bytes) -> list[int | None]:
    """The fields of a shorter tcp_info of an older kernel; None for fields that it lacks."""
    values = _INFO.unpack_from(raw.ljust(_INFO.size, b"\0"))
    return [value if end <= len(raw) else None for value, end in zip(values, _ends(), strict=True)]
