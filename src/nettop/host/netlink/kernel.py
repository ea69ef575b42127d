"""Requests to the kernel of this machine: netlink sockets and the ethtool ioctl.

`ask` reads, `change` writes, `ioctl` does either. An error is an OSError with the kernel's number
and, where it gave one (NETLINK_EXT_ACK, Linux 4.12), its own sentence.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Final

from ...files import descriptors
from ...files.bounds import BOUNDS, exceeded
from ..far.kernel import ACK, REQUEST, Conversation
from . import xtables
from .announced import Announced, Uncounted
from .codec import Request

_IOCTL_MOST: Final = 32 * BOUNDS["statistics"].most + (1 << 16)  # their names, and some to spare


class Kernel:
    """Netlink and ethtool of the network namespace a socket was first used in."""

    def __init__(self) -> None:
        """Nothing is opened before it is needed."""
        beyond = exceeded("netlink").strerror
        self._conversation = Conversation(BOUNDS["netlink"].most, door, beyond)
        self._lock = threading.Lock()
        self._announced = Announced()
        self._links = Uncounted()

    def ask(self, request: Request) -> bytes:
        """All messages of the answer, headers included: see `Conversation.read`."""
        if request.family == xtables.FAMILY:
            return xtables.ask(request.kind, request.body)
        if request.announced:
            links = self._links  # only links are announced
            return self._announced.answer(request.name, lambda: links.of(self._ask(request)))
        return self._ask(request)

    def _ask(self, request: Request) -> bytes:
        with self._lock:
            return self._conversation.read(request.family, request.kind, request.dump, request.body)

    def change(self, family: str, kind: int, body: bytes, flags: int = 0) -> None:
        """Send a message that changes something and wait for the acknowledgement.

        An acknowledgement does not mean an effect: read back what was really set. It is never sent
        twice.
        """
        with self._lock:
            self._conversation.talk(family, kind, body, REQUEST | ACK | flags, tries=1)

    def ioctl(self, interface: str, request: bytes) -> bytes:
        """The buffer `request` after SIOCETHTOOL on the interface, in the same length."""
        if len(request) > _IOCTL_MOST:
            raise ValueError(f"an ethtool request of {len(request)} bytes is too large")
        with self._lock:
            name = interface.encode("utf-8", "surrogateescape")
            return self._conversation.driver(name, request)

    def ready(self) -> None:
        """Open the sockets of rtnetlink, of generic netlink and of the ioctl."""
        with self._lock:
            self._conversation.ready()

    def close(self) -> None:
        """Close every socket; the next question opens new ones."""
        self._announced.close()
        with self._lock:
            self._conversation.close()

    def __del__(self) -> None:
        """A source that nobody holds leaves no socket open."""
        self.close()


class _Kept(socket.socket):
    """A socket whose descriptor outlives it."""

    def close(self) -> None:
        """Leave the descriptor open."""
        self.detach()

    def __del__(self) -> None:
        """A socket that nobody holds leaves it open as well."""
        self.detach()


def door(family: int, kind: int, protocol: int = 0) -> socket.socket:
    """A new socket; the kept one, without what it had still to read, if none can be opened."""
    try:
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        kept = _Kept(fileno=descriptors.instead(error, family, kind, protocol))
        with suppress(OSError):
            while kept.recv(1, socket.MSG_DONTWAIT):
                pass
        return kept
    descriptors.keep(made.fileno(), family, kind, protocol)
    return made
