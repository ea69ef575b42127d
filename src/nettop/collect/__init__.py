"""Collectors: one kernel surface a module, found by listing this folder.

A collector module has a docstring naming the file and the kernel source it rests on, a `Row` (see
`frame`), and `read(source) -> Sequence[Row]`. One that parses only what changed has
`update(source, memory) -> Sequence[Row]` instead, and may hand out the same row object again;
`memory` is a dict of its own that lives as long as the sampler, or one that collectors with the
same `MEMORY` share; `TIMELESS = True` says that it holds only what was made of which text, so that
it serves a recording that begins anew as well. `EVERY = 10.0` says it is dear: read every that many
seconds. `ON_REQUEST = True` says that reading it does more than look, so that it is read only when
it is asked for by name. `ELSE = "name"` is the collector that is read where this one cannot be;
`OPTIONAL = True` says that most hosts do without it, which no report need mention. Errors are
OSError (not there, forbidden) or ValueError (not understood): the sampler lists them under
`missing` and goes on. A table that lacks a part is a `Partly`: its rows, and what is missing.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType

from ..terms.modules import modules


@cache
def names() -> tuple[str, ...]:
    """Every collector there is, without importing any."""
    return modules(__path__[0])


def always() -> tuple[str, ...]:
    """The collectors that only look: all but those `ON_REQUEST`."""
    return tuple(n for n in names() if not getattr(collector(n), "ON_REQUEST", False))


def timeless(name: str) -> bool:
    """Whether what the collector remembers is as good at any other time."""
    return getattr(collector(name), "TIMELESS", False) if name in names() else False


@cache
def collector(name: str) -> ModuleType:
    """The collector's module; KeyError for an unknown name."""
    if name not in names():
        raise KeyError(name)
    return import_module(f"{__name__}.{name}")
