"""What only the ethtool ioctl reports: driver, its own statistics, RSS on every kernel, steering.

Structures: include/uapi/linux/ethtool.h. Each function makes one or two calls; errors are OSError
(EOPNOTSUPP: the driver has none) or ValueError (an answer too short to mean anything).
"""

import struct
from typing import Final

from ...files.bounds import BOUNDS, exceeded
from ...terms.dataclass import dataclass
from ..source import Source
from .codec import text

GDRVINFO, GSTRINGS, GSTATS, GSSET_INFO = 0x03, 0x1B, 0x1D, 0x37
GRXFH, GRXRINGS, GRXCLSRLCNT, GRXCLSRULE, GRXCLSRLALL = 0x29, 0x2D, 0x2E, 0x2F, 0x30
GRSSH, SRSSH = 0x46, 0x47
STATISTICS: Final = 1  # the string set of `ethtool -S`
FLOW_TYPES: Final = {"tcp4": 1, "udp4": 2, "tcp6": 5, "udp6": 6}
_SPARE: Final = 64  # room for strings that a change of queues adds between two calls


@dataclass(frozen=True, slots=True)
class Info:
    """ethtool_drvinfo: who drives the device."""

    driver: str
    version: str
    firmware: str
    bus: str


def info(source: Source, device: str) -> Info:
    """Driver, version, firmware and bus address."""
    raw = source.statistics(device, struct.pack("=I192x", GDRVINFO), f"drvinfo/{device}")
    if len(raw) < 132:
        raise ValueError("the driver's description is cut off")
    driver, version, firmware, bus = (text(raw[4 + 32 * i : 36 + 32 * i]) for i in range(4))
    return Info(driver, version, firmware, bus)


def string_names(source: Source, device: str, which: int = STATISTICS) -> tuple[str, ...]:
    """The names of a string set; () when the driver has none."""
    ask = struct.pack("=IIQI", GSSET_INFO, 0, 1 << which, 0)
    raw = source.statistics(device, ask, f"count/{which}/{device}")
    if len(raw) < 20:
        raise ValueError("the driver's count of names is cut off")
    there, count = struct.unpack_from("=QI", raw, 8)
    if not there or not count:
        return ()
    for _ in range(3):
        room = count + _SPARE
        if count > BOUNDS["statistics"].most:
            raise ValueError(f"{count:,} are {exceeded('statistics').strerror}")
        ask = struct.pack("=III", GSTRINGS, which, count) + bytes(32 * room)
        raw = source.statistics(device, ask, f"names/{which}/{device}")
        if len(raw) < 12:
            raise ValueError("the driver's names are cut off")
        count = struct.unpack_from("=I", raw, 8)[0]
        if count <= room:
            if len(raw) < 12 + 32 * count:
                raise ValueError("the driver's names are cut off")
            return tuple(text(raw[12 + 32 * i : 44 + 32 * i]) for i in range(count))
    raise ValueError("the driver's names keep changing")


def statistics(source: Source, device: str, count: int) -> tuple[int, ...] | None:
    """The values of `count` statistics; None when the driver has another number by now."""
    ask = struct.pack("=II", GSTATS, count) + bytes(8 * count)
    raw = source.statistics(device, ask, f"statistics/{device}")
    if len(raw) < 8 or struct.unpack_from("=I", raw, 4)[0] != count:
        return None
    if len(raw) < 8 + 8 * count:
        raise ValueError("the driver's statistics are cut off")
    return struct.unpack_from(f"={count}Q", raw, 8)


@dataclass(frozen=True, slots=True)
class Rss:
    """How received packets are spread: indirection table, key, and number of the hash function."""

    table: tuple[int, ...]
    key: bytes
    function: int
    transform: int  # RXH_XFRM_SYM_XOR 1, RXH_XFRM_SYM_OR_XOR 2 (Linux 6.8)


def rss(source: Source, device: str) -> Rss:
    """The default context's RSS (ETHTOOL_GRSSH): first its sizes, then the whole."""
    raw = source.statistics(
        device, struct.pack("=IIIIII", GRSSH, 0, 0, 0, 0, 0), f"rss-size/{device}"
    )
    if len(raw) < 24:
        raise ValueError("the answer about RSS is cut off")
    entries, key = struct.unpack_from("=II", raw, 8)
    if entries > 1 << 16 or key > 1 << 12:
        raise ValueError(f"an RSS table of {entries} entries and a key of {key} bytes")
    ask = struct.pack("=IIIIII", GRSSH, 0, entries, key, 0, 0) + bytes(4 * entries + key)
    raw = source.statistics(device, ask, f"rss/{device}")
    end = 24 + 4 * entries
    if len(raw) < end + key:
        raise ValueError("the answer about RSS is cut off")
    function, transform = raw[16], raw[17]
    return Rss(
        struct.unpack_from(f"={entries}I", raw, 24), raw[end : end + key], function, transform
    )


def rss_request(
    table: tuple[int, ...] | None, key: bytes | None = None, function: int = 0
) -> bytes:
    """The buffer that sets RSS (ETHTOOL_SRSSH); None keeps the table, or the key, as it is."""
    entries = (1 << 32) - 1 if table is None else len(table)  # ETH_RXFH_INDIR_NO_CHANGE
    head = struct.pack("=IIIIB7x", SRSSH, 0, entries, len(key or b""), function)
    return head + struct.pack(f"={len(table or ())}I", *(table or ())) + (key or b"")


