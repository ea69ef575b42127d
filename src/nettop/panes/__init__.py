"""Panes: one screen a module, pure functions from a scene to lines of (text, role).

A pane module has `TITLE`, `KEY` (the digit that opens it), `LEGEND` (what its signs mean, for the
help), `NEEDS` (tables read only while it is shown), `items(scene, view)` (the ids of the rows a
cursor can be on, in the order shown) and
`lines(scene, view, width, height) -> list[Line]` of at most `height` lines. A new pane is one new
file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from ..terms.errors import nearest
from ..terms.modules import modules

_SHARED = frozenset(
    "parts table grid corelist trend page path asking outcome clock cursor listed".split()
)  # modules that are no pane


@cache
def names() -> tuple[str, ...]:
    """Every pane there is, in the order of its key."""
    found = (name for name in modules(__path__[0]) if name not in _SHARED)
    return tuple(sorted(found, key=lambda name: str(pane(name).KEY)))


@cache
def pane(name: str) -> ModuleType:
    """The pane's module; KeyError for an unknown name."""
    if name in _SHARED or not os.path.exists(os.path.join(__path__[0], f"{name}.py")):
        raise KeyError(name)
    return import_module(f"{__name__}.{name}")


def columns(name: str) -> tuple[str, ...]:
    """The columns of a pane's table, by the names the configuration knows; () where none is chosen.

    KeyError for an unknown pane.
    """
    from .table import names_of

    return names_of(getattr(pane(name), "COLUMNS", ()))


def chosen_columns(configured: Mapping[str, Any]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The columns of each pane's table, from `[columns]` of the configuration; and what is wrong.

    A table that does not exist, or with a column that it does not have, is left out and told.
    """
    chosen: dict[str, tuple[str, ...]] = {}
    faults: list[str] = []
    with_tables = [name for name in names() if columns(name)]
    for table, wanted in configured.items():
        known = columns(table) if table in with_tables else ()
        strange = [name for name in wanted if name not in known] if isinstance(wanted, list) else []
        if not known:
            near = nearest(table, with_tables) or f"; there are {', '.join(with_tables)}"
            faults.append(f"config.toml: columns of an unknown table {table!r}{near}")
        elif not isinstance(wanted, list) or not wanted:
            faults.append(f"config.toml: columns.{table} is a list of {', '.join(known)}")
        elif strange:
            near = nearest(str(strange[0]), known) or f"; there are {', '.join(known)}"
            faults.append(f"config.toml: columns.{table} has no column {strange[0]!r}{near}")
        else:
            chosen[table] = tuple(wanted)
    return chosen, faults
