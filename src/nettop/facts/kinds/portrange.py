"""The range of local ports where it begins among the ports of services.

connect() takes any port of net.ipv4.ip_local_port_range that net.ipv4.ip_local_reserved_ports does
not list, also that of a service that starts later: its bind() then fails (EADDRINUSE), in the
kernel too (DRBD, NFS), where no call of a program fails. Hosts of one cluster serve alike, so a
port at which neighbours of this host serve is one that it may need itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from ...collect.sockets_tcp import Row as TcpRow
from ...collect.time_wait import RESERVED, available
from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..flow_words import end, owners
from ..kind import Kind
from ..used_ports import chosen

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


def build(frame: Frame, facts: Facts) -> tuple[PortRange, ...]:
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


KIND = Kind(
    PortRange, "port_ranges", needs=("sockets_tcp", "sysctls", "addresses", "socket_owners"),
    build=build, example={"id": "1024-65535", "low": 1024},
)  # fmt: skip
