"""Looks at the flows and interfaces of other network namespaces: pods, containers, `ip netns`.

Their sysctls are not read. Their sockets, qdiscs, threads and quotas are as reliable as those of
this namespace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .. import Facts
from ..flow_words import QUIET, end, name
from . import multipath
from .looks import FLOWS, Look, wanting
from .window import INTERFACES, Window, mean

COUNTED: Final = 1.0  # lost packets a second: fewer may be chance


def looks(window: Window, facts: Facts) -> list[Look]:
    """A look for each flow that wants to move, socket that drops, and interface that moves.

    Only the busiest flows and interfaces.
    """
    found = sorted(_streams(window, facts), key=lambda look: -look.rate)
    devices = sorted(_devices(window, facts), key=lambda look: -look.rate)
    return [*found[:FLOWS], *_datagrams(window, facts), *devices[:INTERFACES]]


def _devices(window: Window, facts: Facts) -> Iterator[Look]:
    """A look for each direction of an interface that moves or loses packets."""
    for key in window.netns_links.series:
        entries = window.netns_links.entries(key)
        if not entries:
            continue
        row = entries[-1].now
        device = row.namespace, row.interface
        space = window.spaces.get(row.namespace) or f"net:[{row.namespace}]"
        for direction in ("rx", "tx"):
            rate = 8 * (window.counted_elsewhere(device, f"{direction}_bytes") or 0.0)
            lost = window.counted_elsewhere(device, f"{direction}_dropped") or 0.0
            if rate >= QUIET or lost >= COUNTED:
                yield Look("nic", f"{row.interface}@{space}", direction, rate, window, facts,
                           namespace=space, device=device)  # fmt: skip


def _streams(window: Window, facts: Facts) -> Iterator[Look]:
    devices = window.devices()
    for flow in facts.flows:
        if flow.namespace is None or flow.protocol != "tcp":
            continue
        entries = multipath.entries(window.netns_tcp, window.multipath, flow)
        if not entries:
            continue
        row = entries[-1].now
        device = devices.get((row.namespace, row.local))
        yield from wanting(
            Look("flow", name(flow), "tx", 0.0, window, facts, None, flow, entries,
                 namespace=flow.namespace,
                 device=(row.namespace, device) if device is not None else None)
        )  # fmt: skip


def _datagrams(window: Window, facts: Facts) -> Iterator[Look]:
    for flow in facts.flows:
        if flow.namespace is None or flow.protocol != "udp":
            continue
        entries = window.netns_udp.entries(flow.inode)
        if (mean(entry.rate("drops") for entry in entries) or 0.0) > 0.0:
            yield Look("socket", end(flow.local, flow.local_port), "rx", 0.0, window, facts, None,
                       flow, udp=entries, namespace=flow.namespace)  # fmt: skip
