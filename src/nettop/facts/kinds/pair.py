"""A TCP flow with the settings of both of its hosts: only `--peer` makes these facts.

Each host has the facts from its own side, so that a rule reports where its fix belongs: `pair.here`
is the host of the finding, `pair.there` the other one.
"""

from __future__ import annotations

from operator import attrgetter

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind


@dataclass(frozen=True, slots=True)
class PairEnd:
    """One end of a flow: its interface, its socket and the settings of its host."""

    host: str = gauge("host", default="")
    nic: str | None = maybe("interface")
    mtu: int | None = maybe("MTU", "bytes")
    speed: float | None = maybe("link speed", "bit/s")
    duplex: str | None = maybe("full or half")
    tso: bool | None = maybe("TCP segmentation offload")
    gro: bool | None = maybe("generic receive offload")
    pause_sent: float | None = maybe("pause frames sent", "frames/s")
    pause_received: float | None = maybe("pause frames received", "frames/s")
    congestion: str | None = maybe("congestion control")
    pmtu: int | None = maybe("path MTU", "bytes")
    rcvbuf: int | None = maybe("receive buffer", "bytes")
    rcvbuf_fixed: bool | None = maybe("receive buffer set by the application (SO_RCVBUF)")
    rcvbuf_max: int | None = maybe("largest receive buffer (tcp_rmem)", "bytes")
    unread: int | None = maybe("unread bytes", "bytes")
    window: int | None = maybe("window that the other end offers", "bytes")
    rwnd_limited: float | None = maybe(
        "share of busy time limited by the other end's window", "ratio"
    )
    rtt: float | None = maybe("minimum round-trip time", "s")
    lost: float | None = maybe("retransmitted segments", "segments/s")
    timestamps: bool | None = maybe("TCP timestamps enabled (tcp_timestamps)")
    sack: bool | None = maybe("SACK enabled (tcp_sack)")
    wscale: bool | None = maybe("window scaling enabled (tcp_window_scaling)")
    ecn: int | None = maybe("ECN: 0 off, 1 asks, 2 accepts (tcp_ecn)")


@dataclass(frozen=True, slots=True)
class Pair:
    """One flow between two hosts, seen from one of them."""

    id: str = label("LOCAL>REMOTE with ports")
    nic: str | None = maybe("interface")
    sends: bool | None = maybe("this host sends most of the data")
    rate: float | None = maybe("rate", "bit/s")
    direct: bool | None = maybe("both hosts are in one network, without a router")
    timestamps: bool | None = maybe("TCP timestamps in use")
    sack: bool | None = maybe("SACK in use")
    wscale: bool | None = maybe("window scaling in use")
    ecn: bool | None = maybe("ECN in use")
    ahead: float | None = maybe(
        "clock of the other end is ahead by at least this; below 0: behind", "s"
    )
    here: PairEnd = gauge("this end", default=PairEnd())
    there: PairEnd = gauge("other end", default=PairEnd())


def build(frame: Frame, facts: Facts) -> tuple[Pair, ...]:  # noqa: ARG001
    """None: one host alone knows no pair; `facts.pair.model` makes them of two hosts."""
    return ()


KIND = Kind(
    Pair, "pairs", build=build, parents={"nic": attrgetter("nic")},
    example={"id": "10.0.0.1:5001>10.0.0.2:40001", "nic": "eth0"}, tables={"": "sockets_tcp"},
)  # fmt: skip
