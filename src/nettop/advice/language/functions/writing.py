"""Values as a setting takes them; only in `to`."""

from __future__ import annotations

from typing import Final

from ..function import Function
from ..values import Value
from ..vocabulary import ANY, TEXT, TUPLE


def triple(first: Value, second: Value, third: Value) -> tuple[Value, ...]:
    """Three numbers of one sysctl; `keep` is replaced by the current number."""
    return (first, second, third)


def text(value: Value) -> str:
    """A number as the kernel wants it written."""
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


FUNCTIONS: Final = {
    "triple": Function(
        (ANY, ANY, ANY), TUPLE, call=triple, only_to=True,
        words=lambda a: " ".join(f"({one})" if " " in one else one for one in a),
    ),
    "text": Function((ANY,), TEXT, call=text, only_to=True, words=lambda a: a[0]),
}  # fmt: skip
