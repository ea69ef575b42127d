"""Experiments: interleaved runs of one trial over the states of a lever, and their verdict.

The order A, B, A, B … spreads drift evenly over both states. Before the first measured run, the
baseline repeats until two consecutive runs agree. Each change is followed by a pause; the trial
itself excludes its warm-up. Every sample is kept. The lever is restored however the experiment
ends.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from statistics import median
from typing import Final, Protocol

from ..terms.dataclass import dataclass, picked
from . import statistics
from .end import Cancelled
from .lever import Lever
from .result import Document, Progress, Side, Standing, TrialResult, resent
from .run import TrialError, Watch, nobody
from .statistics import Comparison, ExperimentPlan, Guard

STEADY: Final = 0.10  # largest relative difference of two runs of a steady baseline
PROBES: Final = 4  # runs to find a steady baseline
AGREE: Final = 2  # of them, at least
GUARDS: Final = ("retransmits", "interface drops", "softnet drops", "socket drops")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric, and whether higher is better."""

    name: str
    unit: str
    read: Callable[[TrialResult], float | None]
    higher: bool = True
    guards: tuple[str, ...] = GUARDS  # losses that the metric does not include


def _latency(name: str) -> Callable[[TrialResult], float | None]:
    return lambda r: getattr(r.measured.latency, name) if r.measured.latency else None


def _delivered(result: TrialResult) -> float | None:
    loss = result.measured.loss
    return 100.0 - loss.percent if loss and loss.sent else None


def _per_core(result: TrialResult) -> float | None:
    cores = [*result.here.cores, *result.there.cores]
    busy = sum(100 - core["idle"] - core["iowait"] for core in cores) / 100
    return result.bits_per_second / busy if result.bits_per_second and busy > 0 else None


METRICS: Final[Mapping[str, Metric]] = {
    m.name: m
    for m in (
        Metric("rate", "bit/s", lambda r: r.bits_per_second),
        Metric("p50", "µs", _latency("p50"), higher=False),
        Metric("p99", "µs", _latency("p99"), higher=False),
        Metric("delivered", "%", _delivered, guards=("retransmits",)),
        Metric("per-core", "bit/s per busy core", _per_core),
    )
}


def metric(tool: str, name: str | None = None) -> Metric:
    """The metric of that name, or the default of the tool; KeyError for an unknown name."""
    defaults = {"udp-latency": "p50", "sockperf": "p50", "capture": "delivered"}
    return METRICS[name or defaults.get(tool, "rate")]


@dataclass(frozen=True, slots=True)
class Sample:
    """One counted run: its figure, its losses per packet, its failed plausibility checks."""

    figure: float
    losses: Mapping[str, float] = field(default_factory=dict)
    faults: tuple[str, ...] = ()


def sample(result: TrialResult, chosen: Metric) -> Sample:
    """A result as a sample; TrialError if it lacks the figure of the metric."""
    figure = chosen.read(result)
    if figure is None:
        raise TrialError(f"{result.tool} does not measure {chosen.name}")
    faults = tuple(c.because for c in result.checks if not c.ok and c.name == "possible")
    return Sample(figure, losses(result.here, result.there), faults)


def losses(here: Side, there: Side) -> dict[str, float]:
    """Losses per packet, by the names of GUARDS; the host with more losses counts."""
    worst = dict.fromkeys(GUARDS, 0.0)
    for side in (here, there):
        t = side.totals
        _raise(worst, "retransmits", resent(t))
        taken = max(t.get("SoftnetProcessed", 0.0), 1000.0)
        _raise(worst, "softnet drops", t.get("SoftnetDropped", 0.0) / taken)
        datagrams = max(t.get("UdpInDatagrams", 0.0), 1000.0)
        _raise(worst, "socket drops", t.get("UdpRcvbufErrors", 0.0) / datagrams)
        for nic in side.interfaces.values():
            lost = nic["rx_dropped"] + nic["rx_fifo"] + nic["tx_dropped"]
            packets = max(nic["rx_packets"] + nic["tx_packets"], 1000.0)
            _raise(worst, "interface drops", lost / packets)
    return worst


def _raise(worst: dict[str, float], name: str, ratio: float) -> None:
    worst[name] = max(worst[name], ratio)


class Log(Protocol):
    """The runs of a sweep, kept while it runs (`unfinished.Unfinished`)."""

    def add(self, number: int, state: int, sample: Sample) -> None:
        """Keep a run of round `number`."""

    def samples(self) -> dict[int, list[Sample]]:
        """The runs to start with, by state."""


def _never(_state: int) -> bool:
    return False


def _unnoted(_round: int, _state: int, _sample: Sample) -> None:
    pass


