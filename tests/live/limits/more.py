"""Staged limits with options of the socket, other protocols, and interfaces over interfaces."""

from __future__ import annotations

from typing import Final

from live.limits.case import FAR, PATH, Case
from live.limits.stage import LOCAL, NEAR6, SLOW

_CLAMP, _MAXSEG, _LOWAT, _CORK = "6:10", "6:2", "6:25", "6:3"  # TCP_…, level and number
_MPTCP, _GRO = "protocol=262", "17:104:1"  # IPPROTO_MPTCP, UDP_GRO


def shaped(rate: str, device: str = "eth0") -> tuple[str, ...]:
    return (f"here: qdisc add dev {device} root tbf rate {rate} burst 64k latency 50ms",)


def over(make: str, network: str) -> tuple[str, ...]:
    """An interface at both ends over the pair, with addresses of a network of its own."""
    return tuple(
        f"{end}: ip link add over {make.format(own=own, other=3 - own)} && "
        f"ip addr add {network}.{own}/24 dev over && ip link set over up"
        for end, own in (("here", 1), ("there", 2))
    )


_VXLAN = over("type vxlan id 7 dstport 4789 local 10.94.0.{own} remote 10.94.0.{other}", "10.98.0")
_MACVLAN = over("link eth0 type macvlan mode bridge", "10.99.0")
_BRIDGE = tuple(
    f"{end}: ip link add over type bridge && ip addr flush dev eth0 && "
    "ip link set eth0 master over && "
    f"ip addr add 10.94.0.{own}/24 dev over && ip link set over up"
    for end, own in (("here", 1), ("there", 2))
)  # fmt: skip

MORE: Final = (
    Case("ipv6-tbf", "qdisc", "peer", to=NEAR6, tc=shaped("50mbit")),
    Case("ipv6-pace", "pacing", to=NEAR6, writer="pace=2500000"),
    Case("ipv6-reader", "peer", "application", to=NEAR6, reader="sleep=0.01 size=20000"),
    Case("clamp-reader", "rwnd", "rcvbuf", to=SLOW, link="0.01", reader=f"set={_CLAMP}:20000"),
    Case("no-scaling", "rwnd", "rcvbuf", to=SLOW, link="0.01",
         sysctls={"there:net.ipv4.tcp_window_scaling": "0"}),
    Case("lowat-tbf", "qdisc", tc=shaped("50mbit"), writer=f"set={_LOWAT}:16384"),
    Case("lowat-pace", "pacing", writer=f"pace=2500000 set={_LOWAT}:16384"),
    Case("lowat-loss", PATH, to=SLOW, link="0.005 lose=100", writer=f"set={_LOWAT}:16384"),
    Case("bbr-pace", "pacing", writer="pace=2500000 congestion=bbr"),
    Case("bbr-tbf", "qdisc", tc=shaped("50mbit"), writer="congestion=bbr"),
    Case("bbr-sleep", "application", writer="sleep=0.01 size=20000 congestion=bbr"),
    Case("maxseg-tbf", "qdisc", tc=shaped("20mbit"), writer=f"set={_MAXSEG}:300"),
    Case("cork-sleep", "application", writer=f"sleep=0.005 size=9000 set={_CORK}:1"),
    Case("small-mtu", "qdisc", tc=shaped("20mbit"), run=tuple(
        f"{end}: ip link set eth0 mtu 576" for end in ("here", "there"))),
    Case("twenty-tbf", "qdisc", tc=shaped("100mbit"), writer="flows=20", reader="flows=20"),
    Case("twenty-sleep", "application", writer="flows=20 sleep=0.02 size=20000",
         reader="flows=20"),
    Case("twenty-readers", "peer", "application", writer="flows=20",
         reader="flows=20 sleep=0.01 size=20000"),
    Case("mptcp-tbf", "qdisc", tc=shaped("50mbit"), writer=_MPTCP, reader=_MPTCP),
    Case("mptcp-reader", "peer rwnd", "application", writer=_MPTCP,
         reader=f"{_MPTCP} sleep=0.01 size=20000"),
    Case("mptcp-writer", "application", "peer", writer=f"{_MPTCP} sleep=0.01 size=20000",
         reader=_MPTCP),
    Case("vxlan-tbf", "qdisc", to="10.98.0.2", run=_VXLAN, tc=shaped("50mbit")),
    Case("vxlan-tbf-over", "qdisc", to="10.98.0.2", run=_VXLAN, tc=shaped("50mbit", "over")),
    Case("vxlan-pace", "pacing", "peer", to="10.98.0.2", run=_VXLAN, writer="pace=2500000"),
    Case("bridge-tbf", "qdisc", run=_BRIDGE, tc=shaped("50mbit")),
    Case("macvlan-tbf", "qdisc", to="10.99.0.2", run=_MACVLAN, tc=shaped("50mbit")),
    Case("loopback-tbf", "qdisc", to=LOCAL,  # a packet has up to 64 KiB
         tc=("here: qdisc add dev lo root tbf rate 50mbit burst 256k latency 50ms",)),
    Case("loopback-reader", "application peer", "application", to=LOCAL,
         reader="sleep=0.01 size=20000"),
    Case("loopback-writer", "application", to=LOCAL, writer="sleep=0.01 size=20000"),
    Case("asks-and-waits", "application peer", "application peer", to=SLOW, link="0.01",
         writer="size=20000 answer=100", reader="size=20000 answer=100"),
    Case("udp-gro", receives="application rcvbuf", writer="datagrams=1 size=1000 sleep=0.0002",
         reader=f"datagrams=1 sleep=0.002 set={_GRO}"),
    Case("udp6-always", receives="application rcvbuf", to=NEAR6,
         writer="datagrams=1 size=1000 sleep=0.0002", reader="datagrams=1 sleep=0.002"),
    Case("path-mtu", PATH, to=FAR, tc=(
        "middle: qdisc add dev right root tbf rate 20mbit burst 32k limit 60000",),
        run=("middle: ip link set right mtu 1000",)),
)  # fmt: skip
