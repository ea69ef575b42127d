"""Staged hosts for `nettop why --to`: how each is made, and what the way must say.

`tests/netns/test_way.py` stages them and tries a connection; with `--update` it records the answers
of the host, which `tests/commands/test_why_to.py` judges again.
"""

from pathlib import Path
from typing import NamedTuple

import veth

RECORDINGS = Path(__file__).parents[1] / "netns/ways"
CLIENT, ROUTER = "10.94.0.2", "10.94.0.1"
PORT = 7000


def recording(name: str) -> Path:
    """The recording of a staged host."""
    return RECORDINGS / f"{name.replace(' ', '-').lower()}.host.gz"


class Case(NamedTuple):
    """How a host is staged (`#`: a command in the far namespace), and what the way must say."""

    staged: tuple[str, ...]
    says: str  # part of the headline; empty: nothing stops it
    to: str = veth.FAR
    port: int = PORT
    change: str = ""  # part of it


OUTPUT = {
    "nothing is wrong": Case((), ""),
    "a blackhole": Case(
        ("ip route add blackhole 10.93.0.2/32",), "route 10.93.0.2/32 is a blackhole",
        change="ip route del blackhole 10.93.0.2/32",
    ),
    "an unreachable network": Case(
        ("ip route add unreachable 10.2.0.0/24",), "route 10.2.0.0/24 is unreachable", "10.2.0.5"
    ),
    "a prohibited network": Case(
        ("ip route add prohibit 10.2.0.0/24",), "route 10.2.0.0/24 is prohibit", "10.2.0.5"
    ),
    "a rule that prohibits": Case(
        ("ip rule add to 10.93.0.2 prohibit priority 50",), "rule 50 from all to 10.93.0.2/32",
        change="ip rule del priority 50",
    ),
    "a rule with a port": Case(
        ("ip rule add ipproto tcp dport 7000 blackhole priority 50",), "is a blackhole"
    ),
    "another table": Case(
        ("ip rule add to 10.93.0.2 lookup 77 priority 60",
         "ip route add blackhole default table 77"),
        "route 0.0.0.0/0 of table 77 is a blackhole",
    ),
    "no route": Case((), "no route leads to 10.2.0.5", "10.2.0.5"),
    "the interface is down": Case(
        ("ip link set eth0 down",), "eth0, with 10.93.0.1/24, is down", change="ip link set eth0 up"
    ),
    "no carrier": Case(("# ip link set eth0 down",), "eth0 has no carrier"),
    "the gateway is not there": Case(
        ("ip route add 10.2.0.0/24 via 10.93.0.77", "ping -c 1 -W 4 10.2.0.5"),
        "no neighbour answers for 10.93.0.77", "10.2.0.5",
    ),
    "the other end without ARP": Case(
        ("# ip link set eth0 arp off", "ping -c 1 -W 4 10.93.0.2"),
        "no neighbour answers for 10.93.0.2 on eth0", change="must answer ARP",
    ),
    "no source address": Case(
        ("ip addr flush dev eth0", "ip route add 10.93.0.0/24 dev eth0"), "no IPv4 address"
    ),
    "lo is down": Case(("ip link set lo down",), "lo is down", veth.NEAR, 22),
    "nothing listens": Case((), "nothing listens at tcp port 9", veth.NEAR, 9),
    "a bridge port that is disabled": Case(
        (
            "ip link add br0 type bridge", "ip link set br0 up",
            "ip addr del 10.93.0.1/24 dev eth0",
            "ip link set eth0 master br0", "ip addr add 10.93.0.1/24 dev br0",
            "bridge link set dev eth0 state 0",
        ),
        "the port eth0 of the bridge br0 is disabled",
        change="bridge link set dev eth0 state 3",
    ),
    "an IPsec policy without a state": Case(
        ("ip xfrm policy add dst 10.93.0.2/32 dir out tmpl dst 10.93.0.2 proto esp",),
        "this host has no IPsec state",
    ),
    "a shaper whose burst is below a SYN": Case(
        ("tc qdisc add dev eth0 root tbf rate 1mbit burst 60 latency 10ms",),
        "qdisc tbf of eth0 drops frames above 60 bytes", change="burst of 1514 bytes or more",
    ),
    "a next hop behind an interface without carrier": Case(
        (
            "ip link add p0 type veth peer p1", "ip link set p0 up",
            "ip addr add 10.95.0.1/24 dev p0", "ip route add 10.2.0.0/24 via 10.95.0.2",
        ),
        "p0 has no carrier", "10.2.0.5", change="the other end of p0",
    ),
}  # fmt: skip
FORWARD = {
    "all is well": Case(("sysctl -qw net.ipv4.ip_forward=1",), ""),
    "forwarding is off": Case(
        ("sysctl -qw net.ipv4.ip_forward=0",), "does not forward ipv4",
        change="nettop set sysctl.net.ipv4.ip_forward 1",
    ),
    "a strict reverse path filter": Case(
        (
            "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=1",
            "ip addr flush dev eth1", "ip route add 10.94.0.2/32 dev eth0",
            "ip route add 10.94.0.0/30 dev eth1 metric 9",
        ),
        "the reverse path filter of eth1 drops packets from 10.94.0.2", change="rp_filter 2",
    ),
    "the way out is a blackhole": Case(
        ("sysctl -qw net.ipv4.ip_forward=1", "ip route add blackhole 10.93.0.2/32"),
        "route 10.93.0.2/32 is a blackhole",
    ),
}  # fmt: skip
