"""CPU sets as the kernel writes them: lists (`0-3,8`) and masks (`ff,00000001`), of any size.

Documentation/admin-guide/cputopology.rst and lib/bitmap-str.c: a mask is groups of 32 bits in
hexadecimal, most significant group first, so that `10,00000000` is CPU 36.
"""

from collections.abc import Iterable
from typing import Final

LIMIT: Final = 65536
"""Larger CPU numbers are refused: CONFIG_NR_CPUS is far below on all architectures."""

_NONE: Final = ("", "(null)", "<none>")


def parse(text: str) -> tuple[int, ...]:
    """The CPUs of a list such as `0-3,8`, ascending; empty for an empty list.

    ValueError if it is not a list of CPU numbers.
    """
    text = text.strip(" \t\n\0")
    if text in _NONE:
        return ()
    cpus: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        low = _number(first, text)
        high = _number(last, text) if dash else low
        if high < low:
            raise ValueError(f"not a CPU list: {text[:80]!r}")
        cpus.update(range(low, high + 1))
    return tuple(sorted(cpus))


def one(text: str) -> int:
    """The CPU of a number such as `17`; ValueError for other text."""
    return _number(text, text)


def text(cpus: Iterable[int]) -> str:
    """The list in the kernel's notation, `0-3,8`; empty for no CPU."""
    parts: list[str] = []
    run: list[int] = []
    for cpu in sorted(set(cpus)):
        if run and cpu == run[-1] + 1:
            run[1:] = [cpu]
            continue
        _end(run, parts)
        run = [cpu]
    _end(run, parts)
    return ",".join(parts)


def parse_mask(mask: str) -> tuple[int, ...]:
    """The CPUs of a mask such as `f` or `00000010,00000000`, ascending.

    ValueError if it is not hexadecimal in groups of 8 digits.
    """
    groups = mask.strip(" \t\n\0").removeprefix("0x").split(",")
    if len(groups) * 32 > LIMIT or not all(_hexadecimal(group) for group in groups):
        raise ValueError(f"not a CPU mask: {mask[:80]!r}")
    if len(groups) > 1 and any(len(group) > 8 for group in groups):
        raise ValueError(f"not a CPU mask: {mask[:80]!r}")
    bits = int("".join(group.zfill(8) for group in groups), 16)
    if bits.bit_length() > LIMIT:
        raise ValueError(f"not a CPU mask: {mask[:80]!r}")
    return tuple(cpu for cpu, bit in enumerate(bin(bits)[:1:-1]) if bit == "1")


def mask(cpus: Iterable[int]) -> str:
    """The mask in groups of 32 bits, most significant first; `0` for no CPU. ValueError."""
    bits = 0
    for cpu in cpus:
        if not 0 <= cpu < LIMIT:
            raise ValueError(f"not a CPU number: {cpu}")
        bits |= 1 << cpu
    digits = f"{bits:x}"
    size = -(-len(digits) // 8) * 8
    if size == 8:
        return digits
    digits = digits.zfill(size)
    return ",".join(digits[i : i + 8] for i in range(0, size, 8))


def _number(word: str, whole: str) -> int:
    if not (word.isascii() and word.isdigit()) or len(word) > 6 or int(word) >= LIMIT:
        raise ValueError(f"not a CPU list: {whole[:80]!r}")
    return int(word)


def _hexadecimal(word: str) -> bool:
    return (
        bool(word)
        and word.isascii()
        and word.isalnum()
        and not word.strip("0123456789abcdefABCDEF")
    )


def _end(run: list[int], parts: list[str]) -> None:
    if run:
        parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
