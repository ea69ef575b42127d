"""The receive queue of a flow: the Toeplitz hash of receive-side scaling (RSS).

The hash is defined by Microsoft's "RSS hashing types", which every NIC follows. The NIC uses the
low bits of the hash as an index into its indirection table
(Documentation/networking/scaling.rst). For another hash function, other fields or a short key the
result is None: a wrong queue is worse than none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final

from ..terms.dataclass import dataclass

WINDOW: Final = 0xFFFFFFFF
TRANSFORMS: Final = ("symmetric-xor", "symmetric-or-xor")


@dataclass(frozen=True, slots=True)
class Packet:
    """The addresses and ports of a packet as it arrives: its source is the remote end."""

    source: str
    destination: str
    source_port: int
    destination_port: int


def key_bytes(text: str) -> bytes:
    """The bytes of a key as `ethtool -x` prints it (`6d:5a:…`); ValueError for another form."""
    return bytes.fromhex(text.replace(":", ""))


@lru_cache(maxsize=256)
def windows(key: bytes) -> tuple[int, ...]:
    """For each input bit, the 32 bits of the key that it contributes to the hash."""
    bits = len(key) * 8
    number = int.from_bytes(key)
    return tuple((number >> (bits - 32 - at)) & WINDOW for at in range(bits - 31))


def toeplitz(key: bytes, data: bytes) -> int:
    """The 32-bit hash; ValueError when the key is too short for the data."""
    masks = windows(key)
    if len(data) * 8 > len(masks):
        raise ValueError(f"a key of {len(key)} bytes cannot hash {len(data)}")
    found = 0
    number = int.from_bytes(data)
    at = len(data) * 8
    while number:
        at -= 1
        if number & 1:
            found ^= masks[at]
        number >>= 1
    return found


def hashed(packet: Packet, fields: str, transform: str = "") -> bytes | None:
    """The input of the hash in network byte order; None for fields other than `sd` or `sdfn`.

    `fields` are ethtool's letters: s and d for source and destination address, f and n for ports.
    """
    if set(fields) not in ({"s", "d"}, {"s", "d", "f", "n"}):
        return None
    source, destination = _address(packet.source), _address(packet.destination)
    if len(source) != len(destination):
        return None
    pairs = [(source, destination)]
    if "f" in fields:
        ports = packet.source_port.to_bytes(2), packet.destination_port.to_bytes(2)
        pairs.append(ports)
    if not transform:
        return b"".join(first + second for first, second in pairs)
    if transform not in TRANSFORMS:
        return None
    return b"".join(_symmetric(first, second, transform) for first, second in pairs)


def queue_of(
    key: bytes,
    table: Sequence[int],
    function: str,
    fields: str,
    packet: Packet,
    transform: str = "",
) -> int | None:
    """The receive queue of a packet; None if it cannot be computed."""
    if function != "toeplitz" or not table:
        return None
    try:
        data = hashed(packet, fields, transform)
        return None if data is None else table[toeplitz(key, data) % len(table)]
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=256)
def symmetric(key: bytes) -> bool:
    """Whether both directions of each flow have the same hash.

    This is so if the key repeats at the positions of source and destination, as `6d:5a` repeated
    does. IPv4 is checked, and IPv6 if the key is long enough.
    """
    masks = windows(key)
    for address in (32, 128):
        if len(masks) < 2 * address:
            return address > 32
        if masks[:address] != masks[address : 2 * address]:
            return False
        ports = masks[2 * address : 2 * address + 32]
        if ports[:16] != ports[16:]:
            return False
    return True


def _address(text: str) -> bytes:
    found = ip_address(text.partition("%")[0])
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        return found.ipv4_mapped.packed  # the packets are IPv4
    return found.packed


def _symmetric(first: bytes, second: bytes, transform: str) -> bytes:
    size = len(first)
    one, two = int.from_bytes(first), int.from_bytes(second)
    differs = (one ^ two).to_bytes(size)
    return (differs if transform == "symmetric-xor" else (one | two).to_bytes(size)) + differs
