"""Panes: one screen a module, pure functions from a scene to lines of (text, role).

`declared.Pane` lists the names that a pane module declares: required ones (`TITLE`, `KEY`,
`LEGEND`, `NEEDS`, `items`, `lines`) and optional ones (its own keys; what Enter, ← → and Esc do). A
module with a `KEY` is a pane; panes share the other modules of this folder. A new pane is one new
file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib import import_module

from ..terms.errors import nearest
from ..terms.modules import modules
from .declared import Pane, is_pane, of
from .parts import names_of


@cache
def names() -> tuple[str, ...]:
    """The names of all panes, in the order of their keys."""
    parts = {name: import_module(f"{__name__}.{name}") for name in modules(__path__[0])}
    panes = (name for name, module in parts.items() if is_pane(module))
    # 0 stands after 9 on a keyboard
    return tuple(sorted(panes, key=lambda name: pane(name).KEY.replace("0", ":")))


@cache
def pane(name: str) -> Pane:
    """The pane of that name; KeyError for an unknown one."""
    if os.path.exists(os.path.join(__path__[0], f"{name}.py")):
        module = import_module(f"{__name__}.{name}")
        if is_pane(module):
            return of(module)
    raise KeyError(name)


def drawn() -> frozenset[str]:
    """The tables of the frame that panes draw; all other tables are only joined to facts."""
    found = (pane(name) for name in names())
    return frozenset(
        table for one in found for table in (one.NEEDS if one.DRAWS is None else one.DRAWS)
    )


def columns(name: str) -> tuple[str, ...]:
    """The column names of a pane's table, as in the configuration; () if it cannot be configured.

    KeyError for an unknown pane.
    """
    return names_of(pane(name).COLUMNS)


def chosen_columns(
    configured: Mapping[str, object],
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The columns of each pane's table, from `[columns]` of the configuration; and the faults.

    An unknown table, or one with an unknown column, is ignored and reported as a fault.
    """
    chosen: dict[str, tuple[str, ...]] = {}
    faults: list[str] = []
    with_tables = [name for name in names() if columns(name)]
    for table, value in configured.items():
        known = columns(table) if table in with_tables else ()
        listed = value if isinstance(value, list) else []
        unknown = [name for name in listed if name not in known]
        if not known:
            near = nearest(table, with_tables) or f"; there are {', '.join(with_tables)}"
            faults.append(f"config.toml: columns of an unknown table {table!r}{near}")
        elif not listed:
            faults.append(f"config.toml: columns.{table} is a list of {', '.join(known)}")
        elif unknown:
            near = nearest(str(unknown[0]), known) or f"; there are {', '.join(known)}"
            faults.append(f"config.toml: columns.{table} has no column {unknown[0]!r}{near}")
        else:
            chosen[table] = tuple(listed)
    return chosen, faults
