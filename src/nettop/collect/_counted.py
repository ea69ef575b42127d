"""Rows of what programs in the kernel have counted: the seconds, then a line for each row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from ..files.bounds import count
from . import _lines

_Row = TypeVar("_Row", bound=Any)
_SECONDS: Final = re.compile(r"\d{1,9}\.\d{1,6}", re.ASCII)


def rows(text: str, row: Callable[[str, float], _Row], what: str) -> Sequence[_Row]:
    """`row` of each line and the seconds; ValueError as `_lines.rows`."""
    first, _, rest = text.partition("\n")
    lines = rest if _SECONDS.fullmatch(first) else text
    return _lines.rows(lines.splitlines(), lambda line: row(line, seconds(first)), what)


def seconds(line: str) -> float:
    """The seconds of the first line; 0 where there are none."""
    return float(line) if _SECONDS.fullmatch(line) else 0.0


def number(word: str) -> int:
    """A count; ValueError if it is not made of digits."""
    if not (word.isascii() and word.isdigit()):
        raise ValueError(f"not a count: {word[:20]!r}")
    return count(word)


def told(word: str) -> str:
    """The word; `-` stands for none."""
    return "" if word == "-" else word
