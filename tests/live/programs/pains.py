"""Programs of the third ward of strangers: `python pains.py KIND …`.

rushes ADDRESS PORT NUMBER     NUMBER connections at once, each second
throws ADDRESS PORT NUMBER BYTES PERIOD  NUMBER datagrams at once, every PERIOD seconds
thinks PORT SECONDS            answer datagrams, each after SECONDS of work of a core
requests ADDRESS PORT PER_S    datagrams at a pace; answers are read
group GROUP PORT IF            one of the readers of a multicast group
spreads GROUP PORT IF PER_S    datagrams to a multicast group
notes NAME SECONDS             read datagrams of an abstract Unix socket, SECONDS for each
notes-each PORT NAME           answer requests, and write a datagram to that Unix socket for each
offices PORT                   answer requests of 100 bytes of many connections with 2000 bytes
sessions ADDRESS PORT NUMBER PER_S     that many connections, each with PER_S requests a second
herd ADDRESS PORT IDLE TALKING idle connections; each second TALKING of them ask something
visits ADDRESS PORT WORKERS PER_S      a connection for each request; each worker so many a second
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from live.programs.ills import _listener, _paced

ASKED, ANSWERED = 100, 2000  # bytes


def rushes(address: str, port: str, number: str) -> None:
    """As clients that a timer wakes together."""
    while True:
        many = [socket.socket(_family(address)) for _ in range(int(number))]
        for one in many:
            one.setblocking(False)
            one.connect_ex((address, int(port)))
        time.sleep(1)
        for one in many:
            one.close()


def throws(address: str, port: str, number: str, size: str, period: str) -> None:
    """A picture in each period."""
    s = _datagrams(address)
    due = time.monotonic()
    while True:
        for _ in range(int(number)):
            with contextlib.suppress(OSError):
                s.sendto(bytes(int(size)), (address, int(port)))
        due += float(period)
        time.sleep(max(0.0, due - time.monotonic()))


def thinks(port: str, seconds: str) -> None:
    """One request after the other."""
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.bind(("::", int(port)))
    while True:
        data, peer = s.recvfrom(2048)
        until = time.thread_time() + float(seconds)
        while time.thread_time() < until:
            pass
        with contextlib.suppress(OSError):
            s.sendto(data, peer)


def requests(address: str, port: str, per_s: str) -> None:
    """The next one does not wait for the answer."""
    s = _datagrams(address)
    s.connect((address, int(port)))

    def read() -> None:
        while True:
            with contextlib.suppress(OSError):
                s.recv(2048)

    threading.Thread(target=read, daemon=True).start()
    for _ in _paced(float(per_s)):
        with contextlib.suppress(OSError):
            s.send(bytes(60))


def group(name: str, port: str, interface: str) -> None:
    """All of them share the port."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("", int(port)))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, _member(name, interface))
    while True:
        s.recv(65536)


def spreads(name: str, port: str, interface: str, per_s: str) -> None:
    """From the address of the interface."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, _member("0.0.0.0", interface))
    for _ in _paced(float(per_s)):
        s.sendto(bytes(500), (name, int(port)))


def notes(name: str, seconds: str) -> None:
    """A log that is written to a slow disk."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(f"\0{name}")
    while True:
        s.recv(2048)
        time.sleep(float(seconds))


def notes_each(port: str, name: str) -> None:
    """The datagram waits for room in the queue of its reader (net.unix.max_dgram_qlen)."""
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.connect(f"\0{name}")
    _serve(port, lambda: log.send(bytes(200)))


def offices(port: str) -> None:
    """One thread for all."""
    _serve(port, lambda: None)


def sessions(address: str, port: str, number: str, per_s: str) -> None:
    """Each client waits for its answer."""

    def one() -> None:
        s = socket.create_connection((address, int(port)))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in _paced(float(per_s)):
            s.sendall(bytes(ASKED))
            s.recv(ANSWERED, socket.MSG_WAITALL)

    _threads(one, int(number))


def herd(address: str, port: str, idle: str, talking: str) -> None:
    """Most of them say nothing."""
    many = [socket.create_connection((address, int(port))) for _ in range(int(idle))]
    for number in _paced(float(talking)):
        one = many[number % len(many)]
        one.sendall(bytes(ASKED))
        one.recv(ANSWERED, socket.MSG_WAITALL)


def visits(address: str, port: str, workers: str, per_s: str) -> None:
    """Connect, ask, read to the end, close."""

    def one() -> None:
        for _ in _paced(float(per_s)):
            with (
                contextlib.suppress(OSError),
                socket.create_connection((address, int(port)), 5) as s,
            ):
                s.sendall(bytes(ASKED))
                while s.recv(65536):
                    pass

    _threads(one, int(workers))


def _serve(port: str, work: Callable[[], object]) -> None:
    chooser = selectors.DefaultSelector()
    door = _listener(port, 2048)
    chooser.register(door, selectors.EVENT_READ)
    while True:
        for key, _ in chooser.select():
            if key.fileobj is door:
                connection = door.accept()[0]
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                chooser.register(connection, selectors.EVENT_READ)
                continue
            one = key.fileobj
            assert isinstance(one, socket.socket)
            try:
                data = one.recv(ASKED)
                work()
                one.sendall(bytes(ANSWERED if data else 0))
            except ConnectionError:
                data = b""
            if not data:
                chooser.unregister(one)
                one.close()


def _threads(one: Callable[[], None], number: int) -> None:
    for _ in range(number - 1):
        threading.Thread(target=one, daemon=True).start()
    one()


def _member(name: str, interface: str) -> bytes:
    """struct ip_mreqn, linux/in.h."""
    return socket.inet_aton(name) + struct.pack("=4xi", socket.if_nametoindex(interface))


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _datagrams(address: str) -> socket.socket:
    return socket.socket(_family(address), socket.SOCK_DGRAM)


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
