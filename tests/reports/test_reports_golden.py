"""Reports of stored results as golden text: the page, its data, and what is drawn.

`pytest tests/reports/test_reports_golden.py --update` writes the files anew. A drawing is the calls
that are made of matplotlib, so that another version of it changes nothing here.
"""

import json
from collections.abc import Callable, Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from golden_text import same

from nettop import reports
from nettop.reports import compared, draw, html
from nettop.reports.figure import Figure, Point, Report, Series, csv_text

TESTS = Path(__file__).parents[1]
GOLDEN = TESTS / "golden/reports"
RESULTS = sorted((TESTS / "results").glob("*.json"))
MARKS = ("line", "dots", "bar", "stack", "histogram")
MOST = 6  # rows of a table, and of data


class Calls:
    """An axes that keeps what is asked of it."""

    def __init__(self, name: str, out: list[str]) -> None:
        self._name, self._out = name, out

    def __getattr__(self, name: str) -> Any:
        return Calls(f"{self._name}.{name}" if self._name else name, self._out)

    def __call__(self, *words: Any, **options: Any) -> Any:
        said = [shown(one) for one in words]
        said += [f"{key}={shown(value)}" for key, value in options.items()]
        self._out.append(f"{self._name}({', '.join(said)})")
        span = (0.01, 0.05)
        ends = {"get_xlim": span, "get_ylim": span, "get_xticklabels": [Calls("label", self._out)]}
        return ends.get(self._name)


def shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple | range):
        return f"[{' '.join(shown(one) for one in list(value)[:12])}] {len(value)}"
    return type(value).__name__ if hasattr(value, "__dict__") else str(value)


def drawn(figure: Figure) -> list[str]:
    """The calls for the figure in both ways that bars may be drawn."""
    out: list[str] = []
    names = draw._names(figure)
    axes: Any = Calls("", out)
    draw._plot(axes, figure, names)
    if figure.mark == "bar":
        draw._lying(axes, figure, names)
    return out


def told(report: Report) -> str:
    figures: dict[str, Figure] = {}

    def picture(figure: Figure, prefix: str) -> str:
        figures[prefix] = figure
        return f"<svg {prefix}>"

    page = html.page(report, picture)
    page = page[page.index("<body") :] if "<body" in page else page
    rows = csv_text(report).splitlines()
    out = [*short(page), "", *rows[:MOST], f"… {len(rows)} rows"]
    for prefix, figure in figures.items():
        out += ["", f"{prefix}: {figure.title}", *drawn(figure)]
    return "\n".join(out) + "\n"


def short(page: str) -> Iterator[str]:
    """The lines of a page; of a long table the first rows and the last."""
    for rows, lines in groupby(page.splitlines(), lambda line: line.startswith("<tr><td>")):
        found = list(lines)
        if rows and len(found) > MOST + 1:
            found[MOST:-1] = [f"… {len(found) - MOST - 1} rows"]
        yield from found


def golden(name: str, text: str, update: bool) -> None:
    path = GOLDEN / f"{name}.txt"
    same(path, text, update)


def load(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Any:
    import time

    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem.rpartition("-")[0])
def test_report(path: Path, update: bool) -> None:
    golden(path.stem, told(reports.report(load(path))), update)


def test_two_results_of_a_kind(update: bool) -> None:
    every = [load(path) for path in RESULTS]
    same = next((a, b) for a, b in pairwise(every) if a["kind"] == b["kind"])
    golden("compared", told(compared(*same)), update)


def made(mark: str, **more: Any) -> Figure:
    """A figure of two series, one dashed, one with intervals."""
    points = tuple(Point(x, y, y - 1, y + 2) for x, y in ((1, 2.0), (2, 4.5), (4, 8.0)))
    plain = tuple(Point(x, float(x)) for x in (1, 2, 4))
    if more.pop("named", False):
        points = tuple(
            Point(f"name {p.x}" * more.pop("long", 1), p.y, p.low, p.high) for p in points
        )
        plain = tuple(Point(p.x, 1.0) for p in points)
    both = (Series("first", points), Series("second", plain, dashed=True))
    return Figure("Title", "x", "y", mark, both[: more.pop("count", 2)], **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("mark", MARKS)
def test_marks(mark: str, update: bool) -> None:
    out: list[str] = []
    ways: dict[str, Callable[[], Figure]] = {
        "two": lambda: made(mark),
        "one": lambda: made(mark, count=1),
        "rule": lambda: made(mark, count=1, rule=(0.5, "no change")),
        "log": lambda: made(mark, log_x=True, log_y=True),
        "named": lambda: made(mark, named=True),
        "long": lambda: made(mark, named=True, long=6),
    }
    for way, figure in ways.items():
        if mark == "stack" and way in ("two", "one", "rule", "log"):
            continue  # a stack has names
        out += [f"── {way}", *drawn(figure())]
    golden(f"mark-{mark}", "\n".join(out) + "\n", update)
    assert draw._bin([4.0, 1.0, 1.5, 4.0]) == 0.5
    assert draw._bin([4.0]) == draw._bin([]) == 1.0
    assert [len(draw._short("x" * n)) for n in (33, 34, 35, 90)] == [33, 34, 34, 34]
