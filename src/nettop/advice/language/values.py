"""Values that are no plain Python ones: a sysctl's text as numbers, an item, `keep`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final


class Keep:
    """The element of a sysctl that stays as it is: `keep` in `triple(keep, keep, 8388608)`."""

    def __repr__(self) -> str:
        return "keep"


KEEP: Final = Keep()


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
