"""The driver's private flags: ETHTOOL_MSG_PRIVFLAGS_GET (net/ethtool/privflags.c); Linux 5.7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..frame.fields import gauge, label
from ..host.netlink import ethtool
from ..host.source import Source

EVERY = 10.0


@dataclass(frozen=True, slots=True)
class Row:
    """One private flag of one interface."""

    interface: str = label("interface name")
    name: str = label("name given by the driver, e.g. rx_cqe_compress")
    on: bool = gauge("on")


def update(source: Source, memory: dict[str, Any]) -> Sequence[Row]:
    """The flags of every interface that has any; a device's names are read once."""
    rows: list[Row] = []
    before: dict[str, Sequence[str]] = memory.get("names", {})
    known: dict[str, Sequence[str]] = {}
    for interface, values in ethtool.every(source, "privflags").items():
        bits = values.get("flags")
        if bits is None or not bits.size:
            continue
        names = before.get(interface, ())
        if len(names) != bits.size:
            names = ethtool.strings(source, "privflags", interface)
        known[interface] = names
        rows += [
            Row(interface, name, bool(bits.value >> bit & 1))
            for bit, name in enumerate(names)
            if name
        ]
    memory["names"] = known
    return rows