def hash_fields(source: Source, device: str, flow: str) -> str:
    """The header fields hashed for a flow type, in ethtool's letters (`sdfn`); "" when none."""
    ask = struct.pack("=IIQ184x", GRXFH, FLOW_TYPES[flow], 0)
    raw = source.statistics(device, ask, f"hash/{flow}/{device}")
    if len(raw) < 16:
        raise ValueError("the answer about hashed fields is cut off")
    bits = struct.unpack_from("=Q", raw, 8)[0]
    # RXH_L2DA VLAN L3_PROTO IP_SRC IP_DST L4_B_0_1 L4_B_2_3 DISCARD, from bit 1
    return "".join(letter for i, letter in enumerate("mvtsdfnr", 1) if bits >> i & 1)


def receive_rings(source: Source, device: str) -> int:
    """How many receive rings RSS may use (ETHTOOL_GRXRINGS)."""
    raw = source.statistics(device, struct.pack("=IIQ184x", GRXRINGS, 0, 0), f"rx-rings/{device}")
    if len(raw) < 16:
        raise ValueError("the answer about rings is cut off")
    return int(struct.unpack_from("=Q", raw, 8)[0])


@dataclass(frozen=True, slots=True)
class SteeringRule:
    """A flow-steering rule: what it matches and the queue it picks; None matches anything."""

    location: int
    flow: str
    source: bytes | None
    destination: bytes | None
    source_port: int | None
    destination_port: int | None
    queue: int | None  # None: the packet is dropped


_FLOWS: Final = {
    1: "tcp4", 2: "udp4", 3: "sctp4", 5: "tcp6", 6: "udp6", 7: "sctp6", 13: "ip4", 14: "ip6",
    18: "ether",
}  # fmt: skip
_COUNT_AT, _LOCATIONS_AT, _RULE_AT = 184, 188, 16  # in struct ethtool_rxnfc
_VALUE, _MASK, _COOKIE, _LOCATION = 4, 76, 152, 160  # in struct ethtool_rx_flow_spec
_DROP: Final = 0xFFFFFFFFFFFFFFFF


def rules(source: Source, device: str) -> list[SteeringRule]:
    """The flow-steering rules (`ethtool -n`); OSError (EOPNOTSUPP) when the driver has none.

    ValueError when there are more than the bound, or an answer is cut off.
    """
    ask = struct.pack("=IIQ184x", GRXCLSRLCNT, 0, 0)
    raw = source.statistics(device, ask, f"rule-count/{device}")
    if len(raw) < _LOCATIONS_AT:
        raise ValueError("the count of steering rules is cut off")
    count = struct.unpack_from("=I", raw, _COUNT_AT)[0]
    if count > BOUNDS["steering"].most:
        raise ValueError(f"{count:,} are {exceeded('steering').strerror}")
    if not count:
        return []
    ask = struct.pack(f"=IIQ168xI{4 * count + 4}x", GRXCLSRLALL, 0, 0, count)
    raw = source.statistics(device, ask, f"rule-list/{device}")
    if len(raw) < _LOCATIONS_AT + 4 * count:
        raise ValueError("the list of steering rules is cut off")
    count = min(count, struct.unpack_from("=I", raw, _COUNT_AT)[0])
    places = struct.unpack_from(f"={count}I", raw, _LOCATIONS_AT)
    return [_rule(source, device, place) for place in places]


def _rule(source: Source, device: str, place: int) -> SteeringRule:
    ask = struct.pack("=IIQ160xI20x", GRXCLSRULE, 0, 0, place)
    raw = source.statistics(device, ask, f"rule/{place}/{device}")
    if len(raw) < _RULE_AT + _LOCATION + 4:
        raise ValueError("a steering rule is cut off")
    flow = struct.unpack_from("=I", raw, _RULE_AT)[0] & 0xFF
    size = 16 if flow in {5, 6, 7, 14} else 4
    spans = ((0, size), (size, 2 * size), (2 * size, 2 * size + 2), (2 * size + 2, 2 * size + 4))
    fields = [_masked(raw, begin, end) for begin, end in spans]
    if flow not in _FLOWS or flow == 18:
        fields = [None] * 4
    elif flow in {13, 14}:  # these have protocol bytes where the others have ports
        fields[2:] = [None, None]
    cookie = struct.unpack_from("=Q", raw, _RULE_AT + _COOKIE)[0]
    ports = [int.from_bytes(port, "big") if port else None for port in fields[2:]]
    return SteeringRule(
        location=place,
        flow=_FLOWS.get(flow, f"type {flow}"),
        source=fields[0],
        destination=fields[1],
        source_port=ports[0],
        destination_port=ports[1],
        queue=None if cookie == _DROP else cookie & 0xFFFFFFFF,
    )


def _masked(raw: bytes, begin: int, end: int) -> bytes | None:
    """A field of the rule; None when its mask is empty."""
    mask = raw[_RULE_AT + _MASK + begin : _RULE_AT + _MASK + end]
    return raw[_RULE_AT + _VALUE + begin : _RULE_AT + _VALUE + end] if any(mask) else None
