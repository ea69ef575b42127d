"""A TCP (or UDP) flow: where it goes, what limits it, which queue, IRQ and core it lands on."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from ...frame.fields import gauge, label, light
from ..kind import Kind


@light
@dataclass(frozen=True, slots=True)
class Flow:
    """One flow. Fields of tcp_info are None for UDP and on kernels that lack them."""

    id: str = label("protocol local:port-remote:port")
    protocol: str = gauge("tcp or udp")
    local: str = gauge("local address", default="")
    local_port: int = gauge("local port", default=0)
    remote: str = gauge("remote address", default="")
    remote_port: int = gauge("remote port", default=0)
    inode: int = gauge("socket inode", default=0)
    pid: int | None = gauge("process", default=None)
    process: str | None = gauge("process name", default=None)
    nic: str | None = gauge("interface it uses (route)", default=None)
    rx_per_s: float | None = gauge("bytes received", "bytes/s", default=None)
    tx_per_s: float | None = gauge("bytes acknowledged by the peer", "bytes/s", default=None)
    rtt: float | None = gauge("smoothed round trip", "s", default=None)
    min_rtt: float | None = gauge("least round trip", "s", default=None)
    rtt_var: float | None = gauge("round trip variation", "s", default=None)
    cwnd: int | None = gauge("congestion window", "segments", default=None)
    ssthresh: int | None = gauge("slow-start threshold", "segments", default=None)
    mss: int | None = gauge("segment size", "bytes", default=None)
    delivery_rate: float | None = gauge("delivery rate", "bit/s", default=None)
    pacing_rate: float | None = gauge("pacing rate", "bit/s", default=None)
    retransmits_per_s: float | None = gauge("segments sent again", "segments/s", default=None)
    retransmit_ratio: float | None = gauge("sent again of all sent", "ratio", default=None)
    lost: int | None = gauge("segments thought lost", "segments", default=None)
    unacked: int | None = gauge("segments in flight", "segments", default=None)
    notsent: int | None = gauge("bytes waiting in the socket", "bytes", default=None)
    rwnd_limited: float | None = gauge(
        "of its busy time limited by the peer's window", "ratio", default=None
    )
    sndbuf_limited: float | None = gauge(
        "of its busy time limited by its send buffer", "ratio", default=None
    )
    busy: float | None = gauge("time with data in flight", "ratio", default=None)
    app_limited: bool | None = gauge("the sender has nothing to send", default=None)
    rcv_space: int | None = gauge("receive space", "bytes", default=None)
    rcvbuf: int | None = gauge("receive buffer", "bytes", default=None)
    sndbuf: int | None = gauge("send buffer", "bytes", default=None)
    rcvbuf_fixed: bool | None = gauge("the application set its receive buffer", default=None)
    recv_q: int | None = gauge("bytes the application has not read", "bytes", default=None)
    send_q: int | None = gauge("bytes not acknowledged", "bytes", default=None)
    drops_per_s: float | None = gauge("dropped at the socket", "packets/s", default=None)
    congestion: str | None = gauge("congestion control", default=None)
    timestamps: bool | None = gauge("TCP timestamps in use", default=None)
    sack: bool | None = gauge("SACK in use", default=None)
    wscale: bool | None = gauge("window scaling in use", default=None)
    bdp: float | None = gauge(
        "bandwidth-delay product: the larger of rate seen and link share, by RTT",
        "bytes",
        default=None,
    )
    window_cap: float | None = gauge(
        "rate the largest window allows at this RTT", "bit/s", default=None
    )
    direction: str | None = gauge("send or receive: where most bytes go", default=None)
    bulk: bool = gauge("moves more than 1 % of its link or 10 Mbit/s", default=False)
    queue: str | None = gauge("receive queue, e.g. rx-3", default=None)
    queue_why: str | None = gauge(
        "how the queue is known: computed from RSS, seen from counters, or why unknown",
        default=None,
    )
    irq_cpu: int | None = gauge("CPU that takes that queue's interrupts", default=None)
    app_cpu: int | None = gauge("CPU its process runs on", default=None)
    distance: str | None = gauge("between the two", default=None)
    far: bool | None = gauge("the two are on different nodes", default=None)
    limit: str | None = gauge(
        "who limits it: sender receiver network link cpu bus application provider none",
        default=None,
    )
    limit_why: str | None = gauge("the figures behind that", default=None)
    sndbuf_full: bool | None = gauge(
        "what is on the way (rate × round trip) fills its send buffer, not the congestion window",
        default=None,
    )
    loss_ratio: float | None = gauge(
        "lost of all sent: sent again, without what the peer says it had already",
        "ratio",
        default=None,
    )
    needless: float | None = gauge(
        "of all sent again, what the peer had already (DSACK)", "ratio", default=None
    )
    reorderings_per_s: float | None = gauge("segments seen out of order", "events/s", default=None)


KIND = Kind(
    name="flow", type=Flow, plural="flows", key=attrgetter("id"), target=attrgetter("id"),
    owner=attrgetter("process"),
    parents={
        "nic": attrgetter("nic"), "queue": attrgetter("nic", "queue"), "process": attrgetter("pid"),
    },
    names={"flow": "flow.id"},
    example={"id": "tcp 10.0.0.1:5201-10.0.0.2:40000", "protocol": "tcp", "nic": "eth0"},
    tables={"": "sockets_tcp"},
)  # fmt: skip
