"""Programs that read and send datagrams, of IPv4 where nothing else is said.

drain PORT                    read all
drain-dual PORT [RCVBUF]      so, IPv4 and IPv6
reads-rarely PORT             the default buffer, a datagram each tenth of a second
forgotten-reader PORT         two sockets share a port, and one is never read
filtered-reader PORT          a socket whose own filter drops a quarter
replies PORT                  to each datagram one
replies-at ADDRESS PORT ANSWERS  a socket of one address; with ANSWERS 0 it says nothing
works PORT SECONDS            answer datagrams, each after SECONDS of work of a core
workers PORT NUMBER SECONDS   processes that share a port, SECONDS of work a datagram
unix-reader NAME SECONDS      read datagrams of an abstract Unix socket, SECONDS for each
group-reader GROUP PORT IF    one of the readers of a multicast group
group-reader-pausing GROUP PORT SLEEP  a multicast reader that pauses after each datagram
datagrams ADDRESS PORT PER_S [BYTES]
volleys ADDRESS PORT NUMBER   NUMBER times sixty datagrams at once, fifty times a second
bursts ADDRESS PORT NUMBER BYTES PERIOD    NUMBER datagrams at once, every PERIOD seconds
segmented-bursts ADDRESS PORT NUMBER PER_S [BYTES]  so many by one call, PER_S times a second
small-buffer ADDRESS PORT BUFFER PER_S     from a small send buffer, never waiting for room
without-waiting ADDRESS PORT PER_S         from a socket that does not wait
expiring ADDRESS PORT PER_S   with a TTL of 1
many-sources ADDRESS PORT PER_S            a datagram each from a port of its own
many-sockets ADDRESS PORT NUMBER           that many connected sockets, tried again and again
group-sender GROUP PORT IF PER_S           datagrams to a multicast group
group-sender-at SOURCE GROUP PORT PER_S    so, from that address
broadcasts ADDRESS PORT PER_S to a broadcast or multicast address
queries ADDRESS PORT PER_S    request and response
requests ADDRESS PORT PER_S   requests at a pace; answers are read
lookups ADDRESS PER_S         a socket and a datagram to port 53 for each name
resolves FIRST SECOND         ask the first name server, after a second without answer the second
"""

import contextlib
import ctypes
import socket
import struct
import threading
import time

from live.programs.shared import (
    attempts,
    bound,
    bound_dual,
    datagram_socket,
    forked,
    kind,
    paced,
    server,
    threads,
    work,
)

PERIOD = 0.01
UDP_SEGMENT = 103  # include/uapi/linux/udp.h
SO_ATTACH_FILTER = 26
RANDOM = 0xFFFFF038  # SKF_AD_OFF + SKF_AD_RANDOM, linux/filter.h


@server
def drain(port: str) -> None:
    """Read as fast as they come."""
    _drain(bound(port))


@server
def drain_dual(port: str, size: str = "0") -> None:
    """With 0 the size of the buffer is the kernel's."""
    s = bound_dual(port)
    if size != "0":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(size))
    _drain(s)


@server
def reads_rarely(port: str) -> None:
    """Take a datagram every tenth of a second."""
    s = bound(port)
    while True:
        s.recv(65536)
        time.sleep(0.1)


@server
def forgotten_reader(port: str) -> None:
    """The kernel shares datagrams between both by their source."""
    both = []
    for _ in range(2):
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        s.bind(("::", int(port)))
        both.append(s)
    _drain(both[0])


@server
def filtered_reader(port: str) -> None:
    """Classic BPF: a random number decides."""
    s = bound_dual(port)
    lines = ((0x20, 0, 0, RANDOM), (0x25, 1, 0, 1 << 30), (6, 0, 0, 0), (6, 0, 0, 0xFFFFFFFF))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                 struct.pack("@HP", len(lines), ctypes.addressof(code)))  # fmt: skip
    _drain(s)


@server
def replies(port: str) -> None:
    """A server of all addresses."""
    _reply(bound(port))


@kind
def replies_at(address: str, port: str, answers: str) -> None:
    """A server of one of the host's addresses."""
    s = bound(port, address)
    if answers != "0":
        _reply(s)
    time.sleep(600)


@server
def works(port: str, seconds: str) -> None:
    """One request after the other."""
    s = bound_dual(port)
    while True:
        data, peer = s.recvfrom(2048)
        work(float(seconds))
        with contextlib.suppress(OSError):
            s.sendto(data, peer)


@server
def workers(port: str, number: str, seconds: str) -> None:
    """SO_REUSEPORT: the kernel chooses by addresses and ports."""
    forked(int(number))
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(("", int(port)))
    while True:
        s.recv(65536)
        work(float(seconds))


@kind
def unix_reader(name: str, seconds: str) -> None:
    """A log that is written to a slow disk."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(f"\0{name}")
    while True:
        s.recv(2048)
        time.sleep(float(seconds))


@kind
def group_reader(name: str, port: str, interface: str) -> None:
    """All of them share the port."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("", int(port)))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, _member(name, interface))
    _drain(s)


@kind
def group_reader_pausing(group: str, port: str, sleep: str) -> None:
    """Take a datagram, think."""
    s = bound(port)
    to = socket.inet_aton(group) + socket.inet_aton("10.94.0.1")
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, to)
    while True:
        s.recv(65536)
        time.sleep(float(sleep))


