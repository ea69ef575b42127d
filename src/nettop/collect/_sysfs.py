"""Files that a collector asks again and again, most of one value; one that is absent is None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..host.source import Source
from ..terms import cpulist

T = TypeVar("T")


def made(memory: dict[str, Any], name: str, text: str, make: Callable[[str], T]) -> T:
    """What is made of a text; the very object of last time while the text is the same."""
    old = memory.get(name)
    if old is None or old[0] != text:
        old = memory[name] = text, make(text)
    value: T = old[1]
    return value


def word(source: Source, path: str) -> str | None:
    """The file's text without surrounding space; None when it cannot be read or is empty."""
    try:
        return source.text(path).strip(" \t\n\0") or None
    except OSError:
        return None


def number(source: Source, path: str) -> int | None:
    """The file's whole number; None when it cannot be read or is none."""
    return whole(word(source, path))


def whole(text: str | None) -> int | None:
    """The decimal (or 0x) number a text is, else None."""
    if text is None or len(text) > 24:
        return None
    try:
        return int(text, 16 if text.startswith(("0x", "0X")) else 10)
    except ValueError:
        return None


def cpus(source: Source, path: str) -> tuple[int, ...] | None:
    """The file's CPU list; None when it cannot be read or is none."""
    text = word(source, path)
    if text is None:
        return None
    try:
        return cpulist.parse(text)
    except ValueError:
        return None


def mask(source: Source, path: str) -> tuple[int, ...] | None:
    """The CPUs (or queues) of a file's mask; None when it cannot be read or is none."""
    text = word(source, path)
    if text is None:
        return None
    try:
        return cpulist.parse_mask(text)
    except ValueError:
        return None


def names(source: Source, path: str) -> list[str]:
    """The names in a directory; empty when it cannot be read."""
    try:
        return source.listing(path)
    except OSError:
        return []


def target(source: Source, path: str) -> str | None:
    """The last part of where a link points, such as a driver's or a bus address; None: no link."""
    try:
        return source.link(path).rstrip("/").rsplit("/", 1)[-1] or None
    except OSError:
        return None
