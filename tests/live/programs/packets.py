"""Packets that no socket sends, and programs that see or drop packets.

capture IF [READS]     a packet socket with a small buffer that READS packets a second
analyse IF             a packet socket whose reader works on each packet, and never waits by itself
forgotten-captures IF NUMBER  packet sockets that nobody reads
tun IF PER_S           a program behind a TUN device that takes PER_S packets a second
pktgen IF ADDRESS MAC [BYTES]  the kernel's own generator: frames without end, as fast as it goes
syns ADDRESS PORT PER_S FROM   SYN segments from addresses FROM1 to FROM250 that never answer
wrong-checksums ADDRESS PORT PER_S  datagrams with a wrong checksum
no-checksums ADDRESS PORT PER_S     datagrams of IPv6 with a checksum of zero
first-fragments ADDRESS PER_S       first fragments, of datagrams whose rest never comes
arp-claims IF ADDRESS PER_S         gratuitous ARP for an address
xdp-driver IF NUMBER   XDP in the driver drops one packet of NUMBER; it ends with this program
xdp-generic IF NUMBER  so in generic mode; it stays until the interface goes
"""

import ctypes
import fcntl
import hashlib
import os
import random
import socket
import struct
import time
from pathlib import Path

from live.programs.shared import family, kind, paced

BPF = {"x86_64": 321, "aarch64": 280}  # the number of the system call
ALL, ARP = 3, 0x806  # ETH_P_ALL, ETH_P_ARP


@kind
def capture(interface: str, reads: str = "100") -> None:
    """See every frame, take few."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    s.bind((interface, 0))
    while True:
        s.recv(2048)
        time.sleep(1 / int(reads))


@kind
def analyse(interface: str) -> None:
    """See every frame and work on it: all the time that a core gives."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    s.bind((interface, 0))
    while True:
        frame = s.recv(2048)
        for _ in range(32):
            frame = hashlib.sha256(frame).digest()


@kind
def forgotten_captures(interface: str, number: str) -> None:
    """Each gets a copy of each packet until its buffer is full."""
    many = [
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
        for _ in range(int(number))
    ]
    for one in many:
        one.bind((interface, 0))
    time.sleep(600)


@kind
def tun(name: str, per_s: str) -> None:
    """Take a packet, work on it for a while, drop it."""
    end = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x0001 | 0x1000))
    while True:
        os.read(end, 65536)
        time.sleep(1 / float(per_s))


@kind
def pktgen(interface: str, address: str, mac: str, size: str = "60") -> None:
    """Ends with its process: the write of `start` returns when it is killed (pktgen.rst)."""
    folder = Path("/proc/net/pktgen")
    told = {"kpktgend_0": ("rem_device_all", f"add_device {interface}"),
            interface: ("count 0", f"pkt_size {size}", f"dst {address}", f"dst_mac {mac}"),
            "pgctrl": ("start",)}  # fmt: skip
    for file, words in told.items():
        for word in words:
            (folder / file).write_text(word + "\n")


@kind
def syns(address: str, port: str, per_s: str, source: str) -> None:
    """From addresses that no host has."""
    of_family = family(address)
    s = socket.socket(of_family, socket.SOCK_RAW, socket.IPPROTO_RAW)
    to = socket.inet_pton(of_family, address)
    for number in paced(float(per_s)):
        of = socket.inet_pton(of_family, f"{source}{number % 250 + 1}")
        tcp = struct.pack(">HHIIBBHHH", random.randrange(1024, 65536), int(port),
                          random.getrandbits(32), 0, 0x50, 2, 65535, 0, 0)  # fmt: skip
        checksum = _sum(of + to + struct.pack(">HH", 6, 20) + tcp)
        tcp = tcp[:16] + struct.pack(">H", checksum) + tcp[18:]
        if of_family == socket.AF_INET6:
            packet = struct.pack(">IHBB", 6 << 28, 20, 6, 64) + of + to + tcp
        else:
            packet = struct.pack(">BBHHHBBH", 0x45, 0, 40, 0, 0, 64, 6, 0) + of + to + tcp
        s.sendto(packet, (address, 0))


