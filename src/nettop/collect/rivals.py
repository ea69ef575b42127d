"""Neighbours that answer from two hardware addresses in turn: RTM_GETNEIGH (net/core/neighbour.c).

An answer or a request of ARP, or an advertisement of neighbour discovery, replaces the hardware
address of an entry (neigh_update()), and nothing counts that. A new address alone is no fault: a
standby takes over, a card was replaced. An address that comes back is one of two that compete. The
table of a large network is not parsed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import route
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, parsed, recall
from .neighbour_states import entries

TABLE: Final = Table(every=1.0, optional=True)

_LEARNT: Final = 0x02 | 0x04 | 0x08 | 0x10  # NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE
_LARGEST: Final = 1 << 18  # bytes of answer: some 2,500 entries
_MEMORY: Final = 120  # readings after which an old rivalry is forgotten

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """One address that two hardware addresses claim."""

    interface: str = label("interface name")
    address: str = label("IP address of the neighbour")
    hardware: str = gauge("both hardware addresses")


@dataclass
class _Seen:
    now: dict[Key, str] = field(default_factory=dict)
    before: dict[Key, str] = field(default_factory=dict)  # the hardware address before the present
    returned: dict[Key, int] = field(default_factory=dict)  # readings since an address came back


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every such neighbour; OSError without netlink, ValueError for a table that is too large."""
    answers = route.neighbours(source), route.names(source)
    return _compared(
        parsed(memory, "rivals", answers, lambda both: parse(*both)), recall(memory, _Seen)
    )


def parse(reply: bytes, names: Mapping[int, str]) -> dict[Key, str]:
    """The hardware address of each neighbour; ValueError if the answer is cut off or too large."""
    if len(reply) > _LARGEST:
        raise ValueError(f"a neighbour table of {len(reply) / 1024:.0f} KiB is not compared")
    return {
        (interface, route.ip(values["address"])): values["hardware"].hex(":")
        for interface, _, values in entries(reply, names, _LEARNT)
        if len(values.get("hardware", b"")) == 6
    }


def _compared(found: Mapping[Key, str], seen: _Seen) -> list[Row]:
    seen.returned = {key: age + 1 for key, age in seen.returned.items() if age < _MEMORY}
    for key, hardware in found.items():
        last = seen.now.get(key, hardware)
        if hardware != last:
            if seen.before.get(key) == hardware:
                seen.returned[key] = 0
            seen.before[key] = last
        seen.now[key] = hardware
    return [
        Row(*key, " ".join(sorted((seen.now[key], seen.before[key]))))
        for key in sorted(seen.returned)
    ]
