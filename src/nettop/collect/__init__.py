"""Collectors: one kernel interface a module, found by listing this folder.

The docstring of a module names the kernel file and the kernel source that it is based on. The
module has a `Row` (see `frame`) and `read(source) -> Sequence[Row]`, or `update(source, memory) ->
Sequence[Row]` if it parses only what changed; `update` may return the same row objects again. One
of what is counted in the kernel (`Table.counted`) has `parse(text) -> Sequence[Row]` alone.
`memory` holds what the collector remembers between readings (see `_table`). Errors are OSError
(absent, forbidden) or ValueError (unknown format); the sampler lists the sentence under `missing`.
A table of which a part could not be read is a `Partly`; if the next frame is to read more of it,
an `Unfinished`.

`TABLE` says how often the table is read and what its absence means (see `_table.Table`).
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

from ..host.source import Source
from ..terms.modules import modules
from ._table import Memory, Table

__all__ = ["Memory", "Table"]  # of `_table`


@cache
def names() -> tuple[str, ...]:
    """The names of all collectors, without importing any."""
    return modules(__path__[0])


def table(name: str) -> Table:
    """What the collector declares of its table; KeyError for an unknown name."""
    declared: Table = collector(name).TABLE
    return declared


def always() -> tuple[str, ...]:
    """The collectors whose reading changes nothing and needs no question."""
    return tuple(name for name in names() if name not in counted() and name not in asked())


@cache
def asked() -> frozenset[str]:
    """The collectors of what a way needs beyond the other tables."""
    return frozenset(name for name in names() if table(name).asked)


@cache
def deep() -> Mapping[str, str]:
    """Those of `counted` that are read together."""
    return {name: what for name, what in counted().items() if not table(name).on_request}


@cache
def counted() -> Mapping[str, str]:
    """The collectors whose rows are counted in the kernel, and what counts them."""
    return {name: what for name in names() if (what := table(name).counted)}


@cache
def resting() -> frozenset[str]:
    """The collectors that may rest."""
    return frozenset(name for name in names() if table(name).may_rest)


@lru_cache(maxsize=4)
def needed(asked: frozenset[str]) -> Mapping[str, str]:
    """What each of these collectors that is needed is needed for, by name."""
    return {n: words for n in sorted(asked.intersection(names())) if (words := table(n).needed)}


@lru_cache(maxsize=4)  # a host is asked for the same tables in nearly each frame
def together(wanted: frozenset[str], known: frozenset[str]) -> tuple[str, ...]:
    """These tables in the order of their readings: each beside the one that it is read with.

    `known` are the names of collectors. A table read twice in a frame would have no interval.
    """
    beside = {name: name in known and table(name).beside for name in wanted}
    return tuple(sorted(wanted, key=lambda name: (beside[name] or name, name)))


@cache
def title(name: str) -> str:
    """What the table is, for users: what it is needed for, or how its docstring begins."""
    if table(name).needed:
        return table(name).needed
    first = (collector(name).__doc__ or name).splitlines()[0]
    words = re.split(r": |; | \(|\.$", first)[0]
    return words if words[1:2].isupper() else words[:1].lower() + words[1:]


@cache
def prompt() -> frozenset[str]:
    """The collectors that are never read less often for the budget."""
    return frozenset(name for name in names() if table(name).prompt)


@cache
def collector(name: str) -> ModuleType:
    """The collector's module; KeyError for an unknown name."""
    if name not in names():
        raise KeyError(name)
    return import_module(f"{__name__}.{name}")


def rows(name: str, source: Source, memories: dict[str, Memory]) -> Sequence[Any]:
    """Read a table; any exception of its collector. `memories` of all tables are kept."""
    module = collector(name)
    if what := table(name).counted:
        since: Sequence[Any] = module.parse(source.counted(what))
        return since
    if not hasattr(module, "update"):
        read: Sequence[Any] = module.read(source)
        return read
    updated: Sequence[Any] = module.update(
        source, memories.setdefault(table(name).memory or name, {})
    )
    return updated
