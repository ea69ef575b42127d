"""Local ports: how many the connections to one address and port use, and where their range begins.

A local port is used by an open connection, and for a minute after the close by one in TIME_WAIT if
this host closed first. A connected datagram socket whose port the kernel chose uses it for every
destination (net/ipv4/udp.c, udp_lib_get_port()).

The range may begin among the ports of services. connect() takes any port of
net.ipv4.ip_local_port_range that net.ipv4.ip_local_reserved_ports does not list, also that of a
service that starts later: its bind() then fails (EADDRINUSE), in the kernel too (DRBD, NFS), where
no call of a program fails. Hosts of one cluster serve alike, so a port at which neighbours of this
host serve is one that it may need itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from operator import attrgetter
from typing import Final

from ...collect.sockets_tcp import Row as TcpRow
from ...collect.time_wait import RESERVED, available
from ...collect.time_wait import available as free
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..flow_words import end, owners
from ..kind import Kind
from ..used_ports import chosen
from ..used_ports import chosen as local_ports

DEFAULT: Final = 32_768  # first port of the range by default: services have ports below
MOST: Final = 4  # connections that are named


@dataclass(frozen=True, slots=True)
class PortRange:
    """The range of this host."""

    id: str = label("first and last port, as 1024-65535")
    low: int = gauge("first local port that the kernel may choose", default=0)
    ports: tuple[int, ...] = gauge(
        "local ports of its own connections at which neighbours serve", default=()
    )
    held: tuple[str, ...] = gauge("these connections", default=())


def ranges(frame: Frame, facts: Facts) -> tuple[PortRange, ...]:
    """One fact where the range begins below the default."""
    ports = chosen(facts.sysctls)
    if ports is None or ports[0] >= DEFAULT:
        return ()
    own = [row for row in frame.rows("sockets_tcp") if not row.namespace]
    doors = {row.local_port for row in own if row.state == "listen"}
    opened = [row for row in own if row.state != "listen" and row.local_port not in doors]
    near = tuple(_networks(frame))
    served = {row.remote_port for row in opened if row.remote_port < DEFAULT and _in(row, near)}
    reserved = facts.sysctls.get(RESERVED, "")
    names = owners(frame)
    held = {
        row.local_port: f"{names.get(row.inode, 'a program')} from port {row.local_port} to "
        f"{end(row.remote, row.remote_port)}"
        for row in opened
        if row.local_port in served and row.local_port in ports
        and available(range(row.local_port, row.local_port + 1), reserved)
    }  # fmt: skip
    taken = sorted(held)
    told = tuple(held[one] for one in taken[:MOST])
    return (PortRange(f"{ports[0]}-{ports[-1]}", ports[0], tuple(taken), told),)


def _networks(frame: Frame) -> Iterator[IPv4Network | IPv6Network]:
    """The networks in which this host has an address."""
    for row in frame.rows("addresses"):
        with suppress(ValueError):  # no address, in a table that a recording brought
            if not (net := ip_network(f"{row.address}/{row.prefix}", strict=False)).is_loopback:
                yield net


def _in(row: TcpRow, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    address = ip_address(row.remote.partition("%")[0])
    return any(address.version == net.version and address in net for net in networks)


RANGE = Kind(
    PortRange, "port_ranges", needs=("sockets_tcp", "sysctls", "addresses", "socket_owners"),
    build=ranges, example={"id": "1024-65535", "low": 1024},
)  # fmt: skip


LEAST: Final = 500  # ports for one address and port: fewer are not listed
SHARE: Final = 4  # … unless they are 1/SHARE of the available ports


@dataclass(frozen=True, slots=True)
class Destination:
    """One local address, and one remote address and port."""

    id: str = label("remote address:port")
    local: str = gauge("local address", default="")
    ports: int = gauge("local ports in use", "ports", default=0)
    waiting: int | None = maybe("local ports held in TIME_WAIT", "ports")
    half: int | None = maybe(
        "local ports held in FIN_WAIT2: closed here, not by the server", "ports"
    )
    available: int | None = maybe("ports of ip_local_port_range without the reserved ones", "ports")
    loopback: bool = gauge("between loopback addresses", default=False)
    datagrams: bool = gauge("datagram sockets, which share the ports of all servers", default=False)
    reserved: int | None = maybe(
        "ports of ip_local_port_range that ip_local_reserved_ports takes", "ports"
    )


def build(frame: Frame, facts: Facts) -> tuple[Destination, ...]:
    """The destinations that take many local ports, the most first."""
    entries = frame.tables.get("sockets_tcp", ())
    held = [row for row in frame.rows("time_wait") if row.remote]
    chosen = local_ports(facts.sysctls)
    listed = facts.sysctls.get(RESERVED, "")
    available = None if chosen is None else free(chosen, listed)
    reserved = len(chosen) - available if chosen and available is not None else None
    least = LEAST if available is None else min(LEAST, max(1, available // SHARE))
    plain = _datagrams(frame, chosen, available, least) if chosen else ()
    if len(entries) < least and not held:
        return plain
    used = Counter(
        (row.local, row.remote, row.remote_port)
        for entry in entries
        if (row := entry.now).state != "listen"
    )
    waiting = Counter({(row.local, row.remote, row.remote_port): row.ports for row in held})
    half = Counter({(row.local, row.remote, row.remote_port): row.half for row in held})
    known = "time_wait" in frame.tables
    return plain + tuple(
        Destination(
            f"{remote}:{port}", local, used[local, remote, port],
            waiting[local, remote, port] if known else None,
            half[local, remote, port] if known else None, available,
            ip_address(remote.partition("%")[0]).is_loopback, reserved=reserved,
        )
        for (local, remote, port), count in (used + waiting + half).most_common()
        if count >= least
    )  # fmt: skip


def _datagrams(
    frame: Frame, chosen: range, available: int | None, least: int
) -> tuple[Destination, ...]:
    """For each local address with many such ports in use, the server with most sockets."""
    ports: dict[str, set[int]] = defaultdict(set)
    servers: dict[str, Counter[tuple[str, int]]] = defaultdict(Counter)
    for entry in frame.tables.get("sockets_udp", ()):
        row = entry.now
        if row.remote_port and row.local_port in chosen:
            ports[row.local].add(row.local_port)
            servers[row.local][row.remote, row.remote_port] += 1
    found = []
    for local, used in ports.items():
        if len(used) >= least:
            ((remote, port), _) = servers[local].most_common(1)[0]
            found.append(
                Destination(
                    f"{remote}:{port}", local, len(used), None, None, available,
                    ip_address(remote.partition("%")[0]).is_loopback, True,
                )
            )  # fmt: skip
    return tuple(found)


KIND = Kind(
    Destination, "destinations", needs=("sockets_tcp", "sockets_udp", "time_wait", "sysctls"),
    build=build, lasts=True, key=attrgetter("local", "id", "datagrams"),
    target=lambda one: f"{one.local}-{one.id}", example={"id": "10.0.0.2:443", "local": "10.0.0.1"},
)  # fmt: skip
