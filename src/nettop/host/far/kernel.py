"""Netlink and the ethtool ioctl for a reader: requests that read, within bounds."""

import errno
import fcntl
import os
import socket
import struct
from array import array
from contextlib import suppress
from typing import Dict, Optional, Tuple

from nettop.host.far import allowed

_PROTOCOLS = {"route": 0, "sock_diag": 4, "netfilter": 12}
_GENERIC = 16
_REQUEST, _ACK, _DUMP, _INTERRUPTED = 0x1, 0x4, 0x300, 0x10
_ERROR, _DONE = 2, 3
_CAPPED, _TEXTS = 0x100, 0x200  # NLM_F_CAPPED, NLM_F_ACK_TLVS
_SOL_NETLINK, _EXT_ACK = 270, 11
_HEADER = struct.Struct("=IHHII")
_SEQUENCE = 0x6E746F70  # always the same: equal answers are equal bytes
_SECONDS = 5
_TRIES = 4
_SIOCETHTOOL = 0x8946
# A driver writes as many statistics as it has now, whatever was asked for: room for 131,072 names
_ROOM = 4 << 20
_AGAIN = (errno.EBUSY, errno.ENOBUFS, errno.EINTR)


class Kernel:
    """The netlink sockets of a reader."""

    def __init__(self, most: int) -> None:
        """`most`: bytes of one answer. Nothing is opened before it is needed."""
        self._most = most
        self._sockets: Dict[int, Tuple[socket.socket, int]] = {}
        self._families: Dict[str, int] = {}
        self._ioctl: Optional[Tuple[socket.socket, array[int]]] = None

    def ask(self, family: str, kind: int, dump: bool, body: bytes) -> bytes:
        """All messages of the answer without the acknowledgement; OSError, also if not allowed."""
        allowed.netlink(family, kind, dump)
        flags = _REQUEST | (_DUMP if dump else _ACK)
        protocol = _PROTOCOLS.get(family, _GENERIC)
        number = kind
        if protocol == _GENERIC:
            number = self._families.get(family) or self._resolve(family)
            body = struct.pack("=BBH", kind, 1, 0) + body
        try:
            return self._again(protocol, number, flags, body)
        except FileNotFoundError:
            if family != "sock_diag":
                raise
            sentence = "the kernel cannot list these sockets: the module for it is not there"
            raise FileNotFoundError(errno.ENOENT, sentence) from None

    def ioctl(self, interface: bytes, request: bytes) -> bytes:
        """The buffer `request` after SIOCETHTOOL; OSError, also if not allowed."""
        if not 4 <= len(request) <= _ROOM // 2 + (1 << 16):
            raise OSError(errno.EINVAL, "an ethtool request of this size is not sent")
        allowed.ethtool(struct.unpack_from("=I", request)[0])
        if not interface or len(interface) > 15 or b"\0" in interface:
            raise OSError(errno.ENODEV, "no such interface")
        if self._ioctl is None:
            door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._ioctl = door, array("B", bytes(_ROOM + (1 << 17)))
        door, room = self._ioctl
        room[: len(request)] = array("B", request)
        fcntl.ioctl(door, _SIOCETHTOOL, struct.pack("=16sQ16x", interface, room.buffer_info()[0]))
        return room[: len(request)].tobytes()

    def _again(self, protocol: int, number: int, flags: int, body: bytes) -> bytes:
        """Ask until the answer is whole: lists change while they are read."""
        for left in reversed(range(_TRIES)):
            try:
                answer = self._once(protocol, number, flags, body)
            except OSError as error:
                if not left or error.errno not in _AGAIN:
                    raise
            else:
                if answer is not None:
                    return answer
        raise OSError(errno.EAGAIN, "the list kept changing while it was read")

    def _resolve(self, family: str) -> int:
        """The number of a generic family (CTRL_CMD_GETFAMILY)."""
        name = family.encode() + b"\0"
        body = struct.pack("=BBHHH", 3, 1, 0, 4 + len(name), 2) + name + bytes(-len(name) & 3)
        absent = FileNotFoundError(errno.ENOENT, "this kernel has no {} netlink".format(family))
        try:
            answer = self._again(_GENERIC, _GENERIC, _REQUEST | _ACK, body)
        except FileNotFoundError:
            raise absent from None
        at = _HEADER.size + 4
        while at + 4 <= len(answer):
            length, kind = struct.unpack_from("=HH", answer, at)
            if kind == 1:
                self._families[family] = struct.unpack_from("=H", answer, at + 4)[0]
                return self._families[family]
            at += max(4, length + 3 & ~3)
        raise absent

    def _open(self, protocol: int) -> Tuple[socket.socket, int]:
        if protocol not in self._sockets:
            door = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
            door.bind((0, 0))
            door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", _SECONDS, 0))
            if protocol != _PROTOCOLS["sock_diag"]:
                with suppress(OSError):  # before Linux 4.12 an error is a number only
                    door.setsockopt(_SOL_NETLINK, _EXT_ACK, 1)
            self._sockets[protocol] = door, door.getsockname()[0]
        return self._sockets[protocol]

    def _once(self, protocol: int, kind: int, flags: int, body: bytes) -> Optional[bytes]:
        """One request and its answer; None if the kernel says that the list was interrupted."""
        door, port = self._open(protocol)
        whole = False
        try:
            door.send(_HEADER.pack(_HEADER.size + len(body), kind, flags, _SEQUENCE, 0) + body)
            answer, error, interrupted = self._answer(door, port)
            whole = True
        except BlockingIOError:
            sentence = "the kernel did not answer within {} s".format(_SECONDS)
            raise OSError(errno.ETIMEDOUT, sentence) from None
        finally:
            if not whole:  # what may still arrive is never read
                door.close()
                del self._sockets[protocol]
        if error is not None:
            raise error
        return None if interrupted else answer

    def _answer(self, door: socket.socket, port: int) -> Tuple[bytes, Optional[OSError], bool]:
        """Datagrams up to the acknowledgement or the end of the dump."""
        parts = []
        interrupted, whole = False, 0
        while True:
            data = door.recv(1 << 16)
            whole += len(data)
            if whole > self._most:
                raise OSError(errno.EFBIG, "the reply is larger than its bound")
            at = 0
            while at + _HEADER.size <= len(data):
                length, kind, flags, sequence, to = _HEADER.unpack_from(data, at)
                if length < _HEADER.size or (sequence, to) != (_SEQUENCE, port):
                    break
                interrupted = interrupted or bool(flags & _INTERRUPTED)
                if kind in (_ERROR, _DONE):
                    parts.append(data[:at])
                    return b"".join(parts), _failure(data, at, at + length, flags), interrupted
                at += (length + 3) & ~3
            if at:
                parts.append(data)


def _failure(data: bytes, start: int, end: int, flags: int) -> Optional[OSError]:
    """The error in an acknowledgement or the end of a dump; None for success."""
    if end - start < _HEADER.size + 4:
        return None
    kind = _HEADER.unpack_from(data, start)[1]
    number = -struct.unpack_from("=i", data, start + _HEADER.size)[0]
    if number <= 0:
        return None
    sentence = b""
    at = start + _HEADER.size + 4
    if kind == _ERROR:  # the request follows, whole or (capped) its header only
        length = _HEADER.size if flags & _CAPPED else _HEADER.unpack_from(data, at)[0]
        at += (length + 3) & ~3
    while flags & _TEXTS and at + 4 <= end:
        length, what = struct.unpack_from("=HH", data, at)
        if what == 1:
            sentence = data[at + 4 : at + length].split(b"\0")[0]
        at += max(4, (length + 3) & ~3)
    return OSError(number, sentence.decode("utf-8", "replace") or os.strerror(number))
