"""The words for a limit, the same in every command and pane."""

from __future__ import annotations

from typing import Final

from ...terms import units
from . import Interval, Limit, Reading

LONG: Final = {
    "application": "the application",
    "thread": "CPU time of thread",
    "sndbuf": "the send buffer",
    "pacing": "the pacing limit",
    "cwnd": "the congestion window",
    "rwnd": "the peer's receive window",
    "qdisc": "the qdisc",
    "tx-ring": "the transmit ring",
    "pause": "pause frames",
    "core": "the interrupt core",
    "backlog": "the backlog",
    "ring": "the receive ring",
    "port": "the port",
    "slot": "the PCI Express slot",
    "wire": "the link",
    "provider": "the provider's allowance",
    "rcvbuf": "the receive buffer",
    "path": "the path",
    "peer": "the peer",
    "unknown": "nothing visible at this end",
}
_NAMED: Final = frozenset(("thread", "application", "core"))  # a name says more than the stage


def stage(one: Reading) -> str:
    """A stage in words: `the qdisc`, `CPU time of thread iperf3[4376]`."""
    if one.stage == "core":
        return one.name.partition(",")[0]
    words = LONG[one.stage]
    return f"{words} {one.name}" if one.stage in _NAMED and "[" in one.name else words


def limited(limit: Limit) -> str:
    """`limited by the qdisc or the congestion window`."""
    others = " or ".join(LONG[name] for name in limit.joint)
    return f"limited by {stage(limit.stage)}" + (f" or {others}" if others else "")


def line(limit: Limit) -> str:
    """`9.41 Gb/s, limited by the link (9.3–9.4 Gb/s); next: the slot, 25–31 Gb/s`."""
    rate = "drops datagrams" if limit.rate is None else units.scaled(limit.rate, "b/s")
    text = f"{rate}, {limited(limit)}"
    if limit.stage.capacity is not None:
        text += f" ({interval(limit.stage.capacity)})"
    if limit.next is not None:
        text += f"; next: {stage(limit.next)}, {interval(limit.next.capacity)}"
    return text


def interval(capacity: Interval | None) -> str:
    """`27–31 Gb/s`; the unit once where both ends have it."""
    if capacity is None:
        return units.UNKNOWN
    least, most = (units.scaled(value, "b/s") for value in capacity)
    if least == most:
        return least
    number, _, unit = least.partition(" ")
    return f"{number if most.endswith(f' {unit}') else least}–{most}"
