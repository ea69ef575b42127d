"""A TCP flow with the settings of both of its hosts: only `--peer` makes these facts.

Each host has the facts from its own side, so that a rule reports where its fix belongs: `pair.here`
is the host of the finding, `pair.there` the other one.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..kind import Kind

if TYPE_CHECKING:
    from .. import Facts


@dataclass(frozen=True, slots=True)
class PairEnd:
    """One end of a flow: its interface, its socket and the settings of its host."""

    host: str = gauge("host", default="")
    nic: str | None = gauge("interface", default=None)
    mtu: int | None = gauge("MTU", "bytes", default=None)
    speed: float | None = gauge("link speed", "bit/s", default=None)
    duplex: str | None = gauge("full or half", default=None)
    tso: bool | None = gauge("TCP segmentation offload", default=None)
    gro: bool | None = gauge("generic receive offload", default=None)
    pause_sent: float | None = gauge("pause frames sent", "frames/s", default=None)
    pause_received: float | None = gauge("pause frames received", "frames/s", default=None)
    congestion: str | None = gauge("congestion control", default=None)
    pmtu: int | None = gauge("path MTU", "bytes", default=None)
    rcvbuf: int | None = gauge("receive buffer", "bytes", default=None)
    rcvbuf_fixed: bool | None = gauge(
        "receive buffer set by the application (SO_RCVBUF)", default=None
    )
    rcvbuf_max: int | None = gauge("largest receive buffer (tcp_rmem)", "bytes", default=None)
    unread: int | None = gauge("unread bytes", "bytes", default=None)
    window: int | None = gauge("window that the other end offers", "bytes", default=None)
    rwnd_limited: float | None = gauge(
        "share of busy time limited by the other end's window", "ratio", default=None
    )
    rtt: float | None = gauge("minimum round-trip time", "s", default=None)
    lost: float | None = gauge("retransmitted segments", "segments/s", default=None)
    timestamps: bool | None = gauge("TCP timestamps enabled (tcp_timestamps)", default=None)
    sack: bool | None = gauge("SACK enabled (tcp_sack)", default=None)
    wscale: bool | None = gauge("window scaling enabled (tcp_window_scaling)", default=None)
    ecn: int | None = gauge("ECN: 0 off, 1 asks, 2 accepts (tcp_ecn)", default=None)


@dataclass(frozen=True, slots=True)
class Pair:
    """One flow between two hosts, seen from one of them."""

    id: str = label("LOCAL>REMOTE with ports")
    nic: str | None = gauge("interface", default=None)
    sends: bool | None = gauge("this host sends most of the data", default=None)
    rate: float | None = gauge("rate", "bit/s", default=None)
    direct: bool | None = gauge("both hosts are in one network, without a router", default=None)
    timestamps: bool | None = gauge("TCP timestamps in use", default=None)
    sack: bool | None = gauge("SACK in use", default=None)
    wscale: bool | None = gauge("window scaling in use", default=None)
    ecn: bool | None = gauge("ECN in use", default=None)
    ahead: float | None = gauge(
        "clock of the other end is ahead by at least this; below 0: behind", "s", default=None
    )
    here: PairEnd = gauge("this end", default=PairEnd())
    there: PairEnd = gauge("other end", default=PairEnd())


def build(frame: Frame, facts: Facts) -> tuple[Pair, ...]:  # noqa: ARG001
    """None: one host alone knows no pair; `facts.pair.ends` makes them of two hosts."""
    return ()


KIND = Kind(
    Pair, "pairs", build=build, parents={"nic": attrgetter("nic")},
    example={"id": "10.0.0.1:5001>10.0.0.2:40001", "nic": "eth0"}, tables={"": "sockets_tcp"},
)  # fmt: skip
