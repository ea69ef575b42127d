"""The driver's private flags: ETHTOOL_MSG_PRIVFLAGS_GET (net/ethtool/privflags.c); Linux 5.7."""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import ethtool
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, recall

TABLE: Final = Table(every=10.0, absent=True)


@dataclass(frozen=True, slots=True)
class Row:
    """One private flag of one interface."""

    interface: str = label("interface name")
    name: str = label("name given by the driver, e.g. rx_cqe_compress")
    on: bool = gauge("on")


@dataclass
class _Last:
    names: dict[str, Sequence[str]] = field(default_factory=dict)  # by interface


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """The flags of every interface; the names of a device are read once. OSError."""
    last = recall(memory, _Last)
    rows: list[Row] = []
    known: dict[str, Sequence[str]] = {}
    for interface, values in ethtool.every(source, "privflags").items():
        bits = values.get("flags")
        if bits is None or not bits.size:
            continue
        names = last.names.get(interface, ())
        if len(names) != bits.size:
            names = ethtool.strings(source, "privflags", interface)
        known[interface] = names
        rows += [
            Row(interface, name, bool(bits.value >> bit & 1))
            for bit, name in enumerate(names)
            if name
        ]
    last.names = known
    return rows
