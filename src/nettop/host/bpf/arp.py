"""What a packet socket sees arrive, packet(7): ARP requests to all hosts, packets for another host.

A host that gets an answer keeps it, and asks only this neighbour again: who repeats a question to
all hosts within seconds has none. Of the questions nothing but addresses is kept; no program is
loaded. RFC 826; net/ipv4/arp.c, arp_process().
"""

import socket
import struct
import time
from collections import Counter as Sums
from contextlib import suppress
from ipaddress import IPv4Address, ip_address
from typing import Final

_PROTOCOL: Final = 0x0806  # ETH_P_ARP
_FORMAT: Final = struct.Struct("!HHBBH6sI6sI")  # struct arphdr, and hardware and IP address of both
_ETHERNET: Final = (1, 0x0800, 6, 4)  # with IPv4, and the sizes of their addresses
_REQUEST, _REPLY = 1, 2  # ARPOP_*
_MOST: Final = 20_000  # requests that are looked at in one reading
_ROOM: Final = 1024  # questions that are counted


class Counter:
    """The socket, and what it has heard; OSError without CAP_NET_RAW."""

    def __init__(self) -> None:
        """Begin to listen."""
        self._sums = Sums[str]()
        self._begun = time.monotonic()
        self._socket = socket.socket(
            socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK, socket.htons(_PROTOCOL)
        )

    def text(self) -> str:
        """The seconds, then a line `COUNT INTERFACE ADDRESS HARDWARE TARGET` for each question.

        ADDRESS and HARDWARE are those of who asks for TARGET, or announces itself (RFC 5227).
        """
        with suppress(BlockingIOError):
            for _ in range(_MOST):
                data, (name, _, kind, *_) = self._socket.recvfrom(_FORMAT.size)
                self._hear(data, name, kind)
        lines = [line.format(count) for line, count in sorted(self._sums.items())]
        return "\n".join([f"{time.monotonic() - self._begun:.3f}", *lines, ""])

    def _hear(self, data: bytes, name: str, kind: int) -> None:
        """Count one, unless it is for this host alone, or a probe."""
        if kind != socket.PACKET_BROADCAST or len(data) < _FORMAT.size:
            return
        *head, operation, hardware, source, _, target = _FORMAT.unpack(data)
        line = f"{{}} {name} {IPv4Address(source)} {hardware.hex(':')} {IPv4Address(target)}"
        known = line in self._sums or len(self._sums) < _ROOM
        told = operation == _REQUEST or (operation == _REPLY and source == target)
        if tuple(head) == _ETHERNET and source and told and known:
            self._sums[line] += 1

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()

    def __del__(self) -> None:
        """Listen no more if the object is dropped without `close`."""
        if hasattr(self, "_socket"):  # else the kernel refused it
            self.close()


_LOOK: Final = 1.0  # seconds
_LARGEST: Final = (
    20_000  # packets of the interface that are looked at: a fast one is not read whole
)
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
        for _ in range(_LARGEST):
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
