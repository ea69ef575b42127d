"""Commands that several limits share: shapers, interfaces over the pair, options of sockets."""

from collections.abc import Callable
from typing import Final

from live.limits.stage import Stage

OPEN: Final = "here: qdisc del dev eth0 root"  # what lifts a shaper
HTB: Final = "here: qdisc add dev eth0 root handle 1: htb default 10"
CLAMP, MAXSEG, LOWAT, CORK, NODELAY = "6:10", "6:2", "6:25", "6:3", "6:1"  # TCP_…, level and number
MPTCP: Final = "protocol=262"  # IPPROTO_MPTCP


def tbf(
    rate: str, device: str = "eth0", more: str = "burst 64k latency 50ms"
) -> tuple[str, ...]:  # fmt: skip
    """A shaper of the writer's host."""
    return (f"here: qdisc add dev {device} root tbf rate {rate} {more}",)


def htb(rate: str, *more: str) -> tuple[str, ...]:
    """A class for all that the writer's host sends."""
    return (HTB, f"here: class add dev eth0 parent 1: classid 1:10 htb rate {rate}", *more)


def over(make: str, network: str) -> tuple[str, ...]:
    """An interface at both ends over the pair, with addresses of a network of its own."""
    return tuple(
        f"{end}: ip link add over {make.format(own=own, other=3 - own)} && "
        f"ip addr add {network}.{own}/24 dev over && ip link set over up"
        for end, own in (("here", 1), ("there", 2))
    )


def vxlan(number: int) -> tuple[str, ...]:
    """A tunnel: 10.98.0.2 there."""
    ends = "local 10.94.0.{own} remote 10.94.0.{other}"
    return over(f"type vxlan id {number} dstport 4789 {ends}", "10.98.0")


def macvlan(network: str) -> tuple[str, ...]:
    """Addresses of that network over the pair."""
    return over("link eth0 type macvlan mode bridge", network)


def arriving(device: str, *shaper: str) -> tuple[str, ...]:
    """What arrives at the reader's host is shaped by an ifb."""
    return (
        " && ".join((
            f"there: ip link add {device} type ifb && ip link set {device} up",
            "tc qdisc add dev eth0 handle ffff: ingress",
            ("tc filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 "
             f"action mirred egress redirect dev {device}"),
            *(f"tc {words}" for words in shaper),
        )),
    )  # fmt: skip


def priority(number: int) -> str:
    """The option SO_PRIORITY, by which htb finds the class 1:NUMBER."""
    return f"set=1:12:{0x10000 + number}"


def beside(*options: str) -> Callable[[Stage], None]:
    """A second writer with other options."""

    def more(stage: Stage) -> None:
        stage.writer(*options)

    return more
