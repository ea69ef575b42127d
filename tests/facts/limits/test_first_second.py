"""What the program of a flow does is not told from one short sample, nor against its bytes."""

from typing import Any

import pytest
from asleep import asleep
from flow_tables import Tables
from limit_frames import AWAY, flow, limits, moment

from nettop.facts.joined import Joiner
from nettop.facts.limits import words
from nettop.frame.pairs import entries
from nettop.frame.rates import Frame

ROOM = {**AWAY, "wmem_queued": 0}
SLEEPS = asleep(pid=7, tid=7, started=5, name="iperf3", state="S", call="pselect6", kind="events",
                ends=True)  # fmt: skip


def at(second: float, *, rate: float = 2e9, ran: float = 0.0, **more: Any) -> Tables:
    rates = {"bytes_acked": rate, "busy_time": 50_000}
    return moment(second, rates=rates, gauges=ROOM, ran=ran, more={"waits": [SLEEPS], **more})


@pytest.mark.parametrize(("interval", "told"), [(0.1, "unknown"), (1.0, "timer")])
def test_the_first_second_says_that_it_measures(interval: float, told: str) -> None:
    joiner = Joiner()
    past: dict[str, Any] = {}
    for second in (0.0, interval):
        tables = at(second, rate=1e6, ran=0.01)
        made = {name: entries(rows, past.get(name, ()), interval) for name, rows in tables.items()}
        found = joiner.build(Frame(second, 0.0, made)).limits
        past = made
    one = flow(found)
    assert (one.stage.stage, words.early(one)) == (told, told == "unknown")
    assert (words.verdict(one) == "limit not known yet") == (told == "unknown")


@pytest.mark.parametrize(("rate", "told"), [(2e9, "application"), (1e6, "timer")])
def test_a_program_that_moves_16_gbit_is_not_told_to_sleep_all_the_time(
    rate: float, told: str
) -> None:
    """Its CPU time was not counted yet, or another thread, of which nothing is known, sends."""
    assert flow(limits(lambda second: at(second, rate=rate))).stage.stage == told
