"""What collectors remember from one reading to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, TypeVar

from ..terms.dataclass import dataclass

Memory = dict[type, object]
"""One object of each class: a collector declares a class for what it remembers."""

_Known = TypeVar("_Known")
_Raw = TypeVar("_Raw")
_Result = TypeVar("_Result")


@dataclass
class _Parsed:
    by_name: dict[str, tuple[object, Any]] = field(default_factory=dict)  # input and result


def recall(memory: Memory, kind: type[_Known]) -> _Known:
    """The object of class `kind` in `memory`; created without arguments at the first reading."""
    known = memory.get(kind)
    if not isinstance(known, kind):
        known = memory[kind] = kind()
    return known


def parsed(memory: Memory, name: str, raw: _Raw, parse: Callable[[_Raw], _Result]) -> _Result:
    """`parse(raw)`, or the same object as last time if `raw` is equal to that of last time.

    `name` tells the inputs of one collector apart.
    """
    known = recall(memory, _Parsed).by_name
    old = known.get(name)
    if old is None or old[0] != raw:
        old = known[name] = raw, parse(raw)
    result: _Result = old[1]
    return result
