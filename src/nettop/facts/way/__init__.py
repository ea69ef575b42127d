"""The way of a flow: a walk over the host's configuration in the order in which the kernel goes.

The kernel's route answer (`collect.ways`) comes first; then each module of `steps` looks at its
part. A step passes, stops the flow, or cannot see: what passes the tables by is never taken for
"nothing stops it". `walk(flow, frame)` is pure; `questions` gives what the kernel is to be asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...collect.ways import Question
from ...frame.rates import Frame
from .flow import HIDDEN, PASSES, STOPS, SUSPECT, Flow, Host, Step, Way
from .legs import Leg, legs
from .steps import steps

__all__ = [
    "HIDDEN", "PASSES", "STOPS", "SUSPECT", "Flow", "Step", "Way", "questions", "walk",
]  # fmt: skip


def questions(flow: Flow, frame: Frame) -> tuple[Question, ...]:
    """What the kernel is to be asked for this flow, as far as the answers in `frame` show it."""
    return tuple(legs(flow, Host.of(frame)).questions)


def walk(flow: Flow, frame: Frame) -> Way:
    """What the flow passes, up to the first step that stops it."""
    found = legs(flow, Host.of(frame))
    seen: dict[Step, None] = {}
    for step in (step for leg in (*found.outer, *found.legs) for step in _steps(leg)):
        seen[step] = None
        if step.outcome == STOPS:
            break
    first = found.legs[0]
    return Way(flow, found.case, tuple(seen), first.hop.interface, first.question.source)


def _steps(leg: Leg) -> Iterator[Step]:
    """What one part of the way passes; of a tunnel's packets it is said whose they are."""
    for look in steps():
        for step in look(leg):
            whose = f"{step.saw}; it carries {leg.above}"
            if step.outcome in (STOPS, SUSPECT):
                whose = f"{step.saw}, on the way of {leg.above} to {leg.question.to}"
            yield replace(step, saw=whose) if leg.above else step
