"""The values of expressions: what a field, a constant, a limit or a function can give.

An unknown value is None and never a `Value`: annotations say `Value | None` where it may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from ...facts.kinds.core import Core
from ...terms.dataclass import dataclass


class KeepElement:
    """The element of a sysctl that stays as it is: `keep` in `triple(keep, keep, 8388608)`."""

    def __repr__(self) -> str:
        return "keep"


KEEP: Final = KeepElement()
# a yes or no, a number, a text, a list; a core found by `core(cpu)`; `keep` inside `triple`
Value: TypeAlias = "bool | int | float | str | Core | KeepElement | tuple[Value, ...]"


@lru_cache(maxsize=4096)
def setting(text: str) -> Value:
    """A sysctl's text as a number, a tuple of numbers, or the text itself."""
    words = text.split()
    try:
        numbers = tuple(int(word) for word in words)
    except ValueError:
        return text.strip()
    if not numbers:
        return ""
    return numbers[0] if len(numbers) == 1 else numbers


def item(value: Value, index: int) -> Value | None:
    """`value[index]`; None where the value is no tuple or has no such element."""
    if not isinstance(value, tuple) or not -len(value) <= index < len(value):
        return None
    return value[index]


def field_value(fact: object, path: Sequence[str]) -> Value | None:
    """The field at the end of a path such as `("ring", "rx")`; None where a part is unknown."""
    value: object = fact
    for name in path:
        if value is None:
            return None
        value = getattr(value, name)
    return value  # type: ignore[return-value]  # the vocabulary lets paths end in values only


@dataclass(frozen=True, slots=True)
class Read:
    """One field that was read: its name in the expression, its value (None: unknown), its unit."""

    field: str
    value: Value | None
    unit: str = ""
    help: str = ""

    @property
    def measure(self) -> str:
        """The unit with its time: fields of `nic.per_s` count per second."""
        return f"{self.unit}/s" if ".per_s." in self.field and self.unit else self.unit


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A value (None: unknown) and the reads that decided it."""

    value: Value | None
    reads: tuple[Read, ...] = ()
    seconds: float = 0.0  # of the mean that it is; 0: none

    def unknown(self) -> tuple[Read, ...]:
        """The reads without a value."""
        return tuple(read for read in self.reads if read.value is None)


def reads_of(*results: Evaluated) -> tuple[Read, ...]:
    """The reads of several results, each once, in order."""
    some = [result.reads for result in results if result.reads]
    if len(some) < 2:
        return some[0] if some else ()
    return tuple(dict.fromkeys(read for reads in some for read in reads))
