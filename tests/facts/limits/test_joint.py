"""Two limits that are as close as a tenth are both named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flow_tables import Tables
from limit_frames import flow, limits, moment

from nettop.collect import qdiscs
from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.words import line


def seen(rate: float, used: float, ran: float = 0.93) -> Limit:
    """The limit of a busy writer above a shaper that is used so much, its queue mostly empty."""

    def at(second: float) -> Tables:
        backlog = 90_000 if second % 3 == 0 else 0
        sent = int(rate / 8 * used * second)
        queue = qdiscs.Row("eth0", "root", "1:", "tbf", True, backlog, 9, sent, rate=rate)
        return moment(second, ran=ran, queue=queue)

    return flow(limits(at))


def test_a_shaper_that_a_busy_thread_fills_in_bursts_limits_as_well() -> None:
    found = seen(1.1e9, 0.92)
    assert (found.stage.stage, found.joint) == ("thread", ("qdisc",)), line(found)
    assert found.next is None or found.next.stage != "qdisc"


@pytest.mark.parametrize(
    ("rate", "used", "ran"),
    [(1.1e9, 0.88, 0.93), (1.1e9, 0.92, 0.86), (1.1e9, 0.92, 0.6)],
    ids=["it has room", "the thread carries more", "the thread has room"],
)
def test_what_is_not_joint(rate: float, used: float, ran: float) -> None:
    found = seen(rate, used, ran)
    assert "qdisc" not in found.joint, line(found)


def test_a_thread_that_carries_more_than_the_rate_limits_in_part() -> None:
    """It ran half of the time, and nothing else binds."""
    thread = Reading("thread", "here", "a[7]", "measured", "ran 64% of the time", 0.64,
                     (28.9e9, 38.3e9), held=0.3)  # fmt: skip
    found = Limit("flow", "a>b", "tx", 21.3e9, stage=thread, ladder=(thread,))
    assert line(found) == (
        "a>b sends 21.3 Gb/s, limited in part by CPU time of thread a[7] (28.9–38.3 Gb/s)"
    )
    full = replace(found, stage=replace(thread, held=0.97))
    assert "limited by CPU time" in line(full)
    assert "limited by CPU time" in line(replace(found, rate=30e9))
