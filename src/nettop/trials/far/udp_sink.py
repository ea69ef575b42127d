"""Receive numbered datagrams: count, order, and the gaps between them by kernel time stamps."""

import socket
import struct
import time
from typing import Any, Dict, Optional

from nettop.trials.far.listener import admit, opened
from nettop.trials.far.protocol import listen, pin, say, stopping
from nettop.trials.far.sample import cores, read
from nettop.trials.far.udp_source import HEAD, busy

TIMESTAMPNS = 35  # SO_TIMESTAMPNS
RCVBUFFORCE = 33  # SO_RCVBUFFORCE: beyond net.core.rmem_max, for root
ROOM = 64 << 20


class Point:
    """What came of one size and spacing."""

    def __init__(self) -> None:
        self.received = 0
        self.reordered = 0
        self.highest = -1
        self.first = 0.0
        self.last = 0.0
        self.gaps: Dict[int, int] = {}  # by 0.5 µs
        self.before = cores(read("/proc/stat"))
        self.after = self.before

    def take(self, number: int, at: float) -> None:
        """One datagram."""
        self.received += 1
        if number < self.highest:
            self.reordered += 1
        else:
            self.highest = number
        if self.last:
            gap = int((at - self.last) * 2e6)
            self.gaps[gap] = self.gaps.get(gap, 0) + 1
        else:
            self.first = at
        self.last = at


def room_of(sock: socket.socket) -> int:
    """Make the socket's buffer large enough for a whole point where we may; its size."""
    for name in (RCVBUFFORCE, socket.SO_RCVBUF):
        try:
            sock.setsockopt(socket.SOL_SOCKET, name, ROOM)
            break
        except OSError:
            continue
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


def main(options: Dict[str, Any]) -> None:
    """Listen until told to stop; then say every point."""
    listen()
    pin(options.get("cpus"))
    try:
        listening = opened(options, socket.SOCK_DGRAM)
    except OSError as error:
        say(error=error.strerror)
        return
    with listening as sock:
        room = room_of(sock)
        if not options.get("deaf"):
            sock.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)
        say(port=sock.getsockname()[1], room=room)
        if options.get("deaf"):  # only there so that nobody answers "port unreachable"
            stopping.wait()
            return
        points: Dict[int, Point] = {}
        if admit(sock, options):
            gather(sock, points, bytes.fromhex(options["token"]))
    for number, point in sorted(points.items()):
        say(
            point=number, received=point.received, reordered=point.reordered,
            lasted=point.last - point.first, gaps=sorted(point.gaps.items()),
            busy=busy(point.before, point.after),
        )  # fmt: skip


def gather(sock: socket.socket, points: Dict[int, Point], token: bytes) -> None:
    """Take datagrams until told to stop and nothing more is there; the token may come again."""
    buffer = bytearray(65536)
    view = [buffer]
    receive, unpack = sock.recvmsg_into, HEAD.unpack_from
    stamp = struct.Struct("qq").unpack
    current: Optional[Point] = None
    while True:
        try:
            size, ancillary, _, _ = receive(view, 64)
        except OSError:
            if current is not None:
                current.after = cores(read("/proc/stat"))
                current = None
            if stopping.is_set():
                return
            continue
        if size < HEAD.size:
            continue
        number, sequence = unpack(buffer)
        if current is None or number not in points:
            if buffer[:size] == token:
                continue
            current = points.setdefault(number, Point())
        at = time.time()
        if ancillary and len(ancillary[0][2]) == 16:
            seconds, nanoseconds = stamp(ancillary[0][2])
            at = seconds + nanoseconds / 1e9
        points[number].take(sequence, at)
