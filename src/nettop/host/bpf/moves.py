"""Forwarding entries of bridges that move to another port: notifications of rtnetlink(7).

net/bridge/br_fdb.c, br_fdb_update(): a frame from another port moves the entry of its source, and
fdb_notify() tells the group RTNLGRP_NEIGH; nothing counts it. No program is loaded.
"""

import errno
import socket
import struct
import time
from collections import Counter as Sums
from contextlib import suppress
from typing import Final

from ...terms.dataclass import dataclass
from ..netlink import route
from ..netlink.codec import HEADER, Field, decode, messages

_NEIGHBOURS: Final = 1 << 2  # bit of RTNLGRP_NEIGH
_DELETED: Final = 29  # RTM_DELNEIGH: what is learnt next is no move
_NOWHERE: Final = 0  # no interface has this number
_BRIDGE: Final = 7  # AF_BRIDGE
_HEAD: Final = struct.Struct("=BxxxiHBB")  # ndmsg: family, interface
_ENTRY: Final = {2: Field("hardware", "raw"), 5: Field("vlan", "H"), 9: Field("master")}
_REQUEST: Final = (  # NLM_F_REQUEST, NLM_F_DUMP
    HEADER.pack(HEADER.size + _HEAD.size, route.GETNEIGH, 0x301, 1, 0)
    + _HEAD.pack(_BRIDGE, 0, 0, 0, 0)
)
_MOST: Final = 20_000  # notifications that are looked at in one reading
_SIZE: Final = 1 << 16  # bytes of one
_ROOM: Final = 1 << 14  # entries whose port is remembered


@dataclass(frozen=True, slots=True)
class _Entry:
    bridge: int
    hardware: bytes
    vlan: int


class Counter:
    """The socket, and what it has heard; OSError without netlink."""

    def __init__(self) -> None:
        """Begin to listen."""
        self._ports = dict[_Entry, list[int]]()  # the ports, the last one first
        self._moves = Sums[_Entry]()
        self._begun = time.monotonic()
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        self._socket = socket.socket(socket.AF_NETLINK, kind, socket.NETLINK_ROUTE)
        self._socket.bind((0, _NEIGHBOURS))
        self._socket.send(_REQUEST)  # the answer tells where each entry is now

    def text(self) -> str:
        """The seconds, then a line `MOVES BRIDGE HARDWARE VLAN PORT…` for each that moves."""
        with suppress(BlockingIOError):
            for _ in range(_MOST):
                try:
                    self._hear(self._socket.recv(_SIZE))
                except OSError as error:
                    if error.errno != errno.ENOBUFS:  # some were lost, and the next one comes
                        raise
        lines = (
            f"{count} {_name(one.bridge)} {one.hardware.hex(':')} {one.vlan} "
            f"{' '.join(sorted(_name(port) for port in self._ports[one] if port != _NOWHERE))}"
            for one, count in self._moves.items()
        )
        return "\n".join([f"{time.monotonic() - self._begun:.3f}", *sorted(lines), ""])

    def _hear(self, data: bytes) -> None:
        """Count the entries that are at another port than when they were told last."""
        for kind, start, end in messages(data):
            if kind not in (route.NEWNEIGH, _DELETED) or end - start < _HEAD.size:
                continue
            family, port, *_ = _HEAD.unpack_from(data, start)
            values = decode(data, start + _HEAD.size, end, _ENTRY)
            hardware, master = values.get("hardware", b""), values.get("master", port)
            if family != _BRIDGE or len(hardware) != 6 or master == port:
                continue
            entry = _Entry(master, hardware, values.get("vlan", 0))
            ports = self._ports.get(entry, [])
            now = _NOWHERE if kind == _DELETED else port
            if ports and _NOWHERE not in (now, ports[0]) and ports[0] != now:
                self._moves[entry] += 1
            if ports or len(self._ports) < _ROOM:
                self._ports[entry] = [now, *(one for one in ports if one not in (now, _NOWHERE))]

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()

    def __del__(self) -> None:
        """Listen no more if the object is dropped without `close`."""
        if hasattr(self, "_socket"):  # else the kernel refused it
            self.close()


def _name(index: int) -> str:
    """The name of an interface; its number once it is gone."""
    with suppress(OSError):
        return socket.if_indextoname(index)
    return str(index)
