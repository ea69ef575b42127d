"""What arrives for a moment at an interface, for an address of another host: packet(7)."""

from __future__ import annotations

import socket
import time
from ipaddress import ip_address
from typing import Final

_LOOK: Final = 1.0  # seconds
_MOST: Final = 20_000  # packets of the interface that are looked at: a fast one is not read whole
_SIZE: Final = 64  # bytes: a header
_ALL: Final = 3  # ETH_P_ALL
_FIELDS: Final = {0x0800: (8, 16, 20), 0x86DD: (7, 24, 40)}  # TTL, destination and its end


def hops(interface: str, to: str) -> list[int]:
    """The TTL (hop limit) of each packet to `to` that this interface got from another host.

    OSError without CAP_NET_RAW, or without the interface.
    """
    wanted, found = ip_address(to).packed, list[int]()
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) as sock:
        sock.bind((interface, _ALL))
        sock.settimeout(_LOOK)
        end = time.monotonic() + _LOOK
        for _ in range(_MOST):
            try:
                data, (_, protocol, kind, *_) = sock.recvfrom(_SIZE)
            except TimeoutError:
                break
            at, first, last = _FIELDS.get(protocol, (0, 0, 0))
            if kind == socket.PACKET_HOST and last and data[first:last] == wanted:
                found.append(data[at])
            if time.monotonic() > end:
                break
    return found
