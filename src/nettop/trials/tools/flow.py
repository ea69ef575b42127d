"""flow: observe existing TCP connections of the user through tcp_info; starts no process.

Each second it samples the connections to `--to`: rate, round trip, window, retransmits, and what
the busiest one waited for, as web100 did. Only the sender's kernel knows what a connection waits
for, so run it on the sending host.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from ...collect.sockets_tcp import Row
from ...frame.rates import Entry
from ...host.source import Live
from ...sampling.sampler import Sampler
from ..result import Interval, Measured
from ..run import Trial, TrialError

TOOL: Final = "flow"
PACKAGE: Final = ""
LIMITS: Final = {
    "idle": "the program", "peer_window": "the peer's window", "send_buffer": "the send buffer",
    "path": "the path",
}  # fmt: skip
HELP: Final = "observe an existing TCP connection through tcp_info"


def measure(trial: Trial) -> Measured:
    """Sample the TCP sockets for the time asked for."""
    sampler = Sampler(Live())
    trial.begun = time.monotonic()
    rows: list[dict[str, Any]] = []
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
        found = second(frame.tables.get("sockets_tcp", ()), trial.options.to)
        if found:
            rows.append({"seconds": frame.at - before, **found})
    return fold(rows, trial.options.to)


def second(entries: Sequence[Entry[Row]], to: str) -> dict[str, Any]:
    """All connections to `to` in one second: rates added up, the busiest one's state."""
    mine = [e for e in entries if e.now.remote == to and e.per_s is not None]
    if not mine:
        return {}
    top = max(mine, key=_bytes)
    return {
        "connections": len(mine),
        "bits": 8 * sum(_bytes(e) for e in mine),
        "sent_bits": 8 * sum(e.per_s.bytes_acked or 0 for e in mine if e.per_s),
        "retransmits": round(sum(e.per_s.total_retrans or 0 for e in mine if e.per_s), 1),
        "rtt_us": top.now.rtt,
        "cwnd": top.now.cwnd,
        "mss": top.now.mss,
        "congestion": top.now.congestion,
        "app_limited": top.now.app_limited,
        **waited(top),
    }


def waited(entry: Entry[Row]) -> dict[str, Any]:
    """Percent of the second by what a sender waited for (tcp_info's chronographs), and in a word.

    Nothing for a connection that mostly receives, or on a kernel before 4.9.
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
    found: dict[str, Any] = {f"{name}_percent": us / 1e4 for name, us in shares.items()}
    if top == "path" and entry.now.app_limited:
        top = "idle"  # all data of the program is in flight
    found["limited_by"] = LIMITS[top]
    return found


def _bytes(entry: Entry[Row]) -> float:
    rates = entry.per_s
    return float((rates.bytes_acked or 0) + (rates.bytes_received or 0)) if rates else 0.0


def fold(rows: Sequence[dict[str, Any]], to: str) -> Measured:
    """The seconds as one measurement; TrialError when there was no connection."""
    if not rows:
        raise TrialError(f"no TCP connection to {to} was seen")
    start = 0.0
    intervals = []
    for found in rows:
        sent_again = round(found["retransmits"] * found["seconds"])
        intervals.append(Interval(start, found["seconds"], found["bits"], sent_again))
        start += found["seconds"]
    return Measured(
        bits_per_second=sum(i.bits_per_second * i.seconds for i in intervals) / start,
        intervals=tuple(intervals),
        retransmits=sum(i.retransmits or 0 for i in intervals),
        details={
            "points": list(rows),
            "connections": max(r["connections"] for r in rows),
            "rtt_us": rows[-1]["rtt_us"],
            "cwnd": rows[-1]["cwnd"],
        },
    )
