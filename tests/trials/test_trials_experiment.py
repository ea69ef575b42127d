"""Experiments on a lever that is a number: order, settling, cancelling, restoring, verdicts."""

import random
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nettop.changes.journal import Journal
from nettop.settings import Host
from nettop.trials import experiment, lever, prove
from nettop.trials.end import Cancelled
from nettop.trials.experiment import METRICS, Sample
from nettop.trials.result import (
    Latency,
    Loss,
    Measured,
    Options,
    Progress,
    Side,
    Standing,
    TrialResult,
)  # fmt: skip
from nettop.trials.run import TrialError
from nettop.trials.statistics import ExperimentPlan

RATE = METRICS["rate"]


@dataclass
class Fake:
    """A lever that remembers what was done to it."""

    pause: float = 0.0
    now: int = 0
    moves: list[int] = field(default_factory=list)

    def put(self, state: int) -> None:
        self.now = state
        self.moves.append(state)

    def restore(self) -> None:
        self.now = 0
        self.moves.append(-1)


def takes(lever: Fake, figure: Callable[[int], float]) -> Callable[[int], Sample]:
    def take(state: int) -> Sample:
        assert lever.now == state
        return Sample(figure(state))

    return take


def noisy(effect: float, noise: float = 0.01) -> Callable[[int], float]:
    draw = random.Random(5)
    return lambda state: 1e9 * (1 + effect * state) * (1 + draw.gauss(0, noise))


def test_states_take_turns_and_the_lever_ends_where_it_began() -> None:
    fake = Fake()
    found = experiment.compare(fake, takes(fake, noisy(0.5)), RATE, ExperimentPlan())
    assert found.comparison.verdict == "better"
    assert fake.moves == [0, 0] + [0, 1] * 3 + [-1]  # two probes that agree, then A B A B …
    assert len(found.a) == len(found.b) == 3
    assert found.document()["minimum_seconds"] == 8 * 11.0
    assert found.comparison.because.endswith(
        "; each of 3 runs is beyond all 5 without it (3 and 2 probes before): 1 in 56 by chance"
    )


def test_a_budget_ends_it_after_the_least_pairs() -> None:
    fake = Fake()
    ticks = iter(range(0, 100_000, 10))
    plan = ExperimentPlan(budget=1.0)
    found = experiment.compare(
        fake, takes(fake, noisy(0.0, 0.05)), RATE, plan, clock=lambda: float(next(ticks))
    )
    assert len(found.a) == 5


@pytest.mark.parametrize("when", range(1, 14))
def test_cancelled_at_any_run_it_is_restored(when: int) -> None:
    fake, stop, runs = Fake(), threading.Event(), 0

    def take(_state: int) -> Sample:
        nonlocal runs
        runs += 1
        if runs == when:
            stop.set()
            raise Cancelled
        return Sample(1e9 * (1 + 0.01 * (runs % 7)))

    with pytest.raises(Cancelled):
        experiment.compare(fake, take, RATE, ExperimentPlan(least=6), cancel=stop)
    assert fake.now == 0
    assert fake.moves[-1] == -1


@pytest.mark.parametrize("error", [TrialError("x"), OSError("x"), KeyboardInterrupt()])
def test_whatever_goes_wrong_it_is_restored(error: BaseException) -> None:
    fake = Fake()

    def take(state: int) -> Sample:
        if state:
            raise error
        return Sample(1.0)

    with pytest.raises(type(error)):
        experiment.compare(fake, take, RATE, ExperimentPlan())
    assert fake.now == 0


def test_a_gain_with_drops_is_worse_and_says_so() -> None:
    fake = Fake()
    found = experiment.compare(
        fake,
        lambda s: Sample(1e9 * (1 + 0.2 * s), {"interface drops": 0.01 * s}),
        RATE,
        ExperimentPlan(),
    )
    assert found.comparison.verdict == "worse"
    assert "interface drops" in found.comparison.because
    assert [guard.ok for guard in found.guards] == [False]


def test_a_fault_is_no_figure() -> None:
    fake = Fake()
    found = experiment.compare(
        fake,
        lambda s: Sample(1e9 * (1 + s), {}, ("above the line rate",) * s),
        RATE,
        ExperimentPlan(),
    )
    assert found.comparison.verdict == "unstable"
    assert "above the line rate" in found.comparison.because


