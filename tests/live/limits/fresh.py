"""Staged limits of classes, peak rates, larger buffers, BBR and queues beyond both ends."""

from __future__ import annotations

from typing import Final

from live.limits.case import FAR, PATH, Case
from live.limits.stage import NEAR6, SLOW

_HTB: Final = "here: qdisc add dev eth0 root handle 1: htb default 10"
_ARRIVING: Final = (  # what arrives is shaped by a class of an ifb
    (
        "there: ip link add ifb3 type ifb && ip link set ifb3 up && "
        "tc qdisc add dev eth0 handle ffff: ingress && "
        "tc filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 "
        "action mirred egress redirect dev ifb3 && "
        "tc qdisc add dev ifb3 root handle 1: htb default 20 && "
        "tc class add dev ifb3 parent 1: classid 1:1 htb rate 40mbit && "
        "tc class add dev ifb3 parent 1:1 classid 1:20 htb rate 9mbit"
    ),
)
_BRIDGED: Final = (  # the reader is behind a bridge, whose port to it is shaped
    (
        "there: ip link add port type veth peer name inner && ip link add br1 type bridge && "
        "ip addr flush dev eth0 && ip link set eth0 master br1 && ip link set port master br1 && "
        "ip link set port up && ip link set inner up && ip link set br1 up && "
        "ip addr add 10.94.0.2/24 dev inner && "
        "tc qdisc add dev port root tbf rate 17mbit burst 64k latency 50ms"
    ),
)
_VXLAN6: Final = tuple(
    f"{end}: ip link add over type vxlan id 4 dstport 4789 local fd94::{own} remote "
    f"fd94::{3 - own} && ip addr add fd98::{own}/64 dev over nodad && ip link set over up"
    for end, own in (("here", 1), ("there", 2))
)

FRESH: Final = (
    Case("ifb-class", PATH, "qdisc", run=_ARRIVING),
    Case("htb-filter", "qdisc", "peer", tc=(
        _HTB,
        "here: class add dev eth0 parent 1: classid 1:10 htb rate 300mbit",
        "here: class add dev eth0 parent 1: classid 1:20 htb rate 6mbit",
        ("here: filter add dev eth0 parent 1: protocol ip u32 match ip dport 7300 0xffff "
        "flowid 1:20"))),
    Case("tbf-peakrate", "qdisc", "peer", tc=(
        ("here: qdisc add dev eth0 root tbf rate 24mbit burst 500k latency 60ms peakrate 40mbit "
        "mtu 3000"),)),
    Case("rcvbuf-150000", "rwnd", "rcvbuf", to=SLOW, link="0.02", reader="rcvbuf=150000"),
    Case("sndbuf-200000", "sndbuf", "peer", to=SLOW, link="0.04", writer="sndbuf=200000"),
    Case("clamp-bbr", "rwnd", "rcvbuf", to=SLOW, link="0.01", writer="congestion=bbr",
         reader="set=6:10:100000"),
    Case("loss-1000-0.02", PATH, "peer", to=SLOW, link="0.02 lose=1000"),
    Case("loss-40-0.04", PATH, "peer", to=SLOW, link="0.04 lose=40"),
    Case("bbr-loss-police", PATH, "peer", to=SLOW, link="0.0025 lose=50 police=3000000",
         writer="congestion=bbr"),
    Case("chain-bbr", PATH, "peer", to=FAR, writer="congestion=bbr", tc=(
        "middle: qdisc add dev right root tbf rate 15mbit burst 32k limit 80000",)),
    Case("chain-htb", PATH, "peer", to=FAR, tc=(
        "middle: qdisc add dev right root handle 1: htb default 10",
        "middle: class add dev right parent 1: classid 1:10 htb rate 22mbit")),
    Case("bridged-reader-tbf", PATH, "peer", run=_BRIDGED),
    Case("vxlan6-htb", "qdisc", "peer", to="fd98::2", run=_VXLAN6, tc=(
        _HTB, "here: class add dev eth0 parent 1: classid 1:10 htb rate 21mbit")),
    # the rate once the first limit is lifted
    Case("next-htb6-ceil", "qdisc", "peer", to=NEAR6, tc=(
        _HTB,
        "here: class add dev eth0 parent 1: classid 1:1 htb rate 33mbit",
        "here: class add dev eth0 parent 1:1 classid 1:10 htb rate 4mbit ceil 9mbit"),
        lift="here: class change dev eth0 parent 1:1 classid 1:10 htb rate 4mbit ceil 500mbit"),
    Case("next-pace6-tbf", "pacing", "peer", to=NEAR6, writer="pace=4000000", lift="writer", tc=(
        "here: qdisc add dev eth0 root tbf rate 90mbit burst 64k latency 50ms",)),
)  # fmt: skip
