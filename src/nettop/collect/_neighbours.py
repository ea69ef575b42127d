"""The entries of an answer to RTM_GETNEIGH (net/core/neighbour.c), for the tables made of them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Final

from ..host.netlink import route
from ..host.netlink.codec import Attributes, Field, decode, messages

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


def entries(
    reply: bytes, names: Mapping[int, str], states: int
) -> Iterator[tuple[str, int, Attributes]]:
    """Interface, family (4 or 6) and attributes of each neighbour in one of these NUD states.

    Only those with an address, on the interfaces in `names`, by index. ValueError if the answer is
    cut off or too large.
    """
    if len(reply) > _LARGEST:
        raise ValueError(f"a neighbour table of {len(reply) / (1 << 20):.1f} MiB is not read")
    for kind, start, end in messages(reply):
        if kind != route.NEWNEIGH:
            continue
        if end - start < _HEAD.size:
            raise ValueError("a neighbour is cut off")
        family, index, state, _flags, _type = _HEAD.unpack_from(reply, start)
        if not state & states or family not in _FAMILIES or index not in names:
            continue
        values = decode(reply, start + _HEAD.size, end, _ENTRY)
        if "address" in values:
            yield names[index], _FAMILIES[family], values
