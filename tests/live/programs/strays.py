"""Programs of the ward of strangers: `python strays.py KIND …`.

limit NAME BYTES COMMAND       run in a cgroup (v1, memory) with a limit of its memory
thrashes PORT MEGABYTES        read a stream; between reads touch pages of a file of that size
leaks PORT                     accept, and close nothing
stuck PORT                     two datagram sockets share a port, and one is never read
stops PORT                     listen, accept one connection, then stop as by SIGSTOP
local PORT                     listen at 127.0.0.1 only
claims IF ADDRESS PER_S        gratuitous ARP for an address
bare ADDRESS PORT PER_S        datagrams of IPv6 with a checksum of zero
two-answers PORT · wants ADDRESS PORT  an answer in two writes, without TCP_NODELAY; its client
replies PORT · queries ADDRESS PORT PER_S  request and response of datagrams
"""

from __future__ import annotations

import contextlib
import mmap
import os
import random
import signal
import socket
import struct
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from live.programs.ills import _listener, _paced
from live.programs.woes import _cgroup, _into


def limit(name: str, number: str, *command: str) -> None:
    """What it needs beyond that must be given up elsewhere."""
    place = _cgroup("memory", name)
    (place / "memory.limit_in_bytes").write_text(number)
    _into(place, command)


def thrashes(port: str, megabytes: str) -> None:
    """As a server whose data no longer fits in its memory."""
    size = int(megabytes) << 20
    with tempfile.TemporaryFile(dir="/var/tmp") as file:
        for _ in range(int(megabytes)):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        pages = mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)
        pages.madvise(mmap.MADV_RANDOM)
        door, _ = _listener(port).accept()
        while door.recv(65536):
            for _ in range(64):
                pages[random.randrange(size)]


def leaks(port: str) -> None:
    """Clients have gone, their sockets stay."""
    door, kept = _listener(port, 1024), []
    while True:
        kept.append(door.accept()[0])


def stuck(port: str) -> None:
    """The kernel shares datagrams between both by their source."""
    both = []
    for _ in range(2):
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        s.bind(("::", int(port)))
        both.append(s)
    while True:
        both[0].recv(65536)


def stops(port: str) -> None:
    """As in a debugger."""
    door = _listener(port, 16)
    door.accept()
    os.kill(os.getpid(), signal.SIGSTOP)


def local(port: str) -> None:
    """Others are refused."""
    door = socket.create_server(("127.0.0.1", int(port)))
    while True:
        door.accept()[0].close()


def claims(interface: str, address: str, per_s: str) -> None:
    """This host has the address, it says."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x806))
    s.bind((interface, 0))
    mac, own = s.getsockname()[4], socket.inet_aton(address)
    frame = b"\xff" * 6 + mac + struct.pack(">HHHBBH", 0x806, 1, 0x800, 6, 4, 2)
    for _ in _paced(float(per_s)):
        s.send(frame + mac + own + b"\xff" * 6 + own)


def bare(address: str, port: str, per_s: str) -> None:
    """IPv6 does not allow that."""
    s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_UDP)
    for _ in _paced(float(per_s)):
        s.sendto(struct.pack(">HHHH", 4000, int(port), 308, 0) + bytes(300), (address, 0))


def two_answers(port: str) -> None:
    """Header, body."""

    def serve(door: socket.socket) -> None:
        while door.recv(100):
            door.sendall(bytes(120))
            door.sendall(bytes(300))

    door = _listener(port)
    while True:
        threading.Thread(target=serve, args=(door.accept()[0],), daemon=True).start()


def wants(address: str, port: str) -> None:
    """Ask, take the whole answer, ask."""
    s = socket.create_connection((address, int(port)))
    while True:
        s.sendall(bytes(100))
        s.recv(420, socket.MSG_WAITALL)


def replies(port: str) -> None:
    """To each datagram one."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", int(port)))
    while True:
        data, peer = s.recvfrom(2048)
        s.sendto(data, peer)


def queries(address: str, port: str, per_s: str) -> None:
    """Wait for each answer a second at the most."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((address, int(port)))
    s.settimeout(1)
    for _ in _paced(float(per_s)):
        with contextlib.suppress(OSError):
            s.send(bytes(60))
            s.recv(2048)


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
