"""Kinds of losses on the way, each of which is staged alone in a namespace of `veth.pair`.

Each is a generator: it sets the host up, yields while nothing is sent yet, sends, yields what was
lost, and takes back what it set up. What was lost is counted without nettop: packets that a call
took or that went out as a frame, less those that a socket got; or a counter of the kernel.
"""

import fcntl
import os
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Final

import nft_bytes as nft
from hang import until
from live.programs import packets
from loss_packets import (
    BEHIND,
    BEHIND6,
    CLOSED_WORLD,
    COUNT,
    DROPS_ALL,
    PORT,
    batch,
    bound,
    datagrams,
    do,
    frames,
    header,
    kind,
    own,
    reader_gets,
    six,
    sysctl,
    udp,
)
from netlink_bytes import message
from veth import FAR, FAR6, NEAR, NEAR6

TABLE: Final = struct.pack(">BBH", nft.INET, 0, 0) + nft.text(1, "t")


def filtered(hook: int, send: Callable[[], int]) -> Iterator[int | None]:
    """A chain of that hook drops all."""
    batch(message(0xA00, TABLE), nft.chain("c", hook, nft.DROP))
    yield None
    yield send()
    batch(message(0xA02, TABLE))


def filtered_in(hook: int) -> Iterator[int | None]:
    """So, of what arrives."""
    return filtered(hook, lambda: reader_gets(datagrams, bound()))


def filtered_out(hook: int) -> Iterator[int | None]:
    """So, of what is sent."""
    return filtered(hook, lambda: own(FAR))


for _name, _hook in {"prerouting": 0, "input": 1}.items():
    kind(f"netfilter, {_name}")(partial(filtered_in, _hook))
for _name, _hook in {"output": 3, "postrouting": 4}.items():
    kind(f"netfilter, {_name}")(partial(filtered_out, _hook))


def forwarded(*routes: str, **more: Any) -> Iterator[int | None]:
    """Packets to lead on come, and the near host does what its routes say."""
    before = sysctl(ipv4__ip_forward=1)
    do(*(f"ip route add {one}" for one in routes))
    yield None
    yield frames(header(CLOSED_WORLD, body=udp(), **more))
    do(*(f"ip route del {one}" for one in routes))
    sysctl(**before)


kind("no route")(forwarded)
for _route in ("blackhole", "unreachable", "prohibit"):
    kind(f"route, {_route}")(partial(forwarded, f"{_route} {BEHIND}"))
kind("TTL")(lambda: forwarded(f"{BEHIND} via {FAR}", ttl=1))


@kind("netfilter, forward")
def through() -> Iterator[int | None]:
    batch(message(0xA00, TABLE), nft.chain("c", 2, nft.DROP))
    yield from forwarded(f"{BEHIND} via {FAR}")
    batch(message(0xA02, TABLE))


@kind("forwarding is off")
def off() -> Iterator[int | None]:
    yield None
    yield frames(header(CLOSED_WORLD, body=udp()))


@kind("too large to lead on")
def large() -> Iterator[int | None]:
    before = sysctl(ipv4__ip_forward=1)
    do(f"ip route add {BEHIND} via {FAR} mtu lock 600")
    yield None
    yield frames(header(CLOSED_WORLD, body=udp(size=900), more=0x4000))
    do(f"ip route del {BEHIND}")
    sysctl(**before)


@kind("IPv6, forwarding is off")
def off6() -> Iterator[int | None]:
    yield None
    yield frames(six(BEHIND6, udp()), ether=0x86DD)


@kind("IPv6, hop limit")
def hops() -> Iterator[int | None]:
    before = sysctl(ipv6__conf__all__forwarding=1)
    do(f"ip route add {BEHIND6} via {FAR6}")
    yield None
    yield frames(six(BEHIND6, udp(), 1), ether=0x86DD)
    do(f"ip route del {BEHIND6}")
    sysctl(**before)


@kind("IPv6, UDP without a checksum")
def bare() -> Iterator[int | None]:
    door = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    door.bind((NEAR6, PORT))
    yield None
    yield reader_gets(lambda: frames(six(NEAR6, udp()), ether=0x86DD), door)


@kind("xfrm, forwarding")
def fwd() -> Iterator[int | None]:
    policy = f"src 0.0.0.0/0 dst {BEHIND} dir fwd"
    do(f"ip xfrm policy add {policy} action block")
    yield from forwarded(f"{BEHIND} via {FAR}")
    do(f"ip xfrm policy del {policy}")


@kind("xfrm, input")
def block() -> Iterator[int | None]:
    policy = f"src 0.0.0.0/0 dst {NEAR}/32 dir in"
    do(f"ip xfrm policy add {policy} action block")
    yield None
    yield reader_gets(datagrams, bound())
    do(f"ip xfrm policy del {policy}")


@kind("reverse path")
def reverse() -> Iterator[int | None]:
    before = sysctl(ipv4__conf__all__rp_filter=1)
    yield None
    yield reader_gets(lambda: frames(header(source="192.0.2.1", body=udp())), bound())
    sysctl(**before)


@kind("a source of this host")
def itself() -> Iterator[int | None]:
    yield None
    yield reader_gets(lambda: frames(header(source=NEAR, body=udp())), bound())


