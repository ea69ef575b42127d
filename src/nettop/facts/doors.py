"""Who has sockets at a port that moves no data: here, and in other network namespaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from ..frame.rates import Frame
from ..terms import units
from ..terms.text import few
from ..terms.units import many
from .elsewhere import names
from .flow_words import end, owners

SHOWN: Final = 4  # sockets, or other ports, that are named
TABLES: Final = {"tcp": ("sockets_tcp", "netns_tcp"), "udp": ("sockets_udp", "netns_udp")}


def held(frame: Frame, port: int) -> str:
    """A sentence about each socket that listens at the port, and its connections; empty: none."""
    return few([*_listening(frame, port), *_connected(frame, port)], SHOWN)


def near(frame: Frame, port: int) -> str:
    """That nobody listens at the port, and which ports are the nearest."""
    who = owners(frame)
    found = {
        (abs(row.local_port - port), f"{row.local_port} ({who.get(row.inode, protocol)}{place})")
        for protocol, row, place in _sockets(frame) if _door(protocol, row)
    }  # fmt: skip
    ports = few((text for _, text in sorted(found)[:SHOWN]), SHOWN)
    return f"nobody listens at port {port}" + (f"; the nearest ports are {ports}" if ports else "")


def _listening(frame: Frame, port: int) -> Iterator[str]:
    who = owners(frame)
    rows = [one for one in _sockets(frame) if one[1].local_port == port]
    for protocol, row, place in rows:
        if not _door(protocol, row):
            continue
        told = f"{who.get(row.inode, 'a program')} listens at {end(row.local, port)} ({protocol})"
        told += place
        if protocol == "udp":
            yield f"{told}, with {units.size(row.recv_q)} unread"
            continue
        space = row.namespace
        open_ = sum(one.state == "established" for _, one, _ in rows if one.namespace == space)
        yield (f"{told}, with {many(open_, 'open connections')}, and {row.recv_q:,} of "
               f"{row.send_q:,} wait to be accepted")  # fmt: skip


def _connected(frame: Frame, port: int) -> Iterator[str]:
    """What programs here are connected to at that port of others."""
    who, found = owners(frame), Counter[tuple[str, str]]()
    doors = {row.local_port for protocol, row, _ in _sockets(frame) if _door(protocol, row)}
    for protocol, row, place in _sockets(frame):
        if row.remote_port == port and row.local_port not in doors and row.inode:
            name = f"{who.get(row.inode, 'a program')}{place}"
            found[name, f"{end(row.remote, port)} ({protocol})"] += 1
    for (name, to), count in found.most_common():
        yield f"{name} has {many(count, 'sockets')} to {to}"


def _door(protocol: str, row: Any) -> bool:
    return bool(row.state == "listen" if protocol == "tcp" else not row.remote_port)


def _sockets(frame: Frame) -> Iterator[tuple[str, Any, str]]:
    """Protocol and row of each socket, and its namespace in words; empty for this one."""
    spaces = names(frame) if frame.rows("namespaces") else {}
    for protocol, tables in TABLES.items():
        for table in tables:
            for row in frame.rows(table):
                space = row.namespace if table.startswith("netns") else 0
                yield protocol, row, f" in namespace {spaces.get(space, space)}" if space else ""
