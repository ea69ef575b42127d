"""Values as text: switches, numbers, CPU lists and masks."""

from __future__ import annotations

from collections.abc import Iterable

from ..terms import cpulist

_ON = frozenset({"on", "yes", "true", "1", "y"})
_OFF = frozenset({"off", "no", "false", "0", "n"})


def switch(value: str) -> str:
    """`on` or `off`, however it was written."""
    word = value.strip().lower()
    if word in _ON:
        return "on"
    if word in _OFF:
        return "off"
    raise ValueError(f"{value!r} is neither on nor off")


def number(value: str) -> str:
    """A decimal or hexadecimal number as decimal text; ValueError for anything else."""
    word = value.strip()
    try:
        return str(int(word, 16) if word.lower().startswith("0x") else int(word))
    except ValueError:
        raise ValueError(f"{value!r} is not a whole number") from None


def cpus(value: str) -> frozenset[int]:
    """The CPUs of a list (`0-3,8`), a mask (`0xff`, `ff,00000000`) or `none`.

    A mask needs its `0x` or its 32-bit groups: `10` is CPU 10, never CPU 4.
    """
    word = value.strip().lower()
    if word == "none":
        return frozenset()
    groups = word.split(",")
    if word.startswith("0x") or (len(groups) > 1 and all(len(g) == 8 for g in groups[1:])):
        return frozenset(cpulist.parse_mask(word))
    return frozenset(cpulist.parse(word))


def ranges(value: Iterable[int]) -> str:
    """The canonical list of some numbers: `0-3,8`; `none` when empty."""
    return cpulist.text(value) or "none"


def cpu_list(value: str) -> str:
    """The canonical CPU list of any form that `cpus` reads; ValueError for others."""
    return ranges(cpus(value))