@kind("a source of the loopback")
def martian() -> Iterator[int | None]:
    yield None
    yield reader_gets(lambda: frames(header(source="127.0.0.1", body=udp())), bound())


@kind("a neighbour that does not answer")
def neighbour() -> Iterator[int | None]:
    do("ip neigh flush dev eth0")
    before = sysctl(ipv4__neigh__eth0__mcast_solicit=1, ipv4__neigh__eth0__retrans_time_ms=50)
    yield None
    own("10.93.0.77")
    until(lambda: b"FAILED" in subprocess.check_output(["ip", "neigh", "show", "10.93.0.77"]))
    yield COUNT
    sysctl(**before)


def dropped(handle: str) -> int:
    """The drops of a qdisc, by tc."""
    out = subprocess.check_output(["tc", "-s", "qdisc", "show", "dev", "eth0"], text=True)
    found = re.search(rf"qdisc \w+ {handle}:.*?dropped (\d+)", out, re.DOTALL)
    return int(found[1]) if found else 0


def queued(*lines: str, handle: str) -> Iterator[int | None]:
    """A qdisc that keeps few packets; what it still has when it is removed is no drop of it."""
    do(*lines)
    yield None
    own(FAR, 958)
    yield dropped(handle)
    do("tc qdisc del dev eth0 root")


_TBF: Final = "tc qdisc add dev eth0 root handle 1: tbf rate 8kbit burst 2000 limit"
kind("qdisc, tbf")(lambda: queued(f"{_TBF} 3000", handle="1"))
kind("qdisc, pfifo in tbf")(
    lambda: queued(
        f"{_TBF} 90000", "tc qdisc add dev eth0 parent 1:1 handle 2: pfifo limit 2", handle="2"
    )
)
kind("qdisc, larger than the burst")(lambda: queued(f"{_TBF} 900", handle="1"))


def by_tc(side: str, send: Callable[[], int]) -> Iterator[int | None]:
    """A filter of tc drops all."""
    do(
        "tc qdisc add dev eth0 clsact",
        f"tc filter add dev eth0 {side} bpf da bytecode '{DROPS_ALL}'",
    )
    yield None
    yield send()
    do("tc qdisc del dev eth0 clsact")


kind("tc, ingress")(lambda: by_tc("ingress", lambda: reader_gets(datagrams, bound())))
kind("tc, egress")(lambda: by_tc("egress", lambda: own(FAR)))


def bridged(*lines: str, tagged: bytes = b"") -> Iterator[int | None]:
    """A bridge with one port, whose other end is far."""
    do(
        "ip link add br0 type bridge", f"ip link add b0 type veth peer name b1 netns {sys.argv[1]}",
        "ip link set b0 master br0", "ip link set b0 up", "ip link set br0 up",
        f"ip -n {sys.argv[1]} link set b1 up", *lines,
    )  # fmt: skip
    until(lambda: "LOWER_UP" in subprocess.check_output(["ip", "link", "show", "b0"], text=True))
    yield None
    yield frames(tagged + bytes(100), to=b"\x02\0\0\0\0\x98", ether=0x88B5, interface="b1")
    do("ip link del br0", "ip link del b0")


kind("bridge, a port that is disabled")(lambda: bridged("bridge link set dev b0 state 0"))
kind("bridge, no other port")(bridged)
kind("bridge, a VLAN that is not allowed")(
    lambda: bridged("ip link set br0 type bridge vlan_filtering 1 vlan_default_pvid 0")
)


def tunnelled(head: bytes) -> Iterator[int | None]:
    """Packets of VXLAN arrive that the interface does not take."""
    do(f"ip link add vx0 type vxlan id 7 dstport 4789 local {NEAR} remote {FAR}",
       "ip link set vx0 up")  # fmt: skip
    yield None
    body = struct.pack(">HHHH", 4000, 4789, 8 + len(head) + 100, 0) + head + bytes(100)
    yield frames(header(body=body))
    do("ip link del vx0")


kind("VXLAN, another identifier")(lambda: tunnelled(struct.pack(">II", 0x08 << 24, 9 << 8)))
kind("VXLAN, a wrong header")(lambda: tunnelled(bytes(8)))


@kind("a TUN device whose program does not read")
def tun() -> Iterator[int | None]:
    end = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))
    do("ip link set tun0 txqueuelen 8", "ip addr add 10.96.0.1/24 dev tun0", "ip link set tun0 up")
    os.set_blocking(end, False)
    with suppress(BlockingIOError):
        while True:
            os.read(end, 1 << 16)
    yield None
    own("10.96.0.2")
    kept = 0
    with suppress(BlockingIOError):
        while os.read(end, 1 << 16)[9] == socket.IPPROTO_UDP:
            kept += 1
    yield COUNT - kept
    os.close(end)


@kind("XDP, generic")
def generic() -> Iterator[int | None]:
    packets.xdp_generic("eth0", "1")
    yield None
    yield reader_gets(datagrams, bound())
    do("ip link set dev eth0 xdpgeneric off")


@kind("XDP, driver")
def driver() -> Iterator[int | None]:
    program, index = packets._dropping(1), socket.if_nametoindex("eth0")
    link = packets._bpf(28, struct.pack("=IIII", program, index, 37, 0))
    yield None
    yield reader_gets(datagrams, bound())
    os.close(link)
    os.close(program)
