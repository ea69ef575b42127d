"""Staged limits of other programs, protocols, interfaces and neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from live.limits.case import FAR, PATH, Case
from live.limits.more import over, shaped
from live.limits.stage import NEAR6, SLOW, Stage

_TUNNEL: Final = "10.98.0.2"
_MACVLAN = over("link eth0 type macvlan mode bridge", "10.98.0")
_VXLAN = over("type vxlan id 9 dstport 4789 local 10.94.0.{own} remote 10.94.0.{other}", "10.98.0")

_SUBFLOWS: Final = (  # a second address, so a second subflow
    *(f"{end}: ip mptcp limits set subflow 2 add_addr_accepted 2" for end in ("here", "there")),
    "here: ip addr add 10.94.0.11/24 dev eth0 && ip mptcp endpoint add 10.94.0.11 dev eth0 subflow",
)

_HTB: Final = "here: qdisc add dev eth0 root handle 1: htb default 10"
_REDIRECTED: Final = (  # what arrives at eth0 is shaped by an ifb
    (
        "there: ip link add ifb7 type ifb && ip link set ifb7 up && "
        "tc qdisc add dev eth0 handle ffff: ingress && "
        "tc filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 "
        "action mirred egress redirect dev ifb7 && "
        "tc qdisc add dev ifb7 root tbf rate 30mbit burst 64k latency 50ms"
    ),
)


def _class(number: int) -> str:
    """The option SO_PRIORITY, by which htb finds the class 1:NUMBER."""
    return f"set=1:12:{0x10000 + number}"


def _beside(*options: str) -> Callable[[Stage], None]:
    """A second writer with other options."""

    def more(stage: Stage) -> None:
        stage.writer(*options)

    return more


STRANGE: Final = (
    Case("tls-tbf", "qdisc", "peer", writer="how=tls", reader="how=tls", tc=shaped("30mbit")),
    Case("tls-reader", "peer", "application", writer="how=tls",
         reader="how=tls sleep=0.01 size=16000"),
    Case("tls-writer", "application", "peer", writer="how=tls sleep=0.01 size=30000",
         reader="how=tls"),
    Case("sendfile-tbf", "qdisc", "peer", writer="how=sendfile", tc=shaped("15mbit")),
    Case("sendfile-reader", "peer", "application", writer="how=sendfile",
         reader="sleep=0.02 size=50000"),
    Case("sendfile-pace", "pacing", "peer", writer="how=sendfile pace=4000000"),
    Case("splice-reader", "peer", "application", reader="how=splice sleep=0.01 size=30000"),
    Case("proxy-writer", "application", "peer", writer="how=proxy sleep=0.01 size=30000"),
    Case("proxy-reader", "peer", "application", reader="how=proxy sleep=0.01 size=30000"),
    Case("idle-tbf", "qdisc", "peer", writer="idle=60", reader="flows=61", tc=shaped("40mbit")),
    Case("idle-reader", "peer", "application", writer="idle=60",
         reader="flows=61 sleep=0.01 size=30000"),
    Case("six-htb", "qdisc", "peer", writers=6, tc=(
        "here: qdisc add dev eth0 root handle 1: htb default 10",
        "here: class add dev eth0 parent 1: classid 1:10 htb rate 45mbit")),
    Case("six-reader", "peer", "application", writers=6, reader="sleep=0.005 size=20000"),
    Case("six-pace-ipv6", "pacing", "peer", to=NEAR6, writer="pace=500000", writers=6),
    Case("ipv6-htb", "qdisc", "peer", to=NEAR6, tc=(
        "here: qdisc add dev eth0 root handle 1: htb default 10",
        "here: class add dev eth0 parent 1: classid 1:10 htb rate 7mbit")),
    Case("ipv6-writer", "application", "peer", to=NEAR6, writer="sleep=0.03 size=100000"),
    Case("macvlan-pace", "pacing", "peer", to=_TUNNEL, run=_MACVLAN, writer="pace=1500000"),
    Case("vxlan-reader", "peer", "application", to=_TUNNEL, run=_VXLAN,
         reader="sleep=0.01 size=40000"),
    Case("far-sndbuf", "sndbuf", "peer", to=SLOW, link="0.02", writer="sndbuf=100000"),
    Case("far-rcvbuf", "rwnd", "rcvbuf", to=SLOW, link="0.02", reader="rcvbuf=100000"),
    Case("far-tls-pace", "pacing", "peer", to=SLOW, link="0.015", writer="how=tls pace=700000",
         reader="how=tls"),
    Case("far-police-bbr", PATH, to=SLOW, link="0.015 police=2000000", writer="congestion=bbr"),
    Case("far-police-reno", PATH, to=SLOW, link="0.01 police=1250000", writer="congestion=reno"),
    Case("chain-reader", "peer", "application", to=FAR, reader="sleep=0.02 size=40000"),
    Case("chain-pace", "pacing", "peer", to=FAR, writer="pace=900000"),
    Case("close-tbf-reader", "qdisc peer rwnd", "peer application", tc=shaped("16mbit"),
         reader="sleep=0.01 size=20000"),
    Case("close-writer-reader", "application peer", "application peer",
         writer="sleep=0.01 size=20000", reader="sleep=0.01 size=20000"),
    Case("udp6-bursts", receives="rcvbuf", to=NEAR6,
         writer="datagrams=1 size=600 times=20 sleep=0.03", reader="datagrams=1 rcvbuf=2304"),
    Case("mptcp-far-rcvbuf", "rwnd", "rcvbuf", to=SLOW, link="0.02", writer="protocol=262",
         reader="protocol=262 rcvbuf=65536"),
    Case("mptcp-two-tbf", "qdisc", "peer", run=_SUBFLOWS, writer="protocol=262",
         reader="protocol=262", tc=shaped("30mbit")),
    Case("mptcp-two-reader", "peer rwnd", "application", run=_SUBFLOWS, writer="protocol=262",
         reader="protocol=262 sleep=0.01 size=30000"),
    Case("bursts-tbf", "application", "peer", writer="size=1000000 sleep=1", tc=shaped("20mbit"),
         lift="writer"),
    Case("closed-for-seconds", "peer rwnd", "application", to=NEAR6,
         reader="sleep=3 size=4000000"),
    Case("priority-htb", "qdisc", "peer", writer=_class(0x20), tc=(
        _HTB, "here: class add dev eth0 parent 1: classid 1:10 htb rate 5mbit",
        "here: class add dev eth0 parent 1: classid 1:20 htb rate 30mbit")),
    Case("borrow-both", "qdisc", "peer", writer=_class(0x20), reader="flows=2",
         more=_beside(_class(0x10)), tc=(
             _HTB, "here: class add dev eth0 parent 1: classid 1:1 htb rate 40mbit",
             *(f"here: class add dev eth0 parent 1:1 classid 1:{own} htb rate 10mbit ceil 40mbit"
               for own in (10, 20)))),
    Case("ifb-arriving", receives="qdisc", run=_REDIRECTED),
    Case("route-window", "rwnd", "rcvbuf", to=SLOW, link="0.01",
         run=("there: ip route change 10.95.0.0/24 dev tun0 window 20000",)),
    Case("slow-beside-tbf", "qdisc", "peer", writer="flows=8", reader="flows=9",
         more=_beside("pace=125000"), tc=shaped("80mbit")),
    Case("gso-datagrams", receives="application rcvbuf",
         writer="datagrams=1 size=12000 sleep=0.001 set=17:103:1200",
         reader="datagrams=1 sleep=0.002"),
    Case("no-delay", "application", "peer", writer="set=6:1:1 size=100 sleep=0.0005"),
    Case("close-pace-tbf", "pacing qdisc", "peer", writer="pace=2500000", tc=shaped("22mbit")),
    Case("close-two-tbf", "path cwnd qdisc", "peer", to=FAR, tc=(
        "here: qdisc add dev left root tbf rate 20mbit burst 32k latency 50ms",
        "middle: qdisc add dev right root tbf rate 19mbit burst 32k limit 60000")),
)  # fmt: skip
