"""The figures of each stage over whole ranges of a measurement: expected output.

`test_limit_boundaries.py` has the values at which a verdict changes; here are the figures of every
stage: those of its reason, utilisation, capacity, reach and what is held before it.
`pytest tests/facts/limits/test_limit_figures.py --update` writes it anew.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from folded import folded
from golden_text import parts, same
from limit_frames import every
from limit_situations import QUEUES, SHARES, SITUATIONS, device, figure, line, sender, series

from nettop.facts.limits import Reading

GOLDEN = Path(__file__).parents[2] / "golden/limits/figures.txt"
FIGURE = re.compile(r"[0-9.]+(,[0-9]{3})*(%| ?([KMGT]i?B|B|[KMG]?b/s|ms|us|s)\b)?")
PARTS = (0, 5, 30, 50, 75, 90, 100)
COUNTS = (0, 1, 20, 500, 10_000, 200_000, 5_000_000, 50_000_000)
AWAY = {True: {}, False: SITUATIONS["receiver"][0]}


def readings(make: Any) -> dict[str, Reading]:
    """Every reading of every limit by its target and name; those of one name are numbered."""
    out: dict[str, Reading] = {}
    for limit in every(make, 2, kinds=False)[-1].limits:
        for one in limit.ladder:
            where = f"{limit.over} {limit.direction} {one.stage} {one.end}"
            number = sum(name.startswith(where) for name in out)
            out[f"{where} {number}" if number else where] = one
    return out


def figures(one: Reading | None) -> str:
    """The figures of a reading, those of its reason first."""
    if one is None:
        return "-"
    shares = " ".join(map(figure, (one.utilisation, one.capacity, one.reach, one.held)))
    return f"{' '.join(found[0] for found in FIGURE.finditer(one.because))} ({shares})"


def ranges(knobs: Iterable[str], make: Any) -> Iterator[str]:
    """The readings as they are; then the figures that change over the range of a measurement."""
    base = readings(lambda second: make(second, {}))
    yield from (f"{' '.join(where.split()[:2])} {line(one)}" for where, one in base.items())
    for knob in knobs:
        values, unit = (PARTS, 100) if knob in {*SHARES, "load"} else (COUNTS, 1)
        found = [
            (value, readings(lambda second, v=value: make(second, {knob: v / unit})))  # noqa: B023
            for value in values
        ]
        for where in dict.fromkeys([*base, *(name for _, now in found for name in now)]):
            told = [(value, figures(now.get(where))) for value, now in found]
            if {text for _, text in told} != {figures(base.get(where))}:
                yield from textwrap.wrap(
                    f"{knob}: {where}: {series(told)}", 160, subsequent_indent="    "
                )


@folded("case", SITUATIONS)
def test_what_each_stage_says(case: str, update: bool) -> None:
    fixed, knobs = SITUATIONS[case]
    out = ranges(knobs.split(), lambda second, varied: sender(second, **{**fixed, **varied}))
    same(GOLDEN, "\n".join(out) + "\n", update, case)


@pytest.mark.parametrize("sends", [True, False])
def test_what_an_interface_says(sends: bool, update: bool) -> None:
    knobs = ("load", "ring", "port", "pps", "xoff", "dropped", "width")
    out = ranges(knobs, lambda s, varied: sender(s, **AWAY[sends], more=device(s, **varied)))
    same(GOLDEN, "\n".join(out) + "\n", update, f"device {'sends' if sends else 'receives'}")


@folded("kind", QUEUES)
def test_what_a_queue_says(kind: str, update: bool) -> None:
    out: list[str] = []
    for backlog in (0, 90_000):

        def make(second: float, varied: Any, backlog: int = backlog) -> Any:
            return sender(second, **QUEUES[kind](second, varied.get("load", 0.5), backlog))

        out += ranges(["load"], make)
    same(GOLDEN, "\n".join(out) + "\n", update, f"queue {kind}")


def test_no_situation_is_left_that_is_gone() -> None:
    assert len(parts(GOLDEN)) == len(SITUATIONS) + 2 + len(QUEUES)
