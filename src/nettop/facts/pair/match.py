"""The flows that both hosts see: the same four addresses and ports, seen from the other side.

Loopback addresses exist on every host and match nothing. Where addresses are translated (NAT) no
flow matches: flows with the same port and about the same rate are a hint, and never joined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Final

from ...frame.fields import whole
from ..limits import Limit
from . import Unmatched

if TYPE_CHECKING:
    from ...collect.sockets_tcp import Row as TcpRow

Tuple4 = tuple[str, int, str, int]
ALIKE: Final = 0.3  # of the rate, by which two ends of one flow may differ
CANDIDATES: Final = 3


def plain(address: str) -> str:
    """The address without the prefix of IPv4 in IPv6 sockets (::ffff:10.0.0.1)."""
    try:
        known = ip_address(address)
    except ValueError:
        return address
    mapped = known.ipv4_mapped if isinstance(known, IPv6Address) else None
    return str(mapped or known)


def key(row: TcpRow) -> Tuple4:
    """Local and remote address and port."""
    return plain(row.local), row.local_port, plain(row.remote), row.remote_port


def turned(name: Tuple4) -> Tuple4:
    """The same flow seen from its other end."""
    return name[2], name[3], name[0], name[1]


def flows(rows: Iterable[TcpRow]) -> dict[Tuple4, TcpRow]:
    """The connections by address, without those inside the host."""
    return {
        name: whole(row) for row in rows if row.state != "listen" and not _inside(name := key(row))
    }


def _inside(name: Tuple4) -> bool:
    try:
        return ip_address(name[0]).is_loopback or name[0] == name[2]
    except ValueError:
        return True


def same_host(here: Iterable[TcpRow], there: Iterable[TcpRow]) -> bool:
    """Whether both lists are of one host and namespace: a socket of one is in the other."""
    own = {(row.cookie, row.inode, key(row)) for row in here if row.inode}
    return any((row.cookie, row.inode, key(row)) in own for row in there)


def parts(target: str) -> Tuple4:
    """The addresses and ports of the target of a limit, `LOCAL>REMOTE`."""
    local, _, remote = target.partition(">")
    return (*_end(local), *_end(remote))


def _end(text: str) -> tuple[str, int]:
    address, _, port = text.rpartition(":")
    return plain(address.strip("[]")), int(port) if port.isdecimal() else 0


def unmatched(
    limits: Sequence[Limit], joined: Collection[Tuple4], far: Sequence[Limit]
) -> tuple[Unmatched, ...]:
    """The flows of this host that want to move data and have no other end there."""
    out = []
    for one in limits:
        name = parts(one.target) if one.over == "flow" and one.namespace is None else None
        if name is None or _inside(name) or name in joined:
            continue
        alike = [other.target for other in far if _like(one, other, name)]
        out.append(Unmatched(one.target, tuple(alike[:CANDIDATES])))
    return tuple(out)


def _like(one: Limit, other: Limit, name: Tuple4) -> bool:
    """Whether a flow there has one of our ports at the right end, and about our rate."""
    if other.over != "flow" or one.rate is None or other.rate is None:
        return False
    far = parts(other.target)
    if one.direction == other.direction or (far[1] != name[3] and far[3] != name[1]):
        return False
    return abs(one.rate - other.rate) <= ALIKE * max(one.rate, other.rate)
