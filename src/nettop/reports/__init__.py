"""Reports of stored results: one HTML page without network access, or its samples as CSV.

`kinds/` has one module for each kind of result. Its `report` turns the JSON document into a Report:
figures, tables and texts as plain values. `draw` draws a figure with matplotlib, `html` writes the
page, `figure.csv_text` the samples of all figures.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from . import kinds
from .figure import Figure, Report, Series, Table
from .reading import Document, mapping


@cache
def names() -> tuple[str, ...]:
    """The kinds of results that have a report."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(kinds.__path__)))


def report(document: Mapping[str, object]) -> Report:
    """The report of a result by its `kind`.

    LookupError: there is no report of this kind. KeyError, TypeError, ValueError: the document was
    written by another version and lacks a field.
    """
    kind = document.get("kind")
    if kind not in names():
        raise LookupError(f"no report of a result of kind {kind!r}")
    built: Report = importlib.import_module(f"{kinds.__name__}.{kind}").report(document)
    return built


NAMES = ("first", "second")


def compared(first: Document, second: Document) -> Report:
    """One report of two results; errors as `report`, ValueError if their kinds differ."""
    if first.get("kind") != second.get("kind"):
        raise ValueError(f"a {first.get('kind')} and a {second.get('kind')} have no common figure")
    a, b = report(first), report(second)
    settings = [mapping(one.get("settings")) for one in (first, second)]
    tables = [
        _differing("Settings that differ", *settings),
        _differing("Conditions that differ", *(
            {name: value for name, value in one.facts if name not in {*settings[0], *settings[1]}}
            for one in (a, b)
        )),
    ]  # fmt: skip
    return Report(
        title=f"{a.title} and {b.title}" if a.title != b.title else f"{a.title}, twice",
        answer=f"first: {a.answer}. second: {b.answer}. Single runs do not prove a difference; "
        "`nettop prove` does",
        figures=tuple(_together(a.figures, b.figures)),
        tables=tuple(table for table in tables if table.rows),
        commands=(*a.commands, *(one for one in b.commands if one not in a.commands)),
    )


def _together(first: tuple[Figure, ...], second: tuple[Figure, ...]) -> list[Figure]:
    """Figures of one title and unit as one, each series under the name of its result."""
    others = {(figure.title, figure.y): figure for figure in second}
    figures = []
    for figure in first:
        other = others.pop((figure.title, figure.y), None)
        figures.append(
            _alone(figure, NAMES[0]) if other is None
            else replace(figure, note="", series=_joined(
                (*_named(figure, NAMES[0]).series, *_named(other, NAMES[1]).series)
            ))
        )  # fmt: skip
    return [*figures, *(_alone(figure, NAMES[1]) for figure in others.values())]


def _alone(figure: Figure, name: str) -> Figure:
    """A figure that only one result has; a single series has no legend, so the title says it."""
    return replace(_named(figure, name), title=f"{figure.title}, {name} result only")


def _joined(series: tuple[Series, ...]) -> tuple[Series, ...]:
    """Series of one name as one."""
    return tuple(
        Series(name, tuple(p for one in series if one.name == name for p in one.points),
               any(one.dashed for one in series if one.name == name))
        for name in dict.fromkeys(one.name for one in series)
    )  # fmt: skip


def _named(figure: Figure, name: str) -> Figure:
    """The figure of one result: its name stands at each bar of a stack, else at each series."""
    if figure.mark == "stack":
        return replace(figure, series=tuple(
            replace(one, points=tuple(replace(p, x=f"{name}: {p.x}") for p in one.points))
            for one in figure.series
        ))  # fmt: skip
    series = tuple(Series(f"{name}: {one.name}", one.points, one.dashed) for one in figure.series)
    return replace(figure, series=series)


def _differing(title: str, first: Document, second: Document) -> Table:
    rows = tuple(
        (name, str(first.get(name, "–")), str(second.get(name, "–")))
        for name in dict.fromkeys((*first, *second))
        if first.get(name) != second.get(name)
    )
    return Table(title, ("", *NAMES), rows)