@dataclass
class Runner:
    """Takes samples of states; tracks time, reports progress, handles cancellation."""

    lever: Lever
    take: Callable[[int], Sample]
    plan: ExperimentPlan
    watch: Watch = nobody
    cancel: threading.Event = field(default_factory=threading.Event)
    clock: Callable[[], float] = time.monotonic
    metric: Metric | None = None  # of two compared states; None for a sweep
    note: Callable[[int, int, Sample], None] = _unnoted  # gets each counted run with its round
    samples: dict[int, list[Sample]] = field(default_factory=dict)
    begun: float = 0.0
    steady: bool = True
    probed: list[float] = field(default_factory=list)  # figures of the baseline before the pairs
    at: int = 0  # the state of the host

    def one(self, state: int, rounds: int, states: int, left: int, *, count: bool = True) -> Sample:
        """Switch the host to a state, wait for the link, run the trial; Cancelled.

        `left`: how many runs there are to do at least, with this one.
        """
        if self.cancel.is_set():
            raise Cancelled
        self._report(state, rounds, states, left)
        self.lever.put(state)
        waits, self.at = self.lever.pause if state != self.at else 0.0, state
        if self.cancel.wait(waits):
            raise Cancelled
        taken = self.take(state)
        if count:
            self.samples.setdefault(state, []).append(taken)
            self.note(rounds, state, taken)
        return taken

    def _report(self, state: int, rounds: int, states: int, left: int) -> None:
        done = self.clock() - self.begun
        each = self.plan.run_seconds - self.plan.shorter + self.lever.pause
        note = "baseline" if state == 0 else f"change {state}" if states > 2 else "changed"
        self.watch(
            Progress("experiment", done, done + left * each,
                     note=f"{note}, run {rounds}" if rounds else "baseline, stability check",
                     standing=self.standing())
        )  # fmt: skip

    def standing(self) -> Standing | None:
        """The intermediate result of two compared states; None for a sweep."""
        if self.metric is None:
            return None
        a, b = tuple(self.figures(0)), tuple(self.figures(1))
        standing = Standing(self.metric.unit, self.metric.higher, a, b)
        return statistics.compared(standing)

    def probe(self, states: int) -> None:
        """Run the baseline, not counted, until two consecutive runs agree (at most PROBES)."""
        for number in range(PROBES):
            left = max(1, AGREE - number) + self.left(0, states)
            self.probed.append(self.one(0, 0, states, left, count=False).figure)
            last, figure = self.probed[-2:] if number else (0.0, 1.0)
            if abs(figure - last) <= STEADY * max(abs(last), 1e-12):
                return
        self.steady = False

    def left(self, rounds: int, states: int, ended: Callable[[int], bool] = _never) -> int:
        """The fewest counted runs from that round on; the number of the last round is odd."""
        fewest = self.plan.fewest(sweeps=self.metric is None)
        last = min(max(fewest, rounds) | 1, self.plan.most)
        known = (len(self.samples.get(state, ())) for state in range(states) if not ended(state))
        return sum(max(0, last - count) for count in known)

    def spent(self) -> bool:
        """Whether the time limit is reached."""
        return self.plan.budget is not None and self.clock() - self.begun >= self.plan.budget

    def alternate(
        self, states: int, enough: Callable[[], bool], ended: Callable[[int], bool] = _never
    ) -> None:
        """Run rounds over all states until `enough` or a limit; always restores the lever.

        A state that has `ended` is left out from then on. Runs that `samples` already has count.
        """
        self.begun = self.clock()
        try:
            self.probe(states)
            rounds = 0
            while rounds < self.plan.most:
                rounds += 1
                for state in range(states):
                    if len(self.samples.get(state, ())) < rounds and not ended(state):
                        self.one(state, rounds, states, self.left(rounds, states, ended))
                odd = rounds % 2 == 1  # an odd count has a middle pair
                over = rounds >= self.plan.least and ((odd and enough()) or self.spent())
                if over or (odd and self.clear(rounds)):
                    return
        finally:
            self.lever.restore()

    def clear(self, rounds: int) -> bool:
        """Whether two compared states differ so clearly that they end before `least` rounds."""
        if self.metric is None or not 0 < self.plan.early <= rounds < self.plan.least:
            return False
        a, b = self.figures(0), self.figures(1)
        return statistics.apart(a, b, self.probed, higher=self.metric.higher)

    def figures(self, state: int) -> list[float]:
        """The counted figures of a state."""
        return [s.figure for s in self.samples.get(state, [])]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an experiment: figures of baseline `a` and change `b`, and the verdict."""

    metric: Metric
    a: tuple[float, ...]
    b: tuple[float, ...]
    comparison: Comparison
    guards: tuple[Guard, ...]
    steady: bool
    seconds: float
    minimum: float  # seconds
    kept: bool = False  # set by the caller that keeps the change

    def document(self) -> Document:
        """The fields of the outcome in the JSON of `nettop prove`."""
        c = self.comparison
        return {
            "metric": self.metric.name,
            "unit": self.metric.unit,
            **picked(self, "a b"),
            **picked(c, "median_difference interval confidence verdict because"),
            "kept": self.kept,
            "guards": [picked(one, "name a b alarm ok") for one in self.guards],
            "steady_baseline": self.steady,
            "seconds": self.seconds,
            "minimum_seconds": self.minimum,
        }


def compare(
    lever: Lever,
    take: Callable[[int], Sample],
    chosen: Metric,
    plan: ExperimentPlan,
    watch: Watch = nobody,
    cancel: threading.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Compare baseline (state 0) and change (state 1); the lever is always restored.

    `take` runs one trial; Cancelled and its errors are passed on.
    """
    runner = Runner(lever, take, plan, watch, cancel or threading.Event(), clock, chosen)

    def enough() -> bool:
        gains = statistics.gains(runner.figures(0), runner.figures(1), higher=chosen.higher)
        return statistics.settled(gains, plan.least)

    runner.alternate(2, enough)
    a, b = runner.figures(0), runner.figures(1)
    guards = guards_of(runner.samples.get(0, []), runner.samples.get(1, []), chosen.guards)
    verdict = statistics.compare(a, b, higher=chosen.higher)
    if runner.clear(len(b)):
        because = f"{verdict.because}; {statistics.beyond(len(b), len(runner.probed))}"
        verdict = replace(verdict, because=because)
    verdict = statistics.guarded(verdict, guards)
    faults = [fault for each in runner.samples.values() for s in each for fault in s.faults]
    if faults and verdict.verdict in ("better", "worse"):
        because = f"a run gave an implausible result: {faults[0]}"
        verdict = replace(verdict, verdict="unstable", because=because)
    return Outcome(
        chosen, tuple(a), tuple(b), verdict, guards, runner.steady,
        clock() - runner.begun, plan.minimum(2, lever.pause),
    )  # fmt: skip


