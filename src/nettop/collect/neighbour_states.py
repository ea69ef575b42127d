"""Neighbour entries with their state: RTM_GETNEIGH (net/core/neighbour.c, neigh_fill_info())."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import route
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._neighbours import STATES, entries
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=2.0, asked=True, optional=True)


@dataclass(frozen=True, slots=True)
class Row:
    """One entry."""

    interface: str = label("interface name")
    address: str = label("IP address of the neighbour")
    family: int = gauge("4 or 6")
    state: str = gauge("reachable stale delay probe failed incomplete permanent noarp none")
    hardware: str | None = gauge("hardware address; None: not known", default=None)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every entry; OSError without netlink, ValueError for a table that is too large."""
    answers = route.neighbours(source), route.names(source)
    return parsed(memory, "neighbour_states", answers, lambda both: parse(*both))


def parse(reply: bytes, names: dict[int, str]) -> list[Row]:
    """The rows of an answer to RTM_GETNEIGH; ValueError if it is cut off or too large."""
    rows = []
    for state, name in STATES.items():
        for interface, family, values in entries(reply, names, state):
            raw = values.get("hardware")
            hardware = route.mac(raw) if raw else None
            rows.append(Row(interface, route.ip(values["address"]), family, name, hardware))
    return rows
