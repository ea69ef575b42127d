"""Looks at the sockets of other network namespaces: pods, containers, `ip netns`.

Their sysctls and the counters of their interfaces are not read. What their sockets, qdiscs, threads
and quotas say is as good as in this namespace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import Facts
from ..kinds.flow import Flow
from .looks import FLOWS, Look, end, name, wanting
from .window import Window, mean


def looks(window: Window, facts: Facts) -> list[Look]:
    """A look for each flow that wants to move, the busiest first, and each socket that drops."""
    found = sorted(_streams(window, facts), key=lambda look: -look.rate)
    return [*found[:FLOWS], *_datagrams(window, facts)]


def _streams(window: Window, facts: Facts) -> Iterator[Look]:
    devices = window.devices()
    for inode in window.netns_tcp.series:
        entries = window.netns_tcp.entries(inode)
        if not entries:
            continue
        row = entries[-1].now
        flow = _flow(window, "tcp", row, row.remote, row.remote_port)
        device = devices.get((row.namespace, row.local))
        yield from wanting(
            Look("flow", name(flow), "tx", 0.0, window, facts, None, flow, entries,
                 namespace=_named(window, row),
                 device=(row.namespace, device) if device is not None else None)
        )  # fmt: skip


def _datagrams(window: Window, facts: Facts) -> Iterator[Look]:
    for inode in window.netns_udp.series:
        entries = window.netns_udp.entries(inode)
        if (mean(entry.rate("drops") for entry in entries) or 0.0) > 0.0:
            row = entries[-1].now
            yield Look("socket", end(row.local, row.local_port), "rx", 0.0, window, facts, None,
                       _flow(window, "udp", row), udp=entries,
                       namespace=_named(window, row))  # fmt: skip


def _flow(window: Window, protocol: str, row: Any, remote: str = "", port: int = 0) -> Flow:
    pid, process = window.owners.get(row.inode, (None, None))
    return Flow(
        f"{protocol} {end(row.local, row.local_port)}", protocol, row.local, row.local_port,
        remote, port, row.inode, pid, process,
    )  # fmt: skip


def _named(window: Window, row: Any) -> str:
    return window.spaces.get(row.namespace) or f"net:[{row.namespace}]"
