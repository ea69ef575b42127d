"""A TCP or UDP flow: its ends, its limit, and the queue, interrupt and core that receive it."""

from __future__ import annotations

from operator import attrgetter

from ...frame.fields import gauge, label, light
from ...terms.dataclass import dataclass
from ..kind import Kind


@light
@dataclass(frozen=True, slots=True)
class Flow:
    """One flow. Fields of tcp_info are None for UDP and on kernels that lack them."""

    id: str = label("protocol local:port-remote:port, with @namespace of another one")
    protocol: str = gauge("tcp or udp")
    local: str = gauge("local address", default="")
    local_port: int = gauge("local port", default=0)
    remote: str = gauge("remote address", default="")
    remote_port: int = gauge("remote port", default=0)
    inode: int = gauge("socket inode", default=0)
    pid: int | None = gauge("process", default=None)
    process: str | None = gauge("process name", default=None)
    nic: str | None = gauge("interface (by route)", default=None)
    rx_per_s: float | None = gauge("bytes received", "bytes/s", default=None)
    tx_per_s: float | None = gauge("bytes acknowledged by the peer", "bytes/s", default=None)
    rtt: float | None = gauge("smoothed round-trip time", "s", default=None)
    min_rtt: float | None = gauge("minimum round-trip time", "s", default=None)
    rtt_var: float | None = gauge("round-trip time variation", "s", default=None)
    cwnd: int | None = gauge("congestion window", "segments", default=None)
    ssthresh: int | None = gauge("slow-start threshold", "segments", default=None)
    mss: int | None = gauge("segment size", "bytes", default=None)
    delivery_rate: float | None = gauge("delivery rate", "bit/s", default=None)
    pacing_rate: float | None = gauge("pacing rate", "bit/s", default=None)
    retransmits_per_s: float | None = gauge("retransmitted segments", "segments/s", default=None)
    retransmit_ratio: float | None = gauge("retransmit ratio", "ratio", default=None)
    lost: int | None = gauge("segments marked lost", "segments", default=None)
    unacked: int | None = gauge("segments in flight", "segments", default=None)
    notsent: int | None = gauge("unsent bytes in the socket", "bytes", default=None)
    rwnd_limited: float | None = gauge(
        "share of busy time limited by the peer's window", "ratio", default=None
    )
    sndbuf_limited: float | None = gauge(
        "share of busy time limited by the send buffer", "ratio", default=None
    )
    busy: float | None = gauge("busy time: data in flight", "ratio", default=None)
    app_limited: bool | None = gauge("application-limited", default=None)
    rcv_space: int | None = gauge("receive space", "bytes", default=None)
    rcvbuf: int | None = gauge("receive buffer", "bytes", default=None)
    sndbuf: int | None = gauge("send buffer", "bytes", default=None)
    rcvbuf_fixed: bool | None = gauge(
        "receive buffer set by the application (SO_RCVBUF)", default=None
    )
    recv_q: int | None = gauge("unread bytes", "bytes", default=None)
    send_q: int | None = gauge("unacknowledged bytes", "bytes", default=None)
    drops_per_s: float | None = gauge("packets dropped at the socket", "packets/s", default=None)
    congestion: str | None = gauge("congestion control", default=None)
    timestamps: bool | None = gauge("TCP timestamps in use", default=None)
    sack: bool | None = gauge("SACK in use", default=None)
    wscale: bool | None = gauge("window scaling in use", default=None)
    bdp: float | None = gauge(
        "bandwidth-delay product: the larger of measured rate and link share, times minimum RTT",
        "bytes",
        default=None,
    )
    window_cap: float | None = gauge(
        "rate limit by the maximum window at this RTT", "bit/s", default=None
    )
    direction: str | None = gauge("direction of most bytes: send or receive", default=None)
    bulk: bool = gauge("bulk flow: more than 1 % of its link or 10 Mbit/s", default=False)
    wants: bool = gauge(
        "wants to move data: bulk, data waits or is in flight most of the time", default=False
    )
    probes: int | None = gauge("unanswered window probes", "probes", default=None)
    backoff: int | None = gauge(
        "doublings of the retransmission timeout without an answer", "doublings", default=None
    )
    resent: int | None = gauge(
        "segments retransmitted since the connection began", "segments", default=None
    )
    acked: int | None = gauge(
        "bytes acknowledged since the connection began", "bytes", default=None
    )
    window: int | None = gauge("window that the peer offers", "bytes", default=None)
    offers: int | None = gauge(
        "largest window that this end offers now (rcv_ssthresh, window scale)",
        "bytes",
        default=None,
    )
    loss_total: float | None = gauge("loss ratio since the connection began", "ratio", default=None)
    queue: str | None = gauge("receive queue, e.g. rx-3", default=None)
    queue_why: str | None = gauge(
        "how the queue is known: computed from RSS, seen from counters, or why unknown",
        default=None,
    )
    irq_cpu: int | None = gauge("interrupt CPU of its receive queue", default=None)
    app_cpu: int | None = gauge("core on which its process runs", default=None)
    distance: str | None = gauge("distance between process and interrupt CPU", default=None)
    far: bool | None = gauge(
        "remote NUMA node: process and interrupt on different nodes", default=None
    )
    limit: str | None = gauge(
        "limit: application thread sndbuf pacing cwnd rwnd qdisc tx-ring pause core "
        "backlog ring port slot wire provider rcvbuf path peer unknown; none: wants no more",
        default=None,
    )
    limit_why: str | None = gauge("measurement behind the limit", default=None)
    sndbuf_full: bool | None = gauge(
        "send buffer full: data in flight (rate × RTT) fills it, not the congestion window",
        default=None,
    )
    loss_ratio: float | None = gauge(
        "loss ratio: retransmitted segments without spurious ones (DSACK), of all sent",
        "ratio",
        default=None,
    )
    needless: float | None = gauge(
        "spurious share of retransmissions (DSACK)", "ratio", default=None
    )
    reorderings_per_s: float | None = gauge("reordering events", "events/s", default=None)
    namespace: str | None = gauge("other network namespace; None: this one", default=None)
    out_of_order: float | None = gauge(
        "share of received segments that came out of order, behind a gap", "ratio", default=None
    )
    behind_gap: int | None = gauge(
        "memory of segments that wait behind a missing one, while no byte is unread",
        "bytes",
        default=None,
    )
    received: int | None = gauge(
        "bytes received in order since the connection began", "bytes", default=None
    )
    data_in: float | None = gauge("segments received with data", "segments/s", default=None)
    data_out: float | None = gauge("segments sent with data", "segments/s", default=None)
    acks_out: float | None = gauge("segments sent without data", "segments/s", default=None)
    rested: float | None = gauge(
        "time since data was last sent, at least; None: with thousands of sockets",
        "s",
        default=None,
    )
    in_flight: float | None = gauge(
        "time with data in flight since the connection began", "s", default=None
    )
    rcv_rtt: float | None = gauge(
        "smoothed round-trip time of the receiver: from its ACK to the data that follows",
        "s",
        default=None,
    )
    since_data: float | None = gauge(
        "time since data last came; None: with thousands of sockets", "s", default=None
    )
    pmtu: int | None = gauge("path MTU", "bytes", default=None)
    loss_bound: float | None = gauge(
        "rate that cubic or reno reaches at this loss and round trip (Mathis' formula)",
        "bit/s",
        default=None,
    )
    limit_doing: str | None = gauge("what the core or thread that limits does", default=None)
    limit_relief: str | None = gauge("what relieves it of that work", default=None)
    limit_how: str | None = gauge(
        "how the device that limits is used: throttled synced direct cached", default=None
    )


KIND = Kind(
    Flow, "flows", owner=attrgetter("process"),
    parents={"nic": attrgetter("nic"), "queue": attrgetter("nic", "queue"),
             "process": attrgetter("pid"), "program": attrgetter("pid")},
    example={"id": "tcp 10.0.0.1:5201-10.0.0.2:40000", "protocol": "tcp", "nic": "eth0"},
    tables={"": "sockets_tcp"},
)  # fmt: skip
