"""bulk: TCP from memory to memory, N streams, one or both directions; needs only Python.

Like CERN's gen and sink, it sends fixed-size records; the rate comes from the receiver and from the
interface counters. With `--file` the sender also reads a file, with `--into` the receiver also
writes one, so that the rates of disk and network stand in one table.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from statistics import median
from typing import Final

from ...terms import units
from ..far.schema import HelperOptions, Message
from ..result import Interval, Measured, mean_rate
from ..run import Trial, TrialError
from ._client_server import ends

TOOL: Final = "bulk"
PACKAGE: Final = ""
HELP: Final = "TCP throughput from memory or a file to memory or a file, several streams"
SLOWER: Final = 0.9  # of the rate from memory to memory; runs differ by less than a tenth
TAKES: Final = (
    "streams reverse bidirectional rate length window mss congestion zero_copy busy_poll file into"
)


def measure(trial: Trial) -> Measured:
    """A listening end on the other host, a connecting one here; each sends or receives.

    With a file the transfer is repeated: from memory to memory, with one file, with both.
    """
    o = trial.options
    if o.bidirectional and (o.file or o.into):
        raise TrialError("--file and --into need one direction: not --bidirectional")
    pairs = {(file, into) for file in (None, o.file) for into in (None, o.into)}
    found = {
        pair: _leg(trial, *pair) for pair in sorted(pairs, key=lambda pair: [*map(bool, pair)])
    }
    whole = found[o.file, o.into]
    if len(found) == 1:
        return whole
    rates = {(bool(f), bool(i)): one.bits_per_second or 0.0 for (f, i), one in found.items()}
    moved = sum(one.bytes or 0 for one in found.values())  # as the interface counts: all of them
    return replace(whole, bytes=moved, details={**whole.details, **compared(rates)})


def compared(rates: Mapping[tuple[bool, bool], float]) -> dict[str, object]:
    """The rates in bit/s by whether a file is read and one is written, and which part limits."""
    names = ("memory", "disk")
    rows = [
        {"from": names[file], "to": names[into], "gbit_per_s": rate / 1e9}
        for (file, into), rate in rates.items()
    ]
    fastest = rates[False, False]
    disks = {"read": rates.get((True, False)), "written": rates.get((False, True))}
    known = {name: rate for name, rate in disks.items() if rate is not None}
    name = min(known, key=lambda one: known[one])
    limit = "the network, or a core: what is on disk moves as fast as what is in memory"
    if known[name] < SLOWER * fastest:
        share = units.share(known[name] / fastest if fastest else None)
        limit = f"the disk that is {name}: {share} of the rate from memory to memory"
    return {"transfers": rows, "limit": limit}


def _leg(trial: Trial, file: str | None, into: str | None) -> Measured:
    """One transfer."""
    o = trial.options
    there = trial.far()
    streams = o.streams * (2 if o.bidirectional else 1)  # N in each direction, as CERN counts
    pours = o.streams if o.bidirectional else 0 if o.reverse else streams
    common: HelperOptions = {
        "streams": streams, "seconds": trial.length, "length": o.length, "window": o.window,
        "mss": o.mss, "congestion": o.congestion, "rate": o.rate, "v6": ":" in o.to,
        "zero_copy": o.zero_copy, "busy_poll": o.busy_poll,
        **ends(trial),
    }  # fmt: skip
    if file or into:
        common |= {"file": file, "into": into}
    with ExitStack() as stack:
        far = stack.enter_context(
            there.start("bulk", {**common, "port": o.port, "cpus": o.cpu_there})
        )
        port = far.wait_for("port")["port"]
        near = stack.enter_context(
            trial.here.start(
                "bulk",
                {**common, "to": common["at"], "port": port, "pours": pours, "cpus": o.cpu_here},
            )
        )
        near_messages = list(trial.follow(near, trial.length + 30))
        far_messages = list(trial.follow(far, 30))
    return summarize(near_messages, far_messages, o.warmup)


def summarize(near: Sequence[Message], far: Sequence[Message], warmup: float) -> Measured:
    """The messages of both ends as one result: bytes of the receivers, retransmits of the senders.

    Seconds before `warmup` and shorter than half a second are left out.
    """
    received = [_intervals(near), _intervals(far)]
    both = [each for each in received if any(i.bits_per_second for i in each)]
    intervals = tuple(
        Interval(
            each[0].start,
            each[0].seconds,
            sum(i.bits_per_second for i in each),
            _retransmits(near, number) + _retransmits(far, number),
        )
        for number, each in enumerate(zip(*both, strict=False))
    )
    steady = tuple(i for i in intervals if i.start >= warmup - 0.1 and i.seconds > 0.5)
    steady = steady or intervals
    totals = [m for m in (*near, *far) if "total" in m]
    states = [state for m in (*near, *far) for state in m.get("states", ()) if state]
    return Measured(
        bits_per_second=mean_rate(steady) or 0.0,
        intervals=steady,
        bytes=sum(m["total"] for m in totals),
        lasted=max((m["lasted"] for m in totals), default=None),
        sent_bits_per_second=_sent(totals),
        retransmits=sum(m.get("retransmits", 0) for m in (*near, *far)),
        details={**_state(states), **_zero_copy((*near, *far))},
    )


def _state(states: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """The sockets of the senders: round trips in µs, window in segments, segment size in bytes."""
    if not states:
        return {}
    return {
        "rtt_us": median(state["rtt"] for state in states),
        "min_rtt_us": min(state.get("min_rtt", state["rtt"]) for state in states),
        "cwnd": max(state["cwnd"] for state in states),
        "mss": max(state["mss"] for state in states),
    }


def _zero_copy(messages: Sequence[Message]) -> dict[str, float]:
    """Completed sends with MSG_ZEROCOPY, and the percentage that the kernel copied all the same.

    It copies where the receiver is on this host, and where the NIC cannot gather pages.
    """
    told = [m for m in messages if "zero_copied" in m]
    sends = sum(m["zero_copied"] for m in told)
    if not sends:
        return {}
    copied = 100.0 * sum(m["copied"] for m in told) / sends
    return {"zero_copy_sends": sends, "zero_copy_copied_percent": copied}


def _sent(totals: Sequence[Message]) -> float | None:
    lasted = [m["lasted"] for m in totals if m.get("poured")]
    poured = sum(m["poured"] for m in totals)
    return 8 * poured / max(lasted) if lasted and max(lasted) > 0 else None


def _intervals(messages: Sequence[Message]) -> list[Interval]:
    return [
        Interval(m["start"], m["seconds"], 8 * m["received"] / m["seconds"])
        for m in messages
        if "received" in m and m["seconds"] > 0
    ]


def _retransmits(messages: Sequence[Message], number: int) -> int:
    seconds = [m for m in messages if "received" in m]
    return seconds[number].get("retransmits", 0) if number < len(seconds) else 0
