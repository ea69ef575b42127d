"""A report as values: figures with all their samples, tables, texts and commands.

Nothing here draws. A figure has series of points; a point has a value and, where it was computed
from several samples, an interval.
"""

import csv
import io
from math import isnan
from typing import Literal

from ..terms.dataclass import dataclass

# line: points joined; dots: single samples; bar: one bar a point; stack: bars on each other;
# histogram: (lower edge, count) of bins of one width, empty bins left out
Mark = Literal["line", "dots", "bar", "stack", "histogram"]


@dataclass(frozen=True, slots=True)
class Point:
    """One value `y` at a number or name `x`; `low` and `high` are the ends of its interval.

    NaN: the measurement of a bar is void.
    """

    x: float | str
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one kind; `dashed` marks published values beside measured ones.

    Series with one `colour` belong together, and the legend names the first of them; None: its own.
    """

    name: str
    points: tuple[Point, ...]
    dashed: bool = False
    colour: int | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One plot. `x` and `y` are the labels of the axes with their units.

    `rule` is a horizontal line with a meaning, such as a threshold: its value and label.
    """

    title: str
    x: str
    y: str
    mark: Mark
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False
    rule: tuple[float, str] | None = None
    note: str = ""
    names: tuple[str, ...] = ()  # order of the names on the x axis; empty: as the points come


@dataclass(frozen=True, slots=True)
class Table:
    """A table; cells are text. `numeric` has the columns that are aligned right."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report. `answer` is its result in one sentence; `good` colours it, None: neutral."""

    title: str
    answer: str
    good: bool | None = None
    facts: tuple[tuple[str, str], ...] = ()  # conditions: name, value
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()  # that repeat the measurement


COLUMNS = ("figure", "series", "x", "y", "low", "high", "x_label", "y_label")


def csv_text(report: Report) -> str:
    """All samples, the first row names the columns; an unknown interval or void value is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for figure in report.figures:
        for series in figure.series:
            for point in series.points:
                ends = ["" if end is None else f"{end:.10g}" for end in (point.low, point.high)]
                x = point.x if isinstance(point.x, str) else f"{point.x:.10g}"
                y = "" if isnan(point.y) else f"{point.y:.10g}"
                cells = [figure.title, series.name, x, y, *ends, figure.x, figure.y]
                writer.writerow([_csv_cell(cell) for cell in cells])
    return out.getvalue()


def _csv_cell(cell: str) -> str:
    """A cell that a spreadsheet does not run as a formula; numbers stay as they are."""
    try:
        float(cell)
    except ValueError:
        return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
    return cell
