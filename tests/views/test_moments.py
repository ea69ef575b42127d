"""The moments of a run: packed, bounded, and the same when they are opened again."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from scenes import healthy, lossy

from nettop.frame.rates import Entry, Frame
from nettop.views import moments
from nettop.views.moments import Found, Moments, at_moment
from nettop.views.past import FINE, History, moment
from nettop.views.scene import Note, Pending, Scene


def at(wall: float, scene: Scene | None = None) -> Scene:
    """The scene as if it had been sampled at that time."""
    scene = scene or lossy()
    assert scene.facts is not None
    return replace(scene, wall=wall, facts=replace(scene.facts, at=wall))


def run(memory: Moments, seconds: int, start: int = 0) -> Moments:
    for second in range(start, start + seconds):
        memory.add(at(1000.0 + second))
    return memory


def test_the_last_moments_are_all_kept_and_older_ones_every_step() -> None:
    memory = run(Moments(), 61)
    assert [round(wall - 1000) for wall in memory.times] == [
        0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, *range(51, 61)
    ]  # fmt: skip


def test_a_packed_moment_is_what_it_was() -> None:
    memory = run(Moments(step=1.0), 30)
    before, again = at(1007.0), memory.scene(1007.5)
    assert again is not None
    assert again.wall == 1007.0
    assert again.facts == before.facts
    assert again.findings == before.findings
    assert again.plans == before.plans
    assert again.journal is before.journal


def test_what_began_or_ended_is_kept_between_two_steps() -> None:
    memory = Moments()
    for second in range(40):
        memory.add(at(1000.0 + second, healthy() if second < 22 else lossy()))
    assert 1022.0 in memory.times


def test_the_space_is_bounded_and_the_steps_grow_with_age() -> None:
    memory = run(Moments(step=1.0, most=60_000), 600)
    assert memory.size <= 60_000
    times = memory.times
    assert times[0] == 1000.0
    gaps = [later - earlier for earlier, later in pairwise(times)]
    half = len(gaps) // 2
    assert sum(gaps[:half]) > 1.5 * sum(gaps[half:])
    assert gaps[-1] == 1.0


def test_a_large_scene_is_packed_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = run(Moments(), 61), Moments()
    monkeypatch.setattr(moments, "SLOW", 500.0)
    run(many, 61)
    assert len(many.packed) < len(few.packed)


def test_few_samples_of_a_large_scene_are_not_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "LIVE", 1)
    assert len(run(Moments(), 20).recent) == 1


def test_the_same_sample_is_kept_once() -> None:
    memory = run(Moments(), 5)
    memory.add(replace(at(1004.0), notes=(Note("a key"),)))
    assert len(memory.times) == 5


def test_a_clock_that_is_set_back_leaves_the_times_in_order() -> None:
    memory = run(Moments(step=1.0), 60)
    run(memory, 5, start=30)
    assert list(memory.times) == sorted(memory.times)
    assert memory.times[-1] == 1034.0
    assert memory.times[0] == 1000.0


class Box:
    """A memory of the seconds 900 and 950."""

    def near(self, wall: float, *, back: bool) -> Found | None:
        times = [one for one in (900.0, 950.0) if (one <= wall if back else one >= wall)]
        return Found(wall, (times[-1] if back else times[0]) if times else None)

    def arrived(self) -> Found | None:
        return None

    def scene(self, wall: float) -> Scene | None:
        return at(wall)


def test_a_moment_before_this_run_is_that_of_the_earlier_memory() -> None:
    memory = run(Moments(earlier=Box()), 3)
    assert list(memory.times) == [1000.0, 1001.0, 1002.0]
    for wall in (950.0, 1001.0):
        scene = memory.scene(wall)
        assert scene is not None
        assert scene.wall == wall


def test_the_past_of_a_moment_ends_there_and_has_the_minutes_before_it() -> None:
    scene = lossy()
    assert scene.facts is not None
    past = History(
        tuple(moment(replace(scene.facts, at=float(s)), 1000.0 + s) for s in range(2000, 2900)),
        tuple(moment(replace(scene.facts, at=float(s)), 1000.0 + s) for s in range(0, 2000, 10)),
    )
    then = past.until(2500.0)  # 1500 s after the start
    assert then.fine[-1].wall == 2500.0
    assert then.fine[0].wall == 2500.0 - FINE + 10
    assert then.coarse[-1].wall < then.fine[0].wall
    assert then.coarse[0].wall == 1000.0


def test_an_earlier_moment_has_the_notes_and_the_countdown_of_now() -> None:
    now = replace(at(1300.0), notes=(Note("x"),), pending=(Pending("1", "ring.rx@eth0", 1320.0),))
    then = at_moment(replace(at(1000.0), journal=()), now)
    assert then.ago == 300.0
    assert then.notes == now.notes
    assert then.journal == ()
    assert then.left(then.pending[0]) == 20.0


def test_a_moment_keeps_only_the_tables_that_panes_draw() -> None:
    memory = Moments(tables={"cpu"})
    for second in range(3):
        tables: dict[str, list[Entry[Any]]] = {"cpu": [], "sockets_tcp": []}
        scene = at(1000.0 + second)
        memory.add(replace(scene, frame=Frame(float(second), scene.wall, tables)))
    kept = [memory.scene(1000.0), *memory.recent]
    assert [one and one.frame and list(one.frame.tables) for one in kept] == [["cpu"]] * 4
