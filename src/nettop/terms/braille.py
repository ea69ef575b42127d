"""Filled graphs of braille dots: two values to a cell, four dots to a row.

The dots of a cell are those of Unicode's block "Braille Patterns": bits 0x01 0x02 0x04 0x40 are the
left column from the top, bits 0x08 0x10 0x20 0x80 the right column.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

DOTS: Final = 4  # dots above each other in a row of cells
_LEFT: Final = (0x01, 0x02, 0x04, 0x40)  # from the top
_RIGHT: Final = (0x08, 0x10, 0x20, 0x80)


def _cells(*, down: bool) -> str:
    """The characters of all pairs of heights from 0 to 4, at left * 5 + right."""

    def bits(column: tuple[int, ...], filled: int) -> int:
        return sum(column[:filled] if down else column[DOTS - filled :])

    return "".join(
        chr(0x2800 + bits(_LEFT, left) + bits(_RIGHT, right)) if left or right else " "
        for left in range(DOTS + 1)
        for right in range(DOTS + 1)
    )


_UP: Final = _cells(down=False)
_DOWN: Final = _cells(down=True)
_RUNS: Final = re.compile(r" +|[^ ]+")
MOST: Final = 63  # rows: a height is a byte


def heights(values: Sequence[float | None], rows: int, top: float) -> bytes:
    """The dots of each value; what is above zero has at least one, an unknown value none."""
    most = rows * DOTS
    each = most / top if top > 0 else 0.0
    return bytes(
        [0 if not v or v < 0 or not each else max(1, min(most, round(v * each))) for v in values]
    )


def area(
    values: Sequence[float | None], rows: int, top: float, *, down: bool = False
) -> tuple[str, ...]:
    """A graph of `rows` lines from the top, a cell for two values; `down`: it hangs from the top.

    `top` is the value that fills all rows. An odd number of values ends with half a cell.
    """
    rows = min(rows, MOST)
    dots = heights(values, rows, top)
    return _drawn(dots + bytes(len(dots) % 2), rows, down)


def trace(values: Sequence[float | None], rows: int, top: float) -> tuple[str, ...]:
    """A graph of `rows` lines as a line: the dot of each value, joined with the one before it.

    `top` is the value of the highest dot. An unknown value has no dot.
    """
    rows = min(rows, MOST)
    dots = heights(values, rows, top)
    known = bytes([value is not None for value in values])
    return _traced(dots + bytes(len(dots) % 2), known + bytes(len(dots) % 2), rows)


@lru_cache(maxsize=64)
def _traced(dots: bytes, known: bytes, rows: int) -> tuple[str, ...]:
    """The lines of a trace; a zero is at the lowest dot."""
    patterns = [bytearray(len(dots) // 2) for _ in range(rows)]
    before = 0
    for at, (height, seen) in enumerate(zip(dots, known, strict=True)):
        if not seen:
            before = 0
            continue
        here = max(1, height)
        least, most = (min(here, before + 1), max(here, before - 1)) if before else (here, here)
        for dot in range(least, most + 1):
            row, depth = divmod(rows * DOTS - dot, DOTS)
            patterns[row][at // 2] |= (_RIGHT if at % 2 else _LEFT)[depth]
        before = here
    return tuple("".join([chr(0x2800 + bits) if bits else " " for bits in row]) for row in patterns)


@lru_cache(maxsize=64)  # a graph stays the same for a second or more
def _drawn(dots: bytes, rows: int, down: bool) -> tuple[str, ...]:
    """The lines of pairs of heights."""
    glyphs = _DOWN if down else _UP
    out = []
    for row in range(rows):
        floor = (row if down else rows - 1 - row) * DOTS
        inside = dots.translate(_above(floor))
        pairs = zip(inside[::2], inside[1::2], strict=True)
        out.append("".join([glyphs[left * (DOTS + 1) + right] for left, right in pairs]))
    return tuple(out)


@cache
def _above(floor: int) -> bytes:
    """For each height, how much of it is in the row that begins at `floor`."""
    return bytes([min(DOTS, max(0, height - floor)) for height in range(256)])


def parts(text: str, role: str) -> tuple[tuple[str, str], ...]:
    """A line of a graph for `text.line`: dots have the role, blanks none.

    A picture places each part by its column, whatever the width of the font's patterns is.
    """
    return tuple((part, "" if part[0] == " " else role) for part in _RUNS.findall(text))


def ascii_of(char: str) -> str:
    """The ASCII character for a braille pattern, by the number of its dots."""
    return " .:=#"[min(4, ((ord(char) - 0x2800).bit_count() + 1) // 2)]


def histogram(pairs: Sequence[tuple[float, int]], width: int, rows: int = 1) -> tuple[str, ...]:
    """The lines of a plot of (value, count) pairs, at most `width` cells; () without a count.

    The tallest bin fills all rows; every bin that holds a value has at least one dot.
    """
    known = sorted((value, count) for value, count in pairs if count > 0)
    if not known or width < 1:
        return ()
    least, most = known[0][0], known[-1][0]
    bins = [0.0] * (2 * width)
    for value, count in known:
        share = (value - least) / (most - least) if most > least else 0.0
        bins[min(len(bins) - 1, int(share * len(bins)))] += count
    return area(bins, rows, max(bins))
