"""Fields and row classes: what a collector declares of what it reads.

A row is a frozen dataclass whose fields say what they are: a *label* (part of the row's key), a
*counter* (only grows; shown per second), a *vector* (counters by CPU, sparse), or a *gauge* (is
what it is). Rates, JSON, rule names, help texts and units all come from that one declaration.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, field, fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, cast

_Kind = TypeVar("_Kind")


def label(help: str, **options: Any) -> Any:  # noqa: A002
    """A field that names the row: part of its key."""
    return field(metadata={"kind": "label", "help": help, "unit": ""}, **options)


def counter(help: str, unit: str = "", **options: Any) -> Any:  # noqa: A002
    """A field that only grows; its rate is `unit` per second. None when the host does not say."""
    return field(metadata={"kind": "counter", "help": help, "unit": unit}, **options)


def vector(help: str, unit: str = "", **options: Any) -> Any:  # noqa: A002
    """Counters by CPU number, sparse (`{cpu: count}`, absent is zero); so is the rate."""
    return field(metadata={"kind": "vector", "help": help, "unit": unit}, **options)


def gauge(help: str, unit: str = "", **options: Any) -> Any:  # noqa: A002
    """A field that is what it is now, in `unit`."""
    return field(metadata={"kind": "gauge", "help": help, "unit": unit}, **options)


def light(kind: type[_Kind]) -> type[_Kind]:
    """A row class declared as a dataclass and made as a named tuple, for thousands of rows.

    `fields`, `replace`, labels and rates work as for any row; one costs a quarter of the time.
    """
    every = fields(kind)  # type: ignore[arg-type]
    make: Any = namedtuple  # noqa: PYI024 - its fields are known only here
    made: Any = make(
        kind.__name__,
        [f.name for f in every],
        defaults=[f.default for f in every if f.default is not MISSING],
        module=kind.__module__,
    )
    made.__doc__ = kind.__doc__
    made.__dataclass_fields__ = {f.name: f for f in every}
    return cast("type[_Kind]", made)


@cache
def key_of(kind: Any) -> Callable[[Any], Any]:
    """The function that gives a row's key: its label, or the tuple of its labels."""
    names = [f.name for f in fields(kind) if f.metadata.get("kind") == "label"]
    if not names:
        return lambda _row: ()
    return attrgetter(*names)


def describe(kind: type) -> list[dict[str, str]]:
    """What each field of a row or fact is: name, kind, help, unit."""
    return [
        {
            "name": f.name,
            "kind": f.metadata.get("kind", "gauge"),
            "help": f.metadata.get("help", ""),
            "unit": f.metadata.get("unit", ""),
            "required": str(f.default is MISSING and f.default_factory is MISSING).lower(),
        }
        for f in fields(kind)
    ]


def values(row: Any, only: Sequence[str] = ()) -> dict[str, Any]:
    """A row as a dict (JSON keys are text), of all its fields or of some kinds only."""
    found = {}
    for f in fields(row):
        if only and f.metadata.get("kind") not in only:
            continue
        value = getattr(row, f.name)
        if isinstance(value, Mapping):
            value = {str(k): v for k, v in value.items()}
        found[f.name] = value
    return found
