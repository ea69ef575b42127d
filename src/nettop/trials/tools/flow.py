"""flow: observe existing TCP connections of the user through tcp_info; starts no process.

Each second it samples the connections to `--to`: rate, round trip, window, retransmits, and what
limited the busiest one, as web100 did. Only the kernel of the sender knows the limit, so run it on
the sending host.
"""

import time
from collections.abc import Sequence
from typing import Final, TypedDict

from ...collect.sockets_tcp import Row as TcpRow
from ...frame.rates import Entry
from ...host.source import Live
from ...sampling.sampler import Sampler
from ..result import Interval, Measured, mean_rate
from ..run import Trial, TrialError

TOOL: Final = "flow"
PACKAGE: Final = ""
LIMITS: Final = {
    "idle": "the program", "peer_window": "the peer's window", "send_buffer": "the send buffer",
    "path": "the path",
}  # fmt: skip
HELP: Final = "observe an existing TCP connection through tcp_info"
TAKES: Final = ""


class Second(TypedDict):
    """The connections in one second: sums, and the state of the busiest one."""

    connections: int
    bits: float  # bit/s in both directions
    sent_bits: float
    retransmits: float  # segments per second
    rtt_us: float | None
    cwnd: int | None  # segments
    mss: int | None
    congestion: str | None
    app_limited: bool | None


class Waits(TypedDict, total=False):
    """Percent of the second by limit of the sender, and the largest one in words."""

    idle_percent: float
    peer_window_percent: float
    send_buffer_percent: float
    path_percent: float
    limited_by: str


class Row(Second, Waits):
    """One second, with its exact duration."""

    seconds: float


def measure(trial: Trial) -> Measured:
    """Sample the TCP sockets each second; TrialError if they cannot be read."""
    sampler = Sampler(Live())
    trial.begun = time.monotonic()
    rows: list[Row] = []
    frame = sampler.take(("sockets_tcp",))
    if "sockets_tcp" in frame.missing:
        raise TrialError(f"TCP sockets cannot be read: {frame.missing['sockets_tcp']}")
    due = trial.begun
    while time.monotonic() < trial.begun + trial.options.seconds:
        due += 1.0
        while (left := due - time.monotonic()) > 0:
            trial.pump()
            time.sleep(min(left, 0.1))
        before = frame.at
        frame = sampler.take(("sockets_tcp",))
        rows += second(frame.tables.get("sockets_tcp", ()), trial.options.to, frame.at - before)
    return summarize(rows, trial.options.to)


def second(entries: Sequence[Entry[TcpRow]], to: str, seconds: float) -> list[Row]:
    """The row of the connections to `to` in this interval; empty without connections."""
    own = [e for e in entries if e.now.remote == to and e.per_s is not None]
    if not own:
        return []
    top = max(own, key=_bytes)
    row: Row = {
        "seconds": seconds,
        "connections": len(own),
        "bits": 8 * sum(_bytes(e) for e in own),
        "sent_bits": 8 * sum(e.per_s.bytes_acked or 0 for e in own if e.per_s),
        "retransmits": round(sum(e.per_s.total_retrans or 0 for e in own if e.per_s), 1),
        "rtt_us": top.now.rtt,
        "cwnd": top.now.cwnd,
        "mss": top.now.mss,
        "congestion": top.now.congestion,
        "app_limited": top.now.app_limited,
        **waits(top),
    }
    return [row]


def waits(entry: Entry[TcpRow]) -> Waits:
    """The limits of a sender by the chronographs of tcp_info.

    Empty for a connection that mostly receives, and before Linux 4.9.
    """
    rates = entry.per_s
    if rates is None or rates.busy_time is None:
        return {}
    if (rates.bytes_received or 0) > (rates.bytes_acked or 0):
        return {}
    busy = min(1e6, rates.busy_time)
    window, buffer = min(busy, rates.rwnd_limited or 0), min(busy, rates.sndbuf_limited or 0)
    shares = {
        "idle": 1e6 - busy,
        "peer_window": window,
        "send_buffer": buffer,
        "path": max(0.0, busy - window - buffer),
    }
    top = max(shares, key=lambda name: shares[name])
    if top == "path" and entry.now.app_limited:
        top = "idle"  # all data of the program is in flight
    return {
        "idle_percent": shares["idle"] / 1e4,
        "peer_window_percent": window / 1e4,
        "send_buffer_percent": buffer / 1e4,
        "path_percent": shares["path"] / 1e4,
        "limited_by": LIMITS[top],
    }


def _bytes(entry: Entry[TcpRow]) -> float:
    rates = entry.per_s
    return float((rates.bytes_acked or 0) + (rates.bytes_received or 0)) if rates else 0.0


def summarize(rows: Sequence[Row], to: str) -> Measured:
    """The seconds as one result; TrialError if there was no connection."""
    if not rows:
        raise TrialError(f"no TCP connection to {to} was seen")
    start = 0.0
    intervals = []
    for row in rows:
        retransmits = round(row["retransmits"] * row["seconds"])
        intervals.append(Interval(start, row["seconds"], row["bits"], retransmits))
        start += row["seconds"]
    return Measured(
        bits_per_second=mean_rate(intervals),
        intervals=tuple(intervals),
        retransmits=sum(i.retransmits or 0 for i in intervals),
        details={
            "points": list(rows),
            "connections": max(r["connections"] for r in rows),
            "rtt_us": rows[-1]["rtt_us"],
            "cwnd": rows[-1]["cwnd"],
        },
    )
