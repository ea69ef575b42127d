"""The differences between the facts of two moments, as lines of text."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

SHOWN = 2  # differences of one value; the others are in the checksum


def flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """The fields of a fact below a name, as text."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from flat(f"{name}.{field.name}", getattr(value, field.name))
    elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
        yield f"{name}.count", str(len(value))
        for number, one in enumerate(value):
            yield from flat(f"{name}[{number}]", one)
    else:
        yield name, f"{value:.6g}" if isinstance(value, float) else str(value)


def difference(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs, as `field: before → after`."""
    out = []
    for name in sorted({*now, *was}):
        if now.get(name) != was.get(name):
            left, right = dict(flat(name, was.get(name))), dict(flat(name, now.get(name)))
            out += [
                f"{field}: {left.get(field, '-')} → {right.get(field, '-')}"
                for field in sorted({*left, *right})
                if left.get(field) != right.get(field)
            ]
    return out


def described(what: str, changes: list[str]) -> Iterator[str]:
    """The variation and the first of its changes; nothing where it changes nothing."""
    if changes:
        yield what
        yield from (f"    {change[:180]}" for change in changes[:SHOWN])
        if changes[SHOWN:]:
            check = zlib.crc32("\n".join(changes).encode())
            yield f"    and {len(changes) - SHOWN} more, {check:08x}"
