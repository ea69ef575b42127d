"""Socket options that save copies, packets and wake-ups; a kernel may refuse each of them.

MSG_ZEROCOPY (Documentation/networking/msg_zerocopy.rst, Linux 4.14), UDP_SEGMENT (4.18) and UDP_GRO
(5.0) in udp(7), SO_BUSY_POLL in socket(7).
"""

import socket
import struct
from typing import TYPE_CHECKING, List, Optional, Tuple

if TYPE_CHECKING:
    from nettop.trials.far.schema import HelperOptions

SO_BUSY_POLL = 46
SO_ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000
SOL_UDP, UDP_SEGMENT, UDP_GRO = 17, 103, 104
ORIGIN, COPIED = 5, 1  # SO_EE_ORIGIN_ZEROCOPY, SO_EE_CODE_ZEROCOPY_COPIED (linux/errqueue.h)
ERROR = struct.Struct("=I4B2I")  # struct sock_extended_err
OFTEN = 8  # sends between two readings of the completions


class Refusal(Exception):  # noqa: N818
    """The kernel refuses a socket option; one sentence."""


def switch(sock: socket.socket, level: int, name: int, value: int, what: str) -> None:
    """Set a socket option; Refusal."""
    try:
        sock.setsockopt(level, name, value)
    except OSError as error:
        raise Refusal("this kernel refuses {}: {}".format(what, error.strerror)) from None


def busy_poll(sock: socket.socket, options: "HelperOptions") -> None:
    """Poll the queue of the NIC for so many µs before sleeping; Refusal."""
    wait = options.get("busy_poll")
    if wait:
        switch(sock, socket.SOL_SOCKET, SO_BUSY_POLL, wait, "SO_BUSY_POLL")


class ZeroCopy:
    """Sends the pages of the program; counts how many sends the kernel copied after all."""

    def __init__(self, sock: socket.socket) -> None:
        switch(sock, socket.SOL_SOCKET, SO_ZEROCOPY, 1, "SO_ZEROCOPY")
        self.sock = sock
        self.calls = self.sends = self.copied = 0

    def send(self, memory: memoryview) -> int:
        """As socket.send; a plain send while completions fill the limit net.core.optmem_max."""
        self.calls += 1
        if self.calls % OFTEN == 0:
            self.read()
        try:
            return self.sock.send(memory, MSG_ZEROCOPY)
        except BlockingIOError:
            self.read()  # an unread completion keeps the socket ready (EPOLLERR)
            raise
        except OSError:
            self.read()
            return self.sock.send(memory)

    def read(self) -> None:
        """Read the completions that have arrived."""
        while True:
            try:
                _, ancillary, _, _ = self.sock.recvmsg(
                    0, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT
                )
            except OSError:
                return
            for _, _, data in ancillary:
                if len(data) < ERROR.size:
                    continue
                _, origin, _, code, _, first, last = ERROR.unpack_from(data)
                if origin == ORIGIN:
                    number = last - first + 1
                    self.sends += number
                    self.copied += number if code & COPIED else 0


def merged(ancillary: "List[Tuple[int, int, bytes]]", size: int) -> "Tuple[Optional[bytes], int]":
    """The time stamp of a receive call (None: none), and the bytes of each datagram in it."""
    stamp, step = None, size
    for level, kind, data in ancillary:
        if level == SOL_UDP and kind == UDP_GRO:
            step = struct.unpack("i", data[:4])[0]
        elif len(data) == 16:
            stamp = data
    return stamp, max(1, step)
