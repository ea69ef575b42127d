"""Draw a figure as SVG with matplotlib (https://matplotlib.org/stable/users/explain/figure/backends).

The colours are those of the page: matplotlib draws with a fixed colour for each role, which is
replaced by a CSS variable, so that the page is readable on light and on dark.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from itertools import pairwise
from math import isnan
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from ..files.trust import folder
from .figure import Figure, Point, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# role → the colour that matplotlib gets; the page defines --ink, --faint and --c0 …
INK: Final = "#010101"
FAINT: Final = "#020202"
SERIES: Final = tuple(f"#0303{number:02x}" for number in range(8))
_VARIABLES: Final = {
    INK: "var(--ink)",
    FAINT: "var(--faint)",
    **{colour: f"var(--c{number})" for number, colour in enumerate(SERIES)},
}
_COLOUR: Final = re.compile("|".join(_VARIABLES))
_IDS: Final = re.compile(r'(id="|url\(#|href="#)')
_PROLOGUE: Final = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>", re.DOTALL)
WIDTH, HEIGHT = 7.2, 3.3  # inches at 72 points
WHOLE: Final = 0.05  # an interval of a test begins a few ms late: its second is a whole one
UPRIGHT: Final = 8  # more bars are drawn horizontally,
WIDE: Final = 70  # and so are names of more characters together
_RC: Final[dict[Any, Any]] = {
    "text.parse_math": False,  # a name may hold a dollar sign
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "nettop",  # the same result gives the same page
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.alpha": 0.35,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}


def svg(figure: Figure, prefix: str) -> str:
    """The SVG element; its ids begin with `prefix`, since several stand in one page."""
    # where matplotlib caches fonts: for root never in the folder of another user
    os.environ["MPLCONFIGDIR"] = os.path.join(folder("XDG_CACHE_HOME", ".cache"), "nettop")
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    with mpl.rc_context():
        mpl.rcdefaults()  # no matplotlibrc of the current folder
        mpl.rcParams.update(_RC)
        names = _names(figure)
        long = sum(map(len, names)) > WIDE
        lying = figure.mark == "bar" and (len(names) > UPRIGHT or long)
        height = 1.0 + 0.3 * len(names) if lying else HEIGHT
        height += 0.2 * ((len(figure.series) - 1) // _columns(figure))  # lines of the legend
        canvas = Canvas(figsize=(WIDTH, height), layout="constrained")
        canvas.patch.set_alpha(0.0)
        axes = canvas.subplots()
        axes.patch.set_alpha(0.0)
        if lying:
            _lying(axes, figure, names)
        else:
            _plot(axes, figure, names)
        out = io.StringIO()
        canvas.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = _PROLOGUE.sub("", out.getvalue())
    text = _COLOUR.sub(lambda found: _VARIABLES[found[0]], text)
    return _IDS.sub(rf"\g<1>{prefix}-", text)


def _lying(axes: Axes, figure: Figure, names: list[str]) -> None:
    """Draw many bars horizontally, so that each name is readable."""
    high = 0.8 / len(figure.series)
    for number, series in enumerate(figure.series):
        colour = _colour(series, number)
        ys = [_place(point, names) - 0.4 + high * (number + 0.5) for point in series.points]
        axes.barh(
            ys, [point.y for point in series.points], high, color=colour, edgecolor=colour,
            fill=not series.dashed, hatch="//" if series.dashed else None, label=series.name,
        )  # fmt: skip
        _intervals(axes, series.points, ys, INK, lying=True)
        for y, word in _words(series.points, ys):
            axes.annotate(word, (0, y), (3, 0), textcoords="offset points", va="center", fontsize=7)
    axes.set_yticks(range(len(names)), [_two_lines(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(*_span(*axes.get_xlim()))
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(figure.y)
    _legend(axes, figure)


def _span(low: float, high: float) -> tuple[float, float]:
    """The range of an axis that begins at zero, unless values are negative; (0, 1) for zeros."""
    return (low if low < -0.06 else 0.0), (high if high > 0.06 else 1.0)


def _colour(series: Series, number: int) -> str:
    return SERIES[(number if series.colour is None else series.colour) % len(SERIES)]


def _label(figure: Figure, number: int) -> str:
    """The name of a series in the legend; matplotlib leaves out those that begin with `_`."""
    series = figure.series[number]
    before = [one.colour for one in figure.series[:number] if one.colour is not None]
    return "_" if series.colour in before else series.name


def _legend(axes: Axes, figure: Figure) -> None:
    """Above the axes, in as many columns as fit."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=_columns(figure), fontsize=9)