@kind
def datagrams(address: str, port: str, per_s: str, size: str = "1000") -> None:
    """Send at a pace."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    payload, burst = bytes(int(size)), max(1, round(int(per_s) * PERIOD))
    due = time.monotonic()
    while True:
        for _ in range(burst):
            with contextlib.suppress(OSError):
                s.sendto(payload, (address, int(port)))
        due += PERIOD
        time.sleep(max(0.0, due - time.monotonic()))


@kind
def volleys(address: str, port: str, number: str) -> None:
    """Bursts at the speed of a core: each call gives the kernel sixty datagrams to cut.

    From sixteen sockets: what still waits at the receiver counts against the sender's buffer.
    """
    many = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(16)]
    for s in many:
        s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 64)
        s.connect((address, int(port)))
    payload = bytes(60 * 64)
    while True:
        for turn in range(int(number)):
            with contextlib.suppress(OSError):
                many[turn % len(many)].send(payload, socket.MSG_DONTWAIT)
        time.sleep(2 * PERIOD)


@kind
def bursts(address: str, port: str, number: str, size: str, period: str) -> None:
    """A picture in each period."""
    s = datagram_socket(address)
    due = time.monotonic()
    while True:
        for _ in range(int(number)):
            with contextlib.suppress(OSError):
                s.sendto(bytes(int(size)), (address, int(port)))
        due += float(period)
        time.sleep(max(0.0, due - time.monotonic()))


@kind
def segmented_bursts(
    address: str, port: str, number: str, per_s: str, size: str = "1000"
) -> None:  # fmt: skip
    """The kernel cuts them."""
    s = datagram_socket(address)
    if number != "1":
        s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, int(size))
    s.connect((address, int(port)))
    for _ in paced(float(per_s)):
        with contextlib.suppress(OSError):
            s.send(bytes(int(number) * int(size)))


@kind
def small_buffer(address: str, port: str, buffer: str, per_s: str) -> None:
    """What does not fit is lost."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, int(buffer))
    for _ in paced(float(per_s)):
        with contextlib.suppress(OSError):
            s.sendto(bytes(1200), socket.MSG_DONTWAIT, (address, int(port)))


@kind
def without_waiting(address: str, port: str, per_s: str) -> None:
    """What the socket does not take at once is lost."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((address, int(port)))
    for _ in paced(float(per_s)):
        with contextlib.suppress(OSError):
            s.send(bytes(1000), socket.MSG_DONTWAIT)


@kind
def expiring(address: str, port: str, per_s: str) -> None:
    """As in a loop of routes."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)
    for _ in paced(float(per_s)):
        with contextlib.suppress(OSError):
            s.sendto(bytes(200), (address, int(port)))


@kind
def many_sources(address: str, port: str, per_s: str) -> None:
    """Each of them is a connection to a firewall."""
    for _ in paced(float(per_s)):
        with contextlib.suppress(OSError), datagram_socket(address) as s:
            s.sendto(bytes(100), (address, int(port)))


@kind
def many_sockets(address: str, port: str, number: str) -> None:
    """Each needs a local port."""
    kept: list[socket.socket] = []

    def once() -> None:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.connect((address, int(port)))
        s.send(bytes(100))
        kept.append(s)
        if len(kept) > int(number):
            kept.pop(0).close()

    attempts(100, once)


@kind
def group_sender(name: str, port: str, interface: str, per_s: str) -> None:
    """From the address of the interface."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, _member("0.0.0.0", interface))
    for _ in paced(float(per_s)):
        s.sendto(bytes(500), (name, int(port)))


@kind
def group_sender_at(source: str, group: str, port: str, per_s: str) -> None:
    """The route to the group gives the interface."""
    s = bound("0", source)
    for _ in paced(float(per_s)):
        s.sendto(bytes(500), (group, int(port)))


@kind
def broadcasts(address: str, port: str, per_s: str) -> None:
    """To all at once."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("10.94.0.2"))
    for _ in paced(float(per_s)):
        s.sendto(bytes(200), (address, int(port)))


@kind
def queries(address: str, port: str, per_s: str) -> None:
    """Wait for each answer a second at the most."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((address, int(port)))
    s.settimeout(1)
    for _ in paced(float(per_s)):
        with contextlib.suppress(OSError):
            s.send(bytes(60))
            s.recv(2048)


@kind
def requests(address: str, port: str, per_s: str) -> None:
    """The next one does not wait for the answer."""
    s = datagram_socket(address)
    s.connect((address, int(port)))

    def read() -> None:
        while True:
            with contextlib.suppress(OSError):
                s.recv(2048)

    threading.Thread(target=read, daemon=True).start()
    for _ in paced(float(per_s)):
        with contextlib.suppress(OSError):
            s.send(bytes(60))


@kind
def lookups(address: str, per_s: str) -> None:
    """The answer has a tenth of a second; then the next name."""
    for _ in paced(float(per_s)):
        with contextlib.suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as s:
            s.settimeout(0.1)
            s.connect((address, 53))
            s.send(bytes(40))
            s.recv(2048)


@kind
def resolves(*servers: str) -> None:
    """As a resolver with `options timeout:1`: a socket for each question, four at a time."""

    def ask() -> None:
        while True:
            with contextlib.suppress(OSError):
                for one in servers:
                    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                        s.settimeout(1)
                        s.connect((one, 53))
                        s.send(bytes(40))
                        with contextlib.suppress(TimeoutError):
                            s.recv(2048)
                            break

    threads(ask, 4)


def _drain(s: socket.socket) -> None:
    while True:
        s.recv(65536)


def _reply(s: socket.socket) -> None:
    while True:
        data, peer = s.recvfrom(2048)
        s.sendto(data, peer)


def _member(name: str, interface: str) -> bytes:
    """struct ip_mreqn, linux/in.h."""
    return socket.inet_aton(name) + struct.pack("=4xi", socket.if_nametoindex(interface))
