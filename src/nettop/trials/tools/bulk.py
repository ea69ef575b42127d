"""bulk: TCP from memory to memory, N streams, one or both directions; needs only Python.

Like CERN's gen and sink, it sends fixed-size records; the rate comes from the receiver and from the
interface counters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from statistics import median
from typing import Any, Final

from ..result import Interval, Measured
from ..run import Trial
from ._addresses import ends

TOOL: Final = "bulk"
PACKAGE: Final = ""
HELP: Final = "TCP throughput, memory to memory, several streams"


def measure(trial: Trial) -> Measured:
    """A listening end there, a connecting one here; each pours or swallows as asked."""
    o = trial.options
    there = trial.far()
    streams = o.streams * (2 if o.bidirectional else 1)  # N each way, as CERN counts
    pours = o.streams if o.bidirectional else 0 if o.reverse else streams
    common = {
        "streams": streams, "seconds": trial.length, "length": o.length, "window": o.window,
        "mss": o.mss, "congestion": o.congestion, "rate": o.rate, "v6": ":" in o.to,
        **ends(trial),
    }  # fmt: skip
    with ExitStack() as stack:
        far = stack.enter_context(
            there.start("bulk", {**common, "port": o.port, "cpus": list(o.cpu_there)})
        )
        port = far.wait_for("port")
        near = stack.enter_context(
            trial.here.start(
                "bulk",
                {
                    **common,
                    "to": common["at"],
                    "port": port,
                    "pours": pours,
                    "cpus": list(o.cpu_here),
                },
            )
        )
        mine = list(trial.follow(near, trial.length + 30))
        theirs = list(trial.follow(far, 30))
    return fold(mine, theirs, o.warmup)


def fold(
    mine: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]], warmup: float
) -> Measured:
    """Both ends' messages as one measurement: the receivers' bytes, the senders' retransmits."""
    received = [_intervals(mine), _intervals(theirs)]
    both = [each for each in received if any(i.bits_per_second for i in each)]
    intervals = tuple(
        Interval(
            each[0].start,
            each[0].seconds,
            sum(i.bits_per_second for i in each),
            _retransmits(mine, number) + _retransmits(theirs, number),
        )
        for number, each in enumerate(zip(*both, strict=False))
    )
    steady = tuple(i for i in intervals if i.start >= warmup - 0.1 and i.seconds > 0.5)
    steady = steady or intervals
    seconds = sum(i.seconds for i in steady)
    ends = [m for m in (*mine, *theirs) if "total" in m]
    states = [s for m in (*mine, *theirs) for s in m.get("states", ()) if s]
    return Measured(
        bits_per_second=(
            sum(i.bits_per_second * i.seconds for i in steady) / seconds if seconds else 0.0
        ),
        intervals=steady,
        bytes=sum(int(end["total"]) for end in ends),
        lasted=max((float(end["lasted"]) for end in ends), default=None),
        sent_bits_per_second=_sent(ends),
        retransmits=sum(int(m.get("retransmits", 0)) for m in (*mine, *theirs)),
        details=_state(states),
    )


def _state(states: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """What the senders' sockets told: round trips in µs, window and segment size."""
    if not states:
        return {}
    trips = [state["rtt"] for state in states]
    return {
        "rtt_us": median(trips),
        "min_rtt_us": min(state.get("min_rtt", state["rtt"]) for state in states),
        "cwnd": max(state["cwnd"] for state in states),
        "mss": max(state["mss"] for state in states),
    }


def _sent(ends: Sequence[Mapping[str, Any]]) -> float | None:
    lasted = [float(end["lasted"]) for end in ends if end.get("poured")]
    poured = sum(int(end["poured"]) for end in ends)
    return 8 * poured / max(lasted) if lasted and max(lasted) > 0 else None


def _intervals(messages: Sequence[Mapping[str, Any]]) -> list[Interval]:
    return [
        Interval(float(m["start"]), float(m["seconds"]), 8 * m["received"] / m["seconds"])
        for m in messages
        if "received" in m and m["seconds"] > 0
    ]


def _retransmits(messages: Sequence[Mapping[str, Any]], number: int) -> int:
    seconds = [m for m in messages if "received" in m]
    return int(seconds[number].get("retransmits", 0)) if number < len(seconds) else 0
