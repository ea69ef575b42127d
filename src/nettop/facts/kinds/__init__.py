"""The kinds of facts that rules can be over, found by listing this folder.

Each module has a frozen dataclass with declared fields, and `KIND` (see `facts.kind`); kinds that
are one thought share a module. A new kind is one new file here; if no other module makes its facts,
the file has `build(frame, facts)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING

from ...terms.modules import modules
from ..kind import Kind

if TYPE_CHECKING:
    from .. import Facts


@cache
def kinds() -> Mapping[str, Kind]:
    """All kinds by name."""
    every = (import_module(f"{__name__}.{name}") for name in modules(__path__[0]))
    found = (one for module in every for one in vars(module).values() if isinstance(one, Kind))
    return {kind.name: kind for kind in sorted(found, key=attrgetter("name"))}


def built(
    facts: Facts, make: Callable[[Kind, Facts], tuple[object, ...]]
) -> Mapping[str, tuple[object, ...]]:
    """The facts of the kinds with `build`, in the order of names; one may use those before it."""
    found: dict[str, tuple[object, ...]] = {}
    facts = replace(facts, more=found)
    found.update((kind.name, make(kind, facts)) for kind in kinds().values() if kind.build)
    return found
