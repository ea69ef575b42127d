"""The sockets at the port of a packet that was dropped, and why none of them takes it.

`seen`: the drop and the host, as in `drop_causes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ..collect.drop_reasons import Row
from ..collect.ways import Question
from ..terms.text import few, most
from .flow_words import end, owners
from .program_causes import hooked
from .used_ports import chosen
from .way.flow import Host, address
from .way.lookup import lookup
from .way.steps.listener import misses


def arrives(host: Host, row: Row) -> str:
    """The interface by which the packet came, or was to leave; empty: it is not known."""
    link = host.numbered.get(row.interface)
    return link.interface if link is not None else ""


def foremost(seen: Any) -> Row | None:
    """The packets of the most frequent kind of which port and addresses are known."""
    known = (row for row in seen.rows if row.to and row.port and row.to_port)
    return max(known, key=lambda one: one.packets, default=None)


def _holders(host: Host, row: Row) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """Who has sockets at the port of a packet, and why one does not take it with what cures that.

    None: it takes it. net/ipv4/udp.c, compute_score(): the device, the address and the connected
    peer must match.
    """
    names = owners(host.frame)
    for one in host.frame.rows(f"sockets_{row.protocol}"):
        if one.local_port != row.to_port or (row.protocol == "tcp" and one.state != "listen"):
            continue
        missed: tuple[str, str] | None
        if row.protocol == "udp" and one.remote_port:
            peer = address(one.remote), one.remote_port
            only = f"for {end(one.remote, one.remote_port)} only"
            missed = only, "let the sender answer from that address and port"
            missed = None if peer == (address(row.source), row.source_port) else missed
        else:
            missed = misses(host, one, row.to, arrives(host, row))
        if missed is not None and missed[0] == "only":
            missed = f"at {one.local} only", missed[1]
        yield names.get(one.inode, "a program"), missed


def swallowed(seen: Any) -> Mapping[str, Any]:
    """The local route that takes packets for an address that is not of this host (AnyIP)."""
    row, host = foremost(seen), seen.host
    if row is None or host.local(row.to) or address(row.to).is_multicast:
        return {}
    found = lookup(host, Question(row.to, row.source, arrives(host, row)))
    if found.kind != "local" or found.doubt:
        return {}
    first = found.routes[0]
    return {"to": row.to, "route": first.to, "table": first.table, "nic": first.interface or "lo"}


def choosy(seen: Any) -> Mapping[str, Any]:
    """The sockets at its port, if each takes others only, and says which."""
    row, said, cures = foremost(seen), [], []
    for who, missed in () if row is None else _holders(seen.host, row):
        if missed is None:
            return {}
        said.append(f"{who} has it {missed[0]}")
        cures.append(f"{missed[1][0].upper()}{missed[1][1:]}")
    if row is None or not said:
        return {}
    return {
        "port": f"{row.protocol} port {row.to_port}", "first": said[0], "cure": cures[0],
        "sockets": most(Counter(said)), "list": f"ss -anp{row.protocol[0]} sport = :{row.to_port}",
    }  # fmt: skip


def closed(seen: Any) -> Mapping[str, Any]:
    """The one port of TCP at which nothing listens; not one from which this host may connect."""
    row = foremost(seen)
    if row is None or row.protocol != "tcp" or row.to_port in (chosen(seen.facts.sysctls) or ()):
        return {}
    if {one.to_port for one in seen.rows} != {row.to_port} or any(_holders(seen.host, row)):
        return {}
    who = few(sorted({one.source for one in seen.rows}), 2)
    return {"port": f"tcp port {row.to_port}", "who": who}


def steered(seen: Any) -> Mapping[str, Any]:
    """The program that looks for a socket before the kernel, where one would take the packet."""
    row = foremost(seen)
    taking = [] if row is None else [who for who, why in _holders(seen.host, row) if why is None]
    found = hooked(seen) if taking else {}
    if row is None or not found:
        return {}
    return {**found, "port": f"{row.protocol} port {row.to_port}", "who": taking[0]}
