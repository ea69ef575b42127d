"""A recorded host whose names and numbers change every few moments.

Interfaces get new names and indexes; processes new numbers and commands; sockets new inodes,
cookies, ports and peers. Counters and clock go on. nettop must forget what it remembers of names
that are gone.
"""

import re
import socket
import struct
from pathlib import Path

from nettop.host.netlink.codec import Request, attributes, messages
from nettop.host.recording import Replay, load

HOST = Path(__file__).parents[2] / "rules/demo.host.gz"
LASTS = 3  # moments for which a name exists
_INDEX = {16: 4, 20: 4, 24: None, 36: 4, 92: 4}  # rtnetlink message → offset of its interface index
_OIF = 4  # RTA_OIF
_PORTS, _PEER, _COOKIE, _INODE = 4, 24, 44, 68  # of struct inet_diag_msg
_DIAG = 72
_SOCKET = re.compile(r"socket:\[(\d+)\]")
_PROCESS = re.compile(r"/proc/(\d+)(/task/(\d+))?(?=/|$)")
_STAT = re.compile(r"/proc/\d+(/task/\d+)?/stat")


class Churning(Replay):
    """Plays the recording in a loop, under new names."""

    opening = False
    batches = None

    def __init__(self, interfaces: bool = True) -> None:
        """`interfaces`: whether interfaces change their names too."""
        super().__init__(load(str(HOST)), loop=True)
        self.frame = self.turn = 0
        self.interfaces = interfaces
        self.devices = sorted(set(re.findall(r"\bens\d\w+\b", "\n".join(self._tree))))
        self.renames = self._renames()

    def wait(self, seconds: float) -> bool:
        """The next moment."""
        self.frame += 1
        self.turn = self.frame // LASTS  # the number of the current names
        self.renames = self._renames()
        return super().wait(seconds)

    def now(self) -> float:
        """One second per moment."""
        return float(self.frame)

    def wall(self) -> float:
        """The same clock, from a day in 2023."""
        return 1.7e9 + self.frame

    # -- names ------------------------------------------------------------

    @property
    def _link(self) -> int:
        return self.turn if self.interfaces else 0

    def _renames(self) -> list[tuple[str, str]]:
        """The recorded and the current name of each interface, of the same length."""
        return [
            (name, f"n{place}{self._link:0{len(name) - 2}d}")
            for place, name in enumerate(self.devices)
        ]

    def _renamed(self, text: str) -> str:
        """A text with the current names."""
        for name, now in self.renames:
            text = text.replace(name, now)
        return _SOCKET.sub(lambda m: f"socket:[{self._inode(int(m[1]))}]", text)

    def _recorded(self, path: str) -> str:
        """The recorded path of a current path."""
        for name, now in self.renames:
            path = path.replace(now, name)
        match = _PROCESS.match(path)
        if match is None:
            return path
        task = f"/task/{self._recorded_pid(match[3])}" if match[3] else ""
        return f"/proc/{self._recorded_pid(match[1])}{task}{path[match.end() :]}"

    def _inode(self, inode: int) -> int:
        return (inode + 10_000 * self.turn) % 2**32 if inode else 0

    def _pid(self, pid: str) -> str:
        return str(int(pid) + 5_000 * self.turn)

    def _recorded_pid(self, pid: str) -> str:
        return str(int(pid) - 5_000 * self.turn)

    # -- answers ------------------------------------------------------------

    def data(self, path: str) -> bytes:
        """The file's bytes."""
        text = super().data(self._recorded(path)).decode("utf-8", "surrogateescape")
        return self._renumbered(path, self._renamed(text)).encode("utf-8", "surrogateescape")

    def _renumbered(self, path: str, text: str) -> str:
        """The text of a file with the current numbers."""
        if _STAT.fullmatch(path):
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
        names = super().listing(self._recorded(path))
        if path == "/proc" or re.fullmatch(r"/proc/\d+/task", path):
            return [self._pid(name) if name.isdecimal() else name for name in names]
        return sorted(map(self._renamed, names))

    def link(self, path: str) -> str:
        """Where a symbolic link points."""
        return self._renamed(super().link(self._recorded(path)))

    def netlink(self, request: Request) -> bytes:
        """The kernel's answer."""
        name = self._recorded(request.name)
        data = bytearray(super().netlink(Request(request.family, request.kind, b"", name)))
        for old, now in self.renames:
            data = data.replace(old.encode(), now.encode())
        for kind, start, end in messages(bytes(data)):
            if request.family == "sock_diag" and end - start >= _DIAG and "tcp" in name:
                self._socket(data, start)
            elif request.family == "route" and kind in _INDEX:
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
        at = _INDEX[kind]
        offsets = [start + at] if at is not None else []
        if at is None:
            offsets = [a for number, a, _ in attributes(bytes(data), start + 12, end)
                      if number == _OIF]  # fmt: skip
        for offset in offsets:
            (index,) = struct.unpack_from("=I", data, offset)
            if index > 1:
                struct.pack_into("=I", data, offset, index + 10 * self._link)

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        """The driver's answer."""
        return super().statistics(self._recorded(interface), request, self._recorded(name))
