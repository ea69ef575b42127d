"""How often a box looks: all of a quiet host each five seconds, a busy one as its cost allows."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import fields

import pytest
from box_parts import WALL, Recorded

from nettop import collect
from nettop.box import blackbox
from nettop.box.blackbox import LIGHT, REST, Pace
from nettop.frame.rates import Frame
from nettop.views.observer import Observation, Observer


class Watched(Observer):
    """An observer that counts what it reads and judges, each table at a price."""

    def __init__(self, host: Recorded, prices: Mapping[str, float]) -> None:
        super().__init__(host)
        self.prices = prices
        self.reads, self.judgements = Counter[str](), 0

    def tables(self, wanted: Collection[str] = ()) -> set[str]:
        return {"netdev", "cpu", "softnet", "interrupts", *wanted}

    def sample(self, waits: Mapping[str, float], wanted: Collection[str] = ()) -> Frame:
        frame = super().sample(waits, wanted)
        self.reads.update(list(self.sampler.spent))
        self.sampler.spent = {one: self.prices.get(one, 1e-4) for one in self.sampler.spent}
        return frame

    def observation(self, frame: Frame) -> Observation:
        self.judgements += 1
        return super().observation(frame)


class Clock:
    """CPU seconds: each sample takes `sample`, a judgement `judgement` more."""

    def __init__(self, observer: Watched, sample: float, judgement: float) -> None:
        self.observer, self.sample, self.judgement = observer, sample, judgement

    def __call__(self) -> float:
        steps = self.observer.reads["cpu"]
        return steps * self.sample + self.observer.judgements * self.judgement


def run(
    observer: Watched, host: Recorded, seconds: int, *,
    sample: float = 0.0, judgement: float = 0.0, eager: bool = False,
) -> Counter[str]:  # fmt: skip
    steps = Pace(observer, Clock(observer, sample, judgement))
    for _ in range(seconds):
        steps.step(eager=eager)
        host.wait(1)
    return observer.reads


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blackbox, "moves", lambda _frame: False)
    monkeypatch.setattr(blackbox, "loses", lambda _frame: False)


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blackbox, "moves", lambda _frame: True)
    monkeypatch.setattr(blackbox, "loses", lambda _frame: True)


@pytest.mark.usefixtures("quiet")
def test_all_of_a_quiet_host_is_read_and_judged_every_five_seconds() -> None:
    host = Recorded(WALL)
    observer = Watched(host, {})
    reads = run(observer, host, 50, sample=0.001, judgement=0.015)
    assert reads["cpu"] == 50
    assert "cpu" in LIGHT
    assert reads["interrupts"] == observer.judgements == 50 / REST


@pytest.mark.usefixtures("busy")
def test_a_busy_host_is_read_each_second_where_that_is_cheap_but_for_dear_tables() -> None:
    host = Recorded(WALL)
    observer = Watched(host, {"interrupts": 0.05})
    reads = run(observer, host, 100, sample=0.001, judgement=0.003)
    assert reads["cpu"] == observer.judgements == 100
    assert 5 <= reads["interrupts"] <= 10


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize(("judgement", "looks"), [(0.014, 60), (0.024, 35), (0.07, 12)])
def test_a_busy_host_costs_half_a_percent_of_a_core(judgement: float, looks: int) -> None:
    host = Recorded(WALL)
    observer = Watched(host, {})
    reads = run(observer, host, 200, sample=0.001, judgement=judgement)
    assert reads["cpu"] == 200
    assert observer.judgements == pytest.approx(looks, abs=4)
    spent = 200 * 0.001 + (observer.judgements - 1) * judgement
    assert spent <= (200 + blackbox.SAVED) * blackbox.PERCENT / 100 + judgement


@pytest.mark.usefixtures("busy")
def test_a_look_that_is_always_too_dear_is_made_every_twenty_seconds() -> None:
    host = Recorded(WALL)
    observer = Watched(host, {})
    run(observer, host, 200, sample=0.001, judgement=0.5)
    assert observer.judgements == 200 / blackbox.LONGEST + 1


def test_losses_that_begin_are_judged_at_once_and_all_is_read_a_second_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = Recorded(WALL)
    observer = Watched(host, {})
    seen = []
    monkeypatch.setattr(blackbox, "moves", lambda _frame: False)
    monkeypatch.setattr(blackbox, "loses", lambda frame: frame.at >= 12)
    steps = Pace(observer, Clock(observer, 0.001, 0.02))
    for second in range(18):
        before = observer.judgements, observer.reads["interrupts"]
        steps.step(eager=False)
        if observer.judgements > before[0]:
            seen.append((second, observer.reads["interrupts"] > before[1]))
        host.wait(1)
    assert seen[:5] == [(0, True), (5, True), (10, True), (12, False), (13, True)]
    assert len(seen) <= 6


@pytest.mark.usefixtures("busy")
def test_what_is_wanted_at_once_is_read_whatever_it_costs() -> None:
    host = Recorded(WALL)
    observer = Watched(host, {"interrupts": 0.05})
    reads = run(observer, host, 20, eager=True, judgement=1.0)
    assert reads["interrupts"] == observer.judgements == 20


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("free", [False, True])
def test_what_is_wanted_at_once_is_saved_later_unless_it_is_free(free: bool) -> None:
    host = Recorded(WALL)
    observer = Watched(host, {})
    steps = Pace(observer, Clock(observer, 0.001, 0.05))
    for second in range(400):
        steps.step(eager=second % 100 == 0, free=free)
        host.wait(1)
    spent = 400 * 0.001 + observer.judgements * 0.05
    most = 400 * blackbox.PERCENT / 100 + 2 * 0.05
    assert (spent > most) == free


def test_what_counts_as_loss_are_counters_of_the_tables() -> None:
    for table, names in blackbox._LOST.items():
        known = {field.name for field in fields(collect.collector(table).Row)}
        assert known.issuperset(names), table


def test_a_host_without_link_statistics_has_a_pace() -> None:
    host = Recorded(WALL)
    observer = Watched(host, {})
    steps = Pace(observer)
    for _ in range(8):
        frame = steps.step(eager=False).frame
        host.wait(1)
    assert "netdev" in frame.tables
    assert not blackbox.moves(frame)
    assert not blackbox.loses(frame)
