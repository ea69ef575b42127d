"""Programs of the fourth ward of strangers: `python pangs.py KIND …`.

pod NAME ADDRESS GATEWAY COMMAND   run in a network namespace of its own, behind a veth NAME
policy HOOK            a chain of nf_tables that drops by its policy and counts nothing
signed PORT ADDRESS    listen with a TCP MD5 key for one neighbour (RFC 2385)
publishes PORT NUMBER  write each message to NUMBER subscribers in turn, and wait for each
subscribes ADDRESS PORT NUMBER     so many subscribers, of which the last does not read
workers PORT NUMBER SECONDS        processes that share a datagram port, SECONDS of work a datagram
at ADDRESS PORT ANSWERS            a datagram socket of one address; with ANSWERS 0 it says nothing
resolves FIRST SECOND  ask the first name server, after a second without an answer the second
feeds SOURCE GROUP PORT PER_S      multicast datagrams from that address
calls NETWORK PORT PER_S           connections to 200 addresses of a network in turn
locked PORT SECONDS    a thread for each connection, SECONDS of work a request under one lock
forks PORT NUMBER SECONDS          processes that accept from one socket, SECONDS of work a request
corks PORT             answer requests with 2000 bytes, and leave the socket corked
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from live.programs.ills import _listener, _paced

ASKED, ANSWERED = 100, 2000  # bytes, as the clients of pains.py have them
TCP_MD5SIG = 14  # linux/tcp.h


def pod(name: str, address: str, gateway: str, *command: str) -> None:
    """As a container: what ends with this program is the namespace and the veth."""
    wait = ["unshare", "-n", "sh", "-c", 'read go; exec "$@"', "sh", *command]
    child = subprocess.Popen(wait, stdin=subprocess.PIPE)
    own, inner = os.readlink("/proc/self/ns/net"), f"/proc/{child.pid}/ns/net"
    while os.readlink(inner) == own:
        time.sleep(0.01)
    within = f"nsenter -t {child.pid} -n "
    for line in (
        f"ip link add {name} type veth peer name eth0 netns {child.pid}",
        f"ip addr add {gateway}/24 dev {name}",
        f"ip link set {name} up",
        f"{within}ip addr add {address}/24 dev eth0",
        f"{within}ip link set lo up",
        f"{within}ip link set eth0 up",
        f"{within}ip route add default via {gateway}",
    ):
        subprocess.run(line.split(), check=True)
    child.communicate(b"\n")


def policy(hook: str) -> None:
    """Family inet; it stays when this program ends."""
    import nft_bytes as made
    from netlink_bytes import message

    def asked(raw: bytes, flags: int = 0x405) -> bytes:  # NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE
        return raw[:6] + struct.pack("=H", flags) + raw[8:]

    table = message(0xA00, struct.pack(">BBH", made.INET, 0, 0) + made.text(1, "t"))
    batch = struct.pack(">BBH", 0, 0, 10)
    door = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
    door.bind((0, 0))
    door.settimeout(5)
    door.send(b"".join((
        asked(message(0x10, batch), 1), asked(table),
        asked(made.chain("FORWARD", int(hook), made.DROP)), asked(message(0x11, batch), 1),
    )))  # fmt: skip
    for _ in range(2):
        error = struct.unpack_from("=i", door.recv(65536), 16)[0]
        if error:
            raise OSError(-error, os.strerror(-error))


def signed(port: str, address: str) -> None:
    """struct tcp_md5sig, linux/tcp.h."""
    s = socket.create_server(("", int(port)))
    neighbour = struct.pack("=HH", socket.AF_INET, 0) + socket.inet_aton(address)
    key = b"secret"
    option = struct.pack("=128sBBHi80s", neighbour, 0, 0, len(key), 0, key)
    s.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, option)
    while True:
        s.accept()


def publishes(port: str, number: str) -> None:
    """One thread, sockets that block."""
    s = _listener(port)
    readers = [s.accept()[0] for _ in range(int(number))]
    while True:
        for one in readers:
            one.sendall(bytes(20000))
        time.sleep(0.01)


def subscribes(address: str, port: str, number: str) -> None:
    """All but the last read all."""
    many = [socket.create_connection((address, int(port))) for _ in range(int(number))]

    def read(one: socket.socket) -> None:
        while one.recv(65536):
            pass

    for one in many[:-1]:
        threading.Thread(target=read, args=(one,), daemon=True).start()
    time.sleep(600)


def workers(port: str, number: str, seconds: str) -> None:
    """SO_REUSEPORT: the kernel chooses by addresses and ports."""
    _forked(int(number))
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(("", int(port)))
    while True:
        s.recv(65536)
        _work(float(seconds))


def at(address: str, port: str, answers: str) -> None:
    """A server of one of the host's addresses."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, int(port)))
    while answers != "0":
        data, peer = s.recvfrom(2048)
        s.sendto(data, peer)
    time.sleep(600)


def resolves(*servers: str) -> None:
    """As a resolver with `options timeout:1`: a socket for each question, four at a time."""

    def ask() -> None:
        while True:
            with contextlib.suppress(OSError):
                for server in servers:
                    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                        s.settimeout(1)
                        s.connect((server, 53))
                        s.send(bytes(40))
                        with contextlib.suppress(TimeoutError):
                            s.recv(2048)
                            break

    for _ in range(3):
        threading.Thread(target=ask, daemon=True).start()
    ask()


def feeds(source: str, group: str, port: str, per_s: str) -> None:
    """The route to the group gives the interface."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((source, 0))
    for _ in _paced(float(per_s)):
        s.sendto(bytes(500), (group, int(port)))


def calls(network: str, port: str, per_s: str) -> None:
    """Each is closed when 100 others have begun."""
    begun: list[socket.socket] = []
    for number in _paced(float(per_s)):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((f"{network}.{number % 200 + 1}", int(port)))
        begun.append(s)
        if len(begun) > 100:
            begun.pop(0).close()


def locked(port: str, seconds: str) -> None:
    """The work of one thread at a time."""
    s, lock = _listener(port), threading.Lock()

    def serve(one: socket.socket) -> None:
        with contextlib.suppress(ConnectionError):
            while one.recv(ASKED):
                with lock:
                    _work(float(seconds))
                one.sendall(bytes(ANSWERED))

    while True:
        threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()


def forks(port: str, number: str, seconds: str) -> None:
    """Each process serves one connection, and the next when that ends."""
    s = _listener(port)
    _forked(int(number))
    while True:
        _answer(s.accept()[0], float(seconds))


def corks(port: str) -> None:
    """TCP_CORK is set once and never taken off."""
    one = _listener(port).accept()[0]
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    _answer(one, 0)


def _answer(one: socket.socket, seconds: float) -> None:
    with contextlib.suppress(ConnectionError):
        while one.recv(ASKED):
            _work(seconds)
            one.sendall(bytes(ANSWERED))


def _work(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def _forked(number: int) -> None:
    """Return in so many processes."""
    for _ in range(number - 1):
        if not os.fork():
            return


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
