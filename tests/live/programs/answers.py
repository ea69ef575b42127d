"""Programs that answer, and that send to each who connects: KIND PORT ….

echo PORT                    answer a request of 100 bytes with 100
answers PORT                 answer a request in two parts, of 420 bytes
answers-in-two PORT · answers-in-three PORT  an answer in so many writes, without TCP_NODELAY
answers-corked PORT          answer requests with 2000 bytes, and leave the socket corked
answers-many PORT            answer requests of 100 bytes of many connections with 2000 bytes
answers-and-logs PORT NAME   so, and write a datagram to that abstract Unix socket for each
answers-under-lock PORT SECONDS  a thread for each connection, SECONDS of work under one lock
answers-by-processes PORT NUMBER SECONDS  processes that accept from one socket, SECONDS of work
answers-unread PORT          answer before the request is read, and close
answers-and-resets PORT      answer, and close with SO_LINGER 0
pages PORT BYTES             a page for each connection
relay PORT ADDRESS PORT SIZE copy from one connection into another, SIZE bytes a call
streams PORT PER_S           send PER_S bytes a second, or two or three times that, to each
publishes PORT NUMBER        write each message to NUMBER subscribers in turn, and wait for each
"""

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable

from live.programs.shared import ANSWERED, ASKED, RESET, forked, listener, server, work

PERIOD = 0.05  # seconds between two writes of a stream


@server
def echo(port: str) -> None:
    """Answer each request."""
    connection, _ = socket.create_server(("", int(port))).accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := connection.recv(100):
        connection.sendall(data)


@server
def answers(port: str) -> None:
    """Read a whole request, answer it."""
    connection, _ = listener(port).accept()
    while True:
        wanted = 420
        while wanted:
            got = len(connection.recv(wanted))
            if not got:
                return
            wanted -= got
        connection.sendall(bytes(100))


@server
def answers_in_two(port: str) -> None:
    """Header, body."""
    _in_parts(port, 120, 300)


@server
def answers_in_three(port: str) -> None:
    """Head, body, tail."""
    _in_parts(port, 120, 300, 200)


@server
def answers_corked(port: str) -> None:
    """TCP_CORK is set once and never taken off."""
    one = listener(port).accept()[0]
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    _answer(one, 0)


@server
def answers_many(port: str) -> None:
    """One thread for all."""
    _serve(port, lambda: None)


@server
def answers_and_logs(port: str, name: str) -> None:
    """The datagram waits for room in the queue of its reader (net.unix.max_dgram_qlen)."""
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.connect(f"\0{name}")
    _serve(port, lambda: log.send(bytes(200)))


@server
def answers_under_lock(port: str, seconds: str) -> None:
    """The work of one thread at a time."""
    s, lock = listener(port), threading.Lock()

    def serve(one: socket.socket) -> None:
        with contextlib.suppress(ConnectionError):
            while one.recv(ASKED):
                with lock:
                    work(float(seconds))
                one.sendall(bytes(ANSWERED))

    _each(s, serve)


@server
def answers_by_processes(port: str, number: str, seconds: str) -> None:
    """Each process serves one connection, and the next when that ends."""
    s = listener(port)
    forked(int(number))
    while True:
        _answer(s.accept()[0], float(seconds))


@server
def answers_unread(port: str) -> None:
    """The kernel sends a reset, since data was not read (RFC 2525, 2.17)."""
    door = listener(port)
    while True:
        connection, _ = door.accept()
        connection.recv(100)
        connection.sendall(bytes(50_000))
        connection.close()


@server
def answers_and_resets(port: str) -> None:
    """What was not yet sent is thrown away."""
    door = listener(port)
    while True:
        connection, _ = door.accept()
        connection.recv(65536)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        connection.sendall(bytes(50_000))
        connection.close()


@server
def pages(port: str, size: str) -> None:
    """A page to each."""

    def serve(connection: socket.socket) -> None:
        with connection:
            connection.recv(100)
            connection.sendall(bytes(int(size)))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(100)

    _each(listener(port), serve)


@server
def relay(port: str, address: str, far: str, size: str) -> None:
    """One thread, two calls for so few bytes."""
    near, _ = listener(port).accept()
    away = socket.create_connection((address, int(far)))
    while data := near.recv(int(size)):
        away.sendall(data)


@server
def streams(port: str, per_s: str) -> None:
    """A third of the connections each at one, two and three times the pace."""
    door = socket.create_server(("", int(port)), backlog=64)
    door.setblocking(False)
    chooser = selectors.DefaultSelector()
    chooser.register(door, selectors.EVENT_READ)
    connected: list[socket.socket] = []
    due = time.monotonic()
    while True:
        for _ in chooser.select(timeout=max(0.0, due - time.monotonic())):
            connected.append(door.accept()[0])
            connected[-1].setblocking(False)
        if time.monotonic() < due:
            continue
        due += PERIOD
        for number, one in enumerate(connected):
            with contextlib.suppress(BlockingIOError, ConnectionError):
                one.send(bytes(int(int(per_s) * PERIOD) * (1 + number % 3)))


@server
def publishes(port: str, number: str) -> None:
    """One thread, sockets that block."""
    s = listener(port)
    readers = [s.accept()[0] for _ in range(int(number))]
    while True:
        for one in readers:
            one.sendall(bytes(20000))
        time.sleep(0.01)


def _in_parts(port: str, *sizes: int) -> None:
    """A write for each part of an answer."""

    def serve(door: socket.socket) -> None:
        while door.recv(ASKED):
            for size in sizes:
                door.sendall(bytes(size))

    _each(listener(port), serve)


def _each(door: socket.socket, serve: Callable[[socket.socket], None]) -> None:
    """A thread for each connection."""
    while True:
        threading.Thread(target=serve, args=(door.accept()[0],), daemon=True).start()


def _answer(one: socket.socket, seconds: float) -> None:
    with contextlib.suppress(ConnectionError):
        while one.recv(ASKED):
            work(seconds)
            one.sendall(bytes(ANSWERED))


def _serve(port: str, each: Callable[[], object]) -> None:
    chooser = selectors.DefaultSelector()
    door = listener(port, 2048)
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
                each()
                one.sendall(bytes(ANSWERED if data else 0))
            except ConnectionError:
                data = b""
            if not data:
                chooser.unregister(one)
                one.close()
