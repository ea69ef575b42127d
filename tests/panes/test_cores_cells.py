"""The cells of the matrix of queues and cores."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from scenes import big

from nettop.facts.kinds.queue import Queue
from nettop.panes.cores import lines
from nettop.panes.queuematrix import cell, one_each
from nettop.terms.text import text_of
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


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_long_name_of_a_queue_keeps_its_number(width: int) -> None:
    scene = big(256)
    rows = [text_of(row) for row in lines(scene, View(pane="cores"), width, 22)]
    names = [row.split()[0] for row in rows if re.match(r" ?\S+ +\d+ +\d+/s ", row)]
    assert len(set(names)) == len(names) == 5
    assert all(re.search(r"rx-\d+$", name) for name in names)


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
