"""How often a box looks: all of a quiet host each five seconds, dear tables of a busy one less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import fields

import pytest
from box_parts import WALL, Recorded

from nettop import collect
from nettop.box import pace
from nettop.box.pace import LIGHT, REST, Pace
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

    def sample(self, waits: Mapping[str, float]) -> Frame:
        frame = super().sample(waits)
        self.reads.update(list(self.sampler.spent))
        self.sampler.spent = {one: self.prices.get(one, 1e-4) for one in self.sampler.spent}
        return frame

    def observation(self, frame: Frame) -> Observation:
        self.judgements += 1
        return super().observation(frame)


def run(observer: Watched, host: Recorded, seconds: int, *, eager: bool = False) -> Counter[str]:
    steps = Pace(observer)
    for _ in range(seconds):
        steps.step(eager=eager)
        host.wait(1)
    return observer.reads


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "loud", lambda _frame: False)


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "loud", lambda _frame: True)


@pytest.mark.usefixtures("quiet")
def test_all_of_a_quiet_host_is_read_and_judged_every_five_seconds() -> None:
    host = Recorded(WALL)
    observer = Watched(host, {})
    reads = run(observer, host, 50)
    assert reads["cpu"] == 50
    assert "cpu" in LIGHT
    assert reads["interrupts"] == observer.judgements == 50 / REST


@pytest.mark.usefixtures("busy")
def test_a_busy_host_is_read_each_second_but_for_dear_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pace, "DEAR", 1e9)
    host = Recorded(WALL)
    observer = Watched(host, {"interrupts": 0.05})
    reads = run(observer, host, 100)
    assert reads["cpu"] == observer.judgements == 100
    assert 5 <= reads["interrupts"] <= 10


@pytest.mark.usefixtures("busy")
def test_a_dear_judgement_of_a_busy_host_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "DEAR", -1.0)
    host = Recorded(WALL)
    observer = Watched(host, {})
    run(observer, host, 50)
    assert observer.judgements == 50 / REST


@pytest.mark.usefixtures("busy")
def test_what_is_wanted_at_once_is_read_whatever_it_costs() -> None:
    host = Recorded(WALL)
    observer = Watched(host, {"interrupts": 0.05})
    assert run(observer, host, 20, eager=True)["interrupts"] == observer.judgements == 20


def test_what_counts_as_loss_are_counters_of_the_tables() -> None:
    for table, names in pace._LOST.items():
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
    assert not pace.loud(frame)
