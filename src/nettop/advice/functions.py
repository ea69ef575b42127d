"""The functions an expression may call. A None never reaches them: it made the result unknown.

Each returns None for "unknown" and never raises on a value of the declared type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from .vocabulary import ANY, FACT, NUMBER, SWITCH, TEXT, TUPLE


class Keep:
    """The element of a sysctl that stays as it is: `keep` in `triple(keep, keep, 8388608)`."""

    def __repr__(self) -> str:
        return "keep"


KEEP: Final = Keep()


@dataclass(frozen=True, slots=True)
class Function:
    """What the checker and the writer must know: arguments, result, whether it may be unknown."""

    takes: tuple[str, ...]
    gives: str
    unknown: bool = False
    rest: bool = False  # the last type may repeat
    call: Callable[..., Any] | None = None  # None: needs the moment (facts, history)
    only_to: bool = False  # only in `to`


@lru_cache(maxsize=4096)
def setting(text: str) -> Any:
    """A sysctl's text as number, tuple of numbers, or text."""
    words = text.split()
    try:
        numbers = tuple(int(word) for word in words)
    except ValueError:
        return text.strip()
    if not numbers:
        return ""
    return numbers[0] if len(numbers) == 1 else numbers


def item(value: Any, index: int) -> Any:
    """`value[index]`, unknown when there is none."""
    if not isinstance(value, tuple) or not -len(value) <= index < len(value):
        return None
    return value[index]


def nth(values: Any, index: float) -> Any:
    """The index-th value, going round; unknown for an empty list."""
    return values[int(index) % len(values)] if values else None


def pow2(value: float) -> int:
    """The smallest power of two that is not below the value."""
    whole = max(1, -int(-value // 1))
    return 1 << (whole - 1).bit_length()


def _cpus(value: Any) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (int(value),)


def both(first: Any, second: Any) -> tuple[int, ...]:
    """What is in both, in the order of the first."""
    other = frozenset(_cpus(second))
    return tuple(cpu for cpu in _cpus(first) if cpu in other)


def without(first: Any, *others: Any) -> tuple[int, ...]:
    """The first less all the others (numbers or tuples)."""
    gone = {cpu for other in others for cpu in _cpus(other)}
    return tuple(cpu for cpu in _cpus(first) if cpu not in gone)


@lru_cache(maxsize=4096)
def cpu_list(cpus: Any) -> str:
    """CPUs as the kernel writes them: `0-3,8`; a text passes unchanged."""
    if isinstance(cpus, str):
        return cpus
    out: list[str] = []
    for low, high in _ranges(sorted({int(cpu) for cpu in _cpus(cpus)})):
        out.append(str(low) if low == high else f"{low}-{high}")
    return ",".join(out)


def _ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def triple(first: Any, second: Any, third: Any) -> tuple[Any, ...]:
    """Three numbers of one sysctl; `keep` stands for what is there now."""
    return (first, second, third)


def text(value: Any) -> str:
    """A number as the kernel wants it written."""
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


MOMENT: Final = ("core", "beside", "spread", "own_cpus")  # methods of Moment
FUNCTIONS: Final = {
    "on": Function(("nic", TEXT), SWITCH, unknown=True),
    "fixed": Function(("nic", TEXT), SWITCH, unknown=True),
    "sysctl": Function((TEXT,), ANY, unknown=True),
    "core": Function((NUMBER,), FACT, unknown=True),
    "beside": Function((NUMBER,), NUMBER, unknown=True),
    "spread": Function((TUPLE, NUMBER), NUMBER, unknown=True),
    "own_cpus": Function((NUMBER, NUMBER), TUPLE, unknown=True),
    "known": Function((ANY,), SWITCH),
    "worst": Function((NUMBER, NUMBER), NUMBER, unknown=True),
    "since_boot": Function((NUMBER,), NUMBER, unknown=True),
    "any": Function((ANY,), SWITCH, call=any),
    "all": Function((ANY,), SWITCH, call=all),
    "min": Function((ANY,), NUMBER, rest=True, call=min),
    "max": Function((ANY,), NUMBER, rest=True, call=max),
    "abs": Function((NUMBER,), NUMBER, call=abs),
    "round": Function((NUMBER,), NUMBER, call=round),
    "len": Function((ANY,), NUMBER, call=len),
    "pow2": Function((NUMBER,), NUMBER, call=pow2),
    "nth": Function((TUPLE, NUMBER), ANY, unknown=True, call=nth),
    "both": Function((ANY, ANY), TUPLE, call=both),
    "without": Function((ANY, ANY), TUPLE, rest=True, call=without),
    "cpu_list": Function((ANY,), TEXT, call=cpu_list),
    "triple": Function((ANY, ANY, ANY), TUPLE, call=triple, only_to=True),
    "text": Function((ANY,), TEXT, call=text, only_to=True),
}
