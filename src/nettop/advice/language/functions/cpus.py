"""Lists of CPUs."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

from ....terms import cpulist
from ....terms.text import listed
from ..function import Function
from ..values import Value
from ..vocabulary import ANY, NUMBER, TEXT, TUPLE

Cpus: TypeAlias = "float | tuple[int, ...]"  # one CPU or several


def nth(values: tuple[Value, ...], index: float) -> Value | None:
    """The index-th value, modulo the length; None for an empty list."""
    return values[int(index) % len(values)] if values else None


def _cpus(value: Cpus) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (int(value),)


def both(first: Cpus, second: Cpus) -> tuple[int, ...]:
    """The CPUs in both, in the order of the first."""
    other = frozenset(_cpus(second))
    return tuple(cpu for cpu in _cpus(first) if cpu in other)


def without(first: Cpus, *others: Cpus) -> tuple[int, ...]:
    """The CPUs of the first that are in none of the others."""
    removed = {cpu for other in others for cpu in _cpus(other)}
    return tuple(cpu for cpu in _cpus(first) if cpu not in removed)


@lru_cache(maxsize=4096)
def cpu_list(cpus: Cpus | str) -> str:
    """CPUs as the kernel writes them: `0-3,8`; a text passes unchanged."""
    if isinstance(cpus, str):
        return cpus
    return cpulist.text(int(cpu) for cpu in _cpus(cpus))


FUNCTIONS: Final = {
    "nth": Function(
        (TUPLE, NUMBER), ANY, unknown=True, call=nth, words=lambda a: f"one of {a[0]}"
    ),
    "both": Function(
        (ANY, ANY), TUPLE, call=both, words=lambda a: f"CPUs in both {a[0]} and {a[1]}"
    ),
    "without": Function(
        (ANY, ANY), TUPLE, rest=True, call=without,
        words=lambda a: f"{a[0]} without {listed(a[1:], 'and')}",
    ),
    "cpu_list": Function((ANY,), TEXT, call=cpu_list, words=lambda a: a[0]),
    "beside": Function(
        (NUMBER,), NUMBER, moment=True, words=lambda a: f"a CPU near {a[0]}"
    ),
    "spread": Function(
        (TUPLE, NUMBER), NUMBER, moment=True, words=lambda a: f"the next of {a[0]}"
    ),
    "own_cpus": Function(
        (NUMBER, NUMBER), TUPLE, moment=True, words=lambda _a: "CPUs of its own"
    ),
}  # fmt: skip
