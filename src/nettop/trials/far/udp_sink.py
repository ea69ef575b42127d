"""Receive numbered datagrams: count them, their order and their gaps (kernel time stamps)."""

import socket
import struct
import time
from typing import TYPE_CHECKING, Dict, Optional

from nettop.trials.far.listener import admit, open_socket
from nettop.trials.far.offload import SOL_UDP, UDP_GRO, Refusal, merged, switch
from nettop.trials.far.protocol import pin, send, stopping, watch_input
from nettop.trials.far.sample import cores, read
from nettop.trials.far.udp_source import HEAD, busy

if TYPE_CHECKING:
    from nettop.trials.far.schema import HelperOptions

TIMESTAMPNS = 35  # SO_TIMESTAMPNS
RCVBUFFORCE = 33  # SO_RCVBUFFORCE: beyond net.core.rmem_max, for root
ROOM = 64 << 20


class PointCount:
    """The datagrams received of one point of the sender."""

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
        """Count one datagram: its sequence number and its arrival in seconds."""
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
    """Enlarge the receive buffer to hold a whole point, if permitted; its size in bytes."""
    for name in (RCVBUFFORCE, socket.SO_RCVBUF):
        try:
            sock.setsockopt(socket.SOL_SOCKET, name, ROOM)
            break
        except OSError:
            continue
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


def main(options: "HelperOptions") -> None:
    """Receive until told to stop; then report every point. With `deaf`, receive nothing."""
    watch_input()
    pin(options.get("cpus"))
    try:
        listening = open_socket(options, socket.SOCK_DGRAM)
    except OSError as error:
        send(error=error.strerror or str(error))
        return
    with listening as sock:
        room = room_of(sock)
        if not options.get("deaf"):
            sock.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)
        if int(options.get("segments") or 1) > 1:
            try:
                switch(sock, SOL_UDP, UDP_GRO, 1, "UDP_GRO")
            except Refusal as refusal:
                send(error=str(refusal))
                return
        send(port=sock.getsockname()[1], room=room)
        if options.get("deaf"):  # the open port prevents "port unreachable" messages
            stopping.wait()
            return
        points: Dict[int, PointCount] = {}
        if admit(sock, options):
            gather(sock, points, bytes.fromhex(options["token"]))
    for number, point in sorted(points.items()):
        send(
            point=number, received=point.received, reordered=point.reordered,
            lasted=point.last - point.first, gaps=sorted(point.gaps.items()),
            busy=busy(point.before, point.after),
        )  # fmt: skip


def gather(sock: socket.socket, points: Dict[int, PointCount], token: bytes) -> None:
    """Count datagrams until told to stop and none is left; a repeated token does not count."""
    buffer = bytearray(65536)
    view = [buffer]
    receive, unpack = sock.recvmsg_into, HEAD.unpack_from
    stamp = struct.Struct("qq").unpack
    current: Optional[PointCount] = None
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
            current = points.setdefault(number, PointCount())
        at, step = time.time(), size
        stamped = ancillary[0][2] if len(ancillary) == 1 else None
        if len(ancillary) > 1:
            stamped, step = merged(ancillary, size)
        if stamped is not None and len(stamped) == 16:
            seconds, nanoseconds = stamp(stamped)
            at = seconds + nanoseconds / 1e9
        points[number].take(sequence, at)
        for place in range(step, size - HEAD.size + 1, step):  # merged datagrams of one point
            points[number].take(unpack(buffer, place)[1], at)
