"""A filter with columns: `limit:cpu peer:10.0.0.2 bulk`.

A word `name:value` with the name of a column asks for rows whose column contains the value. The
other words are one text, which any column may contain. Every part must match; case is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from ..terms.dataclass import dataclass
from ..terms.errors import nearest
from .parts import matches

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Filter(Generic[T]):
    """A filter, parsed: what each named column must contain, and the other text."""

    columns: tuple[tuple[Callable[[T], str | None], str], ...]
    text: str

    def passes(self, row: T, others: Iterable[str | None]) -> bool:
        """Whether a row matches; `others` are the texts in which the other text may be."""
        named = all(matches(value, column(row) or "–") for column, value in self.columns)
        return named and (not self.text or matches(self.text, *others))


def parsed(text: str, columns: Mapping[str, Callable[[T], str | None]]) -> Filter[T]:
    """The filter of a text that was typed; unknown columns are other text (an IPv6 address)."""
    named, rest = [], []
    for word in text.split():
        name, colon, value = word.partition(":")
        if colon and name.casefold() in columns:
            named.append((columns[name.casefold()], value))
        else:
            rest.append(word)
    return Filter(tuple(named), text if not named else " ".join(rest))


def advice(text: str, columns: Iterable[str]) -> str:
    """What a filter without a match may have meant; empty if it names no column."""
    known = tuple(columns)
    for word in text.split():
        name, colon, _ = word.partition(":")
        if colon and name.isalpha() and name.casefold() not in known:
            return f"no column {name!r}{nearest(name, known) or '; columns: ' + ', '.join(known)}"
    return ""
