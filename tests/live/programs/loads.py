"""Traffic that iperf3 does not make: `python loads.py KIND …`. Standard library only.

deaf PORT              bind a datagram socket with the default buffer and read rarely
drain PORT             bind a datagram socket and read all
datagrams ADDRESS PORT PER_S [BYTES]
volleys ADDRESS PORT NUMBER  NUMBER times sixty datagrams at once, fifty times a second
slow-reader PORT PER_S accept one connection and read PER_S bytes a second
sender ADDRESS PORT    one connection, as fast as it goes
not-accepting PORT     listen with a backlog of 2 and accept nothing
out-of-files PORT      listen, accept until 64 files are open, and keep them
connects ADDRESS PORT  try to connect, some thirty times a second
echo PORT · asks ADDRESS PORT   request and response of 100 bytes
capture IF [READS]     a packet socket with a small buffer that READS packets a second
analyse IF             a packet socket whose reader works on each packet, and never waits by itself
streams PORT PER_S     send PER_S bytes a second, or two or three times that, to each who connects
pktgen IF ADDRESS MAC [BYTES]  the kernel's own generator: frames without end, as fast as it goes
"""

from __future__ import annotations

import contextlib
import hashlib
import resource
import selectors
import socket
import sys
import time
from pathlib import Path

PERIOD = 0.01
PATIENCE = 5.0  # seconds until a connection must be there
UDP_SEGMENT = 103  # include/uapi/linux/udp.h


def deaf(port: str) -> None:
    """Take a datagram every tenth of a second."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", int(port)))
    while True:
        s.recv(65536)
        time.sleep(0.1)


def drain(port: str) -> None:
    """Read as fast as they come."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", int(port)))
    while True:
        s.recv(65536)


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


def slow_reader(port: str, per_s: str) -> None:
    """Read less than arrives."""
    s = socket.create_server(("", int(port)))
    connection, _ = s.accept()
    while connection.recv(int(int(per_s) * 0.05)):
        time.sleep(0.05)


def connected(address: str, port: str) -> socket.socket:
    """A connection; an emulated link may need some seconds until its addresses are there."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            s = socket.create_connection((address, int(port)), until - time.monotonic())
        except OSError:
            if time.monotonic() + 0.1 > until:
                raise
            time.sleep(0.1)
        else:
            s.settimeout(None)
            return s


def sender(address: str, port: str) -> None:
    """Send without end."""
    s = connected(address, port)
    while True:
        s.sendall(bytes(1 << 18))


def not_accepting(port: str) -> None:
    """Let the accept queue fill."""
    s = socket.create_server(("", int(port)), backlog=2)
    time.sleep(600)
    s.close()


def out_of_files(port: str) -> None:
    """Accept until no descriptor is left, then try again and again."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    s = socket.create_server(("", int(port)), backlog=128)
    kept = []
    while True:
        try:
            kept.append(s.accept())
        except OSError:
            time.sleep(0.1)


def connects(address: str, port: str) -> None:
    """Connect, do not wait for the answer."""
    kept = []
    while True:
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((address, int(port)))
        kept.append(s)
        if len(kept) > 200:
            kept.pop(0).close()
        time.sleep(0.03)


def echo(port: str) -> None:
    """Answer each request."""
    connection, _ = socket.create_server(("", int(port))).accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := connection.recv(100):
        connection.sendall(data)


def asks(address: str, port: str) -> None:
    """Ask, wait for the answer, a thousand times a second at the most."""
    s = connected(address, port)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        s.sendall(bytes(100))
        s.recv(100)
        time.sleep(0.001)


def capture(interface: str, reads: str = "100") -> None:
    """See every frame, take few."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    s.bind((interface, 0))
    while True:
        s.recv(2048)
        time.sleep(1 / int(reads))


def analyse(interface: str) -> None:
    """See every frame and work on it: all the time that a core gives."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((interface, 0))
    while True:
        frame = s.recv(2048)
        for _ in range(32):
            frame = hashlib.sha256(frame).digest()


def streams(port: str, per_s: str) -> None:
    """A third of the connections each at one, two and three times the pace."""
    server = socket.create_server(("", int(port)), backlog=64)
    server.setblocking(False)
    chooser = selectors.DefaultSelector()
    chooser.register(server, selectors.EVENT_READ)
    connected: list[socket.socket] = []
    due = time.monotonic()
    while True:
        for _ in chooser.select(timeout=max(0.0, due - time.monotonic())):
            connected.append(server.accept()[0])
            connected[-1].setblocking(False)
        if time.monotonic() < due:
            continue
        due += 5 * PERIOD
        for number, one in enumerate(connected):
            with contextlib.suppress(BlockingIOError, ConnectionError):
                one.send(bytes(int(int(per_s) * 5 * PERIOD) * (1 + number % 3)))


def pktgen(interface: str, address: str, mac: str, size: str = "60") -> None:
    """Ends with its process: the write of `start` returns when it is killed (pktgen.rst)."""
    folder = Path("/proc/net/pktgen")
    told = {"kpktgend_0": ("rem_device_all", f"add_device {interface}"),
            interface: ("count 0", f"pkt_size {size}", f"dst {address}", f"dst_mac {mac}"),
            "pgctrl": ("start",)}  # fmt: skip
    for file, words in told.items():
        for word in words:
            (folder / file).write_text(word + "\n")


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
