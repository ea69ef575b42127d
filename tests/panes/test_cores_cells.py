"""The cells of the matrix of queues and cores."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from scenes import big

from nettop.facts.kinds.queue import Queue
from nettop.panes.cores import lines
from nettop.panes.queuematrix import cell
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
    rows = [text_of(row) for row in lines(scene, View(pane="cores"), width, 22)][4:12]
    names = [row.split()[0] for row in rows]
    assert len(set(names)) == 8
    assert all(re.search(r"rx-\d+$", name) for name in names)
