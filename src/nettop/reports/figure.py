"""A report as values: figures with all their samples, tables, texts and commands.

Nothing here draws. A figure has series of points; a point has a value and, where it was computed
from several samples, an interval.

Read fields of a stored document, which another version or a text editor may have written.

A field of an unexpected type raises TypeError or ValueError, as `report` says.
"""

from __future__ import annotations

import csv
import io
import shlex
import time
from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Final, Literal

from ..terms.dataclass import dataclass

# line: points joined; dots: single samples; bar: one bar a point; stack: bars on each other;
# histogram: (lower edge, count) of bins of one width, empty bins left out
Mark = Literal["line", "dots", "bar", "stack", "histogram"]


@dataclass(frozen=True, slots=True)
class Point:
    """One value `y` at a number or name `x`; `low` and `high` are the ends of its interval."""

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
    """All samples; the first row names the columns. An unknown interval is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for figure in report.figures:
        for series in figure.series:
            for point in series.points:
                ends = ["" if end is None else f"{end:.10g}" for end in (point.low, point.high)]
                x = point.x if isinstance(point.x, str) else f"{point.x:.10g}"
                cells = [figure.title, series.name, x, f"{point.y:.10g}", *ends, figure.x, figure.y]
                writer.writerow([_csv_cell(cell) for cell in cells])
    return out.getvalue()


def _csv_cell(cell: str) -> str:
    """A cell that a spreadsheet does not run as a formula; numbers stay as they are."""
    try:
        float(cell)
    except ValueError:
        return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
    return cell


Document = Mapping[str, object]


def number(value: object) -> float:
    """A finite number; TypeError or ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    if not isfinite(value):
        raise ValueError("a number is not finite")
    return float(value)


def mapping(value: object) -> Document:
    """An object; {} if it is missing."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is not an object")
    return value


def rows(value: object) -> list[Document]:
    """A list of objects; [] if it is missing."""
    return [mapping(item) for item in sequence(value)]


def sequence(value: object) -> Sequence[object]:
    """A list; [] if it is missing."""
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise TypeError(f"{value!r} is not a list")
    return value


def numbers(value: object) -> list[float]:
    """A list of finite numbers; [] if it is missing."""
    return [number(item) for item in sequence(value)]


def pair(value: object) -> tuple[float, float]:
    """Two numbers, such as an interval or a bin."""
    low, high = numbers(value)
    return low, high


def when(document: Document) -> str:
    """The time of the measurement in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(number(document["at"])))


def conditions(document: Document, changed: Collection[str] = ()) -> tuple[tuple[str, str], ...]:
    """The conditions of an experiment: time, hosts, tool, drivers and settings in force.

    Those that the experiment `changed` had several values.
    """
    names = {
        "host": "this host", "to": "to", "peer": "behind", "tool": "tool", "version": "version",
        "streams": "streams", "run_seconds": "seconds of a run", "kernel": "kernel",
    }  # fmt: skip
    facts = [("measured", when(document))]
    facts += [(label, str(document[key])) for key, label in names.items() if document.get(key)]
    netns = mapping(document.get("options")).get("netns")
    facts += [("network namespace", str(netns))] if netns else []
    facts += [(f"driver of {nic}", str(d)) for nic, d in mapping(document.get("drivers")).items()]
    settings = mapping(document.get("settings")).items()
    facts += [(name, str(value)) for name, value in settings if name not in changed]
    return tuple(facts)


def headed(text: str) -> str:
    """A text as a heading: its first letter is a capital."""
    return text[:1].upper() + text[1:]


def share(value: object) -> str:
    """A gain as percent with its sign: `+9.3 %`."""
    return f"{100 * number(value):+.1f} %"


def span(value: object) -> str:
    """An interval of a gain: `+8.1 to +10.2 %`."""
    low, high = pair(value)
    return f"{100 * low:+.1f} to {100 * high:+.1f} %"


def unit_of(unit: str, values: Sequence[float]) -> tuple[str, float]:
    """The unit to draw these values in, and its factor: `Gbit/s` and 1e-9 for large bit/s."""
    if not unit.startswith("bit/s"):
        return unit, 1.0
    most = max(map(abs, values), default=0.0)
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if most >= size:
            return unit.replace("bit/s", f"{prefix}bit/s"), 1 / size
    return unit, 1.0


TOLD: Final = ("to", "peer", "seconds", "streams", "no_ends")  # fields of an experiment itself


def again_trial(document: Document) -> str:
    """The `nettop test` of this result."""
    options = mapping(document.get("options"))
    return shlex.join(["nettop", "test", str(document["tool"]), *_flags(options)])


def _flags(options: Document) -> list[str]:
    """The words of options as the command line has them."""
    words = []
    for name, value in options.items():
        words.append(f"--{name.replace('_', '-')}")
        if isinstance(value, list | tuple):
            words.append(",".join(map(_plain, value)))
        elif value is False:
            words[-1] = f"--no-{name}"
        elif value is not True:
            words.append(_plain(value))
    return words


def again_study(document: Document) -> str:
    """The `nettop study run` of this result."""
    options = mapping(document.get("options")) or {"to": document["to"]}
    repeats = {"repeats": document["repeats"]} if document.get("repeats", 1) != 1 else {}
    words = ["nettop", "study", "run", str(document["study"])]
    return shlex.join([*words, *_flags({**options, **repeats})])


def again_experiment(document: Document, words: Sequence[str]) -> str:
    """The command `nettop WORDS…` with the tool, address and length of this experiment."""
    options = ["--tool", str(document["tool"]), "--to", str(document["to"])]
    if document.get("peer") is not None:
        options += ["--peer", str(document["peer"])]
    if document.get("run_seconds"):
        options += ["--seconds", _plain(document["run_seconds"])]
    if document.get("streams", 1) != 1:
        options += ["--streams", _plain(document["streams"])]
    options += ["--no-ends"] if document.get("no_ends") else []
    more = mapping(document.get("options"))
    options += _flags({name: value for name, value in more.items() if name not in TOLD})
    return shlex.join(["nettop", *words, *options])


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
