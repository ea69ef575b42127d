"""Parts of programs that read a packet: struct sk_buff, and its headers of network and transport.

include/linux/skbuff.h. Offsets are those of the running kernel.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from . import assembler as a
from . import btf, counting

IP, IP6 = 0x0800, 0x86DD
PORTED: Final = (6, 17, 132)  # TCP, UDP and SCTP: their headers begin with both ports
_LATER: Final = 0x1FFF  # of a header of IPv4: the place of a fragment in its packet
HEADER: Final = 48  # bytes: 40 of a header, and the ports; options of IPv4 up to 20 bytes
_ETHERS: Final = {0x0800: "ip", 0x86DD: "ip6", 0x0806: "arp", 0x88CC: "lldp", 0x8100: "vlan"}
_TRANSPORTS: Final = {
    1: "icmp",
    2: "igmp",
    6: "tcp",
    17: "udp",
    50: "esp",
    58: "icmp6",
    132: "sctp",
}
_FIELDS: Final = {  # of struct sk_buff, with their bytes
    "dev": 8, "sk": 8, "skb_iif": 4, "protocol": 2, "network_header": 2, "mac_header": 2,
    "end": 4, "head": 8,
}  # fmt: skip


class Packet:
    """The part of a packet's structure that has these fields, copied to the stack at `at`."""

    def __init__(self, types: btf.Types, fields: Collection[str], above: int) -> None:
        """It lies below the stack offset `above`. KeyError without such a field."""
        self._places = {name: types.offset("sk_buff", name) for name in fields}
        self._first = min(self._places.values())
        self._size = max(self._places.values()) + 8 - self._first
        self.at = (above - self._size) & -8

    def copied(self, of: int) -> a.Parts:
        """Copy it from the packet in R6 to R9."""
        return counting.copied(self.at, of, self._first, self._size)

    def field(self, to: int, name: str) -> a.Parts:
        """`to` = the field, of what was copied."""
        place = self.at + self._places[name] - self._first
        return a.load(to, a.R10, place, _FIELDS[name])

    def transport(self, header: int) -> a.Parts:
        """Copy the headers to the stack at `header`; R7 has the protocol of the network.

        R8 = the number of the transport protocol, R9 = bytes from there to its header.
        """
        return (
            *self.field(a.R8, "network_header"), *self.field(a.R9, "head"), *a.add(a.R8, a.R9),
            *transport(header),
        )  # fmt: skip


def transport(header: int) -> a.Parts:
    """As `Packet.transport`, of the header of the network at R8.

    A later fragment of IPv4 has no such header: R9 = 0 (include/net/ip.h, IP_OFFSET).
    """
    return (
        *counting.copied(header, a.R8, 0, HEADER),
        *a.number(a.R9, 40), *a.load(a.R8, a.R10, header + 6, 1),
        *a.when(a.R7, "==", IP6, "transport"),
        *a.load(a.R8, a.R10, header + 9, 1),
        *a.load(a.R9, a.R10, header + 6, 2), *a.swapped(a.R9), *a.change(a.R9, "&", _LATER),
        *a.when(a.R9, "!=", 0, "later"),
        *a.load(a.R9, a.R10, header, 1), *a.change(a.R9, "&", 15), *a.change(a.R9, "<<", 2),
        *a.go("transport"),
        "later", *a.number(a.R9, 0),
        "transport",
    )  # fmt: skip


def protocol(transport: int, ether: int) -> str:
    """The word for a packet of that transport protocol; without one, of that EtherType."""
    return _TRANSPORTS.get(transport) or _ETHERS.get(ether) or f"{ether:#06x}"
