"""Requests to the kernel of this machine: netlink sockets and the ethtool ioctl.

`ask` reads, `change` writes, `ioctl` does either. An error is an OSError with the kernel's number
and, where it gave one (NETLINK_EXT_ACK, Linux 4.12), its own sentence.

Answers that stay valid until the kernel announces a change (rtnetlink multicast groups).

`RTNLGRP_LINK` announces changes of links, `RTNLGRP_TC` those of the root qdisc that a link names
(net/core/rtnetlink.c, net/sched/sch_api.c). A few counts in the answer change without one, such as
the users of promiscuous mode, so that an answer is kept for `LONGEST` seconds only.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from ...files import descriptors
from ...files.bounds import BOUNDS, exceeded
from ..far.kernel import ACK, REQUEST, Conversation
from . import xtables
from .codec import Request, attributes, messages

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


LONGEST: Final = 15.0  # seconds
_GROUPS: Final = 1 | 1 << 3  # RTMGRP_LINK and RTMGRP_TC (include/uapi/linux/rtnetlink.h)
_PROTOCOL: Final = 0  # NETLINK_ROUTE


class Announced:
    """The answers, and the socket that hears the announcements of one network namespace."""

    def __init__(self) -> None:
        """The socket is opened before the first question."""
        self._lock = threading.Lock()
        self._door: socket.socket | None = None
        self._answers: dict[str, tuple[float, bytes]] = {}

    def answer(self, name: str, ask: Callable[[], bytes]) -> bytes:
        """The same object as last time unless a change was announced; any error of `ask`."""
        with self._lock:
            now = time.monotonic()
            if self._heard():
                self._answers.clear()
            known = self._answers.get(name)
            if known is not None and now - known[0] < LONGEST:
                return known[1]
            data = ask()
            if known is not None and known[1] == data:
                data = known[1]
            self._answers[name] = now, data
            return data

    def close(self) -> None:
        """Close the socket and forget the answers."""
        with self._lock:
            self._answers.clear()
            if self._door is not None:
                self._door.close()
                self._door = None

    def _heard(self) -> bool:
        """Whether a change was announced since the last call, or may have been."""
        if self._door is None:
            kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
            door = socket.socket(socket.AF_NETLINK, kind, _PROTOCOL)
            try:
                door.bind((0, _GROUPS))
            except OSError:
                door.close()
                return True
            self._door = door
            return True
        heard = False
        while True:
            try:
                self._door.recv(1)  # the rest of the message is discarded
            except BlockingIOError:
                return heard
            except OSError:  # ENOBUFS: announcements were lost
                pass
            heard = True


# IFLA_STATS, IFLA_STATS64, IFLA_AF_SPEC (include/uapi/linux/if_link.h)
_UNSTEADY: Final = frozenset((7, 23, 26))
_NEWLINK: Final = 16
_HEAD: Final = 16  # bytes of struct ifinfomsg

Spans = Sequence[tuple[int, int]]
"""Start and end of the payload of each attribute that is zeroed."""


class Uncounted:
    """The last answer to RTM_GETLINK, without counters. Not for several threads at once.

    The kernel puts the counters of a link into each of its messages (`rtnl_fill_stats`,
    net/core/rtnetlink.c), and no flag of the request omits them: RTEXT_FILTER_SKIP_STATS concerns
    address families only. What it says of address families has the reachable time of neighbours,
    which the kernel draws anew every five minutes for all links (`neigh_rand_reach_time`); nothing
    reads it from here. Both become zero. So an answer changes if a link changes, not if a packet is
    sent: of a thousand links, only those that changed are parsed and read again.
    """

    def __init__(self) -> None:
        """No answer yet."""
        self._last = b""
        self._spans: Spans = ()

    def of(self, reply: bytes) -> bytes:
        """`reply` without counters: the same object as last time if nothing else changed.

        ValueError if an answer is cut off.
        """
        if len(reply) == len(self._last):  # the headers are compared too, so the spans hold
            bare = _zeroed(reply, self._spans)
            if bare == self._last:
                return self._last
        self._spans = tuple(_spans(reply))
        self._last = _zeroed(reply, self._spans)
        return self._last


def _zeroed(reply: bytes, spans: Spans) -> bytes:
    bare = bytearray(reply)
    for start, end in spans:
        bare[start:end] = bytes(end - start)
    return bytes(bare)


def _spans(reply: bytes) -> Iterator[tuple[int, int]]:
    for kind, start, end in messages(reply):
        if kind == _NEWLINK:
            for number, first, last in attributes(reply, start + _HEAD, end):
                if number in _UNSTEADY:
                    yield first, last
