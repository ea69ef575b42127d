"""Where to listen: an IP address and a TCP port."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple


class Place(NamedTuple):
    """An IP address and a TCP port."""

    address: str
    port: int

    @property
    def shown(self) -> str:
        """`127.0.0.1:9469` or `[::1]:9469`."""
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"{address}:{self.port}"


def parse(text: str) -> Place:
    """The place in `ADDR:PORT`, `[ADDR]:PORT`, `:PORT` or `PORT`; ValueError for any other text.

    Without an address it is 127.0.0.1.
    """
    before, colon, digits = text.rpartition(":")
    if not (digits.isascii() and digits.isdigit() and 1 <= int(digits) <= 65535):
        raise ValueError(f"{text!r} is not ADDR:PORT with a port from 1 to 65535")
    bare = before.removeprefix("[").removesuffix("]")
    if not colon or not before:
        return Place("127.0.0.1", int(digits))
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        raise ValueError(f"{text!r}: {bare!r} is not an IP address") from None
    if (address.version == 6) != before.startswith("[") or len(before) - len(bare) not in (0, 2):
        raise ValueError(f"{text!r}: write an IPv6 address in brackets, and no other")
    return Place(bare, int(digits))
