"""The rows of TCP sockets: whole, or packed as bytes on a host with thousands of connections.

A whole row takes 900 bytes, a packed one 350. Most sockets of such a host are only counted and
summed, which needs a few of their numbers; only the busiest are unpacked.

A long answer of sock_diag is read in runs, without a look at each field: the kernel lists sockets
in the order of its table, so most follow the same socket as before; in the first answer most have
the form of the one before.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar, Final, NamedTuple, cast

from ..frame.fields import Packed, counter, gauge, label, light, maybe
from ..host.netlink import diag
from ..host.netlink.codec import text
from ..terms.dataclass import dataclass

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
    rmem_alloc: int | None = maybe("receive memory in use", "bytes")
    rcvbuf: int | None = maybe("receive buffer", "bytes")
    wmem_alloc: int | None = maybe("send memory in use below the socket", "bytes")
    sndbuf: int | None = maybe("send buffer", "bytes")
    fwd_alloc: int | None = maybe("memory reserved", "bytes")
    wmem_queued: int | None = maybe("send memory in use", "bytes")
    optmem: int | None = maybe("option memory", "bytes")
    backlog: int | None = maybe("socket backlog", "bytes")
    drops: int | None = counter("packets dropped at the socket", "packets", default=None)
    mss: int | None = maybe("segment size", "bytes")
    unacked: int | None = maybe("segments in flight", "segments")
    lost: int | None = maybe("segments marked lost", "segments")
    last_sent: int | None = maybe(
        "time since data was last sent, when the socket last changed; None: in a packed row", "ms"
    )
    last_received: int | None = maybe(
        "time since data last came, when the socket last changed; None: in a packed row", "ms"
    )
    pmtu: int | None = maybe("path MTU", "bytes")
    rcv_ssthresh: int | None = maybe("largest window that this end offers now", "bytes")
    rtt: int | None = maybe("smoothed round-trip time", "us")
    rttvar: int | None = maybe("round-trip time variation", "us")
    ssthresh: int | None = maybe("slow-start threshold; None: not yet set", "segments")
    cwnd: int | None = maybe("congestion window", "segments")
    rcv_rtt: int | None = maybe("round-trip time measured by the receiver", "us")
    rcv_space: int | None = maybe("receive space", "bytes")
    total_retrans: int | None = counter("retransmitted segments", "segments", default=None)
    pacing_rate: int | None = maybe("pacing rate; None: unlimited", "bytes/s")
    max_pacing_rate: int | None = maybe(
        "pacing rate limit (SO_MAX_PACING_RATE); None: unlimited", "bytes/s"
    )
    bytes_acked: int | None = counter("bytes the peer acknowledged", "bytes", default=None)
    bytes_received: int | None = counter("bytes received", "bytes", default=None)
    segs_out: int | None = counter("segments sent", "segments", default=None)
    segs_in: int | None = counter("segments received", "segments", default=None)
    notsent: int | None = maybe("unsent bytes", "bytes")
    min_rtt: int | None = maybe("minimum round-trip time", "us")
    data_segs_in: int | None = counter("segments received with data", "segments", default=None)
    data_segs_out: int | None = counter("segments sent with data", "segments", default=None)
    delivery_rate: int | None = maybe("delivery rate; None: none yet", "bytes/s")
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
    snd_wnd: int | None = maybe("window the peer offers", "bytes")
    v6only: bool | None = maybe("listening: takes no IPv4 (IPV6_V6ONLY)")


_PLACES: Final = {f.name: place for place, f in enumerate(fields(Row))}
_SSTHRESH, _PACING, _MAX_PACING, _MIN_RTT, _DELIVERY = (
    _PLACES[name] - _PLACES["recv_q"]
    for name in ("ssthresh", "pacing_rate", "max_pacing_rate", "min_rtt", "delivery_rate")
)


def connected(
    names: tuple[object, ...], state: str, congestion: bytes, options: bytes,
    numbers: list[int | None],
) -> Row:  # fmt: skip
    """The row of a socket with tcp_info; `numbers` are its fields from `recv_q` on."""
    if (numbers[_SSTHRESH] or 0) >= _ENDLESS:
        numbers[_SSTHRESH] = None
    for place in (_PACING, _MAX_PACING):
        if numbers[place] == _NO_LIMIT:
            numbers[place] = None
    if numbers[_MIN_RTT] == _UNKNOWN:
        numbers[_MIN_RTT] = None
    if not numbers[_DELIVERY]:
        numbers[_DELIVERY] = None
    return make((*names, state, _congestion(congestion), *_options(options), *numbers, None))


def make(values: tuple[object, ...]) -> Row:
    """A row from all its fields, faster than by keyword arguments."""
    return tuple.__new__(Row, values)  # type: ignore[type-var]


_STATES: Final = (*diag.STATES, *map(str, range(len(diag.STATES), 256)))


def state_name(state: int) -> str:
    """The name of a state by its number."""
    return _STATES[state]


NO_OPTIONS: Final = (None,) * 9
NO_MEMORY: Final = (None,) * 9
NO_INFO: Final = (None,) * (_PLACES["v6only"] - _PLACES["mss"])


@cache
def _options(raw: bytes) -> tuple[bool | int | None, ...]:
    """What five bytes of tcp_info say: probes, backoff, options, scales, application-limited."""
    if len(raw) < 5:
        return NO_OPTIONS
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


class Ends(NamedTuple):
    """What many sockets have in common; one object for all of them."""

    namespace: int
    local: str
    remote: str
    interface: str | None


# The bytes of a packed row: length and type of the message, family, state, ports, cookie, what
# waits and whose it is, memory, bytes 0 to 44 and 60 to 232 of tcp_info (Linux 5.4), without the
# ages between them, and the name of the congestion control. The last three have the headers of
# their attributes: equal bytes are the same row, in a message of the same form.
PIECES: Final = "6s10x2s2x4s36x8s4x16s"  # of the message; memory, tcp_info and the name follow
MEMORY_PIECE: Final = "40s"
INFO_PIECES: Final = "48s16x172s"
_ALL: Final = struct.Struct("=20x4I4x9I7x5s8xI4xI4xI8xIIIIII8xIIIQQQQIIIIIIQQQQIIQQIIII4x")
_PORTS: Final = struct.Struct(">8xHH")
_INODE: Final = struct.Struct("=32xI").unpack_from
# what a socket keeps while it moves data: the form of the message, family, ports, cookie
_FORM: Final = struct.Struct("=7sx12s16x4s36x4s216x4s").unpack_from
_STATE_AT, _UNREAD, _UNSENT = 7, slice(20, 24), slice(208, 212)
_NOTHING: Final = bytes(4)
# recv_q, total_retrans, bytes_acked, bytes_received, notsent
_FIGURES: Final = struct.Struct("=20xI140xI16xQQ8xI").unpack_from


def _one(form: str, at: int) -> Any:
    """A property: the number at this place."""
    unpack: Callable[[bytes], tuple[int]] = struct.Struct(f"={at}x{form}").unpack_from
    return property(lambda self: unpack(self.data)[0])


class PackedRow(Packed[Row]):
    """The bytes of a `Row`, with the same attributes; those not named here unpack all of it."""

    # what is asked of every socket is an attribute, the rest is looked up
    __slots__ = ("data", "ends", "idle", "inode", "life", "local", "remote", "state")
    __dataclass_fields__: ClassVar[dict[str, Any]] = Row.__dataclass_fields__

    def __init__(self, data: bytes, ends: Ends, life: bytes) -> None:
        """`data` is laid out as above, the name of the congestion control at its end.

        `life` is the cookie, the same object in each row of the socket.
        """
        self.data = data
        self.ends: Ends = ends
        self.life = life
        self.local, self.remote = ends.local, ends.remote
        self.state = _STATES[data[_STATE_AT]]
        self.inode: int = _INODE(data)[0]
        self.idle = data[_UNREAD] == data[_UNSENT] == _NOTHING

    cookie = _one("Q", 12)
    recv_q, send_q, uid = _one("I", 20), _one("I", 24), _one("I", 28)
    total_retrans = _one("I", 164)
    bytes_acked, bytes_received = _one("Q", 184), _one("Q", 192)
    notsent, rtt = _one("I", 208), _one("I", 132)
    _min_rtt = _one("I", 212)

    @property
    def min_rtt(self) -> int | None:
        """As in `Row`."""
        known: int = self._min_rtt
        return None if known == _UNKNOWN else known

    def later(self, data: bytes) -> PackedRow | None:
        """The row of the same socket with other bytes; None if these are of another one.

        Another form of the message counts as another socket.
        """
        if data[_STATE_AT] == diag.LISTEN or _FORM(data) != _FORM(self.data):
            return None
        return PackedRow(data, self.ends, self.life)

    def little(self, before: PackedRow, most: float) -> tuple[int, int] | None:
        """As in `Packed`; None too if data waits, or segments were sent again."""
        unread, again, acked, received, unsent = _FIGURES(self.data)
        _, before_again, before_acked, before_received, _ = _FIGURES(before.data)
        rx, tx = received - before_received, acked - before_acked
        if unread or unsent or again != before_again or not 0 <= rx + tx < most or rx * tx < 0:
            return None
        return (rx, tx) if self.state == "established" else None

    @property
    def namespace(self) -> int:
        """As in `Row`."""
        return self.ends.namespace

    @property
    def interface(self) -> str | None:
        """As in `Row`."""
        return self.ends.interface

    @property
    def local_port(self) -> int:
        """As in `Row`."""
        return int(_PORTS.unpack_from(self.data)[0])

    @property
    def remote_port(self) -> int:
        """As in `Row`."""
        return int(_PORTS.unpack_from(self.data)[1])

    def whole(self) -> Row:
        """The row; a new object at each call."""
        data, ends = self.data, self.ends
        local, remote = _PORTS.unpack_from(data)
        every = _ALL.unpack_from(data)
        family = 4 if data[_STATE_AT - 1] == diag.IPV4 else 6
        names = (
            self.cookie, ends.namespace, family, ends.local, local, ends.remote, remote,
            ends.interface,
        )  # fmt: skip
        numbers = [*every[:13], *every[14:17], None, None, *every[17:]]
        return connected(names, self.state, data[_ALL.size :], every[13], numbers)

    def __getattr__(self, name: str) -> Any:
        """Any other field."""
        return getattr(self.whole(), name)


_ENDS: Final = slice(24, 60)  # addresses and interface in a message


class Behind:
    """Where the next message is expected among the sockets of the last reading.

    The kernel lists sockets in the order of its table, so a packed row is mostly compared with the
    one that followed the same socket before, without a search. On a host of 100,000 sockets that
    halves the time.
    """

    def __init__(self, before: dict[bytes, Any]) -> None:
        """`before`: the sockets of the last reading in their order."""
        self.items = iter(before.items())
        self.next = next(self.items, None)

    def same(self, reply: bytes, at: int, rows: list[Row], seen: dict[bytes, Any]) -> int:
        """Take the sockets that follow as before; returns where the first other one begins."""
        expected, items, join = self.next, self.items, b"".join
        try:
            while expected is not None:
                cookie, old = expected
                _, pieces, row = old
                if not isinstance(row, PackedRow) or not isinstance(pieces, struct.Struct):
                    break
                data = join(pieces.unpack_from(reply, at))
                if data != row.data:
                    later = row.later(data)
                    if later is None:
                        break
                    old = None, pieces, later
                seen[cookie] = old
                rows.append(cast("Row", old[2]))
                at += pieces.size
                expected = next(items, None)
        except struct.error:  # the answer ends here, or is cut off
            pass
        self.next = expected
        return at

    def passed(self, cookie: bytes, *, known: bool) -> None:
        """A message was read otherwise: go on behind it if it was `known` before."""
        if self.next is None or not known:
            return
        if self.next[0] != cookie:  # those before it have ended
            for other, _ in self.items:
                if other == cookie:
                    break
        self.next = next(self.items, None)


def new(
    reply: bytes, at: int, pieces: struct.Struct, before: Mapping[bytes, Any],
    rows: list[Row], seen: dict[bytes, Any], shared: Mapping[bytes, Ends],
) -> int:  # fmt: skip
    """Take the sockets that are unknown and of the form of the new one before them.

    Its `pieces` are theirs, and they are between addresses in `shared`. Returns where the first
    other one begins.
    """
    unpack, size, join = pieces.unpack_from, pieces.size, b"".join
    try:
        first, _, _, _, _, memory, info, _, name = pieces.unpack_from(reply, at - size)
        while True:
            parts = unpack(reply, at)
            cookie = parts[3]
            if (
                parts[0] != first
                or parts[1][1] == diag.LISTEN
                or cookie in before
                or parts[5][:4] != memory[:4]
                or parts[6][:4] != info[:4]
                or parts[8][:4] != name[:4]
            ):
                break
            ends = shared.get(parts[1][:1] + reply[at + _ENDS.start : at + _ENDS.stop])
            if ends is None:
                break
            row = PackedRow(join(parts), ends, cookie)
            seen[cookie] = None, pieces, row
            rows.append(cast("Row", row))
            at += size
    except struct.error:  # the answer ends here, or is cut off
        pass
    return at
