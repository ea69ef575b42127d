"""What stages losses in a namespace of `veth.pair`: commands, packets, counters."""

import ctypes
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from live.programs import packets
from netlink_bytes import message
from veth import FAR, FAR6, NEAR

COUNT: Final = 40  # packets
PORT: Final = 20_000
SEGMENT: Final = 103  # UDP_SEGMENT
CLOSED_WORLD: Final = "198.51.100.1"  # behind the near host, which forwards
BEHIND: Final = "198.51.100.0/24"
BEHIND6: Final = "2001:db8::1"
MINTTL: Final = 21  # IP_MINTTL
DROPS_ALL: Final = "1,6 0 0 2"  # classic BPF: TC_ACT_SHOT
Kind = Callable[[], Iterator[int | None]]
KINDS: Final[dict[str, Kind]] = {}


def kind(name: str) -> Callable[[Kind], Kind]:
    """One of `KINDS`."""

    def kept(function: Kind) -> Kind:
        KINDS[name] = function
        return function

    return kept


def do(*lines: str) -> None:
    """Run commands; OSError with what they say."""
    for line in lines:
        done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"{line}: {done.stderr.strip()}")


def far(*given: int) -> socket.socket:
    """A socket of the far namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as own, open(f"/run/netns/{sys.argv[1]}") as other:
        libc.setns(other.fileno(), 1 << 30)
        try:
            return socket.socket(*given)
        finally:
            libc.setns(own.fileno(), 1 << 30)


def datagrams(port: int = PORT, to: str = NEAR, size: int = 10, count: int = COUNT) -> int:
    """Send from the far namespace; how many."""
    of = socket.AF_INET6 if ":" in to else socket.AF_INET
    with far(of, socket.SOCK_DGRAM) as door:
        for _ in range(count):
            door.sendto(bytes(size), (to, port))
    return count


def own(to: str, size: int = 10, port: int = PORT) -> int:
    """Send from the near namespace; how many calls took a datagram, failed ones as well."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        for _ in range(COUNT):
            with suppress(OSError):
                door.sendto(bytes(size), (to, port))
    return COUNT


def got(reader: socket.socket) -> int:
    """How many datagrams wait in a socket."""
    reader.setblocking(False)
    found = 0
    with suppress(BlockingIOError):
        while True:
            reader.recv(1 << 16)
            found += 1
    return found


def bound(port: int = PORT, address: str = NEAR) -> socket.socket:
    """A socket of the near namespace."""
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.bind((address, port))
    return door


def hardware(interface: str = "eth0") -> bytes:
    """The address of an interface here."""
    return bytes.fromhex(Path(f"/sys/class/net/{interface}/address").read_text().replace(":", ""))


def header(
    to: str = NEAR, transport: int = 17, body: bytes = b"", source: str = FAR, more: int = 0,
    number: int = 1, ttl: int = 64, wrong: bool = False,
) -> bytes:  # fmt: skip
    """A packet of IPv4; `more`: the field of flags and offset."""
    ends = socket.inet_aton(source) + socket.inet_aton(to)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), number, more, ttl, transport, 0)
    checksum = packets._sum(head + ends) ^ wrong
    return head[:10] + struct.pack(">H", checksum) + ends + body


def six(to: str, body: bytes, hops: int = 64) -> bytes:
    """A packet of IPv6."""
    ends = (socket.inet_pton(socket.AF_INET6, one) for one in (FAR6, to))
    return struct.pack(">IHBB", 6 << 28, len(body), 17, hops) + b"".join(ends) + body


def udp(port: int = PORT, size: int = 8) -> bytes:
    """A datagram without a checksum."""
    return struct.pack(">HHHH", 4000, port, 8 + size, 0) + bytes(size)


def tcp(port: int = PORT, source: str = FAR, wrong: bool = False, at: int = 0) -> bytes:
    """A SYN."""
    ends = socket.inet_aton(source) + socket.inet_aton(NEAR)
    body = struct.pack(">HHIIBBHHH", 1024 + at, port, 7, 0, 0x50, 2, 65535, 0, 0)
    checksum = packets._sum(ends + struct.pack(">HH", 6, 20) + body) ^ wrong
    return body[:16] + struct.pack(">H", checksum) + body[18:]


def frames(
    *payloads: bytes, to: bytes = b"", ether: int = 0x0800, interface: str = "eth0"
) -> int:  # fmt: skip
    """Send frames from the far namespace, all payloads `COUNT` times if it is one; how many."""
    every = payloads * COUNT if len(payloads) == 1 else payloads
    with far(socket.AF_PACKET, socket.SOCK_RAW, 0) as door:
        door.bind((interface, 0))
        head = (to or hardware()) + door.getsockname()[4] + struct.pack(">H", ether)
        for one in every:
            door.send(head + one)
    return len(every)


def grown(name: str) -> Callable[[], int]:
    """How much a counter of /proc/net/snmp and netstat has grown since."""

    def read() -> int:
        found = dict[str, int]()
        for file in ("snmp", "netstat"):
            lines = Path(f"/proc/net/{file}").read_text().splitlines()
            for names, numbers in zip(lines[::2], lines[1::2], strict=True):
                group, *words = names.split()
                found |= {group[:-1] + one: int(n) for one, n in
                          zip(words, numbers.split()[1:], strict=True)}  # fmt: skip
        return found[name]

    before = read()
    return lambda: read() - before


def sysctl(**values: int) -> dict[str, int]:
    """Set `net.` parameters, with `__` for a dot; what they were."""
    before = {}
    for name, value in values.items():
        file = Path("/proc/sys/net") / name.replace("__", "/")
        before[name] = int(file.read_text())
        file.write_text(str(value))
    return before


def batch(*parts: bytes) -> None:
    """Send messages of nf_tables; OSError for the first error."""
    ends = struct.pack(">BBH", 0, 0, 10)
    every = [(message(0x10, ends), 1), *((one, 0x405) for one in parts), (message(0x11, ends), 1)]
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as door:
        door.send(b"".join(raw[:6] + struct.pack("=H", flags) + raw[8:] for raw, flags in every))
        for _ in parts:
            error = struct.unpack_from("=i", door.recv(1 << 16), 16)[0]
            if error:
                raise OSError(-error, os.strerror(-error))


def reader_gets(send: Callable[[], int], door: socket.socket) -> int:
    """How many of those sent no socket got."""
    with door:
        return send() - got(door)