def _columns(figure: Figure) -> int:
    """Columns of the legend: a line holds about a hundred characters."""
    longest = max((len(series.name) for series in figure.series), default=1)
    return max(1, min(4, 100 // (longest + 6)))


def _plot(axes: Axes, figure: Figure, names: list[str]) -> None:
    under = [0.0] * len(names)  # the height of a stack so far
    for number, series in enumerate(figure.series):
        colour = _colour(series, number)
        label = _label(figure, number)
        xs = [_place(point, names) for point in series.points]
        ys = [point.y for point in series.points]
        if figure.mark == "bar":
            _bars(axes, figure, number, series, xs, colour)
        elif figure.mark == "stack":
            bottom = [under[int(x)] for x in xs]
            axes.bar(xs, ys, 0.6, bottom=bottom, color=colour, label=series.name)
            for x, y in zip(xs, ys, strict=True):
                under[int(x)] += y
        elif figure.mark == "histogram":
            axes.bar(
                xs, ys, _bin(xs), align="edge", color=colour, edgecolor=colour, linewidth=0.8,
                alpha=0.6, label=series.name,
            )  # fmt: skip
        elif figure.mark == "dots":
            axes.plot(xs, ys, "o", color=colour, alpha=0.8, label=series.name)
        else:
            style = "--" if series.dashed else "-"
            axes.plot(xs, ys, style, marker="o", markersize=4, color=colour, label=label)
        if figure.mark in ("line", "dots"):
            _intervals(axes, series.points, xs, colour)
    if names:
        axes.set_xticks(range(len(names)), [_short(name) for name in names])
        axes.set_xlim(-0.5, len(names) - 0.5)
        if max(map(len, names)) * len(names) > 70:
            axes.tick_params(axis="x", rotation=30, labelsize=8)
            for tick in axes.get_xticklabels():
                tick.set_horizontalalignment("right")
    _axes(axes, figure, named=bool(names))


def _bin(edges: list[float]) -> float:
    """The width of the bins: the least difference of two edges."""
    return min((b - a for a, b in pairwise(sorted(edges)) if b > a), default=1.0)


def _axes(axes: Axes, figure: Figure, *, named: bool) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    if figure.log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif not named and all(
        abs(float(point.x) - round(float(point.x))) < WHOLE
        for series in figure.series
        for point in series.points
    ):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if figure.log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif figure.mark in ("line", "bar", "stack"):
        low, high = axes.get_ylim()
        above = 0.04 * (high - min(0.0, low)) if figure.mark == "line" else 0.0
        axes.set_ylim(*_span(low, high + above))
    if figure.rule is not None:
        value, label = figure.rule
        axes.axhline(value, color=INK, linewidth=1, linestyle=":", label=label)
    if len(figure.series) > 1 or figure.rule is not None:
        _legend(axes, figure)


def _names(figure: Figure) -> list[str]:
    """The names on the x axis in the order of their first point; [] for numbers."""
    if figure.names:
        return list(figure.names)
    points = (point for series in figure.series for point in series.points)
    return list(dict.fromkeys(point.x for point in points if isinstance(point.x, str)))


def _place(point: Point, names: list[str]) -> float:
    return names.index(point.x) if isinstance(point.x, str) else point.x


def _bars(
    axes: Axes, figure: Figure, number: int, series: Series, xs: list[float], colour: str
) -> None:
    wide = 0.8 / len(figure.series)
    left = [x - 0.4 + wide * (number + 0.5) for x in xs]
    axes.bar(
        left, [point.y for point in series.points], wide, color=colour, edgecolor=colour,
        fill=not series.dashed, hatch="//" if series.dashed else None, label=series.name,
    )  # fmt: skip
    _intervals(axes, series.points, left, INK)
    for x, word in _words(series.points, left):
        axes.annotate(word, (x, 0), (0, 2), textcoords="offset points", ha="center", fontsize=7)


def _words(points: tuple[Point, ...], places: list[float]) -> Iterator[tuple[float, str]]:
    """The word at the place of a bar that cannot be seen: a value of 0, or none."""
    for point, place in zip(points, places, strict=True):
        if isnan(point.y) or not point.y:
            yield place, "void" if isnan(point.y) else "0"


def _intervals(
    axes: Axes, points: tuple[Point, ...], xs: list[float], colour: str, *, lying: bool = False
) -> None:
    """A line with ends for each interval: vertical, or horizontal for lying bars."""
    known = [
        (x, point.y, point.low, point.high)
        for x, point in zip(xs, points, strict=True)
        if point.low is not None and point.high is not None
    ]
    if known:
        ends = [
            [max(0.0, y - low) for _, y, low, _ in known],
            [max(0.0, high - y) for _, y, _, high in known],
        ]
        places, values = [one[0] for one in known], [one[1] for one in known]
        style: dict[str, Any] = {"fmt": "none", "ecolor": colour, "capsize": 4, "linewidth": 1.2}
        if lying:
            axes.errorbar(values, places, xerr=ends, **style)
        else:
            axes.errorbar(places, values, yerr=ends, **style)


def _two_lines(name: str) -> str:
    return "\n".join(wrap(name, 34, max_lines=2, placeholder=" …"))


def _short(name: str) -> str:
    return name if len(name) <= 34 else f"{name[:33]}…"
