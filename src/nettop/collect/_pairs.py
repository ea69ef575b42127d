"""The formats of /proc/net/snmp, netstat and snmp6 (net/ipv4/proc.c, net/ipv6/proc.c)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial

from ..files.bounds import count


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
