"""Collectors: one kernel interface a module, found by listing this folder.

The docstring of a module names the kernel file and the kernel source that it is based on. The
module has a `Row` (see `frame`) and `read(source) -> Sequence[Row]`, or `update(source, memory) ->
Sequence[Row]` if it parses only what changed; `update` may return the same row objects again.
`memory` holds what the collector remembers between readings (see `_memory`). Errors are OSError
(absent, forbidden) or ValueError (unknown format); the sampler lists the sentence under `missing`.
A table of which a part could not be read is a `Partly`; if the next frame is to read more of it,
an `Unfinished`.

A module may also declare:

    EVERY = 10.0          seconds between readings (default: each frame)
    COUNTED = "drops"     the module of `host.bpf` that counts or samples the rows in the kernel:
                          read only when asked for by name
    ON_REQUEST = True     of these one that is read alone, never with the others
    ASKED = True          read only while a question about a way is open: see `ways`
    NEEDED = "phrase"     what nobody can judge without this table: a host that lacks it is not
                          called sound; a table that lacks it is a witness: that it was not read is
                          said beside the verdict
    WHOLE = True          a needed table of which a part could not be read was not read
    MAY_BE_EMPTY = True   a needed table without rows was read
    ELSE = "name"         the collector to read if this one fails
    ABSENT = True         hosts without that hardware or module have no file of it
    OPTIONAL = True       most hosts lack it: reports do not list it as missing
    MAY_REST = True       read every other second while no pane shows the table
    PROMPT = True         rates of these are the picture: never read less often for the budget
    KEEP_OPEN = (path,)   files read in each frame that exist while the kernel runs: opened once
    MEMORY = "key"        collectors with the same key share one memory
    TIMELESS = True       the memory depends on texts only, so a recording that restarts keeps it
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType

from ..terms.modules import modules
from ._memory import Memory

__all__ = [
    "Memory",
    "always",
    "asked",
    "collector",
    "counted",
    "deep",
    "names",
    "needed",
    "prompt",
    "resting",
    "timeless",
    "title",
]


@cache
def names() -> tuple[str, ...]:
    """The names of all collectors, without importing any."""
    return modules(__path__[0])


def always() -> tuple[str, ...]:
    """The collectors whose reading changes nothing and needs no question."""
    return tuple(name for name in names() if name not in counted() and name not in asked())


@cache
def asked() -> frozenset[str]:
    """The collectors with `ASKED`: what a way needs beyond the other tables."""
    return frozenset(n for n in names() if getattr(collector(n), "ASKED", False))


@cache
def deep() -> Mapping[str, str]:
    """Those of `counted` that are read together: all without `ON_REQUEST`."""
    return {
        name: what for name, what in counted().items()
        if not getattr(collector(name), "ON_REQUEST", False)
    }  # fmt: skip


@cache
def counted() -> Mapping[str, str]:
    """The collectors whose rows are counted in the kernel, and what counts them (`COUNTED`)."""
    return {n: what for n in names() if (what := getattr(collector(n), "COUNTED", ""))}


def timeless(name: str) -> bool:
    """Whether the memory of the collector is valid at any other time (`TIMELESS`)."""
    return getattr(collector(name), "TIMELESS", False) if name in names() else False


@cache
def resting() -> frozenset[str]:
    """The collectors with `MAY_REST`."""
    return frozenset(n for n in names() if getattr(collector(n), "MAY_REST", False))


def needed(asked: Iterable[str]) -> dict[str, str]:
    """What each of these collectors that has `NEEDED` is needed for, by name."""
    every = {name: getattr(collector(name), "NEEDED", "") for name in sorted({*asked} & {*names()})}
    return {name: words for name, words in every.items() if words}


@cache
def title(name: str) -> str:
    """What the table is, for users: what it is needed for, or how its docstring begins."""
    module = collector(name)
    if hasattr(module, "NEEDED"):
        return str(module.NEEDED)
    first = (module.__doc__ or name).splitlines()[0]
    words = re.split(r": |; | \(|\.$", first)[0]
    return words if words[1:2].isupper() else words[:1].lower() + words[1:]


@cache
def prompt() -> frozenset[str]:
    """The collectors with `PROMPT`."""
    return frozenset(n for n in names() if getattr(collector(n), "PROMPT", False))


@cache
def collector(name: str) -> ModuleType:
    """The collector's module; KeyError for an unknown name."""
    if name not in names():
        raise KeyError(name)
    return import_module(f"{__name__}.{name}")
