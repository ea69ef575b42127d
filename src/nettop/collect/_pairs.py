"""The formats of /proc/net/snmp, netstat and snmp6 (net/ipv4/proc.c, net/ipv6/proc.c)."""

from __future__ import annotations

from functools import lru_cache

from ..files.bounds import count


def sections(text: str, asked: frozenset[str]) -> dict[str, int]:
    """The figures asked for, by `Section.Name`, from pairs of lines: names, figures. ValueError."""
    result: dict[str, int] = {}
    lines = text.splitlines()
    for names, line in zip(lines[::2], lines[1::2], strict=False):
        section, places = _places(names, asked)
        if not line.startswith(section):
            raise ValueError(f"names without figures: {names[:60]!r}")
        if places:
            figures = line.split()
            result.update([(name, count(figures[at])) for at, name in places if at < len(figures)])
    return result


@lru_cache(maxsize=64)  # the names of a running kernel are constant; a section has a hundred
def _places(line: str, asked: frozenset[str]) -> tuple[str, tuple[tuple[int, str], ...]]:
    """The section with its colon; index and name of the words asked for. ValueError."""
    section, colon, header = line.partition(":")
    if not colon:
        raise ValueError(f"names without figures: {line[:60]!r}")
    names = enumerate((f"{section}.{name}" for name in header.split()), start=1)
    return f"{section}:", tuple((at, name) for at, name in names if name in asked)


def singles(text: str, asked: frozenset[str]) -> dict[str, int]:
    """The figures asked for of lines such as `Udp6InErrors 0`, by `6.Udp6InErrors`. ValueError."""
    pairs = (line.split() for line in text.splitlines())
    return {
        name: count(pair[1])
        for pair in pairs
        if len(pair) == 2 and (name := f"6.{pair[0]}") in asked
    }
