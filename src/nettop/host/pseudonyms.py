"""Pseudonyms for addresses and host names: the same original gets the same replacement.

IP addresses keep their common prefixes (Xu et al., Crypto-PAn): routes in a recording still match.
"""

import hashlib
import hmac
import os
import re
from collections.abc import Iterable

_MAPPED = bytes(10) + b"\xff\xff"
_NAMED = re.compile(rb"(?<=enx|wlx|wwx|slx)[0-9a-f]{12}")  # systemd's names by MAC address


class Names:
    """Replacements: the same for the same original in one recording."""

    def __init__(self, key: bytes | None = None, *, addresses: bool = True) -> None:
        """`key` determines the replacements; the default is random and is not stored.

        If `addresses` is False, IP addresses stay: the receive queue of a flow depends on them.
        """
        self.key = key or os.urandom(32)
        self.addresses = addresses
        self.known: dict[bytes, bytes] = {}
        self.hidden: set[str] = set()
        self.hosts: re.Pattern[str] | None = None

    def hide(self, hosts: Iterable[str]) -> None:
        """Replace these names of the host, and their parts before the first dot."""
        found = {name for host in hosts for name in (host, host.split(".")[0]) if len(name) > 1}
        if not found <= self.hidden:
            self.hidden |= found
            words = "|".join(map(re.escape, sorted(self.hidden, key=len, reverse=True)))
            self.hosts = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])")

    def _bit(self, prefix: str) -> int:
        return hmac.digest(self.key, prefix.encode(), hashlib.sha256)[0] & 1

    def address(self, packed: bytes) -> bytes:
        """The replacement of an IP address; common prefixes are kept (Xu et al., Crypto-PAn).

        An IPv4 address in an IPv6 socket (RFC 4291, 2.5.5) has the same one as outside.
        """
        if not self.addresses:
            return packed
        if len(packed) == 16 and packed[:12] == _MAPPED:
            return _MAPPED + self.address(packed[12:])
        if packed in self.known:
            return self.known[packed]
        kept = _kept(packed)
        if kept is None:
            return packed
        bits = "".join(f"{byte:08b}" for byte in packed)
        new = bits[:kept]
        for position in range(kept, len(bits)):
            flip = self._bit(f"{len(packed)}/{bits[:position]}")
            new += str(int(bits[position]) ^ flip)
        made = int(new, 2).to_bytes(len(packed), "big")
        self.known[packed] = made
        return made

    def network(self, packed: bytes, length: int) -> bytes:
        """The replacement of a network with a prefix of so many bits: those behind it stay zero."""
        size = 8 * len(packed)
        mask = (1 << size) - (1 << max(0, size - length))
        return (int.from_bytes(self.address(packed), "big") & mask).to_bytes(len(packed), "big")

    def mac(self, packed: bytes) -> bytes:
        """The replacement of a MAC address, locally administered; broadcast and zero stay."""
        if not packed.strip(b"\0") or (len(packed) == 6 and packed[0] & 1):
            return packed
        digest = hmac.digest(self.key, b"mac" + packed, hashlib.sha256)
        return (b"\x02" + digest)[: len(packed)]

    def word(self, text: bytes) -> bytes:
        """The replacement of a name: letters, of equal length."""
        digest = hmac.digest(self.key, b"word" + text, hashlib.sha256)
        letters = bytes(97 + byte % 26 for byte in digest)
        return (letters * (1 + len(text) // len(letters)))[: len(text)]

    def named(self, text: bytes) -> bytes:
        """The text with replaced interface names that contain a MAC address, of equal length."""
        return _NAMED.sub(lambda m: self.mac(bytes.fromhex(m[0].decode())).hex().encode(), text)


def _kept(packed: bytes) -> int | None:
    """The number of leading bits that stay (the kind of address); None: the whole address stays."""
    if len(packed) == 4:
        if packed[0] in (0, 127, 255) or packed[0] >= 224:
            return None
        return 8
    if packed[:12] == bytes(12):
        return 96 if packed[12:] not in (b"\0\0\0\0", b"\0\0\0\1") else None
    if packed[0] == 0xFF:
        return None
    return 64 if packed[:2] == b"\xfe\x80" else 16
