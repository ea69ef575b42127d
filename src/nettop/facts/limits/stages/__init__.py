"""Stages on the way of data that can be full: a family of stages a module, listed from this folder.

A module has `readings(look) -> Iterable[Reading]`: what it knows of its stages for that target;
empty if it knows nothing. Readings name stages of `limits.STAGES`. A newcomer adds one file.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Protocol

from ....terms.modules import modules
from .. import Reading
from ..looks import Look


class Family(Protocol):
    """What a module of this folder has."""

    def readings(self, look: Look) -> Iterable[Reading]:
        """How full its stages are for that target."""


@cache
def families() -> tuple[Family, ...]:
    """Every module of this folder."""
    found: list[Family] = [import_module(f"{__name__}.{name}") for name in modules(__path__[0])]
    return tuple(found)


def readings(look: Look) -> list[Reading]:
    """How full each known stage is for that target."""
    return [reading for family in families() for reading in family.readings(look)]
