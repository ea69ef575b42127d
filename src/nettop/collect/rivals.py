"""Neighbours that answer from two hardware addresses in turn: RTM_GETNEIGH (net/core/neighbour.c).

An answer or a request of ARP, or an advertisement of neighbour discovery, replaces the hardware
address of an entry (neigh_update()), and nothing counts that. A new address alone is no fault: a
standby takes over, a card was replaced. An address that comes back is one of two that compete. Two
that announce themselves each second show the same one at each reading; the entry itself was changed
between all of them (struct nda_cacheinfo), which a state that ends by time is not. The table of a
large network is not parsed.
"""

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import route
from ..host.netlink.codec import Attributes
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, parsed, recall
from .neighbour_states import entries

TABLE: Final = Table(every=1.0, optional=True)

_LEARNT: Final = 0x02 | 0x04 | 0x08 | 0x10  # NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE
_LARGEST: Final = 1 << 18  # bytes of answer: some 2,500 entries
_TIMES: Final = struct.Struct("=IIII")  # nda_cacheinfo: confirmed, used, updated (ticks ago), users
_TICKS: Final = 100  # a second, USER_HZ
CHANGES: Final = 3  # readings in turn since each of which an entry was changed: it has a rival
_MEMORY: Final = 120  # readings after which an old rivalry is forgotten

Key = tuple[str, str]
Entry = tuple[str, float]  # hardware address; seconds since the entry was changed


@dataclass(frozen=True, slots=True)
class Row:
    """One address that two hardware addresses claim."""

    interface: str = label("interface name")
    address: str = label("IP address of the neighbour")
    hardware: str = gauge("both hardware addresses, or one that was seen, `and another`")


@dataclass
class _Seen:
    now: dict[Key, str] = field(default_factory=dict)
    before: dict[Key, str] = field(default_factory=dict)  # the hardware address before the present
    returned: dict[Key, int] = field(default_factory=dict)  # readings since an address came back
    changed: dict[Key, int] = field(default_factory=dict)  # readings in turn between which it was
    at: float | None = None  # seconds of the source's clock


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every such neighbour; OSError without netlink, ValueError for a table that is too large."""
    answers = route.neighbours(source), route.names(source)
    found = parsed(memory, "rivals", answers, lambda both: parse(*both))
    return _compared(found, recall(memory, _Seen), source.now())


def parse(reply: bytes, names: Mapping[int, str]) -> dict[Key, Entry]:
    """Each neighbour that was learnt; ValueError if the answer is cut off or too large."""
    if len(reply) > _LARGEST:
        raise ValueError(f"a neighbour table of {len(reply) / 1024:.0f} KiB is not compared")
    return {
        (interface, route.ip(values["address"])): (values["hardware"].hex(":"), _age(values))
        for interface, _, values in entries(reply, names, _LEARNT)
        if len(values.get("hardware", b"")) == 6
    }


def _age(values: Attributes) -> float:
    """Seconds since the entry was changed; for ever if it is not told."""
    times = values.get("cache", b"")
    return _TIMES.unpack_from(times)[2] / _TICKS if len(times) >= _TIMES.size else math.inf


def _compared(found: Mapping[Key, Entry], seen: _Seen, now: float) -> list[Row]:
    seen.returned = {key: age + 1 for key, age in seen.returned.items() if age < _MEMORY}
    gap, seen.at = 0.0 if seen.at is None else now - seen.at, now
    seen.changed = {key: seen.changed.get(key, 0) + 1 for key, (_, age) in found.items()
                    if age < gap}  # fmt: skip
    for key, (hardware, _) in found.items():
        if seen.changed.get(key, 0) >= CHANGES:
            seen.returned[key] = 0
        last = seen.now.get(key, hardware)
        if hardware != last:
            if seen.before.get(key) == hardware:
                seen.returned[key] = 0
            seen.before[key] = last
        seen.now[key] = hardware
    return [
        Row(
            *key,
            " ".join(sorted((seen.now[key], seen.before[key])))
            if key in seen.before
            else f"{seen.now[key]} and another",
        )
        for key in sorted(seen.returned)
    ]
