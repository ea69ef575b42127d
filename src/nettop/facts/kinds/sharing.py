"""Datagram sockets of several processes that share a port, of which one loses datagrams.

With SO_REUSEPORT the kernel chooses the socket by a hash of addresses and ports: all datagrams of
one sending socket go to one of them (net/ipv4/udp.c, udp4_lib_lookup2(), and
net/core/sock_reuseport.c). A socket at one address of this host takes all that comes for it, and
one at every address none of that (__udp4_lib_lookup()). Readers of one multicast group share a port
too, but each gets all datagrams, so none of them idles.
"""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from typing import Final

from ...collect.sockets_udp import Row as UdpRow
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Entry, Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..flow_words import end
from ..kind import Kind
from ..way.flow import Host
from .process import Process

LEAST: Final = 2  # processes that share the port
ANY: Final = ("0.0.0.0", "::")  # noqa: S104 -- of IPv4, of IPv6


@dataclass(frozen=True, slots=True)
class Sharing:
    """One address and port. Shares of CPU time are percent of one CPU."""

    id: str = label("local address:port")
    sockets: int = gauge("sockets of the port", "sockets", default=0)
    process: str = gauge("process whose socket loses most, as name[pid]", default="")
    pid: int | None = maybe("that process")
    drops: float | None = maybe("datagrams dropped at its socket", "packets/s")
    others_drops: float | None = maybe(
        "datagrams dropped at all other sockets of the port", "packets/s"
    )
    busy: float | None = maybe("CPU time of that process", "%")
    others_busy: float | None = maybe("CPU time of the busiest other process of the port", "%")
    others: tuple[str, ...] = gauge("the other processes of the port, as name[pid]", default=())
    wide: tuple[str, ...] = gauge(
        "other processes with the port at every address, as name[pid]: none of these datagrams is "
        "theirs", default=(),
    )  # fmt: skip


def build(frame: Frame, facts: Facts) -> tuple[Sharing, ...]:
    """The shared ports of which a socket loses datagrams."""
    ports = defaultdict(list)
    for entry in frame.tables.get("sockets_udp", ()):
        if not entry.now.remote_port:
            ports[entry.now.local, entry.now.local_port].append(entry)
    losing = {
        place: entries for place, entries in ports.items()
        if any(entry.rate("drops") for entry in entries)
    }  # fmt: skip
    if not losing:
        return ()
    pids = {row.inode: row.pid for row in frame.rows("socket_owners")}
    processes, host = {one.pid: one for one in facts.processes}, Host.of(frame)
    found = []
    for (local, port), entries in losing.items():
        owners = [processes.get(pids.get(entry.now.inode) or 0) for entry in entries]
        known = [one for one in owners if one]
        every = ANY[entries[0].now.ipv6]
        beside = ports.get((every, port), ()) if local != every and host.local(local) else ()
        wide = [processes.get(pids.get(entry.now.inode) or 0) for entry in beside]
        wider = tuple(dict.fromkeys(_who(one) for one in wide if one and one not in known))
        if None not in owners and (wider or len({one.pid for one in known}) >= LEAST):
            found.append(_sharing(end(local, port), entries, known, wider))
    return tuple(found)


def _sharing(
    name: str, entries: list[Entry[UdpRow]], owners: list[Process], wide: tuple[str, ...]
) -> Sharing:
    drops = [entry.rate("drops") or 0.0 for entry in entries]
    first = owners[drops.index(max(drops))]
    others = [one for one in owners if one.pid != first.pid]
    known = [_busy(one) for one in others]
    return Sharing(
        name, len(entries), _who(first), first.pid, max(drops), sum(drops) - max(drops),
        _busy(first),
        None if None in known else max((one for one in known if one is not None), default=None),
        tuple(dict.fromkeys(map(_who, others))), wide,
    )  # fmt: skip


def _who(one: Process) -> str:
    return f"{one.name}[{one.pid}]"


def _busy(one: Process) -> float | None:
    return None if one.user is None or one.system is None else one.user + one.system


KIND = Kind(
    Sharing, "sharings", needs=("sockets_udp", "socket_owners", "processes"), build=build,
    parents={"process": attrgetter("pid"), "program": attrgetter("pid")},
    example={"id": "0.0.0.0:9000", "sockets": 4},
)  # fmt: skip
