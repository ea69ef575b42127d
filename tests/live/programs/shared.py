"""What several programs of plays need: their table, sockets, a pace, threads."""

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

ASKED: Final = 100  # bytes of a request
ANSWERED: Final = 2000  # bytes of its answer
RESET: Final = struct.pack("ii", 1, 0)  # struct linger: close by a reset
KINDS: Final[dict[str, Callable[..., object]]] = {}
SERVERS: Final[set[str]] = set()  # their first word is a port, at which they wait for others
Program = TypeVar("Program", bound=Callable[..., object])


def kind(function: Program) -> Program:
    """A program; its name on the command line has dashes."""
    KINDS[function.__name__.replace("_", "-")] = function
    return function


def server(function: Program) -> Program:
    """A program whose port is waited for before others start."""
    SERVERS.add(function.__name__.replace("_", "-"))
    return kind(function)


def paced(per_s: float) -> Iterator[int]:
    """Numbers from 0 on, so many a second, in bursts of a hundredth of a second."""
    number, began = 0, time.monotonic()
    while True:
        while number < (time.monotonic() - began) * per_s:
            yield number
            number += 1
        time.sleep(0.01)


def family(address: str) -> socket.AddressFamily:
    """That of an address in words."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def listener(port: str, backlog: int = 128) -> socket.socket:
    """Listen at all addresses of both families."""
    return socket.create_server(("::", int(port)), family=socket.AF_INET6, backlog=backlog,
                                dualstack_ipv6=True)  # fmt: skip


def reached(address: str, port: str) -> socket.socket:
    """Connect; try again until the other end is there."""
    while True:
        with contextlib.suppress(OSError):
            return socket.create_connection((address, int(port)))
        time.sleep(0.1)


def begun(address: str, port: str) -> socket.socket:
    """Begin to connect, and do not wait."""
    s = socket.socket(family(address))
    s.setblocking(False)
    s.connect_ex((address, int(port)))
    return s


def datagram_socket(address: str) -> socket.socket:
    """To send to that address."""
    return socket.socket(family(address), socket.SOCK_DGRAM)


def bound(port: str, address: str = "") -> socket.socket:
    """A datagram socket of IPv4 at a port."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, int(port)))
    return s


def bound_dual(port: str) -> socket.socket:
    """A datagram socket of both families at a port."""
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.bind(("::", int(port)))
    return s


def work(seconds: float) -> None:
    """CPU time of this thread."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def threads(one: Callable[[], None], number: int) -> None:
    """Run it so many times side by side."""
    for _ in range(number - 1):
        threading.Thread(target=one, daemon=True).start()
    one()


def forked(number: int) -> None:
    """Return in so many processes."""
    for _ in range(number - 1):
        if not os.fork():
            return


def attempts(per_s: float, once: Callable[[], None]) -> None:
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
