"""rfc2544: the highest rate without loss by frame size, the longest burst, latency at that rate.

RFC 2544 sections 26.1, 26.2 and 26.4. Every size is searched at the same time: a round sends one
trial of each, and half of what lies between a rate that was carried and one that was not is tried
next. RFC 2544 asks for 60 seconds a trial, so for `--seconds` of an hour; the report has the
seconds that a trial had. Both hosts belong to what is tested: the receiving program reads about
300,000 packets/s, and far more with `--segments`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NotRequired, TypedDict

from ...terms import formulas
from ...terms.dataclass import dataclass
from ..far.schema import UdpStep
from ..result import Latency, Loss, Measured
from ..run import Trial, TrialError
from . import udp_latency, udp_sweep
from .capture import link

TOOL: Final = "rfc2544"
PACKAGE: Final = ""
HELP: Final = "by frame size: highest UDP rate without loss, longest burst, latency (RFC 2544)"
TAKES: Final = "sizes segments"
ROUNDS: Final = 12  # of the search: the longest burst is found to some datagrams
LATENCY: Final = 0.2  # share of the time
BURST: Final = udp_sweep.MOST  # datagrams: the longest burst that is tried
CARRIED: Final = 0.95  # of the requested rate; a sender that sends less is the limit
FASTEST: Final = 4e5  # datagrams/s of the first trial, by each segment of a call
PATIENCE: Final = 120.0  # seconds beside ten times the time that the trials should take


class Row(TypedDict):
    """One size: the highest carried rate, the longest carried burst, round trips at that rate."""

    size: int  # payload bytes
    frame: int  # bytes with Ethernet header and CRC
    pps: float
    payload_bits: float
    wire_bits: float
    limit: str  # `sender`: it sent no faster; `path`: a higher rate had losses
    burst: int  # datagrams back to back
    burst_limit: str  # `sender`: the longest burst that is tried was carried
    p50_us: NotRequired[float]  # missing: no request was answered at that rate
    p99_us: NotRequired[float]


@dataclass(frozen=True, slots=True)
class Search:
    """The bounds of a search: `low` was carried, `high` was not; `next` is tried now."""

    next: float
    low: float = 0.0
    high: float | None = None  # None: no trial had losses
    sender: bool = False  # the sender was not able to offer `next`, and `low` was carried

    def after(self, offered: float, *, lost: bool) -> Search:
        """The search after a trial that offered so much."""
        if lost:
            high = min(offered, self.high or offered)
            low = self.low if self.low < high else 0.0  # carried before, and lost now
            return Search((low + high) / 2, low, high)
        low = max(self.low, min(offered, self.high or offered))
        if self.high is None or offered < CARRIED * self.next:
            return replace(self, low=low, sender=True)
        return Search((low + self.high) / 2, low, self.high)

    @property
    def limit(self) -> str:
        """What ended it: `sender` or `path`."""
        return "sender" if self.sender else "path"


def measure(trial: Trial) -> Measured:
    """The search, then the latency of each size while its rate is sent."""
    o = trial.options
    sizes = udp_sweep.sizes(link(trial).get("mtu", 1500), o.sizes)
    each = (1 - LATENCY) * o.seconds / (ROUNDS * len(sizes))
    rates = {size: Search(FASTEST * o.segments) for size in sizes}
    bursts = {size: Search(float(BURST)) for size in sizes}
    sent = received = reordered = 0
    for _ in range(ROUNDS):
        paced = [_paced(size, one.next, each) for size, one in rates.items() if not one.sender]
        at_once = [_burst(size, one.next) for size, one in bursts.items() if not one.sender]
        for row in _rows(trial, [*paced, *at_once]):
            lost = row["received"] < row["sent"]
            size, offered = row["size"], 1e6 / max(row["offered_us"], 1e-3)
            if row["spacing_us"]:
                rates[size] = rates[size].after(offered, lost=lost)
            else:
                bursts[size] = bursts[size].after(float(row["sent"]), lost=lost)
            sent, received = sent + row["sent"], received + row["received"]
            reordered += row["reordered"]
    if not received:
        raise TrialError("no datagram arrived: is there a firewall?")
    wait = max(0.5, LATENCY * o.seconds / len(sizes))
    table = [_row(size, rates[size], bursts[size], trial, wait) for size in sizes]
    return Measured(
        bits_per_second=max(row["payload_bits"] for row in table),
        loss=Loss(sent, received, reordered),
        details={"trial_seconds": each, "points": table},
    )


def _paced(size: int, rate: float, seconds: float) -> UdpStep:
    return {"size": size, "spacing": 1 / rate, "count": max(100, round(seconds * rate))}


def _burst(size: int, count: float) -> UdpStep:
    return {"size": size, "spacing": 0.0, "count": max(1, round(count))}


def _rows(trial: Trial, steps: Sequence[UdpStep]) -> list[udp_sweep.Row]:
    """What was offered and carried of each step; TrialError if one was not sent."""
    if not steps:
        return []
    sent, received = udp_sweep.exchange(trial, steps, PATIENCE + 10 * trial.options.seconds)
    offers = {m["point"]: m for m in sent if "sent" in m}
    there = {m["point"]: m for m in received if "received" in m}
    if len(offers) < len(steps):
        raise TrialError("the sender ended early")
    return [udp_sweep.row(step, offers[n], there.get(n, {})) for n, step in enumerate(steps)]


def _row(size: int, rate: Search, burst: Search, trial: Trial, seconds: float) -> Row:
    row: Row = {
        "size": size, "frame": size + 46, "pps": rate.low, "payload_bits": 8 * size * rate.low,
        "wire_bits": 8 * formulas.udp_wire_bytes(size) * rate.low,
        "limit": rate.limit, "burst": int(burst.low), "burst_limit": burst.limit,
    }  # fmt: skip
    times = _latency(trial, size, rate.low, seconds) if rate.low else None
    return row | {"p50_us": times.p50, "p99_us": times.p99} if times is not None else row


def _latency(trial: Trial, size: int, rate: float, seconds: float) -> Latency | None:
    """Round trips of this size while datagrams of this size are sent at the rate."""
    step: UdpStep = {"size": size, "spacing": 1 / rate, "count": round(rate * (seconds + 2))}
    asked = replace(trial.options, sizes=(size,), seconds=seconds, port=None)
    with udp_sweep.sending(trial, [step]):
        try:
            return udp_latency.measure(replace(trial, options=asked)).latency
        except TrialError:
            return None  # each request was lost: the row has no times
