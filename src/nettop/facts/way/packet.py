"""One packet before rules of nf_tables: what each expression sees of it, where that is known.

net/netfilter/nft_{meta,payload,ct,cmp,bitwise}.c. A rule matches (True), does not (False), or
depends on what is not known here (None).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from ...terms.dataclass import dataclass
from .host import address

if TYPE_CHECKING:
    from ...collect.nft_rules import Words

_PROTOCOLS: Final = {"tcp": 6, "udp": 17, "icmp6": 58}
ARP: Final = "arp"  # instead of a protocol of IP
_EQUAL, _DIFFERS = 0, 1  # NFT_CMP_EQ, NFT_CMP_NEQ
_NETWORK, _TRANSPORT = 1, 2  # NFT_PAYLOAD_*_HEADER
_STATE: Final = 0  # NFT_CT_STATE
# NF_CT_STATE_BIT: the first packet of a flow, an answer, what is not tracked (notrack, neighbour
# discovery), what fits no connection and opens none
NEW, ESTABLISHED, UNTRACKED, INVALID = 8, 2, 64, 1
# what lets a packet pass by without a change that matters here
OVER: Final = 1  # NFT_QUOTA_F_INV: it matches once the quota is used up
_HARMLESS: Final = frozenset(("counter", "log", "notrack", "objref", "last", "comment"))


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet at one hook. Port 0 is not known."""

    to: str
    source: str
    protocol: str
    port: int = 0
    source_port: int = 0
    arrives: str = ""
    leaves: str = ""
    mark: int | None = None
    state: int = NEW
    kind: int = 0  # type of ICMPv6, operation of ARP

    def matches(self, does: tuple[Words, ...]) -> bool | None:
        """Whether the expressions before a verdict match."""
        registers: dict[int, bytes | None] = {}
        known: bool | None = True
        for name, *values in does:
            match name, values:
                case "meta", [int(key), int(register)]:
                    registers[register] = self._meta(key)
                case "ct", [int(key), int(register)]:
                    state = self.state.to_bytes(4, sys.byteorder)
                    registers[register] = state if key == _STATE else None
                case "payload", [int(register), int(base), int(offset), int(length)]:
                    registers[register] = self._header(base, offset, length)
                case "bitwise", [int(first), int(register), str(mask), str(xor)]:
                    registers[register] = _masked(registers.get(first), mask, xor)
                case "cmp", [int(register), int(operator), str(data)]:
                    said = _compared(registers.get(register), operator, bytes.fromhex(data))
                    if said is False:
                        return False
                    known = known if said else None
                case "quota", [int(size), int(flags), int(used)]:  # nft_quota_do_eval()
                    if (used >= size) is not bool(flags & OVER):
                        return False
                case (("immediate" | "queue" | "reject" | "nat" | "redir" | "masq"), _):
                    pass
                case _:
                    known = known if name in _HARMLESS else None
        return known

    def _meta(self, key: int) -> bytes | None:
        """NFT_META_*."""
        six = address(self.to).version == 6
        match key:
            case 1:  # PROTOCOL
                if self.protocol == ARP:
                    return b"\x08\x06"
                return b"\x86\xdd" if six else b"\x08\x00"
            case 3:  # MARK
                return None if self.mark is None else self.mark.to_bytes(4, sys.byteorder)
            case 6:  # IIFNAME
                return self.arrives.encode().ljust(16, b"\0")
            case 7:  # OIFNAME
                return self.leaves.encode().ljust(16, b"\0")
            case 15 if self.protocol != ARP:  # NFPROTO
                return b"\x0a" if six else b"\x02"
            case 16 if self.protocol != ARP:  # L4PROTO
                return bytes((_PROTOCOLS[self.protocol],))
        return None

    def _header(self, base: int, offset: int, length: int) -> bytes | None:
        """Bytes of the IP header or of the ports; None if one of them is not known."""
        parts: list[tuple[int, bytes]] = []
        if self.protocol == ARP:  # struct arphdr: formats, lengths, operation, and two pairs
            head = b"\0\x01\x08\0\x06\x04" + self.kind.to_bytes(2, "big")
            ends = (14, address(self.source).packed), (24, address(self.to).packed)
            parts = [(0, head), *ends] if base == _NETWORK else []
        elif base == _NETWORK:
            to = address(self.to).packed
            source = address(self.source).packed if self.source else None
            size, at, protocol = (4, 16, 9) if len(to) == 4 else (16, 24, 6)
            parts = [(at, to), (protocol, bytes((_PROTOCOLS[self.protocol],)))]
            parts += [(at - size, source)] if source else []
        elif base == _TRANSPORT:
            ports = (0, self.source_port), (2, self.port)
            parts = [(place, port.to_bytes(2, "big")) for place, port in ports if port]
            parts += [(0, bytes((self.kind,)))] if self.kind else []
        known = {place + i: byte for place, raw in parts for i, byte in enumerate(raw)}
        wanted = range(offset, offset + length)
        return bytes(known[i] for i in wanted) if all(i in known for i in wanted) else None


def ports(does: tuple[Words, ...]) -> list[int]:
    """The destination ports with which the expressions compare, where they name single ones."""
    registers: set[object] = set()
    found = []
    for name, *values in does:
        match name, values:
            case "payload", [register, 2, 2, 2]:  # of the header of TCP or UDP
                registers.add(register)
            case "cmp", [register, 0, str(data)] if register in registers:
                found.append(int(data, 16))
    return found


def _masked(value: bytes | None, mask: str, xor: str) -> bytes | None:
    if value is None:
        return None
    pairs = zip(value, bytes.fromhex(mask), bytes.fromhex(xor), strict=False)
    return bytes(byte & m ^ x for byte, m, x in pairs)


def _compared(value: bytes | None, operator: int, data: bytes) -> bool | None:
    if value is None or not data or operator not in (_EQUAL, _DIFFERS):
        return None
    return (value[: len(data)] == data) == (operator == _EQUAL)
