"""Netlink and the ethtool ioctl: the conversation with the kernel, and that of a reader.

Every netlink request of nettop is sent from here (`nettop.host.netlink.kernel` has the rest of it
for this machine). A reader sends requests that read, within bounds.
"""

import errno
import fcntl
import os
import socket
import struct
from array import array
from contextlib import suppress
from io import BytesIO
from typing import Callable, Dict, Optional, Tuple

from nettop.host.far import allowed

# every other family is generic netlink
PROTOCOLS = {"route": 0, "sock_diag": 4, "xfrm": 6, "netfilter": 12}
GENERIC = 16
REQUEST, ACK, DUMP, INTERRUPTED = 0x1, 0x4, 0x300, 0x10
ERROR, DONE = 2, 3
CAPPED, TEXTS = 0x100, 0x200  # NLM_F_CAPPED and NLM_F_ACK_TLVS on an acknowledgement
HEADER = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence, port
SEQUENCE = 0x6E746F70  # always the same, so that equal answers are equal bytes in a recording
_SOL_NETLINK, _EXT_ACK = 270, 11
_SECONDS = 5
_TRIES = 4
_SIOCETHTOOL = 0x8946
# The driver writes as many statistics as it has now, whatever was asked for (net/ethtool/ioctl.c
# before 2026). The buffer has twice the room that was asked for, and a mebibyte at the least, so
# that a change of queues between two questions cannot overrun it.
_IOCTL_BYTES = 1 << 20


