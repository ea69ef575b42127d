"""Requests to the kernel: netlink sockets and the ethtool ioctl.

`ask` reads, `change` writes, `ioctl` does either. An error is an OSError with the kernel's number
and, where it gave one (NETLINK_EXT_ACK, Linux 4.12), its own sentence.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
import threading
from array import array
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import Final

from ...files import descriptors
from ...files.bounds import BOUNDS, exceeded
from ..request import Request
from . import xtables
from .announced import Announced, Uncounted
from .codec import HEADER, attribute, attributes, decode, messages, numbered, text

# every other family is generic netlink
PROTOCOLS: Final = {"route": 0, "sock_diag": 4, "xfrm": 6, "netfilter": 12}
_GENERIC: Final = 16
_REQUEST, _ACK, _DUMP, _INTERRUPTED = 0x1, 0x4, 0x300, 0x10
_ERROR, _DONE = 2, 3
_CAPPED, _TEXTS = 0x100, 0x200  # NLM_F_CAPPED and NLM_F_ACK_TLVS on an acknowledgement
_SOL_NETLINK, _EXT_ACK = 270, 11
_SIOCETHTOOL: Final = 0x8946
_SEQUENCE: Final = (
    0x6E746F70  # always the same, so that equal answers are equal bytes in a recording
)
_SECONDS: Final = 5
_TRIES: Final = 4
# The driver writes as many statistics as it has now, whatever was asked for (net/ethtool/ioctl.c
# before 2026). The buffer has twice the room that was asked for, and a mebibyte at the least, so
# that a change of queues between two questions cannot overrun it.
_IOCTL_BYTES: Final = 1 << 20
_IOCTL_MOST: Final = 32 * BOUNDS["statistics"].most + (1 << 16)  # their names, and some to spare
_CONTROL: Final = numbered(1, "id:H name:text")


class Kernel:
    """Netlink and ethtool of the network namespace a socket was first used in."""

    def __init__(self) -> None:
        """Nothing is opened before it is needed."""
        self._lock = threading.Lock()
        self._sockets: dict[int, tuple[socket.socket, int]] = {}
        self._families: dict[str, int] = {}
        self._announced = Announced()
        self._links = Uncounted()
        self._buffer = bytearray(1 << 16)
        self._ioctl: tuple[socket.socket, array[int]] | None = None

    def ask(self, request: Request) -> bytes:
        """All messages of the answer, headers included, without the final acknowledgement.

        A dump that the kernel says was interrupted, or could not begin, is asked for again. Errors:
        OSError; FileNotFoundError when the kernel lacks the generic family; TimeoutError.
        """
        if request.family == xtables.FAMILY:
            return xtables.ask(request.kind, request.body)
        if request.announced:
            links = self._links  # only links are announced
            return self._announced.answer(request.name, lambda: links.of(self._ask(request)))
        return self._ask(request)

    def _ask(self, request: Request) -> bytes:
        flags = _REQUEST | (_DUMP if request.dump else _ACK)
        try:
            return self._talk(request.family, request.kind, request.body, flags)
        except FileNotFoundError:
            if request.family != "sock_diag":
                raise
            # each kind of socket has a module of its own: tcp_diag, udp_diag, xsk_diag …
            sentence = "the kernel cannot list these sockets: the module for it is not there"
            raise FileNotFoundError(errno.ENOENT, sentence) from None

    def change(self, family: str, kind: int, body: bytes, flags: int = 0) -> None:
        """Send a message that changes something and wait for the acknowledgement.

        An acknowledgement does not mean an effect: read back what was really set. It is never sent
        twice.
        """
        self._talk(family, kind, body, _REQUEST | _ACK | flags, tries=1)

    def ioctl(self, interface: str, request: bytes) -> bytes:
        """The buffer `request` after SIOCETHTOOL on the interface, in the same length."""
        name = interface.encode("utf-8", "surrogateescape")
        if not name or len(name) > 15 or b"\0" in name:
            raise OSError(errno.ENODEV, "no such interface", interface)
        if len(request) > _IOCTL_MOST:
            raise ValueError(f"an ethtool request of {len(request)} bytes is too large")
        with self._lock:
            way, room = self._driver()
            if 2 * len(request) > _IOCTL_BYTES:  # many names: asked once, and not kept
                room = array("B", bytes(2 * len(request)))
            room[: len(request)] = array("B", request)
            fcntl.ioctl(way, _SIOCETHTOOL, struct.pack("=16sQ16x", name, room.buffer_info()[0]))
            return room[: len(request)].tobytes()

    def ready(self) -> None:
        """Open the sockets of rtnetlink, of generic netlink and of the ioctl."""
        with self._lock:
            for protocol in (PROTOCOLS["route"], _GENERIC):
                self._open(protocol)
            self._driver()

    def close(self) -> None:
        """Close every socket; the next question opens new ones."""
        self._announced.close()
        with self._lock:
            for protocol in tuple(self._sockets):
                self._forget(protocol)
            if self._ioctl is not None:
                self._ioctl[0].close()
                self._ioctl = None

    def __del__(self) -> None:
        """A source that nobody holds leaves no socket open."""
        self.close()

    def _talk(self, family: str, kind: int, body: bytes, flags: int, tries: int = _TRIES) -> bytes:
        with self._lock:
            protocol = PROTOCOLS.get(family, _GENERIC)
            if protocol == _GENERIC:
                number = self._families.get(family) or self._resolve(family)
                body = struct.pack("=BBH", kind, 1, 0) + body
            else:
                number = kind
            return self._again(lambda: self._once(protocol, number, flags, body), tries)

    def _again(self, question: Callable[[], bytes], tries: int) -> bytes:
        """Ask until the answer is whole: lists change while they are read, buffers overflow."""
        while True:
            tries -= 1
            try:
                return question()
            except InterruptedError:
                if tries <= 0:
                    raise OSError(
                        errno.EAGAIN, "the list kept changing while it was read"
                    ) from None
            except OSError as error:
                if tries <= 0 or error.errno not in {errno.EBUSY, errno.ENOBUFS}:
                    raise

    def _resolve(self, family: str) -> int:
        """The number of a generic family, asked of the controller once (CTRL_CMD_GETFAMILY)."""
        body = struct.pack("=BBH", 3, 1, 0) + attribute(2, family.encode() + b"\0")
        try:
            answer = self._once(_GENERIC, _GENERIC, _REQUEST | _ACK, body)
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, f"this kernel has no {family} netlink") from None
        for _kind, start, end in messages(answer):
            number = decode(answer, start + 4, end, _CONTROL).get("id")
            if number:
                self._families[family] = int(number)
                return int(number)
        raise OSError(errno.ENOENT, f"this kernel has no {family} netlink")

    def _open(self, protocol: int) -> tuple[socket.socket, int]:
        known = self._sockets.get(protocol)
        if known is not None:
            return known
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC
        made = door(socket.AF_NETLINK, kind, protocol)
        try:
            if not made.getsockname()[0]:  # else it was kept
                made.bind((0, 0))
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", _SECONDS, 0))
            if protocol != PROTOCOLS["sock_diag"]:
                with suppress(OSError):  # before Linux 4.12 an error is a number only
                    made.setsockopt(_SOL_NETLINK, _EXT_ACK, 1)
            port = int(made.getsockname()[0])
        except OSError:
            made.close()
            raise
        self._sockets[protocol] = made, port
        return made, port

    def _driver(self) -> tuple[socket.socket, array[int]]:
        if self._ioctl is None:
            made = door(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._ioctl = made, array("B", bytes(_IOCTL_BYTES))
        return self._ioctl

    def _forget(self, protocol: int) -> None:
        """Close a socket whose conversation did not end: what may still arrive is never read."""
        known = self._sockets.pop(protocol, None)
        if known is not None:
            known[0].close()

    def _once(self, protocol: int, kind: int, flags: int, body: bytes) -> bytes:
        way, port = self._open(protocol)
        whole = False
        try:
            way.send(HEADER.pack(HEADER.size + len(body), kind, flags, _SEQUENCE, 0) + body)
            answer, error, interrupted = self._answer(way, port)
            whole = True
        except BlockingIOError:
            raise TimeoutError(
                errno.ETIMEDOUT, f"the kernel did not answer within {_SECONDS} s"
            ) from None
        finally:
            if not whole:
                self._forget(protocol)
        if error is not None:
            try:
                raise error
            finally:
                del error  # its traceback would keep the locals of every caller
        if interrupted:
            raise InterruptedError
        return answer

    def _answer(self, way: socket.socket, port: int) -> tuple[bytes, OSError | None, bool]:
        """Datagrams up to the acknowledgement or the end of the dump: data, error, interrupted."""
        mark = struct.pack("=II", _SEQUENCE, port)
        parts = BytesIO()  # of 100,000 sockets 45 MB: a list would take them twice
        interrupted, whole, view = False, 0, memoryview(self._buffer)
        while True:
            size = way.recv_into(self._buffer)
            whole += size
            if whole > BOUNDS["netlink"].most:
                raise exceeded("netlink")
            last = _last(self._buffer, size, mark)
            if last is None:
                continue  # not ours
            for at in {0, last}:
                interrupted |= bool(HEADER.unpack_from(self._buffer, at)[2] & _INTERRUPTED)
            length, kind, flags = HEADER.unpack_from(self._buffer, last)[:3]
            if kind not in {_ERROR, _DONE}:
                parts.write(view[:size])
                continue
            parts.write(view[:last])
            end = bytes(view[:size])
            return parts.getvalue(), failure(end, last, last + length, flags), interrupted


def _last(data: bytearray, size: int, mark: bytes) -> int | None:
    """Where the last message of a datagram of `size` bytes begins; None if it is not for us.

    A dump of ten thousand sockets comes in datagrams of a hundred messages. Their headers all end
    in the same eight bytes, so the last is found from the end, and every header walked only in
    doubt.
    """
    if size < HEADER.size or data[8:16] != mark:
        return None
    at = data.rfind(mark, 0, size) - 8
    if at >= 0 and at + (HEADER.unpack_from(data, at)[0] + 3 & ~3) == size:
        return at
    begins = [start - HEADER.size for _kind, start, _end in messages(bytes(data[:size]))]
    return begins[-1]


def failure(data: bytes, start: int, end: int, flags: int) -> OSError | None:
    """The error in an acknowledgement or the end of a dump; None for success."""
    if end - start < HEADER.size + 4:
        return None
    kind = HEADER.unpack_from(data, start)[1]
    number = -struct.unpack_from("=i", data, start + HEADER.size)[0]
    if number <= 0:
        return None
    sentence = ""
    if flags & _TEXTS:
        at = start + HEADER.size + 4
        if kind == _ERROR:  # the request follows, whole or (capped) its header only
            length = HEADER.size if flags & _CAPPED else HEADER.unpack_from(data, at)[0]
            at += (length + 3) & ~3
        for what, a, e in attributes(data, at, end):
            if what == 1:
                sentence = text(data[a:e])
    return OSError(number, sentence or os.strerror(number))


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
