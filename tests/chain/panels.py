"""Panels of a board as HTML: figures of now, and lines over time with their axes."""

import time
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from nettop.metrics.alerts import Panel

COLUMN, ROW = 50, 24  # pixels of a column and of a row of the board
SIDE, TITLE, BELOW, LEGEND = 66, 30, 16, 20  # pixels around a graph: left, above, times, names
NAMED: Final = 4  # series of a panel whose names are printed
LINES: Final = 4  # horizontal lines of a graph
COLOURS: Final = (
    "#4a90e2", "#e08a2c", "#3f9f5f", "#d0484a", "#8e6bc9", "#149a9c", "#b08323", "#c2478f",
)  # fmt: skip
SEVERITY: Final = {"critical": "#d0484a", "warning": "#e08a2c", "advice": "#4a90e2"}
STYLE: Final = """\
:root { color-scheme: light dark; --page: #f1f3f6; --panel: #fff; --line: #dde1e7; --text: #1d232b;
  --quiet: #6a7380 }
@media (prefers-color-scheme: dark) { :root { --page: #111418; --panel: #1a1e24; --line: #2c323b;
  --text: #e3e6ea; --quiet: #949ca8 } }
body { font: 13px "DejaVu Sans", sans-serif; margin: 12px; width: 1216px; background: var(--page);
  color: var(--text) }
main { display: flex; flex-wrap: wrap; gap: 6px }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 3px;
  box-sizing: border-box; padding: 7px 10px; overflow: hidden }
h2 { font-size: 13px; font-weight: 600; margin: 0 0 5px; white-space: nowrap }
p { margin: 0; font-size: 11px; line-height: 17px; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis }
i { display: inline-block; width: 14px; height: 3px; margin: 0 5px 3px 0 }
td { padding: 1px 26px 1px 0; font-size: 12px }
.stat { display: flex; justify-content: space-evenly; text-align: center; font-size: 27px }
.stat small { display: block; font-size: 11px; color: var(--quiet) }
text { font-size: 10px; fill: var(--quiet) }
"""
Line = tuple[str, Sequence[tuple[float, float]]]  # name, (seconds since 1970, value)


def section(panel: Panel, inside: str) -> str:
    """The panel with its title, in its size."""
    size = f"width:{panel.width * COLUMN - 6}px;height:{panel.height * ROW}px"
    return f'<section style="{size}"><h2>{escape(panel.title)}</h2>{inside}</section>'


def shown(value: float, unit: str) -> str:
    """The value with the unit of Grafana, in at most four digits."""
    if unit == "s" and 0 < value < 1:
        return f"{value * 1000:.3g} ms"
    word = {"bps": "b/s", "pps": "p/s", "s": "s"}.get(unit, "")
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor and unit != "s":
            return f"{value / factor:.3g} {letter}{word}".rstrip()
    return f"{value:.3g} {word}".rstrip()


def now(panel: Panel, lines: Sequence[Line]) -> str:
    """The values of now: figures, or rows of a table."""
    if panel.kind == "table":
        rows = "".join(_row(name) for name, _ in sorted(lines))
        return f"<table>{rows}</table>" if rows else "<p>none</p>"
    figures = "".join(
        f"<div{_colour(name, points[0][1])}>{shown(points[0][1], panel.unit)}"
        + (f"<small>{escape(name)}</small>" if name != panel.title else "")
        + "</div>"
        for name, points in lines
    )
    return f'<div class="stat">{figures}</div>'


def _row(name: str) -> str:
    return f"<tr>{''.join(f'<td>{escape(word)}</td>' for word in name.split())}</tr>"


def _colour(name: str, value: float) -> str:
    return f' style="color:{SEVERITY[name]}"' if value and name in SEVERITY else ""


def graph(panel: Panel, lines: Sequence[Line]) -> str:
    """Lines over time with axes, and the names of the first series."""
    width = panel.width * COLUMN - 28
    height = panel.height * ROW - 16 - TITLE + 8 - LEGEND
    lines = sorted(lines, key=lambda line: -max(value for _, value in line[1]))
    every = [point for _, points in lines for point in points]
    first, last = min(at for at, _ in every), max(at for at, _ in every)
    most = _round_up(max(value for _, value in every), whole=panel.unit == "short")
    span, size = (first, last, most), (width - SIDE, height - BELOW)
    drawn = "".join(_axes(span, size, panel.unit)) + "".join(
        f'<polyline fill="none" stroke="{COLOURS[at % len(COLOURS)]}" stroke-width="1.6" '
        f'points="{_drawn(points, span, size)}"/>'
        for at, (_, points) in reversed(list(enumerate(lines)))
    )
    names = "&ensp; ".join(
        f'<i style="background:{COLOURS[at]}"></i>{escape(name)}'
        for at, (name, _) in enumerate(lines[:NAMED])
    )
    more = f"&ensp; and {len(lines) - NAMED} more" if len(lines) > NAMED else ""
    return f'<svg width="{width}" height="{height}">{drawn}</svg><p>{names}{more}</p>'


def _round_up(value: float, *, whole: bool) -> float:
    """The top of the axis: a number that `LINES` divides into round ones."""
    if value <= 0:
        return float(LINES)
    step = 10.0
    while step > value:
        step /= 10
    while step * 10 <= value:
        step *= 10
    top = next(step * by for by in (1, 2, 4, 8, 12) if step * by >= value)
    return max(top, LINES) if whole else top


def _axes(span: tuple[float, float, float], size: tuple[int, int], unit: str) -> Iterator[str]:
    """Horizontal lines with their values, and the time at the beginning, the middle and the end."""
    first, last, most = span
    width, height = size
    for number in range(LINES + 1):
        y = height - 1 - number / LINES * (height - 10)
        yield f'<path d="M{SIDE} {y:.1f}h{width}" stroke="var(--line)"/>'
        value = shown(most * number / LINES, unit)
        yield f'<text x="{SIDE - 6}" y="{y + 3:.1f}" text-anchor="end">{value}</text>'
    for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        when = time.strftime("%H:%M:%S", time.gmtime(first + part * (last - first)))
        x = SIDE + part * width
        yield f'<text x="{x:.0f}" y="{height + 13}" text-anchor="{anchor}">{when}</text>'


def _drawn(
    line: Sequence[tuple[float, float]], span: tuple[float, float, float], size: tuple[int, int]
) -> str:
    """The points of a line; time grows to the right, values upwards."""
    first, last, most = span
    width, height = size
    return " ".join(
        f"{SIDE + (at - first) / ((last - first) or 1) * width:.1f},"
        f"{height - 1 - value / most * (height - 10):.1f}"
        for at, value in line
    )
