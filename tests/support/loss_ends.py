"""Kinds of losses at the end of the way, as in `loss_kinds`: headers, fragments, sockets."""

import ctypes
import socket
import struct
from collections.abc import Iterator

from hang import until
from live.programs import packets
from loss_packets import (
    COUNT,
    MINTTL,
    PORT,
    SEGMENT,
    bound,
    datagrams,
    frames,
    got,
    grown,
    header,
    kind,
    sysctl,
    tcp,
    udp,
)
from veth import NEAR, NEAR6


@kind("no socket")
def closed() -> Iterator[int | None]:
    count = grown("UdpNoPorts")
    yield None
    datagrams()
    yield count()


@kind("no socket, segments")
def segments() -> Iterator[int | None]:
    yield None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.setsockopt(socket.SOL_UDP, SEGMENT, 100)
        for _ in range(COUNT // 10):
            door.sendto(bytes(1000), (NEAR, PORT))
    yield COUNT


@kind("no socket, IPv6")
def closed6() -> Iterator[int | None]:
    yield None
    yield datagrams(to=NEAR6)


@kind("no socket, TCP")
def closed_tcp() -> Iterator[int | None]:
    yield None
    yield frames(header(transport=6, body=tcp()))


@kind("a full socket")
def full() -> Iterator[int | None]:
    count = grown("UdpRcvbufErrors")
    yield None
    with bound() as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        datagrams(size=1000)
        yield count()


@kind("a filter of a socket")
def socket_filter() -> Iterator[int | None]:
    yield None
    with bound() as door:
        code = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0), 8)
        program = struct.pack("@HP", 1, ctypes.addressof(code))
        door.setsockopt(socket.SOL_SOCKET, 26, program)  # SO_ATTACH_FILTER
        yield datagrams() - got(door)


@kind("a full packet socket")
def capture() -> Iterator[int | None]:
    yield None
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(packets.ALL)) as door:
        door.bind(("eth0", 0))
        door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        frames(bytes(500), ether=0x88B5, to=b"\xff" * 6)
        statistics = door.getsockopt(263, 6, 8)  # SOL_PACKET, PACKET_STATISTICS
        yield struct.unpack("=II", statistics)[1]


@kind("a full socket, segments")
def full_of_segments() -> Iterator[int | None]:
    count = grown("UdpRcvbufErrors")
    yield None
    with bound() as door, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        sender.setsockopt(socket.SOL_UDP, SEGMENT, 100)
        for _ in range(COUNT // 10):
            sender.sendto(bytes(1000), (NEAR, PORT))
        yield count()


@kind("a wrong checksum of UDP")
def wrong_udp() -> Iterator[int | None]:
    count = grown("UdpInCsumErrors")
    yield None
    with bound() as door:
        frames(header(body=struct.pack(">HHHH", 4000, PORT, 508, 0x1234) + bytes(500)))
        got(door)  # it is tested when it is read
        yield count()


@kind("a wrong checksum of TCP")
def wrong_tcp() -> Iterator[int | None]:
    count = grown("TcpInCsumErrors")
    yield None
    frames(header(transport=6, body=tcp(wrong=True)))
    yield count()


@kind("a wrong checksum of IP")
def wrong_ip() -> Iterator[int | None]:
    count = grown("IpExtInCsumErrors")
    yield None
    frames(header(body=udp(), wrong=True))
    yield count()


@kind("a wrong checksum of ICMP")
def wrong_icmp() -> Iterator[int | None]:
    count = grown("IcmpInCsumErrors")
    yield None
    frames(header(transport=1, body=struct.pack(">BBHI", 8, 0, 0x1234, 0) + bytes(40)))
    yield count()


@kind("a header of a wrong version")
def version() -> Iterator[int | None]:
    yield None
    yield frames(b"\x65" + header(body=udp())[1:])


@kind("a packet that is cut off")
def cut() -> Iterator[int | None]:
    count = grown("IpExtInTruncatedPkts")
    yield None
    frames(header(body=bytes(900))[:400])
    yield count()


@kind("a transport that nobody knows")
def transport() -> Iterator[int | None]:
    count = grown("IpInUnknownProtos")
    yield None
    frames(header(transport=253, body=bytes(40)))
    yield count()


@kind("frames of another host")
def other_host() -> Iterator[int | None]:
    yield None
    yield frames(header(body=udp()), to=b"\x02\0\0\0\0\x99")


@kind("a protocol that nobody takes")
def ether() -> Iterator[int | None]:
    yield None
    yield frames(bytes(100), ether=0x88B5)


@kind("a full queue of connections")
def overflow() -> Iterator[int | None]:
    count = grown("TcpExtListenDrops")
    with socket.create_server((NEAR, PORT), backlog=0), socket.create_connection((NEAR, PORT)):
        yield None
        frames(*(header(transport=6, body=tcp(at=at)) for at in range(COUNT)))
        yield count()


@kind("the TTL of a connection")
def minimum() -> Iterator[int | None]:
    with socket.create_server((NEAR, PORT)) as door:
        door.setsockopt(socket.IPPROTO_IP, MINTTL, 255)
        count = grown("TcpExtTCPMinTTLDrop")
        yield None
        frames(header(transport=6, body=tcp()))
        yield count()


@kind("fragments, one came before")
def twice() -> Iterator[int | None]:
    yield None
    each = [header(body=bytes(8), more=0x2000 | 185, number=n) for n in range(1, COUNT + 1)]
    frames(*(one for each_ in each for one in (each_, each_)))
    yield COUNT


@kind("fragments, the rest does not come")
def late() -> Iterator[int | None]:
    before = sysctl(ipv4__ipfrag_time=1)
    count = grown("IpReasmTimeout")
    yield None
    frames(*(header(body=udp(size=1000), more=0x2000, number=1000 + n) for n in range(COUNT)))
    until(lambda: count() >= COUNT)
    yield count()
    sysctl(**before)
