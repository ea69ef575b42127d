"""Programs that are at fault, and packets that no socket sends: `python ills.py KIND …`.

link FROM TO [NAME=VALUE…]   a slow path between two namespaces: tun0 in both, 10.95.0.1 and .2,
                             fd95::1 and ::2; options in staged_programs.py
write ADDRESS PORT [NAME=VALUE…] · read PORT [NAME=VALUE…]   the writer and reader of that file
pages ADDRESS PORT     300 bytes, then 5000, then nothing
two-writes ADDRESS PORT · answers PORT   a request in two parts, without TCP_NODELAY; its answer
accepts-slowly PORT BACKLOG PER_S
serves PORT            accept and read; close when the client does
churn ADDRESS PORT PER_S     connect and close
holds ADDRESS PORT     connect again and again and keep each connection
syns ADDRESS PORT PER_S FROM   SYN segments from addresses FROM1 to FROM250 that never answer
damaged ADDRESS PORT PER_S     datagrams with a wrong checksum
first-fragments ADDRESS PER_S  first fragments, of datagrams whose rest never comes
tun IF PER_S           a program behind a TUN device that takes PER_S packets a second
filter WHAT [NUMBER]   rules of nf_tables: `every NUMBER` drops one packet of that many that arrive,
                       `rules NUMBER` compares addresses, `no-errors` drops the ICMP of this host
busy CPU               a loop on one CPU
grains ADDRESS PORT    segments of one byte each
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "support"))


def link(*words: str) -> None:
    """Delay, lose, reorder or police packets on the way."""
    if not os.fork():
        for number, space in enumerate(words[:2], 1):
            made = f"ip -n {space} addr add 10.95.0.{number}/24 dev tun0"
            while subprocess.run(made.split(), check=False, capture_output=True).returncode:
                time.sleep(0.05)  # not there yet
            for rest in (f"addr add fd95::{number}/64 dev tun0 nodad",
                         "link set tun0 up txqueuelen 5000"):  # fmt: skip
                subprocess.run(["ip", "-n", space, *rest.split()], check=True)
        os._exit(0)
    _become("LINK", *words[:2], os.devnull, *words[2:])  # nobody asks how many were lost


def write(*words: str) -> None:
    """Write to a connection."""
    _become("WRITE", *words)


def read(*words: str) -> None:
    """Read from connections."""
    _become("READ", *words)


def pages(address: str, port: str) -> None:
    """The head of an answer, its body, and the connection stays open."""
    s = socket.create_connection((address, int(port)))
    s.sendall(bytes(300))
    time.sleep(0.2)
    s.sendall(bytes(5000))
    time.sleep(600)


def two_writes(address: str, port: str) -> None:
    """Header, body, answer; nothing sets TCP_NODELAY."""
    s = socket.create_connection((address, int(port)))
    while True:
        s.sendall(bytes(120))
        s.sendall(bytes(300))
        s.recv(100)


def answers(port: str) -> None:
    """Read a whole request, answer it."""
    connection, _ = _listener(port).accept()
    while True:
        wanted = 420
        while wanted:
            got = len(connection.recv(wanted))
            if not got:
                return
            wanted -= got
        connection.sendall(bytes(100))


def accepts_slowly(port: str, backlog: str, per_s: str) -> None:
    """Take a connection now and then."""
    s = _listener(port, int(backlog))
    while True:
        s.accept()[0].close()
        time.sleep(1 / float(per_s))


def serves(port: str) -> None:
    """Serve one client after the other."""
    s = _listener(port, 1024)
    kept = []
    while True:
        connection, _ = s.accept()
        connection.setblocking(False)
        kept.append(connection)
        for one in kept[:]:
            with contextlib.suppress(BlockingIOError):
                if not one.recv(65536):
                    kept.remove(one)
                    one.close()


def churn(address: str, port: str, per_s: str) -> None:
    """The client closes first, so TIME_WAIT is its own."""
    for _ in _paced(float(per_s)):
        with contextlib.suppress(OSError):
            socket.create_connection((address, int(port)), 1).close()


def holds(address: str, port: str) -> None:
    """Keep all; try again when no port is left."""
    kept = []
    while True:
        try:
            kept.append(socket.create_connection((address, int(port)), 1))
        except OSError:
            time.sleep(0.05)


def syns(address: str, port: str, per_s: str, source: str) -> None:
    """From addresses that no host has."""
    six = ":" in address
    family = socket.AF_INET6 if six else socket.AF_INET
    s = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
    to = socket.inet_pton(family, address)
    for number in _paced(float(per_s)):
        of = socket.inet_pton(family, f"{source}{number % 250 + 1}")
        tcp = struct.pack(">HHIIBBHHH", random.randrange(1024, 65536), int(port),
                          random.getrandbits(32), 0, 0x50, 2, 65535, 0, 0)  # fmt: skip
        checksum = _sum(of + to + struct.pack(">HH", 6, 20) + tcp)
        tcp = tcp[:16] + struct.pack(">H", checksum) + tcp[18:]
        if six:
            packet = struct.pack(">IHBB", 6 << 28, 20, 6, 64) + of + to + tcp
        else:
            packet = struct.pack(">BBHHHBBH", 0x45, 0, 40, 0, 0, 64, 6, 0) + of + to + tcp
        s.sendto(packet, (address, 0))


def damaged(address: str, port: str, per_s: str) -> None:
    """As from a card that computes checksums wrongly."""
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
    datagram = struct.pack(">HHHH", 4000, int(port), 508, 0x1234) + bytes(500)
    for _ in _paced(float(per_s)):
        s.sendto(datagram, (address, 0))


def first_fragments(address: str, per_s: str) -> None:
    """More fragments follow, each says; none does."""
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    to = socket.inet_aton(address)
    for number in _paced(float(per_s)):
        of = socket.inet_aton(f"198.51.100.{number % 250 + 1}")
        head = struct.pack(">BBHHHBBH", 0x45, 0, 1420, number % 65535 + 1, 0x2000, 64, 17, 0)
        body = struct.pack(">HHHH", 4000, 9001, 4000, 0)
        s.sendto(head + of + to + body + bytes(1392), (address, 0))


def tun(name: str, per_s: str) -> None:
    """Take a packet, work on it for a while, drop it."""
    end = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x0001 | 0x1000))
    while True:
        os.read(end, 65536)
        time.sleep(1 / float(per_s))


def filter(what: str, number: str = "0") -> None:  # noqa: A001
    """Written at once; the rules stay when this program ends."""
    import nft_bytes as nft
    from netlink_bytes import message

    from nettop.host.netlink.codec import attribute

    def asked(raw: bytes, flags: int = 0x405) -> bytes:  # NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE
        return raw[:6] + struct.pack("=H", flags) + raw[8:]

    def load(base: int, offset: int, octets: int) -> bytes:
        return nft.expression("payload", nft.be32(1, 1), nft.be32(2, base), nft.be32(3, offset),
                              nft.be32(4, octets))  # fmt: skip

    def equal(value: bytes) -> bytes:
        data = nft.nest(3, attribute(1, value))
        return nft.expression("cmp", nft.be32(1, 1), nft.be32(2, 0), data)

    drop = nft.verdict(nft.DROP)
    meta = nft.expression("meta", nft.be32(2, 16), nft.be32(1, 1))  # NFT_META_L4PROTO
    drawn = nft.expression("numgen", nft.be32(1, 1), nft.be32(2, max(1, int(number))),
                           nft.be32(3, 1), nft.be32(4, 0))  # fmt: skip
    compared = (f"192.0.{n // 250}.{n % 250 + 1}" for n in range(int(number)))
    errors = ((b"\1", b"\3"), (b"\x3a", b"\2"))  # Destination Unreachable, Packet Too Big
    hook, rules = {
        "every": (1, [nft.rule("in", 0, drawn, equal(bytes(4)), nft.counter(), drop)]),
        "rules": (1, [
            nft.rule("in", 0, load(1, 12, 4), equal(socket.inet_aton(one)), drop)
            for one in compared
        ]),
        "no-errors": (3, [
            nft.rule("in", 0, meta, equal(protocol), load(2, 0, 1), equal(kind), drop)
            for protocol, kind in errors
        ]),
    }[what]  # fmt: skip
    batch = struct.pack(">BBH", 0, 0, 10)
    table = message(0xA00, struct.pack(">BBH", nft.INET, 0, 0) + nft.text(1, "t"))
    parts = [asked(message(0x10, batch), 1), asked(table), asked(nft.chain("in", hook, nft.ACCEPT))]
    parts += [asked(rule, 0xC01) for rule in rules]
    door = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
    door.setsockopt(socket.SOL_SOCKET, 32, 16 << 20)
    door.bind((0, 0))
    door.settimeout(5)
    door.send(b"".join([*parts, asked(message(0x11, batch), 1)]))
    for _ in range(2):
        error = struct.unpack_from("=i", door.recv(65536), 16)[0]
        if error:
            raise OSError(-error, os.strerror(-error))
    door.settimeout(0.3)
    with contextlib.suppress(TimeoutError):
        error = struct.unpack_from("=i", door.recv(65536), 16)[0]
        raise OSError(-error, os.strerror(-error))


def busy(cpu: str) -> None:
    """Use one CPU."""
    os.sched_setaffinity(0, {int(cpu)})
    while True:
        pass


def grains(address: str, port: str) -> None:
    """Each write is a segment."""
    s = socket.create_connection((address, int(port)))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        s.sendall(b"x")


def _listener(port: str, backlog: int = 128) -> socket.socket:
    return socket.create_server(("::", int(port)), family=socket.AF_INET6, backlog=backlog,
                                dualstack_ipv6=True)  # fmt: skip


def _paced(per_s: float) -> Iterator[int]:
    """Numbers from 0 on, so many a second, in bursts of a hundredth of a second."""
    number, began = 0, time.monotonic()
    while True:
        while number < (time.monotonic() - began) * per_s:
            yield number
            number += 1
        time.sleep(0.01)


def _sum(data: bytes) -> int:
    """The checksum of RFC 1071."""
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _become(program: str, *words: str) -> None:
    from live.limits import programs as staged_programs

    source = getattr(staged_programs, program)
    os.execv(sys.executable, [sys.executable, "-c", source, *words])


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
