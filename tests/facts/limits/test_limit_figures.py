"""The figures of each stage over whole ranges of a measurement: expected output.

`test_limit_boundaries.py` has the values at which a verdict changes; here are the utilisation, the
capacity and the words of every stage. Of many lines that change the first, and a checksum of all.
`pytest tests/facts/limits/test_limit_figures.py --update` writes it anew.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from golden_text import same
from limit_frames import every
from limit_situations import QUEUES, SHARES, SITUATIONS, device, line, sender

GOLDEN = Path(__file__).parents[2] / "golden/limits/figures"
SHOWN = 3
PARTS = (0, 5, 30, 50, 75, 90, 100)
COUNTS = (0, 1, 20, 500, 10_000, 200_000, 5_000_000, 50_000_000)
AWAY = {True: {}, False: SITUATIONS["receiver"][0]}


def readings(make: Any, seconds: int = 2) -> list[str]:
    """Every reading of every limit."""
    out = []
    for one in every(make, seconds)[-1].limits:
        where = f"{one.over} {one.direction}"
        out.append(f"{where} {one.rate} {one.joint} {one.next.stage if one.next else None}")
        out += [f"{where} {line(step)}" for step in one.ladder]
    return out


def told(what: str, now: list[str], was: list[str]) -> Iterator[str]:
    changed = [one for one in now if one not in was]
    check = zlib.crc32("\n".join(now).encode())
    yield f"{what}: {len(changed)} of {len(now)} readings, {check:08x}"
    yield from (f"    {one[:200]}" for one in changed[:SHOWN])


def ranges(knobs: Iterable[str], make: Any) -> Iterator[str]:
    """The readings as they are, then those that differ for each value of each measurement."""
    base = readings(lambda second: make(second, {}))
    yield from base
    for knob in knobs:
        values, unit = (PARTS, 100) if knob in {*SHARES, "load"} else (COUNTS, 1)
        for value in values:
            varied = {knob: value / unit}
            now = readings(lambda second, varied=varied: make(second, varied))
            yield from told(f"{knob} {value}", now, base)


@pytest.mark.parametrize("case", SITUATIONS)
def test_what_each_stage_says(case: str, update: bool) -> None:
    fixed, knobs = SITUATIONS[case]
    out = ranges(knobs.split(), lambda second, varied: sender(second, **{**fixed, **varied}))
    same(GOLDEN / f"{case.replace(' ', '-')}.txt", "\n".join(out) + "\n", update)


@pytest.mark.parametrize("sends", [True, False])
def test_what_an_interface_says(sends: bool, update: bool) -> None:
    knobs = ("load", "ring", "port", "pps", "xoff", "dropped", "width")
    out = ranges(knobs, lambda s, varied: sender(s, **AWAY[sends], more=device(s, **varied)))
    name = "device-sends" if sends else "device-receives"
    same(GOLDEN / f"{name}.txt", "\n".join(out) + "\n", update)


@pytest.mark.parametrize("kind", QUEUES)
def test_what_a_queue_says(kind: str, update: bool) -> None:
    out: list[str] = []
    for backlog in (0, 90_000):

        def make(second: float, varied: Any, backlog: int = backlog) -> Any:
            return sender(second, **QUEUES[kind](second, varied.get("load", 0.5), backlog))

        out += ranges(["load"], make)
    same(GOLDEN / f"queue-{kind}.txt", "\n".join(out) + "\n", update)