def test_an_unsteady_baseline_is_told() -> None:
    fake = Fake()
    figures = iter([1.0, 2.0, 1.0, 2.0] + [1.0, 9.0] * 21)
    found = experiment.compare(fake, lambda _: Sample(next(figures)), RATE, ExperimentPlan())
    assert not found.steady
    assert found.comparison.verdict == "better"


def test_the_time_left_of_an_unclear_experiment_is_that_of_the_next_odd_round() -> None:
    fake = Fake()
    told: list[Progress] = []
    figures = iter([1.0, 2.0, 1.0, 2.0] + [1.0, 9.0, 9.0, 1.0] * 21)  # no baseline is steady
    experiment.compare(
        fake, lambda _: Sample(next(figures)), RATE, ExperimentPlan(most=9), watch=told.append
    )
    left = [round((p.of - p.second) / 11.0) for p in told]
    assert left[:4] == [8, 7, 7, 7]  # each further probe may be the last
    assert left[4:10] == list(range(6, 0, -1))
    assert left[10:] == [4, 3, 2, 1] * 3  # rounds 4 and 5, 6 and 7, 8 and 9


def test_a_sweep_names_the_best_and_compares_each_with_how_it_was() -> None:
    fake = Fake()
    effects = [0.0, 0.3, -0.4, 0.001]
    draw = random.Random(3)
    rows = experiment.sweep(
        fake, ["256 ", "512", "1024", "2048"],
        lambda s: Sample(1e9 * (1 + effects[s]) * (1 + draw.gauss(0, 0.005))),
        RATE, ExperimentPlan(),
    )  # fmt: skip
    assert [r.comparison.verdict if r.comparison else None for r in rows] == [
        None, "better", "worse", "no difference",
    ]  # fmt: skip
    assert experiment.best(rows).name == "512"
    assert experiment.best(rows, higher=False).name == "256 "  # the worse one is not offered
    assert fake.now == 0


def test_grids_are_every_pair_of_values_but_the_one_in_force() -> None:
    now = {"sysctl.net.a.b": "1", "sysctl.net.c.d": "x y"}
    names, states = prove.combinations(
        [("sysctl.net.a.b", ["1", "2"]), ("sysctl.net.c.d", ["x   y", "z"])], now.__getitem__
    )
    assert names == ["1 × x y", "1 × z", "2 × x y", "2 × z"]
    assert states[0] == [("sysctl.net.a.b", "1"), ("sysctl.net.c.d", "z")]


def result(**measured: object) -> TrialResult:
    core = {"cpu": 0.0, "idle": 50.0, "iowait": 0.0}
    side = Side(cores=(core,))
    return TrialResult("x", Options(), Measured(**measured), side, side, {}, (), 0.0)  # type: ignore[arg-type]


def test_metrics_read_their_figure() -> None:
    times = Latency(1, 2, 3, 4, 5, 1, 10)
    assert RATE.read(result(bits_per_second=5.0)) == 5.0
    assert METRICS["per-core"].read(result(bits_per_second=5.0)) == 5.0
    assert METRICS["p99"].read(result(latency=times)) == 3
    assert METRICS["delivered"].read(result(loss=Loss(100, 98))) == 98
    assert experiment.metric("udp-latency").name == "p50"
    assert experiment.metric("bulk").name == "rate"
    with pytest.raises(TrialError, match="does not measure p99"):
        experiment.sample(result(bits_per_second=1.0), METRICS["p99"])


def test_losses_are_ratios_of_the_worse_end() -> None:
    eth0 = {
        "rx_packets": 9000,
        "tx_packets": 1000,
        "rx_dropped": 5,
        "rx_fifo": 4,
        "tx_dropped": 1,
    }
    here = Side(totals={"TcpOutSegs": 10_000, "TcpRetransSegs": 50}, interfaces={"eth0": eth0})
    there = Side(totals={"SoftnetProcessed": 2000, "SoftnetDropped": 4})
    assert experiment.losses(here, there) == {
        "retransmits": 0.005, "interface drops": 0.001, "softnet drops": 0.002, "socket drops": 0.0,
    }  # fmt: skip


# the real lever, on a directory that stands in for a host


def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Host, Path]:
    place = tmp_path / "host/proc/sys/net/ipv4"
    place.mkdir(parents=True)
    (place / "tcp_sack").write_text("0\n")
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    return Host.at(str(tmp_path / "host")), place / "tcp_sack"


