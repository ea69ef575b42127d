"""Stages on the way of data that can be full: a family of stages a module, listed from this folder.

A module has `STAGES`, the declarations of its stages, and `readings(look) -> Iterable[Reading]`:
how full they are for that target; empty if it knows nothing. A newcomer adds one file: whatever
names stages reads the declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Protocol

from ....terms.modules import modules

if TYPE_CHECKING:
    from .. import Reading
    from ..looks import Look
    from ..stage import Stage


class Family(Protocol):
    """What a module of this folder has."""

    STAGES: tuple[Stage, ...]

    def readings(self, look: Look) -> Iterable[Reading]:
        """How full its stages are for that target."""


@cache
def families() -> tuple[Family, ...]:
    """Every module of this folder."""
    found: list[Family] = [import_module(f"{__name__}.{name}") for name in modules(__path__[0])]
    return tuple(found)


@cache
def declared() -> Mapping[str, Stage]:
    """Every stage by its name: those on the way of a sender, then those of a receiver alone."""
    every = [stage for family in families() for stage in family.STAGES]
    order = sorted(every, key=lambda one: (not one.sending, one.sending, one.receiving))
    return {stage.name: stage for stage in order}


@cache
def way(direction: str) -> tuple[Stage, ...]:
    """The stages that data passes in that direction, tx or rx, in order."""
    found = (stage for stage in declared().values() if stage.place(direction))
    return tuple(sorted(found, key=lambda stage: stage.place(direction)))


SHORT: Final = 14  # columns of the words of a stage in a table


@cache
def short(name: str) -> str:
    """The words of a stage in `SHORT` columns; `idle` for a flow that wants no more."""
    known = declared().get(name)
    if known is None:
        return "idle" if name == "none" else name
    words = known.words.removeprefix("the ").removeprefix("an ")
    return known.short or (words if len(words) <= SHORT else name)


@cache
def having(trait: str) -> frozenset[str]:
    """The names of the stages with a trait: a field of `Stage` that is true."""
    known: Callable[[Stage], bool] = attrgetter(trait)
    return frozenset(stage.name for stage in declared().values() if known(stage))


def readings(look: Look) -> list[Reading]:
    """How full each known stage is for that target."""
    return [reading for family in families() for reading in family.readings(look)]
