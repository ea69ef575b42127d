"""How long a headless command looks."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest
import stories
from scenes import WALL, lossy

from nettop.sampling.refresh import LONGEST
from nettop.views.altered import SEEN, changes
from nettop.views.build import merge
from nettop.views.observer import Observer, _slow, watch
from nettop.views.scene import Scene, SceneOrigin


@dataclass
class Host:
    """A live source that is slow: its first reading takes `first` seconds, each other `each`."""

    first: float
    each: float
    loads: float = 0.0  # what the first judgement takes: it loads the rules
    at: float = 100.0
    live: bool = True
    ends: bool = False
    steps: list[float] = field(default_factory=list)
    spent: dict[str, float] = field(default_factory=dict)  # CPU seconds by table
    waits: list[dict[str, float]] = field(default_factory=list)  # of each step
    seldom: dict[str, float] = field(default_factory=dict)
    asks_at: int = 0  # the number of the frame that first asks about a way

    @property
    def source(self) -> Host:
        return self

    sampler = source

    @property
    def unanswered(self) -> bool:
        return len(self.steps) == self.asks_at

    def now(self) -> float:
        return self.at

    def wait(self, seconds: float) -> bool:
        self.at += max(0.0, seconds)
        return True

    def tables(self, wanted: Any) -> set[str]:
        return {"links", *wanted}

    def take(self, tables: Any) -> float:
        assert tables == {"links", "cpu"}
        self.at += self.each if self.steps else self.first
        self.steps.append(self.at)
        return self.at

    def observation(self, frame: float) -> float:
        if len(self.steps) == 1:
            self.at += self.loads
        return frame

    def step(self, wanted: Any, waits: Any = ()) -> float:
        self.waits.append(dict(waits))
        return self.observation(self.take(self.tables(wanted)))


@pytest.mark.parametrize(
    ("first", "each", "steps"),
    [
        (0.01, 0.01, 5),
        (0.5, 0.01, 5),
        (30.0, 0.01, 5),
        (30.0, 0.9, 5),
        (30.0, 3.0, 4),
        (30.0, 60.0, 2),
    ],
)
def test_a_slow_first_reading_costs_no_other(first: float, each: float, steps: int) -> None:
    host = Host(first, each)
    assert len(list(watch(cast("Observer", host), 4.0, {"cpu"}))) == steps
    assert host.steps[-1] - host.steps[0] >= 4.0 - 0.5 - each


def test_a_table_that_takes_long_is_read_in_the_first_and_the_last_sample() -> None:
    host = Host(0.01, 0.01, spent={"sockets_tcp": 0.6, "links": 0.01})
    assert len(list(watch(cast("Observer", host), 4.0, {"cpu"}))) == 5
    assert host.waits == [{"sockets_tcp": 20.0}] * 3 + [{}]
    assert host.seldom == {"sockets_tcp": 20.0}  # commands say so


def test_the_last_sample_has_it_also_where_samples_are_slow() -> None:
    host = Host(0.01, 0.7, spent={"sockets_tcp": 0.6})
    list(watch(cast("Observer", host), 4.0, {"cpu"}))
    assert host.waits[-1] == {}
    assert {"sockets_tcp": 20.0} in host.waits


@pytest.mark.parametrize(("each", "asks_at", "steps"), [(3.0, 4, 5), (0.01, 5, 6), (0.01, 4, 5)])
def test_what_the_last_sample_asks_is_answered_by_one_more(
    each: float, asks_at: int, steps: int
) -> None:
    host = Host(30.0, each, asks_at=asks_at)
    list(watch(cast("Observer", host), 4.0, {"cpu"}))
    assert len(host.steps) == steps
    assert host.steps[-1] - host.steps[-2] >= 1.0, "rates need an interval"


def test_less_than_four_seconds_are_four_intervals_all_the_same() -> None:
    host = Host(0.2, 0.001)
    assert len(list(watch(cast("Observer", host), 1.0, {"cpu"}))) == len(host.steps) == 5


@pytest.mark.parametrize("loads", [0.2, 0.3, 0.6, 3.0])
def test_rules_load_after_the_first_sample_and_leave_four_intervals(loads: float) -> None:
    host = Host(0.1, 0.001, loads)
    assert len(list(watch(cast("Observer", host), 1.0, {"cpu"}))) == 5
    assert min(b - a for a, b in pairwise(host.steps)) >= min(0.1, 0.5 / 4)
    longest = max(1.0, 0.1 + loads + 0.5)  # seconds since the first sample began
    assert 1.0 - 0.25 / 2 <= host.steps[-1] - 100.0 <= longest + 0.01


def test_a_long_look_keeps_its_interval_when_rules_load_slowly() -> None:
    host = Host(0.1, 0.001, loads=2.0)
    assert len(list(watch(cast("Observer", host), 30.0, {"cpu"}))) >= 28


def test_the_first_sample_needs_no_rule_and_nothing_that_reads_rules() -> None:
    code = (
        "import sys; from nettop.views.observer import Observer"
        "; from nettop.host.source import Live; observer = Observer(Live('/nowhere'))"
        "; observer.sampler.take(observer.tables())"
        "; early = [m for m in sys.modules if m.startswith('nettop.advice')]"
        "; print(early, len(observer.judge.rules) > 100)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] True\n"


def test_after_a_change_of_the_host_all_is_read_and_judged_and_mutes_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    host: Any = Host(0.1, 0.1)
    observer = Observer(host)
    monkeypatch.setattr(observer.sampler, "refresh", lambda _: asked.append("tables"))
    judge: Any = SimpleNamespace(anew=lambda: asked.append("facts"), muted=frozenset())
    monkeypatch.setattr(observer, "judge", judge)
    monkeypatch.setattr("nettop.config.muted", lambda: ["rule@eth0"])
    observer.refresh()
    assert asked == ["tables", "facts"]
    assert judge.muted == {"rule@eth0"}


# Settings that changed while a recording was made: seen from sample to sample.


def told(kind: str = "recording") -> Scene:
    """Three samples: the ring is enlarged between the first and the second."""
    scene = Scene(origin=SceneOrigin(kind, "web1"))  # type: ignore[arg-type]
    for facts, wall in ((lossy().facts, WALL), (stories.cured(), WALL + 1)):
        scene = merge(scene, replace(lossy(), facts=facts, wall=wall))
    return merge(scene, replace(lossy(), facts=stories.cured(), wall=WALL + 2))


def test_a_change_between_two_samples_is_seen_once_with_its_time() -> None:
    (change,) = changes(told())
    assert (change.setting, change.before, change.after) == ("ring.rx@eth0", "256", "512")
    assert (change.state, change.wall) == (SEEN, WALL + 1)


@pytest.mark.parametrize("kind", ["host", "directory"])
def test_only_of_a_recording(kind: str) -> None:
    assert not changes(told(kind))


def test_a_recording_that_starts_again_has_changed_nothing_back() -> None:
    again = merge(told(), replace(lossy(), wall=WALL))
    assert not changes(again)


def test_the_moment_of_a_change_seen_again_still_has_it() -> None:
    again = merge(told(), replace(lossy(), facts=stories.cured(), wall=WALL + 1))
    assert [one.setting for one in changes(again)] == ["ring.rx@eth0"]


def test_a_setting_that_is_read_for_the_first_time_has_not_changed() -> None:
    facts = lossy().facts
    assert facts is not None
    scene = Scene(origin=SceneOrigin("recording", "web1"))
    scene = merge(scene, replace(lossy(), facts=replace(facts, nics=())))
    assert not changes(merge(scene, replace(lossy(), wall=WALL + 1)))


def test_what_the_kernel_counts_is_not_slow_for_its_first_reading() -> None:
    spent = {"drop_reasons": 9.0, "qdiscs": 9.0, "links": 0.0}
    seen: Any = SimpleNamespace(
        source=SimpleNamespace(live=True), sampler=SimpleNamespace(spent=spent)
    )
    assert _slow(seen, 1.0) == {"qdiscs": LONGEST}
