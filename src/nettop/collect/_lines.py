"""Rows of the lines of a text: a line that cannot be read hides no other one.

Also the formats of /proc/net/snmp, netstat and snmp6 (net/ipv4/proc.c, net/ipv6/proc.c).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, TypeVar

from ..files.bounds import count
from ..frame.rates import Partly

_Line = TypeVar("_Line")
_Row = TypeVar("_Row", bound=Any)


def rows(lines: Iterable[_Line], row: Callable[[_Line], _Row | None], file: str) -> Sequence[_Row]:
    """`row` of each line, without None; a `Partly` if it raised ValueError for some of them.

    ValueError if it did for all.
    """
    found: list[_Row] = []
    wrong: list[str] = []
    for line in lines:
        try:
            one = row(line)
        except ValueError as error:
            wrong.append(f"{file}: {error}")
            continue
        if one is not None:
            found.append(one)
    return without(found, wrong)


def without(found: Sequence[_Row], wrong: Sequence[str]) -> Sequence[_Row]:
    """The rows, and a sentence for each line that is left out; ValueError without a row."""
    if wrong and not found:
        raise ValueError(wrong[0])
    return Partly(found, f"{wrong[0]}; lines left out: {len(wrong)}") if wrong else found


def together(*tables: Sequence[_Row]) -> Sequence[_Row]:
    """The rows of several texts."""
    found = [row for table in tables for row in table]
    why = [table.why for table in tables if isinstance(table, Partly)]
    return Partly(found, "; ".join(why)) if why else found


def named(text: str) -> dict[str, str]:
    """The lines `NAME: VALUE` of a text."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}


class Figures(dict[str, int]):
    """Figures by name; `wrong` has a sentence for each line that could not be read."""

    wrong: tuple[str, ...] = ()


def sections(text: str, asked: frozenset[str]) -> Figures:
    """The figures asked for, by `Section.Name`, from pairs of lines: names, figures.

    ValueError without such a pair, except for an empty text.
    """
    lines = text.splitlines()
    found: list[tuple[str, int]] = []
    wrong: list[str] = []
    at = right = 0
    while at < len(lines):
        try:
            found += _section(lines[at], lines[at + 1] if at + 1 < len(lines) else "", asked)
        except ValueError as error:
            wrong.append(str(error))
            at += 1
        else:
            right += 1
            at += 2
    if wrong and not right:
        raise ValueError(wrong[0])
    return _figures(found, wrong)


def _figures(found: Iterable[tuple[str, int]], wrong: Sequence[str]) -> Figures:
    figures = Figures(found)
    figures.wrong = tuple(wrong)
    return figures


def _section(names: str, line: str, asked: frozenset[str]) -> list[tuple[str, int]]:
    section, places = _places(names, asked)
    if not line.startswith(section):
        raise ValueError(f"names without figures: {names[:60]!r}")
    figures = line.split() if places else []
    return [(name, count(figures[at])) for at, name in places if at < len(figures)]


@lru_cache(maxsize=64)  # the names of a running kernel are constant; a section has a hundred
def _places(line: str, asked: frozenset[str]) -> tuple[str, tuple[tuple[int, str], ...]]:
    """The section with its colon; index and name of the words asked for. ValueError."""
    section, colon, header = line.partition(":")
    if not colon:
        raise ValueError(f"names without figures: {line[:60]!r}")
    names = enumerate((f"{section}.{name}" for name in header.split()), start=1)
    return f"{section}:", tuple((at, name) for at, name in names if name in asked)


def singles(text: str, asked: frozenset[str]) -> Figures:
    """The figures asked for of lines such as `Udp6InErrors 0`, by `6.Udp6InErrors`."""
    return by_line(text.splitlines(), partial(_single, asked))


def _single(asked: frozenset[str], line: str) -> list[tuple[str, int]]:
    words = line.split()
    if len(words) != 2:
        raise ValueError(f"not a name with its figure: {line[:60]!r}")
    return [(f"6.{words[0]}", count(words[1]))] if f"6.{words[0]}" in asked else []


def by_line(lines: Iterable[str], figures: Callable[[str], list[tuple[str, int]]]) -> Figures:
    """The `figures` of each line, without the lines for which it raises ValueError."""
    found: list[tuple[str, int]] = []
    wrong: list[str] = []
    for line in lines:
        try:
            found += figures(line)
        except ValueError as error:
            wrong.append(str(error))
    return _figures(found, wrong)
