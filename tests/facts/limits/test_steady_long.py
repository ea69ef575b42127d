"""Minutes of a flow whose figures vary at random around the thresholds of several stages."""

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from flow_tables import Tables
from limit_frames import SENDS, history, moment

from nettop.collect import qdiscs, threads

FRESH = 10  # seconds in which each look knows more than the one before
MINUTE = 60

Second = tuple[Mapping[str, float], Mapping[str, Any], float, float, float | None]


def busy(noise: random.Random) -> Second:
    """A writer about as busy as a thread that limits."""
    rates = {"bytes_acked": 125e6 * noise.uniform(0.7, 1.2)}
    return rates, {"notsent": noise.choice((0, 500_000))}, noise.uniform(0.6, 1.0), 0.0, None


def waiting(noise: random.Random) -> Second:
    """A peer whose window is full about half of the time."""
    rates = {"rwnd_limited": noise.uniform(2e5, 8e5)}
    gauges = {"notsent": noise.choice((0, 500_000)), "unacked": noise.choice((0, 20))}
    return rates, gauges, noise.uniform(0.3, 0.95), 0.0, None


def shaped(noise: random.Random) -> Second:
    """A shaper that is full now and then."""
    used = noise.uniform(0.75, 1.0)
    gauges = {"notsent": noise.choice((0, 500_000))}
    return {"bytes_acked": 125e6 * used}, gauges, noise.uniform(0.3, 0.9), 0.0, used


def crowded(noise: random.Random) -> Second:
    """A thread with a neighbour on its core."""
    rates = {"bytes_acked": 125e6 * noise.uniform(0.2, 1.5)}
    gauges = {"notsent": noise.choice((0, 500_000))}
    return rates, gauges, noise.uniform(0.2, 0.5), noise.uniform(0.0, 0.7), None


def moments(make: Callable[[random.Random], Second], seed: int) -> Callable[[float], Tables]:
    """The tables of each second, their counters the sums of what each second brought."""
    noise = random.Random(seed)
    counts = dict.fromkeys(SENDS, 0)
    ran = waited = passed = 0.0

    def at(second: float) -> Tables:
        nonlocal ran, waited, passed
        rates, gauges, runs, waits, used = make(noise)
        for name, rate in {**SENDS, **rates}.items():
            counts[name] += int(rate)
        ran, waited = ran + runs, waited + waits
        passed += 131e6 * (used or 0.0)
        tables = moment(second, gauges={**gauges})
        backlog = noise.choice((0, 90_000))
        queue = qdiscs.Row("eth0", "root", "1:", "tbf", True, backlog, 9, int(passed), rate=1.05e9)
        return {
            **tables,
            "sockets_tcp": [tables["sockets_tcp"][0]._replace(**counts)],
            "threads": [threads.Row(7, 7, 5, "iperf3", "S", ran, waited, 0, None)],
            **({"qdiscs": [queue]} if used is not None else {}),
        }

    return at


def verdicts(found: Sequence[Any]) -> list[tuple[str, str]]:
    return [
        next((one.stage.stage, one.stage.end) for one in every if one.over == "flow")
        for every in found[1:]
    ]


@pytest.mark.parametrize("make", [busy, waiting, shaped, crowded])
@pytest.mark.parametrize(
    ("seed", "seconds"),
    [(1, 240), *(pytest.param(seed, 600, marks=pytest.mark.nightly) for seed in (1, 2, 3, 4))],
)
def test_the_verdict_changes_at_most_once_a_minute(
    make: Callable[[random.Random], Second], seed: int, seconds: int
) -> None:
    seen = verdicts(history(moments(make, seed), seconds))
    changes = [at for at in range(FRESH, len(seen)) if seen[at] != seen[at - 1]]
    assert all(later - at >= MINUTE for at, later in pairwise(changes)), [
        (at, seen[at - 1], seen[at]) for at in changes
    ]
