"""Local ports that are in use: all that the kernel could choose, or the one of a service.

bind() to port 0 needs a port that no socket of the address has, whatever its destination
(net/ipv4/inet_connection_sock.c, inet_csk_find_open_port()); it fails with EADDRINUSE only if it
has tried all. connect() needs one that is free towards one address and port, and takes none that a
program has bound (net/ipv4/inet_hashtables.c, __inet_hash_connect()).

A connection that this host opened holds its local port as a listener does: bind() of another
program fails with EADDRINUSE (net/ipv4/inet_connection_sock.c, inet_csk_get_port()). Ports of
net.ipv4.ip_local_reserved_ports are not chosen for connections.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ..collect import failed_calls
from ..collect._counted import Words
from ..collect.failed_calls import case
from ..collect.time_wait import RANGE, RESERVED, available
from ..frame.rates import Frame
from .flow_words import EVERYWHERE, end, owners
from .single import triple

BINDS: Final = ("bind", "listen")  # what a service begins with
SENDS: Final = ("sendto", "sendmsg", "sendmmsg", "write", "writev")
LAST_PORT: Final = 65_535
OWN_RANGE: Final = failed_calls.RANGE.removesuffix("=")
FULL: Final = 0.8  # of the available ports: fewer in use do not explain that none is free
TCP, UDP = "tcp", "udp"
NO_ADDRESS: Final = "EADDRNOTAVAIL"
LOOPBACK: Final = "::1"
FIN_WAIT2: Final = "fin-wait-2"
ANY: Final = ("0.0.0.0", "::", "")  # noqa: S104


class Used(NamedTuple):
    """The ports in use at one local address."""

    taken: int
    of: int  # ports that the kernel may choose
    holds: str  # in words: by what

    @property
    def full(self) -> bool:
        """Whether they explain that no port is free."""
        return self.taken >= FULL * self.of

    @property
    def told(self) -> str:
        """How many of how many."""
        return f"All {self.of:,}" if self.taken == self.of else f"{self.taken:,} of {self.of:,}"


def chosen(sysctls: Mapping[str, str]) -> range | None:
    """The ports of net.ipv4.ip_local_port_range; None where it is not known or not valid."""
    low_high = triple(sysctls.get(RANGE))
    if len(low_high) != 2 or not 0 <= low_high[0] <= low_high[1] <= LAST_PORT:
        return None
    return range(low_high[0], low_high[1] + 1)


def used(
    frame: Frame, local: str, protocol: str, to: tuple[str, str] | None = None
) -> Used | None:  # fmt: skip
    """At a local address (any: at all), towards one address and port or to all; None: not known.

    Where the protocol is not known, of TCP or of UDP, whichever has more in use.
    """
    sysctls = {row.name: row.value for row in frame.rows("sysctls")}
    ports = chosen(sysctls)
    if ports is None:
        return None
    of = available(ports, sysctls.get(RESERVED, ""))
    found = [] if protocol == UDP else [_tcp(frame, ports, local, to)]
    found += [] if protocol == TCP else [_udp(frame, ports, local)]
    count, holds = max(found)
    return Used(min(count, of), of, holds)


def _tcp(
    frame: Frame, ports: range, local: str, to: tuple[str, str] | None
) -> tuple[int, str]:  # fmt: skip
    """The ports of open sockets, and those that closed connections still hold."""
    open_ports, ends, closed = set[int](), Counter[str](), Counter[str]()
    waits = "time_wait" in frame.tables  # which has those in FIN_WAIT2 too
    for row in frame.rows("sockets_tcp"):
        held = row.local_port in ports and not (waits and row.state == FIN_WAIT2)
        if held and not row.namespace and _at(row.local, local) and _is(row, to):
            open_ports.add(row.local_port)
            ends[f"{row.remote} port {row.remote_port}"] += row.remote_port > 0
    for row in frame.rows("time_wait"):
        if _at(row.local, local) and _is(row, to):
            count = row.ports + row.half
            closed[row.local] = max(closed[row.local], count)
            ends[f"{row.remote} port {row.remote_port}"] += count * (row.remote_port > 0)
    waiting = max(closed.values(), default=0)
    parts = [f"{len(open_ports):,} by open sockets"] * bool(open_ports)
    parts += [f"{waiting:,} by connections that this host closed (TIME_WAIT)"] * bool(waiting)
    ((most, count),) = ends.most_common(1) or [("", 0)]
    return len(open_ports) + waiting, " and ".join(parts) + (f", most towards {most}" * bool(count))


def _udp(frame: Frame, ports: range, local: str) -> tuple[int, str]:
    rows = (row for row in frame.rows("sockets_udp") if _at(row.local, local))
    count = len({row.local_port for row in rows if row.local_port in ports})
    return count, f"{count:,} by datagram sockets"


def _at(own: str, local: str) -> bool:
    """Whether a socket with that address takes a port from it: both do where one is any."""
    return own == local or own in ANY or local in ANY


def _is(row: Any, to: tuple[str, str] | None) -> bool:
    return to is None or (row.remote, str(row.remote_port)) == to


def none_left(
    said: Words, call: str, error: str, end: tuple[str, str], protocol: str, frame: Frame
) -> Words | None:
    """What a call says that finds no local port: the ports, and who has them; None: it is another.

    `end` is the address and port that the program gave; port 0 is not told.
    """
    address = end[0].removeprefix("::ffff:")
    if address in ("", failed_calls.UNIX):
        return None
    if call in BINDS and error == "EADDRINUSE" and end[1] in ("", "0"):
        return _for_all(said, address, protocol, frame)
    if call == "connect" and error == "EAGAIN":
        return _for_all(said, "", UDP, frame)
    if call in SENDS and error == "EAGAIN":  # net/ipv4/af_inet.c, inet_autobind()
        seen = used(frame, "", UDP)
        none = seen is not None and seen.taken >= seen.of
        return _for_all(failed_calls.words("connect", error), "", UDP, frame) if none else None
    if call == "connect" and error == NO_ADDRESS:
        if no_source(end[0], frame):
            return failed_calls.words(call, error, end[0])
        if protocol.startswith(failed_calls.RANGE):
            return _own(said, address, end[1], protocol.removeprefix(failed_calls.RANGE))
        return _for_one(said, (address, end[1]), frame)
    return None


def _own(said: Words, address: str, port: str, ports: str) -> Words:
    """Towards one address and port from the range that the program gave to its socket."""
    low, _, high = ports.partition("-")
    of = f"{low} to {high}" if high != "0" else f"from {low}"
    return case(said, "own-range", range=of, to=address, port=port)


def no_source(address: str, frame: Frame) -> bool:
    """Whether it is one of IPv6, and the host has none to connect from."""
    own = {row.address for row in frame.rows("addresses") if row.family == 6}
    six = ":" in address and not address.startswith("::ffff:") and "addresses" in frame.tables
    return six and (LOOPBACK not in own if address == LOOPBACK else own <= {LOOPBACK})


def _for_all(said: Words, address: str, protocol: str, frame: Frame) -> Words:
    """Ports that are free for every destination: of an address, or of datagram sockets."""
    at, source = ("", "") if address in ANY else (f" of {address}", f" src {address}")
    seen = used(frame, address, protocol)
    have = f"{_told(seen)}" if seen else ""
    full = seen is not None and seen.full
    narrow = "" if full else f" Or the program has set a range of its own ({OWN_RANGE})."
    of = " of datagram sockets" if protocol == UDP else ""
    none = f"{seen.told} local ports{of or at} are in use" if seen and full else ""
    none = none or f"No local port{at} is free{' for a datagram socket' * (protocol == UDP)}"
    values = {"at": at, "seen": f"{have}{narrow}", "source": source, "none": none}
    return case(said, "no-port-udp" if protocol == UDP else "no-port", **values)


def _for_one(said: Words, to: tuple[str, str], frame: Frame) -> Words | None:
    """Towards one address and port, or for all where programs have bound what there is."""
    counts = Counter(row.local for table in ("sockets_tcp", "time_wait")
                     for row in frame.rows(table) if _is(row, to))  # fmt: skip
    ((local, _),) = counts.most_common(1) or [("", 0)]
    one, whole = used(frame, local, TCP, to), used(frame, "", TCP)
    if one is None or whole is None:
        return None
    if not whole.of:
        return case(said, "all-reserved")
    if one.full:
        return case(said, "no-port-to", to=to[0], port=to[1], seen=_told(one))
    if whole.full:
        return case(said, "ports-bound", seen=_told(whole))
    closed = [row.time_wait for row in frame.rows("snmp") if row.time_wait is not None]
    free = closed and whole.taken + sum(closed) < FULL * whole.of
    # one in TIME_WAIT may be used again only with timestamps: __inet_check_established()
    return case(said, "port-taken", to=to[0], port=to[1]) if free else None


def _told(seen: Used) -> str:
    return f"{seen.told} ports of {RANGE} are seen in use: {seen.holds}."


class Holder(NamedTuple):
    """Who holds the port, and the change."""

    saw: str
    change: str


def holder(frame: Frame, protocol: str, port: int, address: str = "") -> Holder | None:
    """Of a port that is in use here; None if no socket of this namespace has it at that address."""
    rows = [
        row for row in frame.rows(f"sockets_{protocol}")
        if row.local_port == port and not getattr(row, "namespace", 0) and _meets(row, address)
    ]  # fmt: skip
    if not rows:
        return None
    listens = [row for row in rows if getattr(row, "state", "") == "listen" or not row.remote_port]
    row = (listens or rows)[0]
    who = owners(frame).get(row.inode, "a process")
    if listens:
        return Holder(
            f"{who} has bound {end(row.local, port)}",
            f"end {who} if it is left of an earlier start, or give one of the two another port; "
            f"by SO_REUSEPORT only sockets of one user share it ({who}: user {row.uid})",
        )
    to = end(row.remote, row.remote_port)
    saw = f"{who} holds port {port} with its connection to {to}"
    sysctls = {one.name: one.value for one in frame.rows("sysctls")}
    ports = chosen(sysctls)
    if ports is None or port in ports:  # the kernel chose it
        reserved = ",".join(filter(None, (sysctls.get(RESERVED, ""), str(port))))
        frees = f"`ss -K sport = :{port}; sysctl -w {RESERVED}={reserved}`"
        return Holder(saw, f"{frees} frees the port for its service, and keeps it so")
    if protocol == UDP:
        change = f"let {who} take datagrams of others too, by a socket that is not connected"
        return Holder(f"{who} has port {port} for {to} only", change)
    return Holder(saw, f"let {who} connect from another port: it binds this one itself")


def _meets(row: Any, address: str) -> bool:
    """Whether a socket keeps others from binding an address; of IPv6 `::` is that of IPv4 too."""
    own, asked = row.local, address.removeprefix("::ffff:")
    if not asked or own == asked:
        return True
    if (":" in own) != (":" in asked):
        return asked == "::" or (own == "::" and getattr(row, "v6only", None) is not True)
    return own in EVERYWHERE or asked in EVERYWHERE
