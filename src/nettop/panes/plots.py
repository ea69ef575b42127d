"""Plots of a result: rates of each second, a distribution, a bar for each point of a curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..terms import braille
from ..terms.text import Line, bar, cells, fit, line
from ..terms.units import scaled
from ..terms.units import seconds as duration

SCALE: Final = 11  # columns of the scale at the left
_LABEL: Final = 22  # columns of the name of a point, at the most


def rates(values: Sequence[float], width: int, rows: int) -> list[Line]:
    """A graph of the rate of each second, in bit/s, with its scale; time goes to the right."""
    if not values or rows < 1:
        return []
    top = max(values) or 1.0
    room = max(1, width - SCALE - 2)
    shown = values[-2 * room :]
    each = max(1, 2 * room // max(10, len(shown)))  # dots of a second
    drawn = braille.area([value for value in shown for _ in range(each)], rows, top)
    marks = {0: scaled(top, "b/s")} | ({rows - 1: "0 b/s"} if rows > 1 else {})
    return [
        line((fit(marks.get(at, ""), SCALE, ">") + " ", "dim"), (text, "good"))
        for at, text in enumerate(drawn)
    ]


def distribution(
    title: str, pairs: Sequence[tuple[float, int]], width: int, rows: int
) -> list[Line]:
    """The histogram of (µs, count) pairs in `rows` lines: title, plot, and the range below it."""
    room = width - SCALE - 2
    if rows < 3 or room < 10:
        return []
    drawn = braille.histogram(pairs, room, rows - 2)
    if not drawn:
        return []
    least, most = (duration(pairs[at][0] / 1e6) for at in (0, -1))
    out = [line((f" {title}", "head"))]
    top = f"{max(count for _, count in pairs):,}"
    for at, text in enumerate(drawn):
        out.append(line((fit(top if not at else "", SCALE, ">") + " ", "dim"), (text, "accent")))
    gap = " " * max(1, room - cells(least) - cells(most))
    return [*out, line(" " * (SCALE + 1), (f"{least}{gap}{most}", "dim"))]


def curve(points: Sequence[tuple[str, float, str]], unit: str, width: int, rows: int) -> list[Line]:
    """A bar for each (label, value, remark): throughput against spacing, size or a setting."""
    if not points or rows < 1:
        return []
    top = max(value for _, value, _ in points) or 1.0
    wide = min(_LABEL, max(cells(label) for label, _, _ in points))
    remarks = max(cells(remark) for _, _, remark in points)
    room = max(4, width - wide - remarks - 18)
    out = []
    for label, value, remark in points[:rows]:
        filled, rest = bar(value / top, room)
        text = scaled(value, "b/s") if unit.startswith("bit/s") else f"{value:.4g} {unit}".strip()
        out.append(
            line((f" {fit(label, wide)} ", "head"), (filled, "accent"), (rest, "faint"),
                 (fit(text, 12, ">"), "strong"), (f"  {remark}", "dim"))
        )  # fmt: skip
    if len(points) > rows:
        out[-1] = line((f" … {len(points) - rows + 1} more points", "dim"))
    return out
