"""A TCP or UDP flow: its ends, its limit, and the queue, interrupt and core that receive it."""

from __future__ import annotations

from operator import attrgetter

from ...frame.fields import gauge, label, light, maybe
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
    pid: int | None = maybe("process")
    process: str | None = maybe("process name")
    nic: str | None = maybe("interface (by route)")
    rx_per_s: float | None = maybe("bytes received", "bytes/s")
    tx_per_s: float | None = maybe("bytes acknowledged by the peer", "bytes/s")
    rtt: float | None = maybe("smoothed round-trip time", "s")
    min_rtt: float | None = maybe("minimum round-trip time", "s")
    rtt_var: float | None = maybe("round-trip time variation", "s")
    cwnd: int | None = maybe("congestion window", "segments")
    ssthresh: int | None = maybe("slow-start threshold", "segments")
    mss: int | None = maybe("segment size", "bytes")
    delivery_rate: float | None = maybe("delivery rate", "bit/s")
    pacing_rate: float | None = maybe("pacing rate", "bit/s")
    retransmits_per_s: float | None = maybe("retransmitted segments", "segments/s")
    retransmit_ratio: float | None = maybe("retransmit ratio", "ratio")
    lost: int | None = maybe("segments marked lost", "segments")
    unacked: int | None = maybe("segments in flight", "segments")
    notsent: int | None = maybe("unsent bytes in the socket", "bytes")
    rwnd_limited: float | None = maybe("share of busy time limited by the peer's window", "ratio")
    sndbuf_limited: float | None = maybe("share of busy time limited by the send buffer", "ratio")
    busy: float | None = maybe("busy time: data in flight", "ratio")
    app_limited: bool | None = maybe("application-limited")
    rcv_space: int | None = maybe("receive space", "bytes")
    rcvbuf: int | None = maybe("receive buffer", "bytes")
    sndbuf: int | None = maybe("send buffer", "bytes")
    rcvbuf_fixed: bool | None = maybe("receive buffer set by the application (SO_RCVBUF)")
    recv_q: int | None = maybe("unread bytes", "bytes")
    send_q: int | None = maybe("unacknowledged bytes", "bytes")
    drops_per_s: float | None = maybe("packets dropped at the socket", "packets/s")
    congestion: str | None = maybe("congestion control")
    timestamps: bool | None = maybe("TCP timestamps in use")
    sack: bool | None = maybe("SACK in use")
    wscale: bool | None = maybe("window scaling in use")
    bdp: float | None = maybe(
        "bandwidth-delay product: the larger of measured rate and link share, times minimum RTT",
        "bytes",
    )
    window_cap: float | None = maybe("rate limit by the maximum window at this RTT", "bit/s")
    direction: str | None = maybe("direction of most bytes: send or receive")
    bulk: bool = gauge("bulk flow: more than 1 % of its link or 10 Mbit/s", default=False)
    wants: bool = gauge("active: bulk, data waits or is in flight most of the time", default=False)
    probes: int | None = maybe("unanswered window probes", "probes")
    backoff: int | None = maybe(
        "doublings of the retransmission timeout without an answer", "doublings"
    )
    resent: int | None = maybe("segments retransmitted since the connection began", "segments")
    acked: int | None = maybe("bytes acknowledged since the connection began", "bytes")
    window: int | None = maybe("window that the peer offers", "bytes")
    offers: int | None = maybe(
        "largest window that this end offers now (rcv_ssthresh, window scale)", "bytes"
    )
    loss_total: float | None = maybe("loss ratio since the connection began", "ratio")
    queue: str | None = maybe("receive queue, e.g. rx-3")
    queue_why: str | None = maybe(
        "how the queue is known: computed from RSS, seen from counters, or why unknown"
    )
    irq_cpu: int | None = maybe("interrupt CPU of its receive queue")
    app_cpu: int | None = maybe("core on which its process runs")
    distance: str | None = maybe("distance between process and interrupt CPU")
    far: bool | None = maybe("remote NUMA node: process and interrupt on different nodes")
    limit: str | None = maybe(
        "limit: application thread sndbuf pacing cwnd rwnd qdisc tx-ring pause core "
        "backlog ring port slot wire provider rcvbuf path peer unknown; none: it has no more"
    )
    limit_why: str | None = maybe("measurement of the limit")
    sndbuf_full: bool | None = maybe(
        "send buffer full: data in flight (rate × RTT) fills it, not the congestion window"
    )
    loss_ratio: float | None = maybe(
        "loss ratio: retransmitted segments without spurious ones (DSACK), of all sent", "ratio"
    )
    needless: float | None = maybe("spurious share of retransmissions (DSACK)", "ratio")
    reorderings_per_s: float | None = maybe("reordering events", "events/s")
    namespace: str | None = maybe("other network namespace; None: this one")
    out_of_order: float | None = maybe(
        "share of received segments that came out of order, behind a gap", "ratio"
    )
    behind_gap: int | None = maybe(
        "memory of segments that wait behind a missing one, while no byte is unread", "bytes"
    )
    received: int | None = maybe("bytes received in order since the connection began", "bytes")
    data_in: float | None = maybe("segments received with data", "segments/s")
    data_out: float | None = maybe("segments sent with data", "segments/s")
    acks_out: float | None = maybe("segments sent without data", "segments/s")
    rested: float | None = maybe(
        "time since data was last sent, at least; None: with thousands of sockets", "s"
    )
    in_flight: float | None = maybe("time with data in flight since the connection began", "s")
    rcv_rtt: float | None = maybe(
        "smoothed round-trip time of the receiver: from its ACK to the data that follows", "s"
    )
    since_data: float | None = maybe(
        "time since data last came; None: with thousands of sockets", "s"
    )
    pmtu: int | None = maybe("path MTU", "bytes")
    loss_bound: float | None = maybe(
        "rate that cubic or reno reaches at this loss and round trip (Mathis' formula)", "bit/s"
    )
    limit_doing: str | None = maybe("work of the core or thread that limits")
    limit_relief: str | None = maybe("how to reduce that work")
    limit_how: str | None = maybe(
        "detail of the limit: throttled synced direct cached files; the thread: "
        "throttled locked; a stop: traced; who is waited for in a request: late; small writes: "
        "corked delayed; a shaper: its kind"
    )


KIND = Kind(
    Flow, "flows", owner=attrgetter("process"),
    parents={"nic": attrgetter("nic"), "queue": attrgetter("nic", "queue"),
             "process": attrgetter("pid"), "program": attrgetter("pid")},
    example={"id": "tcp 10.0.0.1:5201-10.0.0.2:40000", "protocol": "tcp", "nic": "eth0"},
    tables={"": "sockets_tcp"},
)  # fmt: skip
