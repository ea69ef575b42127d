"""Forwarding entries of bridges and of VXLAN: RTM_GETNEIGH of family AF_BRIDGE.

net/bridge/br_fdb.c, fdb_fill_info(); drivers/net/vxlan/vxlan_core.c, vxlan_fdb_info().
"""

import struct
from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.netlink import route
from ..host.netlink.codec import Field, decode, of_kind
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=2.0, asked=True, optional=True)

_LARGEST: Final = 1 << 20  # bytes of answer: some 10,000 entries
_BRIDGE: Final = 7  # AF_BRIDGE
# NUD_PERMANENT, NUD_NOARP, include/uapi/linux/neighbour.h; all others were learned
_STATES: Final = {0x80: "permanent", 0x40: "static"}
_TOLD, _STICKY = 0x10, 0x40  # NTF_EXT_LEARNED: by a routing daemon or a driver
_HEAD: Final = struct.Struct("=BxxxiHBB")  # ndmsg: family, interface, state, flags
_ENTRY: Final = {
    1: Field("remote", "raw"), 2: Field("hardware", "raw"), 5: Field("vlan", "H"),
    9: Field("master"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One entry: frames to a hardware address leave there."""

    interface: str = label("port of the bridge, or VXLAN interface")
    hardware: str = label("hardware address; of VXLAN all zeros for what has no entry")
    remote: str = label("IP address of the VXLAN's remote end; empty: an entry of a bridge")
    vlan: int = label("VLAN of the entry; 0: none")
    master: str | None = maybe("the bridge")
    state: str = gauge("learned static permanent", default="learned")
    told: bool = gauge("a routing daemon or a driver keeps it", default=False)
    sticky: bool = gauge("the bridge does not move it to another port", default=False)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every entry; OSError without netlink, ValueError for a table that is too large."""
    answers = route.forwarding(source), route.names(source)
    return parsed(memory, "fdb", answers, lambda both: parse(*both))


def parse(reply: bytes, names: dict[int, str]) -> list[Row]:
    """The rows of an answer; ValueError if it is cut off or too large."""
    if len(reply) > _LARGEST:
        raise ValueError(f"a forwarding table of {len(reply) / (1 << 20):.1f} MiB is not read")
    rows = []
    for start, end in of_kind(reply, route.NEWNEIGH, _HEAD.size, "a forwarding entry"):
        family, index, state, flags, _type = _HEAD.unpack_from(reply, start)
        values = decode(reply, start + _HEAD.size, end, _ENTRY)
        if family != _BRIDGE or index not in names or not values.get("hardware"):
            continue
        remote = values.get("remote")
        named = next((name for bit, name in _STATES.items() if state & bit), "learned")
        rows.append(
            Row(
                names[index], route.mac(values["hardware"]), route.ip(remote) if remote else "",
                values.get("vlan", 0), names.get(values.get("master", 0)),
                named, bool(flags & _TOLD), bool(flags & _STICKY),
            )
        )  # fmt: skip
    return rows
