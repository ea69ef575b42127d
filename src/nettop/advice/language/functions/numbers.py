"""Arithmetic, and values as a setting takes them; those only in `to`."""

from __future__ import annotations

from typing import Final

from ....terms.text import listed
from ..function import Function
from ..values import Value
from ..vocabulary import ANY, NUMBER, TEXT, TUPLE


def triple(first: Value, second: Value, third: Value) -> tuple[Value, ...]:
    """Three numbers of one sysctl; `keep` is replaced by the current number."""
    return (first, second, third)


def text(value: Value) -> str:
    """A number as the kernel wants it written."""
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


def pow2(value: float) -> int:
    """The smallest power of two that is not below the value."""
    whole = max(1, -int(-value // 1))
    return 1 << (whole - 1).bit_length()


FUNCTIONS: Final = {
    "min": Function(
        (ANY,), NUMBER, rest=True, call=min, words=lambda a: f"the smaller of {listed(a, 'and')}"
    ),
    "max": Function(
        (ANY,), NUMBER, rest=True, call=max,
        words=lambda a: f"{a[0]} (at least 1)" if a[1:] == ["1"]
        else f"the larger of {listed(a, 'and')}",
    ),
    "abs": Function((NUMBER,), NUMBER, call=abs, words=lambda a: a[0]),
    "round": Function((NUMBER,), NUMBER, call=round, words=lambda a: a[0]),
    "len": Function((ANY,), NUMBER, call=len, words=lambda a: f"the number of {a[0]}"),
    "pow2": Function(
        (NUMBER,), NUMBER, call=pow2, words=lambda a: f"next power of two of {a[0]}"
    ),
    "triple": Function(
        (ANY, ANY, ANY), TUPLE, call=triple, only_to=True,
        words=lambda a: " ".join(f"({one})" if " " in one else one for one in a),
    ),
    "text": Function((ANY,), TEXT, call=text, only_to=True, words=lambda a: a[0]),
}  # fmt: skip
