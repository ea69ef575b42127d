"""What the receive rings of a process have lost, read from the kernel's memory.

net/packet/af_packet.c: tpacket_rcv() counts in packet_sock.tp_drops each packet that finds no room.
getsockopt(PACKET_STATISTICS) tells the count and sets it to 0, so only the owner may call it. Here
a program reads the count and changes nothing. It runs once for each reading, and finds the socket
by a descriptor of this process (pidfd_getfd(2)).
"""

import ctypes
import errno
import os
from typing import Final

from . import assembler as a
from . import btf, call, counting, own_socket

_PIDFD_GETFD: Final = 438  # of all machines that `call` knows


class Rings:
    """The rings of one process, until `close`."""

    def __init__(self, pid: int) -> None:
        """Load the program; OSError if the process is gone, or this kernel cannot run it."""
        types = btf.Types(counting.types())
        try:
            count = types.offset("packet_sock", "tp_drops")
        except KeyError:  # its types are those of a module, or it is Linux 5.2
            what = "this kernel does not describe packet sockets in its types"
            raise OSError(errno.EOPNOTSUPP, what) from None
        code = a.assemble(
            (
                *a.load(a.R7, a.R1), *own_socket.found(types, "none"),
                *counting.read(a.R7, a.R6, count, 4), *a.result(a.R7),
                "none", *a.end(),
            )
        )  # fmt: skip
        self._process = os.pidfd_open(pid)
        try:
            self._program = call.program(code, "nettop_rings")
        except OSError:
            os.close(self._process)
            raise

    def lost(self, descriptor: int) -> int:
        """Packets since the owner last asked, modulo 2 ** 32; OSError if it has closed it."""
        kernel = ctypes.CDLL(None, use_errno=True)
        own: int = kernel.syscall(_PIDFD_GETFD, self._process, descriptor, 0)
        if own < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        try:
            return call.run(self._program, own)
        finally:
            os.close(own)  # the socket must not outlive its owner

    def close(self) -> None:
        """Free the program."""
        os.close(self._program)
        os.close(self._process)
