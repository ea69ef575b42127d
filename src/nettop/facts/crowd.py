"""The TCP sockets of a large host that move little: counted in groups.

Of 100,000 packed rows most are those of the last reading, and of 10,000 busy ones most move a
message now and then. Only their number and their sums matter for interfaces and processes, so
sockets between the same addresses are joined once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import islice
from operator import attrgetter
from typing import Any, Final, TypeAlias

from ..collect.drop_reasons import Row as DropReasonRow
from ..collect.sockets_tcp import Row as TcpRow
from ..collect.sockets_udp import Row as UdpRow
from ..frame.fields import Packed
from ..frame.pairs import Calm
from ..frame.rates import Entry
from .kinds.process import Use
from .landing import Landed, Sites

# why a socket of UDP drops what it has room for, and why for want of room or memory
_REFUSED: Final = frozenset(("XFRM_POLICY", "SOCKET_FILTER", "UDP_CSUM"))
_FULL: Final = frozenset(("SOCKET_RCVBUFF", "PROTO_MEM", "NO_REASON"))
# bytes a second in both directions, received, acknowledged; None: unknown
Moving: TypeAlias = "tuple[float, float | None, float | None, Entry[TcpRow], Landed]"


def split(tcp: Iterable[Entry[TcpRow]]) -> tuple[list[Entry[TcpRow]], list[Entry[TcpRow]]]:
    """The sockets that are joined one by one, and the connections that move little or nothing.

    So do those of a first reading, which have no rates yet.
    """
    others: list[Entry[TcpRow]] = []
    calm: list[Entry[TcpRow]] = []
    for entry in tcp:
        if isinstance(entry, Calm) or (isinstance(entry.now, Packed) and not entry.rated):
            if entry.now.state == "established":
                calm.append(entry)
        else:
            others.append(entry)
    return others, calm


def busiest(calm: Sequence[Entry[TcpRow]], most: int) -> list[Entry[TcpRow]]:
    """So many of these connections: those that moved most, the most first."""
    moved: Any = [entry for entry in calm if isinstance(entry, Calm) and not entry.still]
    first = nlargest(most, moved, key=attrgetter("moved"))
    if len(first) < most:
        rest = (entry for entry in calm if entry.still or not isinstance(entry, Calm))
        first += islice(rest, most - len(first))
    return first


def sites(calm: Iterable[Entry[TcpRow]], landing: Sites) -> dict[object, tuple[Landed, int]]:
    """The interfaces of these connections and their number, by what they have in common.

    The receive queue in it is that of one of them.
    """
    found: list[Any] = [entry.now for entry in calm]
    rows = {row.ends: row for row in found}
    counts = Counter([row.ends for row in found])
    return {e: (landing.site(rows[e].cookie, "tcp", rows[e]), n) for e, n in counts.items()}


def apart(
    others: list[Entry[TcpRow]], calm: Iterable[Entry[TcpRow]], ends: Collection[object]
) -> tuple[list[Entry[TcpRow]], list[Entry[TcpRow]]]:
    """The same two lists: of `calm`, those with one of these `ends` that move go to the others."""
    rest = []
    for entry in calm:
        row: Any = entry.now
        if isinstance(entry, Calm) and not entry.still and row.ends in ends:
            others.append(entry)
        else:
            rest.append(entry)
    return others, rest


def moved(entry: Entry[TcpRow]) -> tuple[float, float]:
    """Bytes received and acknowledged per second by one of the calm connections."""
    return entry.rx_tx if isinstance(entry, Calm) else (0.0, 0.0)


def refusing(dropped: Iterable[Entry[DropReasonRow]]) -> frozenset[int]:
    """The ports of UDP whose sockets refuse datagrams, and are not full.

    The drops of a socket count both (net/ipv4/udp.c, udp_queue_rcv_one_skb(), sk_drops).
    """
    found: dict[str, set[str]] = {}
    for row in (one.now for one in dropped):
        if row.where == "here" and row.protocol == "udp" and row.packets:
            found.setdefault(row.port, set()).add(row.reason)
    return frozenset(
        int(port) for port, reasons in found.items()
        if port.isdecimal() and reasons & _REFUSED and not reasons & _FULL
    )  # fmt: skip


def uses(
    tcp: Sequence[Moving], udp: Sequence[Entry[UdpRow]],
    calm: Sequence[Entry[TcpRow]], places: Mapping[object, tuple[Landed, int]],
    owners: Mapping[int, tuple[int, str]], dropped: Iterable[Entry[DropReasonRow]] = (),
) -> dict[int, Use]:  # fmt: skip
    """The network use of each process, summed over its sockets.

    `places` is what `sites` gave for the `calm` ones.
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
    refuse = refusing(dropped)
    for datagrams in udp:
        owner = owners.get(datagrams.now.inode)
        if owner is None:
            continue
        use = found.setdefault(owner[0], Use())
        use.udp += 1
        use.unread = max(use.unread or 0, datagrams.now.recv_q)
        drops = datagrams.rate("drops")
        if drops is not None:
            full = datagrams.now.local_port not in refuse
            use.drops = (use.drops or 0.0) + (drops if full else 0.0)
    _add(found, calm, places, owners)
    return found


def _add(
    found: dict[int, Use], calm: Sequence[Entry[TcpRow]],
    places: Mapping[object, tuple[Landed, int]], owners: Mapping[int, tuple[int, str]],
) -> None:  # fmt: skip
    """Add the calm connections to the use of their processes."""
    held = [owners.get(entry.now.inode) for entry in calm]
    for owner, entry in zip(held, calm, strict=True):
        if owner is not None and isinstance(entry, Calm):
            use = found.setdefault(owner[0], Use())
            if use.rx is None or use.tx is None or not entry.still:
                rx, tx = entry.rx_tx
                use.rx, use.tx = (use.rx or 0.0) + rx, (use.tx or 0.0) + tx
    rows: list[Any] = [entry.now for entry in calm]
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
        if use.most < 0.0 and owner in nics:
            use.most, use.nic = 0.0, nics[owner]
