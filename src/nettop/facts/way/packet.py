"""One packet before rules of nf_tables: what each expression sees of it, where that is known.

net/netfilter/nft_{meta,payload,ct,cmp,bitwise,range,lookup,fib}.c. A rule matches (True), does not
(False), or depends on what is not known here (None).
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

from ...collect.nft_rules import Words
from ...collect.nft_sets import Row as SetRow
from ...terms.dataclass import dataclass
from .flow import address

PROTOCOLS: Final = {"icmp": 1, "ipip": 4, "tcp": 6, "udp": 17, "sit": 41, "gre": 47, "icmp6": 58}
ARP: Final = "arp"  # instead of a protocol of IP
_SLOT: Final = 4  # bytes of a 32-bit register; the first four names are of 128 bits
_NETWORK, _TRANSPORT = 1, 2  # NFT_PAYLOAD_*_HEADER
_STATE: Final = 0  # NFT_CT_STATE
# NF_CT_STATE_BIT: the first packet of a flow, an answer, what is not tracked (notrack, neighbour
# discovery), what fits no connection and opens none
NEW, ESTABLISHED, UNTRACKED, INVALID = 8, 2, 64, 1
# what lets a packet pass by without a change that matters here
_TYPE, _TO = 3, 2  # NFT_FIB_RESULT_ADDRTYPE, NFTA_FIB_F_DADDR
SYN: Final = 2  # the flags of the first segment: TCPHDR_SYN
OVER: Final = 1  # NFT_QUOTA_F_INV: it matches once the quota is used up
_DECIDING: Final = (2, 4, 5)  # objects that a rule tests: NFT_OBJECT_QUOTA, _LIMIT, _CONNLIMIT
_ENDS: Final = frozenset(("immediate", "queue", "reject", "nat", "redir", "masq"))  # of a rule
_HARMLESS: Final = frozenset(("counter", "log", "tcpmss", "notrack", "objref", "last", "comment"))
# a map may have a verdict for the packet, and it is not known which; it may drop
UNKNOWN, MAY_DROP = "?", "?0"
# what NFT_META_IIFNAME and NFT_META_OIFNAME load, and the hexadecimal digits of a whole name
_SIDES: Final[Mapping[Words, str]] = {("meta", 6): "arrives", ("meta", 7): "leaves"}
_NAME: Final = 32
_PORT: Final = 4  # hexadecimal digits
_OTHERS: Final = (2, 8, 32)  # … of a protocol or type, and of an address
NO_SETS: Final[Mapping[str, SetRow]] = {}
MARKS: Final = "marks "  # what a rule does for sure, and the mark that it gives
MAY_MARK: Final = "may mark "  # with the mark if it is known


class Match(NamedTuple):
    """Whether a rule matches, and what a map has for it: a verdict (CODE:CHAIN), or data."""

    said: bool | None
    verdict: str = ""
    data: str = ""  # hexadecimal
    mark: int | None = None  # that the rule gives the packet; None: none, or not known


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet at one hook. Port 0 is not known, nor is what is None."""

    to: str
    source: str
    protocol: str
    port: int = 0
    source_port: int = 0
    arrives: str | None = ""
    leaves: str | None = ""
    mark: int | None = None
    state: int | None = NEW
    kind: int = 0  # type of ICMPv6, operation of ARP
    local: bool | None = None  # whether the destination is of this host
    numbers: tuple[int | None, int | None] = None, None  # of both interfaces; 0: there is none
    user: int | None = None  # who sends it
    chosen: range = range(0)  # where a port of it is not known: the kernel chose it among these

    def matches(self, does: tuple[Words, ...], sets: Mapping[str, SetRow] = NO_SETS) -> Match:
        """Whether the expressions match, with the verdict that a map has for the packet.

        `sets`: those of the table by name; one that is not among them may have any element.
        """
        if self.chosen and not _tells_apart(does, sets, self.chosen):
            port, source_port = (one or self.chosen[0] for one in (self.port, self.source_port))
            packet = replace(self, port=port, source_port=source_port, chosen=range(0))
            return packet.matches(does, sets)
        memory = _Memory()
        known: bool | None = True
        verdict = data = ""
        mark = None
        for name, *values in does:
            said: bool | None = True
            match name, values:
                case "cmp", [int(register), int(by), str(data)]:
                    value = memory.value(register, len(data) // 2)
                    said = _compared(value, by, bytes.fromhex(data))
                case "range", [int(register), int(by), str(first), *others]:
                    value = memory.value(register, len(first) // 2)
                    said = _ranged(value, [first, *map(str, others)], inverted=bool(by))
                case "lookup", [str(one), int(register), *rest] if rest:
                    said, has = _looked_up(memory, sets.get(one), register, rest)
                    verdict, data = (has, data) if rest[0] == 0 and rest[1:] else (verdict, has)
                case "meta", [3]:  # it writes the mark, which is not loaded
                    mark = memory.value(1, _SLOT)
                case "quota", [int(size), int(flags), int(used)]:  # nft_quota_do_eval()
                    said = (used >= size) is bool(flags & OVER)
                case "objref", [int(kind), *_] if kind in _DECIDING:  # what it holds is not read
                    said = None
                case _ if not self._loads(memory, name, values) and name not in _ENDS:
                    said = True if name in _HARMLESS else None
            if said is False:
                return Match(said)
            known = known if said else None
        given = None if mark is None else int.from_bytes(mark, sys.byteorder)
        return Match(known, verdict, data, given)

    def _loads(self, memory: _Memory, name: str | int, values: list[str | int]) -> bool:
        """Whether the expression writes a register, and so tests nothing."""
        match name, values:
            case "meta", [int(key), int(register)]:
                memory.load(register, self._meta(key))
            case "ct", [int(key), int(register)]:
                known = self.state is not None and key == _STATE
                state = (self.state or 0).to_bytes(4, sys.byteorder)
                memory.load(register, state if known else None)
            case "payload", [int(register), int(base), int(offset), int(length)]:
                memory.load(register, self._header(base, offset, length))
            case "bitwise", [int(first), int(register), str(mask), str(xor)]:
                value = memory.value(first, len(mask) // 2)
                memory.load(register, _masked(value, mask, xor))
            case "fib", [int(register), int(result), int(flags)]:
                known = (result, flags) == (_TYPE, _TO) and self.local is not None
                kind = 2 if self.local else 1  # RTN_LOCAL, RTN_UNICAST
                memory.load(register, kind.to_bytes(4, sys.byteorder) if known else None)
            case "immediate", [int(register), str(data)] if register and ":" not in data:
                memory.load(register, bytes.fromhex(data))
            case _:
                return False
        return True

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
            case 4 | 5:  # IIF, OIF
                number = self.numbers[key - 4]
                return None if number is None else number.to_bytes(4, sys.byteorder)
            case 6:  # IIFNAME
                return _named(self.arrives)
            case 7:  # OIFNAME
                return _named(self.leaves)
            case 10:  # SKUID
                return None if self.user is None else self.user.to_bytes(4, sys.byteorder)
            case 15 if self.protocol != ARP:  # NFPROTO
                return b"\x0a" if six else b"\x02"
            case 16 if self.protocol != ARP:  # L4PROTO
                return bytes((PROTOCOLS[self.protocol],))
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
            parts = [(at, to), (protocol, bytes((PROTOCOLS[self.protocol],)))]
            parts += [(at - size, source)] if source else []
        elif base == _TRANSPORT:
            ports = (0, self.source_port), (2, self.port)
            parts = [(place, port.to_bytes(2, "big")) for place, port in ports if port]
            parts += [(0, bytes((self.kind,)))] if self.kind else []
            opens = self.protocol == "tcp" and self.state in (NEW, UNTRACKED) and self.port
            parts += [(13, bytes((SYN,)))] if opens else []
        known = {place + i: byte for place, raw in parts for i, byte in enumerate(raw)}
        wanted = range(offset, offset + length)
        return bytes(known[i] for i in wanted) if all(i in known for i in wanted) else None


def _named(interface: str | None) -> bytes | None:
    """The name of an interface as it is compared."""
    return None if interface is None else interface.encode().ljust(16, b"\0")


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


def _tells_apart(
    does: tuple[Words, ...], sets: Mapping[str, SetRow], among: range
) -> bool:  # fmt: skip
    """Whether the expressions may tell one of these ports from the others.

    They cannot where each value of that size with which they compare, alone or as a bound, is none
    of these.
    """
    loads = [words[0] == "payload" and words[2] == _TRANSPORT and words[3] in (0, 2)
             for words in does]  # fmt: skip
    named: list[str] = []
    for port, (name, *values) in zip((False, *loads), does, strict=False):
        match name, values:
            case "cmp" | "range", [_, _, *bounds]:
                named += map(str, bounds)
            case "lookup", [str(one), *_]:
                row = sets.get(one)
                named += (one for pair in row.elements for one in pair[:2]) if row else ("",)
            case "bitwise", _ if port:
                return True
    return any(loads) and any(
        int(one, 16) in among if len(one) == _PORT else len(one) not in _OTHERS for one in named
    )


def marks(does: tuple[Words, ...], mark: int | None, *, sure: bool) -> Iterator[str]:
    """That the expressions write the mark of the packet; which one may not be known."""
    if ("meta", 3) in does:
        yield f"{MARKS if sure and mark is not None else MAY_MARK}{'' if mark is None else mark}"


def by_user(does: tuple[Words, ...]) -> bool:
    """Whether the expressions test who sends: NFT_META_SKUID."""
    return any(words[:2] == ("meta", 10) for words in does)


def interfaces(does: tuple[Words, ...]) -> list[tuple[str, str]]:
    """The interfaces that the expressions name whole: `arrives` or `leaves`, and the name.

    nft fills the name with zeros, iptables ends it with one; a part of a name has none.
    """
    pairs = ((_SIDES[loads[:2]], test) for loads, test in pairwise(does)
             if loads[:2] in _SIDES and (test[0], test[2:3]) == ("cmp", (0,)))  # fmt: skip
    whole = ((side, str(test[-1])) for side, test in pairs)
    return [(side, bytes.fromhex(raw).rstrip(b"\0").decode(errors="replace"))
            for side, raw in whole if raw.endswith("00") or len(raw) == _NAME]  # fmt: skip


class _Memory:
    """The registers while a rule is evaluated, 4 bytes each (nft_parse_register())."""

    def __init__(self) -> None:
        self._slots: dict[int, bytes | None] = {}

    def load(self, register: int, value: bytes | None) -> None:
        """Store a value, whose last slot is filled with zeros; None: it is not known."""
        at = _slot(register)
        self._slots[at] = None
        for start in range(0, len(value or b""), _SLOT):
            part = (value or b"")[start : start + _SLOT]
            self._slots[at + start // _SLOT] = part.ljust(_SLOT, b"\0")

    def value(self, register: int, size: int) -> bytes | None:
        """The value of `size` bytes; None if a part is not known."""
        at = _slot(register)
        parts = [self._slots.get(one) for one in range(at, at + -(-size // _SLOT))]
        return None if None in parts else b"".join(filter(None, parts))[:size]


def _slot(register: int) -> int:
    return register * _SLOT if register <= _SLOT else register - _SLOT


def _looked_up(
    memory: _Memory, row: SetRow | None, register: int, rest: list[str | int]
) -> tuple[bool | None, str]:  # fmt: skip
    """Whether a set has the value, and what a map has for it.

    `rest`: the register to which a map writes, and flags: a set that must not have it.
    """
    *to, flags = rest
    verdicts = to == [0]
    if row is None:
        return None, MAY_DROP if verdicts else ""
    size = len(row.elements[0][0]) // 2 if row.elements else 0
    value = memory.value(register, size)
    if value is None:
        may = (
            MAY_DROP if any(map(_ends, (*(has for *_, has in row.elements), row.rest))) else UNKNOWN
        )
        return None, may if verdicts else ""
    raw = value.hex()
    has = next((has for first, last, has in row.elements if first <= raw <= last), None)
    has = has if has is not None else row.rest or None
    if to and has is not None and not verdicts:
        memory.load(int(to[0]), bytes.fromhex(has))
    return (has is not None) is not bool(flags), has or ""


def _ends(verdict: str) -> bool:
    """Whether the verdict of a map may end a packet: it drops, or leads to another chain."""
    return verdict.partition(":")[0] in ("0", "-3", "-4")


def _ranged(value: bytes | None, bounds: list[str], *, inverted: bool) -> bool | None:
    """Whether a value is within one of the pairs of bounds, or inverted within none."""
    if value is None:
        return None
    raw = value.hex()
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    return any(first <= raw <= last for first, last in pairs) is not inverted


def _masked(value: bytes | None, mask: str, xor: str) -> bytes | None:
    if value is None:
        return None
    pairs = zip(value, bytes.fromhex(mask), bytes.fromhex(xor), strict=False)
    return bytes(byte & m ^ x for byte, m, x in pairs)


# NFT_CMP_*; what is compared by its size is in the order of the network
_COMPARISONS: Final = (
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
)  # fmt: skip


def _compared(value: bytes | None, by: int, data: bytes) -> bool | None:
    if value is None or not data or by >= len(_COMPARISONS):
        return None
    return bool(_COMPARISONS[by](value, data))
