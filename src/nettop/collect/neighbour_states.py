"""Neighbour entries with their state: RTM_GETNEIGH (net/core/neighbour.c, neigh_fill_info())."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.netlink import route
from ..host.netlink.codec import Attributes, Field, decode, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=2.0, asked=True, optional=True)

# NUD_*, include/uapi/linux/neighbour.h
STATES: Final = {
    0x01: "incomplete", 0x02: "reachable", 0x04: "stale", 0x08: "delay", 0x10: "probe",
    0x20: "failed", 0x40: "noarp", 0x80: "permanent",
}  # fmt: skip
_FAMILIES: Final = {2: 4, 10: 6}  # AF_INET, AF_INET6
_LARGEST: Final = 1 << 20  # bytes of answer: some 10,000 entries

_HEAD: Final = struct.Struct("=BxxxiHBB")  # ndmsg: family, interface, state
_ENTRY: Final = {
    1: Field("address", "raw"), 2: Field("hardware", "raw"), 3: Field("cache", "raw"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One entry."""

    interface: str = label("interface name")
    address: str = label("IP address of the neighbour")
    family: int = gauge("4 or 6")
    state: str = gauge("reachable stale delay probe failed incomplete permanent noarp none")
    hardware: str | None = maybe("hardware address; None: not known")


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


def entries(
    reply: bytes, names: Mapping[int, str], states: int
) -> Iterator[tuple[str, int, Attributes]]:
    """Interface, family (4 or 6) and attributes of each neighbour in one of these NUD states.

    Only those with an address, on the interfaces in `names`, by index. ValueError if the answer is
    cut off or too large.
    """
    if len(reply) > _LARGEST:
        raise ValueError(f"a neighbour table of {len(reply) / (1 << 20):.1f} MiB is not read")
    for start, end in of_kind(reply, route.NEWNEIGH, _HEAD.size, "a neighbour"):
        family, index, state, _flags, _type = _HEAD.unpack_from(reply, start)
        if not state & states or family not in _FAMILIES or index not in names:
            continue
        values = decode(reply, start + _HEAD.size, end, _ENTRY)
        if "address" in values:
            yield names[index], _FAMILIES[family], values
