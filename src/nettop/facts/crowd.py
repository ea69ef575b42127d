"""The idle TCP sockets of a large host: counted in groups, because each moves nothing.

Of 100,000 packed rows most are those of the last reading. Only their number matters for interfaces
and processes, so sockets between the same addresses are joined once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..frame.fields import Packed
from ..frame.rates import Entry
from .kinds.process import Use

if TYPE_CHECKING:
    from .landing import Landed, Sites
    from .rows import TcpRow, UdpRow

# bytes a second in both directions, received, acknowledged; None: unknown
Moving: TypeAlias = "tuple[float, float | None, float | None, Entry[TcpRow], Landed]"


def split(
    tcp: Iterable[Entry[TcpRow]],
) -> tuple[list[Entry[TcpRow]], list[Entry[TcpRow]]]:
    """The sockets that are joined one by one, and the connections that are at rest.

    So are those of a first reading, which have no rates yet.
    """
    others, idle = [], []
    for entry in tcp:
        if isinstance(entry.now, Packed) and (entry.still or not entry.rated):
            if entry.now.state == "established":
                idle.append(entry)
        else:
            others.append(entry)
    return others, idle


def sites(idle: Iterable[Entry[TcpRow]], landing: Sites) -> dict[object, tuple[Landed, int]]:
    """The interfaces of these connections and their number, by what they have in common.

    The receive queue in it is that of one of them.
    """
    found: list[Any] = [entry.now for entry in idle]
    rows = {row.ends: row for row in found}
    counts = Counter([row.ends for row in found])
    return {e: (landing.site(rows[e].cookie, "tcp", rows[e]), n) for e, n in counts.items()}


def uses(
    tcp: Sequence[Moving], udp: Sequence[Entry[UdpRow]],
    idle: Sequence[Entry[TcpRow]], places: Mapping[object, tuple[Landed, int]],
    owners: Mapping[int, tuple[int, str]],
) -> dict[int, Use]:  # fmt: skip
    """The network use of each process, summed over its sockets; the idle ones are only counted.

    `places` is what `sites` gave for the idle ones.
    """
    found: dict[int, Use] = {}
    for moved, rx, tx, entry, site in tcp:
        owner = owners.get(entry.now.inode)
        if owner is None:
            continue
        use = found.setdefault(owner[0], Use())
        use.tcp += 1
        if rx is not None or tx is not None:
            use.rx = (use.rx or 0.0) + (rx or 0.0)
            use.tx = (use.tx or 0.0) + (tx or 0.0)
        if site.nic is not None and moved > use.most:
            use.most, use.nic = moved, site.nic
    for datagrams in udp:
        owner = owners.get(datagrams.now.inode)
        if owner is None:
            continue
        use = found.setdefault(owner[0], Use())
        use.udp += 1
        use.unread = max(use.unread or 0, datagrams.now.recv_q)
        drops = datagrams.rate("drops")
        if drops is not None:
            use.drops = (use.drops or 0.0) + drops
    held = [owners.get(entry.now.inode) for entry in idle]
    still = {owner for owner, entry in zip(held, idle, strict=True) if entry.still}
    rows: list[Any] = [entry.now for entry in idle]
    nics = {  # of the first connection that has one
        owner: nic
        for owner, row in zip(reversed(held), reversed(rows), strict=True)
        if (nic := places[row.ends][0].nic) is not None
    }
    for owner, count in Counter(held).items():
        if owner is None:
            continue
        use = found.setdefault(owner[0], Use())
        use.tcp += count
        if owner in still:
            use.rx, use.tx = use.rx or 0.0, use.tx or 0.0
        if use.most < 0.0 and owner in nics:
            use.most, use.nic = 0.0, nics[owner]
    return found