class Conversation:
    """The sockets of the network namespace that they were first used in; nothing is locked."""

    def __init__(
        self, most: int, door: Callable[..., socket.socket] = socket.socket,
        beyond: Optional[str] = "the reply is larger than its bound",
    ) -> None:  # fmt: skip
        """Nothing is opened before it is needed.

        `most`: bytes of one answer; `door` makes a socket; `beyond`: the sentence of a larger one.
        """
        self._most, self._door, self._beyond = most, door, beyond
        self._sockets: Dict[int, Tuple[socket.socket, int]] = {}
        self._families: Dict[str, int] = {}
        self._buffer = bytearray(1 << 16)
        self._ioctl: Optional[Tuple[socket.socket, array[int]]] = None

    def read(self, family: str, kind: int, dump: bool, body: bytes) -> bytes:
        """All messages of the answer, headers included, without the final acknowledgement.

        A dump that the kernel says was interrupted, or could not begin, is asked for again. Errors:
        OSError; FileNotFoundError when the kernel lacks the generic family; TimeoutError.
        """
        try:
            return self.talk(family, kind, body, REQUEST | (DUMP if dump else ACK))
        except FileNotFoundError:
            if family != "sock_diag":
                raise
            # each kind of socket has a module of its own: tcp_diag, udp_diag, xsk_diag …
            sentence = "the kernel cannot list these sockets: the module for it is not there"
            raise FileNotFoundError(errno.ENOENT, sentence) from None

    def talk(self, family: str, kind: int, body: bytes, flags: int, tries: int = _TRIES) -> bytes:
        """The answer to a message that is sent so many times at most."""
        protocol = PROTOCOLS.get(family, GENERIC)
        number = kind
        if protocol == GENERIC:
            number = self._families.get(family) or self._resolve(family)
            body = struct.pack("=BBH", kind, 1, 0) + body
        return self._again(protocol, number, body, flags, tries)

    def driver(self, interface: bytes, request: bytes) -> bytes:
        """The buffer `request` after SIOCETHTOOL on the interface, in the same length."""
        if not interface or len(interface) > 15 or b"\0" in interface:
            raise OSError(errno.ENODEV, "no such interface", os.fsdecode(interface))
        door, room = self._driver()
        if 2 * len(request) > _IOCTL_BYTES:  # many names: asked once, and not kept
            room = array("B", bytes(2 * len(request)))
        room[: len(request)] = array("B", request)
        fcntl.ioctl(door, _SIOCETHTOOL, struct.pack("=16sQ16x", interface, room.buffer_info()[0]))
        return room[: len(request)].tobytes()

    def ready(self) -> None:
        """Open the sockets of rtnetlink, of generic netlink and of the ioctl."""
        for protocol in (PROTOCOLS["route"], GENERIC):
            self._open(protocol)
        self._driver()

    def close(self) -> None:
        """Close every socket; the next question opens new ones."""
        for protocol in tuple(self._sockets):
            self._forget(protocol)
        if self._ioctl is not None:
            self._ioctl[0].close()
            self._ioctl = None

    def _driver(self) -> "Tuple[socket.socket, array[int]]":
        if self._ioctl is None:
            door = self._door(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._ioctl = door, array("B", bytes(_IOCTL_BYTES))
        return self._ioctl

    def _again(self, protocol: int, kind: int, body: bytes, flags: int, tries: int) -> bytes:
        """Ask until the answer is whole: lists change while they are read, buffers overflow."""
        for left in reversed(range(tries)):
            try:
                return self._once(protocol, kind, body, flags)
            except InterruptedError:
                pass
            except OSError as error:
                if not left or error.errno not in (errno.EBUSY, errno.ENOBUFS):
                    raise
        raise OSError(errno.EAGAIN, "the list kept changing while it was read")

    def _resolve(self, family: str) -> int:
        """The number of a generic family, asked of the controller once (CTRL_CMD_GETFAMILY)."""
        name = family.encode() + b"\0"
        body = struct.pack("=BBHHH", 3, 1, 0, 4 + len(name), 2) + name + bytes(-len(name) & 3)
        absent = FileNotFoundError(errno.ENOENT, "this kernel has no {} netlink".format(family))
        try:
            answer = self._again(GENERIC, GENERIC, body, REQUEST | ACK, _TRIES)
        except FileNotFoundError:
            raise absent from None
        at = HEADER.size + 4
        while at + 4 <= len(answer):
            length, kind = struct.unpack_from("=HH", answer, at)
            if kind == 1:
                self._families[family] = struct.unpack_from("=H", answer, at + 4)[0]
                return self._families[family]
            at += max(4, length + 3 & ~3)
        raise absent

    def _open(self, protocol: int) -> Tuple[socket.socket, int]:
        if protocol not in self._sockets:
            door = self._door(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
            try:
                if not door.getsockname()[0]:  # else it was kept
                    door.bind((0, 0))
                silence = struct.pack("@ll", _SECONDS, 0)
                door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
                door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, silence)
                if protocol != PROTOCOLS["sock_diag"]:
                    with suppress(OSError):  # before Linux 4.12 an error is a number only
                        door.setsockopt(_SOL_NETLINK, _EXT_ACK, 1)
                self._sockets[protocol] = door, int(door.getsockname()[0])
            except OSError:
                door.close()
                raise
        return self._sockets[protocol]

    def _forget(self, protocol: int) -> None:
        """Close a socket whose conversation did not end: what may still arrive is never read."""
        known = self._sockets.pop(protocol, None)
        if known is not None:
            known[0].close()

    def _once(self, protocol: int, kind: int, body: bytes, flags: int) -> bytes:
        """One request and its answer; InterruptedError if the list changed meanwhile."""
        door, port = self._open(protocol)
        whole = False
        try:
            door.send(HEADER.pack(HEADER.size + len(body), kind, flags, SEQUENCE, 0) + body)
            answer, error, interrupted = self._answer(door, port)
            whole = True
        except BlockingIOError:
            sentence = "the kernel did not answer within {} s".format(_SECONDS)
            raise TimeoutError(errno.ETIMEDOUT, sentence) from None
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

    def _answer(self, door: socket.socket, port: int) -> Tuple[bytes, Optional[OSError], bool]:
        """Datagrams up to the acknowledgement or the end of the dump: data, error, interrupted."""
        mark = struct.pack("=II", SEQUENCE, port)
        parts = BytesIO()  # of 100,000 sockets 45 MB: a list would take them twice
        interrupted, whole, view = False, 0, memoryview(self._buffer)
        while True:
            size = door.recv_into(self._buffer)
            whole += size
            if whole > self._most:
                raise OSError(errno.EFBIG, self._beyond)
            last = _last(self._buffer, size, mark)
            if last is None:
                continue  # not ours
            for at in {0, last}:
                interrupted |= bool(HEADER.unpack_from(self._buffer, at)[2] & INTERRUPTED)
            length, kind, flags = HEADER.unpack_from(self._buffer, last)[:3]
            if kind not in (ERROR, DONE):
                parts.write(view[:size])
                continue
            parts.write(view[:last])
            end = bytes(view[:size])
            return parts.getvalue(), failure(end, last, last + length, flags), interrupted


def _last(data: bytearray, size: int, mark: bytes) -> Optional[int]:
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
    at = end = 0
    while end + HEADER.size <= size:
        at, end = end, end + max(HEADER.size, HEADER.unpack_from(data, end)[0] + 3 & ~3)
    return at


def failure(data: bytes, start: int, end: int, flags: int) -> Optional[OSError]:
    """The error in an acknowledgement or the end of a dump; None for success."""
    if end - start < HEADER.size + 4:
        return None
    kind = HEADER.unpack_from(data, start)[1]
    number = -struct.unpack_from("=i", data, start + HEADER.size)[0]
    if number <= 0:
        return None
    sentence = b""
    at = start + HEADER.size + 4
    if kind == ERROR:  # the request follows, whole or (capped) its header only
        length = HEADER.size if flags & CAPPED else HEADER.unpack_from(data, at)[0]
        at += (length + 3) & ~3
    while flags & TEXTS and at + 4 <= end:
        length, what = struct.unpack_from("=HH", data, at)
        if what == 1:
            sentence = data[at + 4 : at + length].split(b"\0")[0]
        at += max(4, (length + 3) & ~3)
    return OSError(number, sentence.decode("utf-8", "replace") or os.strerror(number))


class Kernel:
    """The conversation of a reader: what it asks is on its list."""

    def __init__(self, most: int) -> None:
        """`most`: bytes of one answer."""
        self._conversation = Conversation(most)

    def ask(self, family: str, kind: int, dump: bool, body: bytes) -> bytes:
        """As `Conversation.read`; OSError, also if not allowed."""
        allowed.netlink(family, kind, dump)
        return self._conversation.read(family, kind, dump, body)

    def ioctl(self, interface: bytes, request: bytes) -> bytes:
        """As `Conversation.driver`; OSError, also if not allowed."""
        if len(request) < 4:
            raise OSError(errno.EINVAL, "an ethtool request of this size is not sent")
        allowed.ethtool(struct.unpack_from("=I", request)[0])
        return self._conversation.driver(interface, request)
