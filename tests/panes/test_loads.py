"""The load of cores over time: its height is the load, its colour the kind of work."""

from __future__ import annotations

from dataclasses import replace

from scenes import storied

from nettop.panes import loads, parts
from nettop.views import past
from nettop.views.past import History
from nettop.views.scene import Scene


def of_one(busy: int, *kinds: int) -> Scene:
    """A host with one core that does the same all the time; kinds in the order of `past.KINDS`."""
    shares = tuple(bytes([share]) for share in kinds)
    scene = storied()
    moments = (replace(one, cpus=(0,), busy=bytes([busy]), kinds=shares)
               for one in scene.past.fine)  # fmt: skip
    return replace(scene, past=History(tuple(moments)))


def test_the_kinds_of_a_moment_are_those_that_bars_are_drawn_of() -> None:
    assert tuple(kind[0] for kind in parts.KINDS) == past.KINDS
    assert tuple(kind[3] for kind in parts.KINDS) == past.KINDS


def test_the_load_of_a_core_is_stacked_by_kind_interrupt_work_below() -> None:
    _, *rows = loads.of_core(of_one(99, 33, 0, 33, 33, 0), 0, 60, 10)
    roles = [row[-1][1] for row in rows[:9]]
    assert roles == ["user"] * 3 + ["system"] * 3 + ["softirq"] * 3


def test_a_high_load_has_no_other_colour_than_a_low_one() -> None:
    for rows in (3, 12):
        drawn = loads.load(of_one(99, 0, 0, 99, 0, 0), 60, rows)[1:]
        assert {role for row in drawn for _, role in row} <= {"system", "dim", "strong", ""}


def test_a_load_in_one_row_has_the_colour_of_its_largest_kind() -> None:
    for at, kind in enumerate(past.KINDS):
        shares = [60 * (place == at) for place in range(5)]
        _, row = loads.load(of_one(60, *shares), 60, 2)
        assert {role for text, role in row if set(text) & set("▁▂▃▄▅▆▇█")} == {kind}


def test_a_kind_that_stays_as_it_was_takes_no_memory() -> None:
    facts = storied().facts
    assert facts is not None
    first = past.moment(facts, 1.0)
    assert all(
        a is b for a, b in zip(first.kinds, past.moment(facts, 2.0, first).kinds, strict=True)
    )