def test_a_switch_writes_restores_and_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, file = scratch(tmp_path, monkeypatch)
    wanted = [[("sysctl.net.ipv4.tcp_sack", "1")]]
    with lever.Switch(wanted, "sack-off@host", host) as switch:
        switch.put(1)
        assert file.read_text().strip() == "1"
        switch.put(0)
        assert file.read_text().strip() == "0"
        switch.put(1)
    assert file.read_text().strip() == "0"
    assert not any(entry.open for entry in Journal().entries())
    with lever.Switch(wanted, "sack-off@host", host) as switch:
        switch.put(1)
        kept = switch.keep(1)
    assert file.read_text().strip() == "1"
    assert [e.finding for e in Journal().entries() if e.open] == ["sack-off@host"]
    assert [r.state for r in kept] == ["applied"]


def test_what_a_dead_experiment_left_is_put_back_by_its_tag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, file = scratch(tmp_path, monkeypatch)
    switch = lever.Switch([[("sysctl.net.ipv4.tcp_sack", "1")]], "sack-off@host", host)
    switch.put(1)
    assert file.read_text().strip() == "1"
    assert lever.restore(Journal(), "another", host) == ()
    assert [r.state for r in lever.restore(Journal(), switch.tag, host)] == ["undone"]
    assert file.read_text().strip() == "0"
    assert lever.restore(Journal(), switch.tag, host) == ()


@pytest.mark.parametrize("goes", ["removed", "emptied", "given away"])
def test_a_lever_goes_back_without_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goes: str
) -> None:
    host, file = scratch(tmp_path, monkeypatch)
    with lever.Switch([[("sysctl.net.ipv4.tcp_sack", "1")]], "sack-off@host", host) as switch:
        switch.put(1)
        if goes == "removed":
            shutil.rmtree(tmp_path / "state")
        elif goes == "emptied":
            (tmp_path / "state/journal.jsonl").write_text("")
        else:
            (tmp_path / "state").chmod(0o777)
        assert file.read_text().strip() == "1"
    assert file.read_text().strip() == "0"


def test_what_others_changed_meanwhile_is_told_and_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, file = scratch(tmp_path, monkeypatch)
    switch = lever.Switch([[("sysctl.net.ipv4.tcp_sack", "1")]], "sack-off@host", host)
    switch.put(1)
    file.write_text("7\n")
    with pytest.raises(lever.LeverError, match="cannot restore"):
        switch.restore()
    assert file.read_text().strip() == "7"


def test_a_figure_that_counts_losses_is_not_guarded_by_them() -> None:
    """What is delivered has every drop in it: two of a thousand lost after do not undo a gain."""
    fake = Fake()

    def take(state: int) -> Sample:
        return Sample(99.0 if state else 40.0, {"softnet drops": 0.02 * state, "retransmits": 0.0})

    assert experiment.compare(
        fake, take, METRICS["delivered"], ExperimentPlan()
    ).comparison.verdict == ("better")
    assert experiment.compare(fake, take, RATE, ExperimentPlan()).comparison.verdict == "worse"


def test_the_pairs_so_far_are_told_with_every_run() -> None:
    told: list[Progress] = []
    fake = Fake()
    found = experiment.compare(fake, takes(fake, noisy(0.5)), RATE, ExperimentPlan(), told.append)
    assert told[0].note == "baseline, stability check"
    assert told[0].standing == Standing("bit/s", True, (), ())
    last = told[-1].standing
    assert last is not None
    assert last.before == found.a
    assert last.after == found.b[:-1]  # the last run is not told of: it ends the experiment
    assert last.interval is not None
    assert last.interval[0] <= last.middle <= last.interval[1]
    assert [len(p.standing.after) for p in told[2:] if p.standing] == [0, 0, 1, 1, 2, 2]
    rows: list[Progress] = []
    experiment.sweep(Fake(), ["a", "b", "c"], lambda state: Sample(1.0 + state), RATE,
                     ExperimentPlan(least=1, most=1), rows.append)  # fmt: skip
    assert {row.standing for row in rows} == {None}


def test_a_finding_of_a_capture_is_measured_on_that_capture() -> None:
    assert prove.fitting("capture-on-irq-core@eth0/77") == "capture"
    assert prove.fitting("rx-ring-overrun@eth0") == "bulk"
    on = prove.bench("capture", Options(to="h"))
    moved = prove.watching(on, [("process.affinity@4711", "2")])
    assert (moved.options.pid, on.options.pid) == (4711, None)
    assert prove.watching(on, [("ring.rx@eth0", "512")]) is on
    bulk = prove.bench("bulk", Options(to="h"))
    assert prove.watching(bulk, [("process.affinity@4711", "2")]) is bulk
