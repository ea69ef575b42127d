"""Programs that connect: KIND ADDRESS PORT ….

sender                     one connection, as fast as it goes
one-byte-segments          segments of one byte each
head-and-body              300 bytes, then 5000, then nothing
again                      write without end, and connect anew when the connection ends
subscribes NUMBER          so many readers, of which the last does not read
asks                       a request of 100 bytes, the answer, a thousand times a second at the most
asks-in-two                a request in two parts, without TCP_NODELAY; its answer
asks-answers-in-two · asks-answers-in-three  a request, the whole answer, the next request
sessions NUMBER PER_S      that many connections, each with PER_S requests a second
herd IDLE TALKING          idle connections; each second TALKING of them ask something
visits WORKERS PER_S       a connection for each request; each worker so many a second
fetches                    a connection for each page, one after the other
posts PER_S                a connection for each request of 3000 bytes and its whole answer
listens PER_S              connect and wait to be greeted
probes PER_S               connect and reset, as a health check of a load balancer does
connects                   try to connect, some thirty times a second
connects-and-closes PER_S
connects-and-keeps         connect again and again and keep each connection
connects-at-pace PER_S [KEPT]   each is closed when KEPT others have begun
connects-at-once NUMBER         so many at once, each second; they are closed after that second
connects-in-bursts NUMBER PER_S so many at once, PER_S times a second; the last four bursts stay
connects-around PER_S      connections to 200 addresses of a network, such as 10.99.0, in turn
idle NUMBER                so many connections that say nothing
idle-with-keepalive NUMBER so, with keepalive each second
talks NUMBER               that many connections, of which one says something now and then

Those that count print each second how many attempts succeeded, failed, and how long the last took.
"""

import contextlib
import itertools
import socket
import threading
import time

from live.programs.shared import (
    ANSWERED,
    ASKED,
    RESET,
    attempts,
    begun,
    kind,
    paced,
    reached,
    threads,
)


@kind
def sender(address: str, port: str) -> None:
    """Send without end."""
    s = reached(address, port)
    while True:
        s.sendall(bytes(1 << 18))


@kind
def one_byte_segments(address: str, port: str) -> None:
    """Each write is a segment."""
    s = socket.create_connection((address, int(port)))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        s.sendall(b"x")


@kind
def head_and_body(address: str, port: str) -> None:
    """The head of an answer, its body, and the connection stays open."""
    s = socket.create_connection((address, int(port)))
    s.sendall(bytes(300))
    time.sleep(0.2)
    s.sendall(bytes(5000))
    time.sleep(600)


@kind
def again(address: str, port: str) -> None:
    """Counts the connections that ended."""

    def once() -> None:
        with socket.create_connection((address, int(port)), 5) as s:
            while True:
                s.sendall(bytes(65536))

    attempts(10, once)


@kind
def subscribes(address: str, port: str, number: str) -> None:
    """All but the last read all."""
    many = [socket.create_connection((address, int(port))) for _ in range(int(number))]

    def read(one: socket.socket) -> None:
        while one.recv(65536):
            pass

    for one in many[:-1]:
        threading.Thread(target=read, args=(one,), daemon=True).start()
    time.sleep(600)


@kind
def asks(address: str, port: str) -> None:
    """Ask, wait for the answer."""
    s = reached(address, port)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        s.sendall(bytes(100))
        s.recv(100)
        time.sleep(0.001)


@kind
def asks_in_two(address: str, port: str) -> None:
    """Header, body, answer; nothing sets TCP_NODELAY."""
    s = socket.create_connection((address, int(port)))
    while True:
        s.sendall(bytes(120))
        s.sendall(bytes(300))
        s.recv(100)


@kind
def asks_answers_in_two(address: str, port: str) -> None:
    """Ask, take the whole answer, ask."""
    _asks(address, port, 120 + 300)


@kind
def asks_answers_in_three(address: str, port: str) -> None:
    """One request after the other."""
    _asks(address, port, 120 + 300 + 200)


@kind
def sessions(address: str, port: str, number: str, per_s: str) -> None:
    """Each client waits for its answer."""

    def one() -> None:
        s = socket.create_connection((address, int(port)))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in paced(float(per_s)):
            s.sendall(bytes(ASKED))
            s.recv(ANSWERED, socket.MSG_WAITALL)

    threads(one, int(number))


@kind
def herd(address: str, port: str, quiet: str, talking: str) -> None:
    """Most of them say nothing."""
    many = [socket.create_connection((address, int(port))) for _ in range(int(quiet))]
    for number in paced(float(talking)):
        one = many[number % len(many)]
        one.sendall(bytes(ASKED))
        one.recv(ANSWERED, socket.MSG_WAITALL)


