"""Staged limits of queues and shapers: tbf, classes, ifb, over and under other interfaces."""

from typing import Final

from live.limits.case import FAR, PATH, Case
from live.limits.commands import (
    HTB,
    LOWAT,
    MAXSEG,
    MPTCP,
    OPEN,
    arriving,
    beside,
    htb,
    macvlan,
    priority,
    tbf,
    vxlan,
)
from live.limits.stage import LOCAL, NEAR6, SLOW

_BACK: Final = "there: qdisc add dev eth0 root tbf rate 200kbit burst 4k latency 200ms"
_BRIDGE: Final = tuple(
    f"{end}: ip link add over type bridge && ip addr flush dev eth0 && "
    "ip link set eth0 master over && "
    f"ip addr add 10.94.0.{own}/24 dev over && ip link set over up"
    for end, own in (("here", 1), ("there", 2))
)  # fmt: skip
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
SUBFLOWS: Final = (  # a second address, so a second subflow
    *(f"{end}: ip mptcp limits set subflow 2 add_addr_accepted 2" for end in ("here", "there")),
    "here: ip addr add 10.94.0.11/24 dev eth0 && ip mptcp endpoint add 10.94.0.11 dev eth0 subflow",
)

QUEUES: Final = (
    *(Case(f"tbf-{rate}", "qdisc", tc=tbf(rate), lift=OPEN)
      for rate in ("5mbit", "20mbit", "100mbit", "400mbit")),
    Case("tbf-50mbit", "qdisc", "peer", tc=tbf("50mbit"), lift=OPEN),
    Case("tbf-deep", "qdisc", tc=tbf("20mbit", more="burst 32k latency 2s"), lift=OPEN),
    Case("tbf-shallow", "qdisc " + PATH, tc=tbf("50mbit", more="burst 32k limit 20000"),
         lift=OPEN),
    Case("tbf-slow-link", "qdisc", to=SLOW, link="0.01", tc=tbf("10mbit", "tun0")),
    Case("tbf-peakrate", "qdisc", "peer", tc=tbf(
        "24mbit", more="burst 500k latency 60ms peakrate 40mbit mtu 3000")),
    *(Case(f"htb-{rate}", "qdisc", tc=htb(rate), lift=OPEN)
      for rate in ("10mbit", "50mbit", "200mbit")),
    Case("htb-leaf", "qdisc", lift=OPEN, tc=htb(
        "30mbit", "here: qdisc add dev eth0 parent 1:10 pfifo limit 50")),
    Case("htb-borrows", "qdisc", lift=OPEN, tc=(
        HTB,
        "here: class add dev eth0 parent 1: classid 1:1 htb rate 60mbit",
        "here: class add dev eth0 parent 1:1 classid 1:10 htb rate 10mbit ceil 60mbit",
        "here: class add dev eth0 parent 1:1 classid 1:20 htb rate 50mbit ceil 60mbit")),
    Case("htb-filter", "qdisc", "peer", tc=(
        *htb("300mbit", "here: class add dev eth0 parent 1: classid 1:20 htb rate 6mbit"),
        ("here: filter add dev eth0 parent 1: protocol ip u32 match ip dport 7300 0xffff "
         "flowid 1:20"))),
    Case("priority-htb", "qdisc", "peer", writer=priority(0x20), tc=htb(
        "5mbit", "here: class add dev eth0 parent 1: classid 1:20 htb rate 30mbit")),
    Case("borrow-both", "qdisc", "peer", writer=priority(0x20), reader="flows=2",
         more=beside(priority(0x10)), tc=(
             HTB, "here: class add dev eth0 parent 1: classid 1:1 htb rate 40mbit",
             *(f"here: class add dev eth0 parent 1:1 classid 1:{own} htb rate 10mbit ceil 40mbit"
               for own in (10, 20)))),
    Case("ifb-class", PATH, "qdisc", run=arriving(
        "ifb3", "qdisc add dev ifb3 root handle 1: htb default 20",
        "class add dev ifb3 parent 1: classid 1:1 htb rate 40mbit",
        "class add dev ifb3 parent 1:1 classid 1:20 htb rate 9mbit")),
    Case("ifb-arriving", receives="qdisc", run=arriving(
        "ifb7", "qdisc add dev ifb7 root tbf rate 30mbit burst 64k latency 50ms")),
    # many flows
    Case("six-tbf", "qdisc", tc=tbf("60mbit"), writers=6),
    Case("six-htb", "qdisc", "peer", writers=6, tc=htb("45mbit")),
    Case("twenty-tbf", "qdisc", tc=tbf("100mbit"), writer="flows=20", reader="flows=20"),
    Case("idle-tbf", "qdisc", "peer", writer="idle=60", reader="flows=61", tc=tbf("40mbit")),
    Case("slow-beside-tbf", "qdisc", "peer", writer="flows=8", reader="flows=9",
         more=beside("pace=125000"), tc=tbf("80mbit")),
    # options and other protocols
    Case("ipv6-tbf", "qdisc", "peer", to=NEAR6, tc=tbf("50mbit")),
    Case("ipv6-htb", "qdisc", "peer", to=NEAR6, tc=htb("7mbit")),
    Case("lowat-tbf", "qdisc", tc=tbf("50mbit"), writer=f"set={LOWAT}:16384"),
    Case("bbr-tbf", "qdisc", tc=tbf("50mbit"), writer="congestion=bbr"),
    Case("maxseg-tbf", "qdisc", tc=tbf("20mbit"), writer=f"set={MAXSEG}:300"),
    Case("small-mtu", "qdisc", tc=tbf("20mbit"), run=tuple(
        f"{end}: ip link set eth0 mtu 576" for end in ("here", "there"))),
    Case("tls-tbf", "qdisc", "peer", writer="how=tls", reader="how=tls", tc=tbf("30mbit")),
    Case("sendfile-tbf", "qdisc", "peer", writer="how=sendfile", tc=tbf("15mbit")),
    Case("mptcp-tbf", "qdisc", tc=tbf("50mbit"), writer=MPTCP, reader=MPTCP),
    Case("mptcp-two-tbf", "qdisc", "peer", run=SUBFLOWS, writer=MPTCP, reader=MPTCP,
         tc=tbf("30mbit")),
    # interfaces over interfaces
    Case("vxlan-tbf", "qdisc", to="10.98.0.2", run=vxlan(7), tc=tbf("50mbit")),
    Case("vxlan-tbf-over", "qdisc", to="10.98.0.2", run=vxlan(7), tc=tbf("50mbit", "over")),
    Case("vxlan6-htb", "qdisc", "peer", to="fd98::2", run=_VXLAN6, tc=htb("21mbit")),
    Case("bridge-tbf", "qdisc", run=_BRIDGE, tc=tbf("50mbit")),
    Case("bridged-reader-tbf", PATH, "peer", run=_BRIDGED),
    Case("macvlan-tbf", "qdisc", to="10.99.0.2", run=macvlan("10.99.0"), tc=tbf("50mbit")),
    Case("loopback-tbf", "qdisc", to=LOCAL,  # a packet has up to 64 KiB
         tc=tbf("50mbit", "lo", "burst 256k latency 50ms")),
    # two queues, and the queue of the acknowledgements
    Case("chain-tbf-here", "qdisc", to=FAR, tc=(
        *tbf("20mbit", "left"),
        "middle: qdisc add dev right root tbf rate 60mbit burst 64k latency 50ms")),
    Case("close-two-tbf", "path cwnd qdisc", "peer", to=FAR, tc=(
        *tbf("20mbit", "left", "burst 32k latency 50ms"),
        "middle: qdisc add dev right root tbf rate 19mbit burst 32k limit 60000")),
    Case("acks-tbf", "path cwnd peer rwnd", tc=(_BACK,)),
)  # fmt: skip
