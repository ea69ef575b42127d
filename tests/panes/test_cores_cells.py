"""The cells of the matrix of queues and cores."""

import re
from dataclasses import replace
from typing import Any

import pytest
from scenes import big, lossy, storied

from nettop.facts.kinds.queue import Queue
from nettop.panes import corerow, grid, loads, parts
from nettop.panes.corelist import core_cells
from nettop.panes.cores import lines
from nettop.panes.queuematrix import cell, label_of, one_each
from nettop.terms.text import text_of
from nettop.views import past
from nettop.views.past import History
from nettop.views.scene import Scene
from nettop.views.view import View

RX = Queue("eth0", "rx-0", "rx", 0, irq=30, cpu=1, allowed=(1, 2))
TX = Queue("eth0", "tx-0", "tx", 0, irq=30, cpu=1, allowed=(1, 2))


@pytest.mark.parametrize(
    ("receive", "transmit", "mark"), [((3,), (), "+"), ((), (3,), "-"), ((3,), (3,), "*")]
)
def test_steering_to_a_core_has_a_mark_for_each_direction(
    receive: tuple[int, ...], transmit: tuple[int, ...], mark: str
) -> None:
    group = [replace(RX, rps_cpus=receive), replace(TX, rps_cpus=transmit)]
    assert cell(group, 3, {}) == (mark, "key")
    assert cell(group, 2, {}) == ("", "")


def test_interrupts_on_a_core_are_shown_before_everything_else() -> None:
    steered = [replace(RX, rps_cpus=(1,)), TX]
    assert cell(steered, 1, {30: {1: 1234.0}}) == ("1.23k", "accent")
    assert cell(steered, 1, {30: {1: 0.4, 2: 9.0}}) == ("+", "key")


def test_more_cores_than_fit_are_named_beside_their_queues() -> None:
    scene = big(256)
    folded = "\n".join(text_of(row) for row in lines(scene, View(pane="cores"), 120, 60))
    assert "QUEUES AND THEIR CORES" in folded
    assert re.search(r"rx-3\+?\S* +\d+ +\S+/s .* 3 +0 .*%", folded)
    whole = "\n".join(
        text_of(row) for row in lines(scene, View(pane="cores", fold_idle=False), 120, 30)
    )
    assert "QUEUES × CORES" in whole


def test_a_queue_with_interrupts_on_two_cores_is_shown_in_the_matrix() -> None:
    rows = [("eth0/rx-0", [RX])]
    assert one_each(rows, {30: {1: 900.0, 2: 0.2}})
    assert not one_each(rows, {30: {1: 900.0, 2: 40.0}})
    assert one_each([("eth0/rx-0", [replace(RX, irq=None)])], {})


def test_below_the_heading_of_cores_there_is_a_core() -> None:
    scene = big(8)
    assert scene.facts is not None
    bare = replace(scene, facts=replace(scene.facts, queues=()))
    drawn = [[text_of(row).split()[0] for row in lines(bare, View(pane="cores"), 80, height)]
             for height in range(3, 8)]  # fmt: skip
    assert ["CORES" in rows for rows in drawn] == [False, False, False, True, True]
    assert {rows[-1] for rows in drawn[3:]} == {"3"}


@pytest.mark.parametrize(("cores", "width", "head", "packets"), [
    (20, 100, 44, True), (20, 99, 28, False), (10, 98, 38, True), (10, 97, 37, False),
    (8, 110, 62, True), (1, 200, 70, True),
])  # fmt: skip
def test_a_queue_has_its_packets_where_the_pane_is_wide_or_has_few_cores(
    cores: int, width: int, head: int, *, packets: bool
) -> None:
    rows = [("enp130s0f1np1/mlx5_comp17@pci:0000:82:00.1", [RX])]
    assert label_of(rows, cores, width) == (head, packets)


@pytest.mark.parametrize("kind", past.KINDS)
@pytest.mark.parametrize("load", [None, 2.0, 50.0, 100.0])
def test_a_load_in_figures_has_the_role_of_its_kind(load: float | None, kind: str) -> None:
    facts = lossy().facts
    assert facts is not None
    idle = None if load is None else 100 - load
    shares: dict[str, Any] = {**dict.fromkeys(past.KINDS, 0.0), kind: load}
    core = replace(facts.cores[0], idle=idle, **shares)
    role = kind if (load or 0) > 3 else "dim"
    assert parts.load_role(core) == role == core_cells(core)[2][-1][1]
    for drawn in (corerow.core_row(core, 60, 2), *grid.brief(replace(facts, cores=(core,)), 80)):
        assert {role for _, role in drawn} & {"bad", "warn"} == set()


# The load of cores over time: its height is the load, its colour the kind of work.


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


def test_a_process_without_room_has_its_name_and_no_part_of_its_number() -> None:
    scene = lossy()
    assert scene.facts is not None
    core = replace(scene.facts.cores[2], processes=("iperf3[21189]",), queues=())
    for width in range(34, 60):
        told = text_of(corerow.core_row(core, width, 1))
        assert "iperf3[21189]" in told or "[" not in told
