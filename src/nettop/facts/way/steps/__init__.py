"""The steps of a way, one a module, found by listing this folder, in the kernel's order.

A module has `PLACE`, its place in that order, and `look(leg) -> Iterable[Step]`: what the packets
of this part of the way pass there, what stops them, or what cannot be seen. It gives nothing where
they do not come by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module

from ....terms.modules import modules
from ..flow import Step
from ..legs import Leg


@cache
def steps() -> tuple[Callable[[Leg], Iterable[Step]], ...]:
    """The functions of all steps, in order."""
    found = [import_module(f"{__name__}.{name}") for name in modules(__path__[0])]
    return tuple(one.look for one in sorted(found, key=lambda one: one.PLACE))
