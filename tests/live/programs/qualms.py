"""Programs of the ward of second looks: `python qualms.py KIND …`.

halting ON OFF COMMAND         a command that is stopped for OFF seconds after each ON seconds
unread PORT · posts ADDRESS PORT PER_S  answer before the request is read, and close; its client
resets PORT            answer, and close with SO_LINGER 0
again ADDRESS PORT     write without end, and connect anew when the connection ends
ports ADDRESS PORT NUMBER      that many connected datagram sockets, tried again and again
greets PORT · listens ADDRESS PORT PER_S  TCP_DEFER_ACCEPT where the server speaks first; its client
relay PORT ADDRESS PORT SIZE   copy from one connection into another, SIZE bytes a call
sniffs IF NUMBER       packet sockets that nobody reads
expires ADDRESS PORT PER_S     datagrams with a TTL of 1
fetches ADDRESS PORT · pages PORT BYTES   a connection for each page, one after the other
probes ADDRESS PORT PER_S      connect and reset, as a health check of a load balancer does
many PORT NUMBER       so many listening sockets
quiet ADDRESS PORT NUMBER · keeps PORT  idle connections with keepalive each second; their server

Clients print each second how many attempts succeeded, failed, and how long the last one took.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from live.programs.ills import _listener, _paced

RESET = struct.pack("ii", 1, 0)  # struct linger


def halting(on: str, off: str, *command: str) -> None:
    """As a program whose memory is collected, or a path that fails for a while."""
    child = subprocess.Popen(command)
    while True:
        for number, seconds in ((signal.SIGCONT, on), (signal.SIGSTOP, off)):
            os.kill(child.pid, number)
            time.sleep(float(seconds))


def unread(port: str) -> None:
    """The kernel sends a reset, since data was not read (RFC 2525, 2.17)."""
    door = _listener(port, 128)
    while True:
        connection, _ = door.accept()
        connection.recv(100)
        connection.sendall(bytes(50_000))
        connection.close()


def posts(address: str, port: str, per_s: str) -> None:
    """A request of 3000 bytes, and the whole answer."""

    def once() -> None:
        with socket.create_connection((address, int(port)), 2) as s:
            s.sendall(bytes(3000))
            got = 0
            while data := s.recv(65536):
                got += len(data)
            if got != 50_000:
                raise OSError

    _attempts(float(per_s), once)


def resets(port: str) -> None:
    """What was not yet sent is thrown away."""
    door = _listener(port, 128)
    while True:
        connection, _ = door.accept()
        connection.recv(65536)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        connection.sendall(bytes(50_000))
        connection.close()


def again(address: str, port: str) -> None:
    """Counts the connections that ended."""

    def once() -> None:
        with socket.create_connection((address, int(port)), 5) as s:
            while True:
                s.sendall(bytes(65536))

    _attempts(10, once)


def ports(address: str, port: str, number: str) -> None:
    """Each needs a local port."""
    kept: list[socket.socket] = []

    def once() -> None:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.connect((address, int(port)))
        s.send(bytes(100))
        kept.append(s)
        if len(kept) > int(number):
            kept.pop(0).close()

    _attempts(100, once)


def greets(port: str) -> None:
    """Nobody is accepted before he has said something, and he waits to be greeted."""
    door = _listener(port, 128)
    door.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 30)
    while True:
        connection, _ = door.accept()
        with contextlib.suppress(OSError):
            connection.sendall(b"220 ready\r\n")
        connection.close()


def listens(address: str, port: str, per_s: str) -> None:
    """Gives up after two seconds."""

    def once() -> None:
        with socket.create_connection((address, int(port)), 2) as s:
            if not s.recv(100):
                raise OSError

    for _ in range(19):
        threading.Thread(target=_attempts, args=(float(per_s) / 20, once), daemon=True).start()
    _attempts(float(per_s) / 20, once)


def relay(port: str, address: str, far: str, size: str) -> None:
    """One thread, two calls for so few bytes."""
    near, _ = _listener(port).accept()
    away = socket.create_connection((address, int(far)))
    while data := near.recv(int(size)):
        away.sendall(data)


def sniffs(interface: str, number: str) -> None:
    """Forgotten captures: each gets a copy of each packet until its buffer is full."""
    many = [
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        for _ in range(int(number))
    ]
    for one in many:
        one.bind((interface, 0))
    time.sleep(600)


def expires(address: str, port: str, per_s: str) -> None:
    """As in a loop of routes."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)
    for _ in _paced(float(per_s)):
        with contextlib.suppress(OSError):
            s.sendto(bytes(200), (address, int(port)))


def fetches(address: str, port: str) -> None:
    """One page after the other."""

    def once() -> None:
        with socket.create_connection((address, int(port)), 5) as s:
            s.sendall(bytes(100))
            while s.recv(65536):
                pass

    _attempts(1e9, once)


def pages(port: str, size: str) -> None:
    """A page to each."""

    def serve(connection: socket.socket) -> None:
        with connection:
            connection.recv(100)
            connection.sendall(bytes(int(size)))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(100)

    door = _listener(port, 128)
    while True:
        threading.Thread(target=serve, args=(door.accept()[0],), daemon=True).start()


def probes(address: str, port: str, per_s: str) -> None:
    """No request is made."""

    def once() -> None:
        with socket.create_connection((address, int(port)), 1) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    _attempts(float(per_s), once)


def many(port: str, number: str) -> None:
    """From PORT on."""
    kept = [_listener(str(int(port) + one)) for one in range(int(number))]
    time.sleep(600)
    kept.clear()


def quiet(address: str, port: str, number: str) -> None:
    """The kernel asks whether the other end still lives."""
    kept = [socket.create_connection((address, int(port))) for _ in range(int(number))]
    for one in kept:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
    time.sleep(600)
    kept.clear()


def keeps(port: str) -> None:
    """Accept, and wait for what is said."""
    door, kept = _listener(port, 1024), []
    while True:
        kept.append(door.accept()[0])


def _attempts(per_s: float, once: Callable[[], None]) -> None:
    """Try again and again; print the sums of each second."""
    good = bad = 0
    told = due = time.monotonic()
    while True:
        began = time.monotonic()
        try:
            once()
            good += 1
        except OSError:
            bad += 1
        now = time.monotonic()
        if now - told >= 1:
            print(f"good {good} bad {bad} last {now - began:.3f} s", flush=True)
            good = bad = 0
            told = now
        due = max(due + 1 / per_s, now)
        time.sleep(due - now)


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