@kind
def wrong_checksums(address: str, port: str, per_s: str) -> None:
    """As from a card that computes checksums wrongly."""
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
    datagram = struct.pack(">HHHH", 4000, int(port), 508, 0x1234) + bytes(500)
    for _ in paced(float(per_s)):
        s.sendto(datagram, (address, 0))


@kind
def no_checksums(address: str, port: str, per_s: str) -> None:
    """IPv6 does not allow that."""
    s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_UDP)
    for _ in paced(float(per_s)):
        s.sendto(struct.pack(">HHHH", 4000, int(port), 308, 0) + bytes(300), (address, 0))


@kind
def first_fragments(address: str, per_s: str) -> None:
    """More fragments follow, each says; none does."""
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    to = socket.inet_aton(address)
    for number in paced(float(per_s)):
        of = socket.inet_aton(f"198.51.100.{number % 250 + 1}")
        head = struct.pack(">BBHHHBBH", 0x45, 0, 1420, number % 65535 + 1, 0x2000, 64, 17, 0)
        body = struct.pack(">HHHH", 4000, 9001, 4000, 0)
        s.sendto(head + of + to + body + bytes(1392), (address, 0))


@kind
def arp_claims(interface: str, address: str, per_s: str) -> None:
    """This host has the address, it says."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ARP))
    s.bind((interface, 0))
    mac, own = s.getsockname()[4], socket.inet_aton(address)
    frame = b"\xff" * 6 + mac + struct.pack(">HHHBBH", ARP, 1, 0x800, 6, 4, 2)
    for _ in paced(float(per_s)):
        s.send(frame + mac + own + b"\xff" * 6 + own)


@kind
def xdp_driver(interface: str, number: str) -> None:
    """BPF_LINK_CREATE, attach type BPF_XDP (linux/bpf.h)."""
    link = _bpf(28, struct.pack("=IIII", _dropping(int(number)), socket.if_nametoindex(interface),
                                37, 0))  # fmt: skip
    time.sleep(600)
    os.close(link)


@kind
def xdp_generic(interface: str, number: str) -> None:
    """RTM_SETLINK with IFLA_XDP and XDP_FLAGS_SKB_MODE (linux/if_link.h)."""
    inner = struct.pack("=HHi", 8, 1, _dropping(int(number))) + struct.pack("=HHI", 8, 3, 2)
    rest = struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(interface), 0, 0)
    rest += struct.pack("=HH", 4 + len(inner), 43 | 0x8000) + inner
    door = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    door.send(struct.pack("=IHHII", 16 + len(rest), 19, 5, 1, 0) + rest)
    error = struct.unpack_from("=i", door.recv(65536), 16)[0]
    if error:
        raise OSError(-error, os.strerror(-error))


def _dropping(number: int) -> int:
    """A program of XDP; XDP_DROP is 1, XDP_PASS 2."""
    lines = ((0x85, 0, 7), (0x94, 0, number), (0x15, 2, 0),  # random; modulo; is it 0?
             (0xB7, 0, 2), (0x95, 0, 0), (0xB7, 0, 1), (0x95, 0, 0))  # fmt: skip
    code = b"".join(struct.pack("=BBhi", what, 0, jump, value) for what, jump, value in lines)
    kept = [ctypes.create_string_buffer(text) for text in (code, b"GPL")]
    return _bpf(5, struct.pack("=IIQQ", 6, len(lines), *map(ctypes.addressof, kept)))


def _bpf(command: int, told: bytes) -> int:
    attributes = ctypes.create_string_buffer(told.ljust(128, b"\0"), 128)
    call = ctypes.CDLL(None, use_errno=True).syscall
    done = call(BPF[os.uname().machine], command, attributes, len(attributes))
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(done)


def _sum(data: bytes) -> int:
    """The checksum of RFC 1071."""
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
