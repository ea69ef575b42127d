"""A recorded host of which nothing lasts: every few moments all names and numbers are new.

Interfaces get other names and numbers; processes other numbers and commands; sockets other inodes,
cookies, ports and peers. Its counters and its clock go on. What a run of nettop remembers of such
a host, it must forget again.
"""

from __future__ import annotations

import re
import socket
import struct
from pathlib import Path

from nettop.host.netlink.codec import attributes, messages
from nettop.host.recording import Replay, load
from nettop.host.request import Request

HOST = Path(__file__).parents[2] / "rules/demo.host.gz"
LASTS = 3  # moments that a name lasts
_NUMBERED = {16: 4, 20: 4, 24: None, 36: 4, 92: 4}  # rtnetlink message → where its interface stands
_OIF = 4  # RTA_OIF
_PORTS, _PEER, _COOKIE, _INODE = 4, 24, 44, 68  # of struct inet_diag_msg
_DIAG = 72


class Churning(Replay):
    """Plays the recording round and round, under new names."""

    opening = False

    def __init__(self, interfaces: bool = True) -> None:
        """The first names; `interfaces`: whether these churn too, or stay."""
        super().__init__(load(str(HOST)), loop=True)
        self.frame = self.turn = 0
        self.interfaces = interfaces
        self.devices = sorted(set(re.findall(r"\benp\d+s\d+\b", "\n".join(self._tree))))
        self.called = self._called()

    def wait(self, seconds: float) -> bool:
        """The next moment."""
        self.frame += 1
        self.turn = self.frame // LASTS  # the number of the present names
        self.called = self._called()
        return super().wait(seconds)

    def now(self) -> float:
        """A second a moment."""
        return float(self.frame)

    def wall(self) -> float:
        """The same since a day in 2023."""
        return 1.7e9 + self.frame

    # -- names ------------------------------------------------------------

    @property
    def _link(self) -> int:
        return self.turn if self.interfaces else 0

    def _called(self) -> list[tuple[str, str]]:
        """Each interface's recorded name and its present one, of the same length."""
        return [
            (name, f"n{place}{self._link:0{len(name) - 2}d}")
            for place, name in enumerate(self.devices)
        ]

    def _told(self, text: str) -> str:
        """A text under the present names."""
        for name, now in self.called:
            text = text.replace(name, now)
        return re.sub(r"socket:\[(\d+)\]", lambda m: f"socket:[{self._inode(int(m[1]))}]", text)

    def _asked(self, path: str) -> str:
        """The recorded path of a present one."""
        for name, now in self.called:
            path = path.replace(now, name)
        found = re.match(r"/proc/(\d+)(/task/(\d+))?(?=/|$)", path)
        if found is None:
            return path
        task = f"/task/{self._was(found[3])}" if found[3] else ""
        return f"/proc/{self._was(found[1])}{task}{path[found.end() :]}"

    def _inode(self, inode: int) -> int:
        return (inode + 10_000 * self.turn) % 2**32 if inode else 0

    def _pid(self, pid: str) -> str:
        return str(int(pid) + 5_000 * self.turn)

    def _was(self, pid: str) -> str:
        return str(int(pid) - 5_000 * self.turn)

    # -- answers ------------------------------------------------------------

    def data(self, path: str) -> bytes:
        """The file's bytes."""
        text = super().data(self._asked(path)).decode("utf-8", "surrogateescape")
        return self._present(path, self._told(text)).encode("utf-8", "surrogateescape")

    def _present(self, path: str, text: str) -> str:
        """A file's text with the present numbers."""
        if re.fullmatch(r"/proc/\d+(/task/\d+)?/stat", path):
            number, _, rest = text.partition(" ")
            return f"{self._pid(number)} (job{self.turn}{rest[rest.rfind(')') :]}"
        if path.startswith("/proc/net/udp"):
            head, *rows = text.splitlines()
            return "\n".join([head, *map(self._datagrams, rows), ""])
        return text

    def _datagrams(self, row: str) -> str:
        words = row.split()
        words[1] = f"{words[1][:-4]}{self.turn % 65_535:04X}"
        words[9] = str(self._inode(int(words[9])))
        return " ".join(words)

    def listing(self, path: str) -> list[str]:
        """The names in a directory."""
        found = super().listing(self._asked(path))
        if path == "/proc" or re.fullmatch(r"/proc/\d+/task", path):
            return [self._pid(name) if name.isdecimal() else name for name in found]
        return sorted(map(self._told, found))

    def link(self, path: str) -> str:
        """Where a symbolic link points."""
        return self._told(super().link(self._asked(path)))

    def netlink(self, request: Request) -> bytes:
        """The kernel's answer."""
        name = self._asked(request.name)
        data = bytearray(super().netlink(Request(request.family, request.kind, b"", name)))
        for old, now in self.called:
            data = data.replace(old.encode(), now.encode())
        for kind, start, end in messages(bytes(data)):
            if request.family == "sock_diag" and end - start >= _DIAG and "tcp" in name:
                self._socket(data, start)
            elif request.family == "route" and kind in _NUMBERED:
                self._interface(data, kind, start, end)
        return bytes(data)

    def _socket(self, data: bytearray, at: int) -> None:
        ports = struct.unpack_from(">HH", data, at + _PORTS)
        struct.pack_into(">HH", data, at + _PORTS, *((p + 3 * self.turn) % 2**16 for p in ports))
        peer = at + _PEER + (2 if data[at] == socket.AF_INET else 14)  # half of an IPv4 address
        struct.pack_into(">H", data, peer, self.turn % 2**16)
        (cookie,) = struct.unpack_from("=Q", data, at + _COOKIE)
        struct.pack_into("=Q", data, at + _COOKIE, cookie + 100_000 * self.turn)
        (inode,) = struct.unpack_from("=I", data, at + _INODE)
        struct.pack_into("=I", data, at + _INODE, self._inode(inode))

    def _interface(self, data: bytearray, kind: int, start: int, end: int) -> None:
        at = _NUMBERED[kind]
        places = [start + at] if at is not None else []
        if at is None:
            places = [a for number, a, _ in attributes(bytes(data), start + 12, end)
                      if number == _OIF]  # fmt: skip
        for place in places:
            (index,) = struct.unpack_from("=I", data, place)
            if index > 1:
                struct.pack_into("=I", data, place, index + 10 * self._link)

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        """The driver's answer."""
        return super().statistics(self._asked(interface), request, self._asked(name))