def guards_of(
    a: Sequence[Sample], b: Sequence[Sample], names: Sequence[str] = GUARDS
) -> tuple[Guard, ...]:
    """Median losses of both states, without losses that never occurred."""
    guards = []
    for name in names:
        before = [s.losses.get(name, 0.0) for s in a]
        after = [s.losses.get(name, 0.0) for s in b]
        if before and after and (any(before) or any(after)):
            guards.append(Guard(name, median(before), median(after)))
    return tuple(guards)


@dataclass(frozen=True, slots=True)
class Row:
    """One state of a sweep: its figures, and their comparison with state 0."""

    name: str
    figures: tuple[float, ...]
    comparison: Comparison | None  # None: state 0

    @property
    def median(self) -> float:
        """The median of the figures."""
        return median(self.figures)


def sweep(
    lever: Lever,
    names: Sequence[str],
    take: Callable[[int], Sample],
    chosen: Metric,
    plan: ExperimentPlan,
    watch: Watch = nobody,
    cancel: threading.Event | None = None,
    log: Log | None = None,
) -> tuple[Row, ...]:
    """Run all states in turn, at least `plan.least` rounds, and compare each with state 0.

    `names` are those of the states, state 0 first. A state that is `statistics.hopeless` is not run
    any more. `log` has the runs of a sweep that was interrupted, and gets those of this one.

    The comparisons are not corrected for their number: the best of many states looks better than it
    is. So prove the winner.
    """
    runner = Runner(lever, take, plan, watch, cancel or threading.Event())
    if log is not None:
        runner.note, runner.samples = log.add, log.samples()

    def gains(state: int) -> list[float]:
        return statistics.gains(runner.figures(0), runner.figures(state), higher=chosen.higher)

    def hopeless(state: int) -> bool:
        return state > 0 and statistics.hopeless(gains(state))

    others = range(1, len(names))
    runner.alternate(
        len(names),
        lambda: all(hopeless(s) or statistics.settled(gains(s), plan.least) for s in others),
        hopeless,
    )
    base = runner.samples[0]
    rows = [Row(names[0], tuple(runner.figures(0)), None)]
    for state, name in enumerate(names[1:], 1):
        change = statistics.compare(runner.figures(0), runner.figures(state), higher=chosen.higher)
        guards = guards_of(base, runner.samples[state], chosen.guards)
        change = statistics.guarded(change, guards)
        if hopeless(state):
            pairs = len(runner.figures(state))
            change = replace(change, because=f"{change.because}; stopped after {pairs} pairs")
        rows.append(Row(name, tuple(runner.figures(state)), change))
    return tuple(rows)


def best(rows: Sequence[Row], *, higher: bool = True) -> Row:
    """The state with the best median among those that are not worse than state 0."""
    allowed = [r for r in rows if r.comparison is None or r.comparison.verdict != "worse"]
    return max(allowed, key=lambda r: r.median if higher else -r.median)