@kind
def visits(address: str, port: str, workers: str, per_s: str) -> None:
    """Connect, ask, read to the end, close."""

    def one() -> None:
        for _ in paced(float(per_s)):
            with (
                contextlib.suppress(OSError),
                socket.create_connection((address, int(port)), 5) as s,
            ):
                s.sendall(bytes(ASKED))
                while s.recv(65536):
                    pass

    threads(one, int(workers))


@kind
def fetches(address: str, port: str) -> None:
    """One page after the other."""

    def once() -> None:
        with socket.create_connection((address, int(port)), 5) as s:
            s.sendall(bytes(100))
            while s.recv(65536):
                pass

    attempts(1e9, once)


@kind
def posts(address: str, port: str, per_s: str) -> None:
    """Whether the whole answer arrives."""

    def once() -> None:
        with socket.create_connection((address, int(port)), 2) as s:
            s.sendall(bytes(3000))
            got = 0
            while data := s.recv(65536):
                got += len(data)
            if got != 50_000:
                raise OSError

    attempts(float(per_s), once)


@kind
def listens(address: str, port: str, per_s: str) -> None:
    """Gives up after two seconds."""

    def once() -> None:
        with socket.create_connection((address, int(port)), 2) as s:
            if not s.recv(100):
                raise OSError

    threads(lambda: attempts(float(per_s) / 20, once), 20)


@kind
def probes(address: str, port: str, per_s: str) -> None:
    """No request is made."""

    def once() -> None:
        with socket.create_connection((address, int(port)), 1) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    attempts(float(per_s), once)


@kind
def connects(address: str, port: str) -> None:
    """Connect, do not wait for the answer."""
    kept: list[socket.socket] = []
    while True:
        kept.append(begun(address, port))
        if len(kept) > 200:
            kept.pop(0).close()
        time.sleep(0.03)


@kind
def connects_and_closes(address: str, port: str, per_s: str) -> None:
    """The client closes first, so TIME_WAIT is its own."""
    for _ in paced(float(per_s)):
        with contextlib.suppress(OSError):
            socket.create_connection((address, int(port)), 1).close()


@kind
def connects_and_keeps(address: str, port: str) -> None:
    """Keep all; try again when no port is left."""
    kept = []
    while True:
        try:
            kept.append(socket.create_connection((address, int(port)), 1))
        except OSError:
            time.sleep(0.05)


@kind
def connects_at_pace(address: str, port: str, per_s: str, kept: str = "100") -> None:
    """Whether they come about or not."""
    many: list[socket.socket] = []
    for _ in paced(float(per_s)):
        many.append(begun(address, port))
        if len(many) > int(kept):
            many.pop(0).close()


@kind
def connects_at_once(address: str, port: str, number: str) -> None:
    """As clients that a timer wakes together."""
    while True:
        many = [begun(address, port) for _ in range(int(number))]
        time.sleep(1)
        for one in many:
            one.close()


@kind
def connects_in_bursts(address: str, port: str, number: str, per_s: str) -> None:
    """As after a restart of something that all clients wait for."""
    many: list[socket.socket] = []
    for _ in paced(float(per_s)):
        many += [begun(address, port) for _ in range(int(number))]
        while len(many) > 4 * int(number):
            many.pop(0).close()


@kind
def connects_around(network: str, port: str, per_s: str) -> None:
    """Each is closed when 100 others have begun."""
    many: list[socket.socket] = []
    for number in paced(float(per_s)):
        many.append(begun(f"{network}.{number % 200 + 1}", port))
        if len(many) > 100:
            many.pop(0).close()


@kind
def idle(address: str, port: str, number: str) -> None:
    """A pool of connections at night."""
    kept = [reached(address, port) for _ in range(int(number))]
    time.sleep(600)
    kept.clear()


@kind
def idle_with_keepalive(address: str, port: str, number: str) -> None:
    """The kernel asks whether the other end still lives."""
    kept = [socket.create_connection((address, int(port))) for _ in range(int(number))]
    for one in kept:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
    time.sleep(600)
    kept.clear()


@kind
def talks(address: str, port: str, number: str) -> None:
    """Nearly all are idle."""
    many = [socket.create_connection((address, int(port))) for _ in range(int(number))]
    for one in itertools.cycle(many):
        one.sendall(bytes(300))
        time.sleep(0.05)


def _asks(address: str, port: str, answer: int) -> None:
    s = reached(address, port)
    while True:
        s.sendall(bytes(ASKED))
        s.recv(answer, socket.MSG_WAITALL)
