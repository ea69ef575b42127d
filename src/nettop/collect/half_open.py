"""Handshakes that wait for their last segment, by address and port: sock_diag (inet_diag.c).

The kernel counts SYN cookies for the host only. The connection requests that it keeps are in the
table of connections, in the state SYN_RECV; those of one listener are at most its backlog
(net/ipv4/tcp_input.c, tcp_conn_request()).

With TCP_DEFER_ACCEPT a request also stays there after its last segment, until data comes. Only then
does the kernel not repeat its SYN-ACK when the timer of a second ends, and set the timer for longer
(net/ipv4/inet_connection_sock.c, syn_ack_recalc(), reqsk_timer_handler()).

A SYN-ACK that was repeated, and is not answered, is lost on its way, or the client is gone.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import field
from struct import Struct
from typing import Final, TypeAlias

from ..frame.fields import gauge, label
from ..host.netlink import diag, route
from ..host.netlink.codec import messages
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, recall

TABLE: Final = Table(every=2.0, optional=True)

_COUNTERS: Final = "/proc/net/netstat"
_FULL: Final = ("TCPReqQFullDoCookies", "TCPReqQFullDrop")
_DEFERRED: Final = ("TCPDeferAcceptDrop",)
_AGAIN: Final = "TCPSynRetrans"  # SYN-ACKs too: net/ipv4/tcp_output.c, tcp_rtx_synack()
REPEATS: Final = 2  # of a SYN-ACK: one may be lost by chance
SECOND: Final = 1000  # ms: the timer of a request at first (TCP_TIMEOUT_INIT)
_LOCAL: Final = Struct(">H2x16s16s")  # local port, local and remote address
_LOCAL_AT: Final = 4  # in struct inet_diag_msg
_RETRANS_AT: Final = 3
_ENDS: Final = slice(4, 40)  # ports and addresses of both ends
_EXPIRES: Final = Struct("=I")  # ms until the timer ends
_EXPIRES_AT: Final = 52
_CUT: Final = 72  # bytes of that structure: a shorter message is cut off


@dataclass(frozen=True, slots=True)
class Row:
    """The handshakes at one local address and port."""

    local: str = label("local address")
    local_port: int = label("local port")
    waiting: int = gauge("handshakes that wait for their last segment", "connections")
    silent: int = gauge(
        "of these, handshakes that are complete, whose first data a listener with "
        "TCP_DEFER_ACCEPT awaits for more than a second", "connections", default=0,
    )  # fmt: skip
    unheard: int = gauge(
        "of these, handshakes whose SYN-ACK was repeated twice or more without an answer",
        "connections", default=0,
    )  # fmt: skip
    client: str = gauge("address of the client with most of those", default="")


_Group: TypeAlias = tuple[int, int, bytes]  # family, local port, local address


@dataclass
class Known:
    """The requests of the last reading whose SYN-ACK was not repeated."""

    at: float = 0.0  # seconds of the source's clock
    once: frozenset[bytes] = field(default_factory=frozenset)
    again: str | None = None  # SYNs and SYN-ACKs that were repeated until the first reading


def update(source: Source, memory: Memory) -> list[Row]:
    """The addresses with such handshakes, the most first; OSError, ValueError.

    Nothing is asked while no SYN queue of the host has been full since boot, no listener waited for
    data, and no SYN-ACK was repeated since the first reading.
    """
    known, counts = recall(memory, Known), counters(source.text(_COUNTERS))
    again = counts.get(_AGAIN, "0")
    if known.again is None:
        known.again = again
    if known.again == again and not counted(counts):
        return []
    now = source.now()
    old = known.once if now - known.at > SECOND / 1000 else frozenset()
    rows, known.once = parse(diag.half_open(source), old)
    known.at = now
    return rows


def counted(counts: Mapping[str, str]) -> bool:
    """Whether a SYN queue was ever full, or a listener waited for data, by TcpExt."""
    return any(counts.get(name, "0") != "0" for name in (*_FULL, *_DEFERRED))


def counters(netstat: str) -> dict[str, str]:
    """The counters TcpExt by name; ValueError if there are none."""
    lines = [line.split() for line in netstat.splitlines() if line.startswith("TcpExt:")]
    if len(lines) != 2:
        raise ValueError(f"no counters TcpExt: in {_COUNTERS}")
    return dict(zip(*lines, strict=False))


def now(source: Source) -> list[Row]:
    """The addresses with such handshakes, whatever was counted; OSError, ValueError."""
    return parse(diag.half_open(source))[0]


def parse(reply: bytes, old: frozenset[bytes] = frozenset()) -> tuple[list[Row], frozenset[bytes]]:
    """The rows of an answer, and the requests whose SYN-ACK was not repeated.

    `old`: those of a reading more than a second ago. ValueError if the answer is cut off.
    """
    groups: Counter[_Group] = Counter()
    silent: Counter[_Group] = Counter()
    clients: dict[_Group, Counter[bytes]] = defaultdict(Counter)  # those that are not heard
    once = set[bytes]()
    for kind, start, stop in messages(reply):
        if kind in (diag.BY_FAMILY, diag.EVERY_FAMILY):
            if stop - start < _CUT:
                raise ValueError("a socket is cut off")
            port, local, remote = _LOCAL.unpack_from(reply, start + _LOCAL_AT)
            group = reply[start], port, local
            groups[group] += 1
            again = reply[start + _RETRANS_AT]
            if again >= REPEATS:
                clients[group][remote] += 1
            if not again:
                ends = reply[start + _ENDS.start : start + _ENDS.stop]
                (expires,) = _EXPIRES.unpack_from(reply, start + _EXPIRES_AT)
                silent[group] += expires > SECOND or ends in old
                once.add(ends)
    rows = []
    for group, count in groups.most_common():
        family, port, local = group
        size = 4 if family == diag.IPV4 else 16
        most = clients[group].most_common(1)
        rows.append(
            Row(
                route.ip(local[:size]), port, count, silent[group], clients[group].total(),
                route.ip(most[0][0][:size]) if most else "",
            )
        )  # fmt: skip
    return rows, frozenset(once)
