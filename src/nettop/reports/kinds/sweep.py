"""The report of a sweep: the median of each value with its samples and interval."""

from itertools import chain

from ...trials.prove import best
from .. import reading
from ..figure import Figure, Point, Report, Series, Table
from ..reading import (
    Document,
    conditions,
    headed,
    number,
    numbers,
    pair,
    rows,
    share,
    span,
    unit_of,
)


def report(document: Document) -> Report:
    """The report of a `nettop sweep` document."""
    values = rows(document["rows"])
    return Report(
        title=f"Sweep of {document['setting']}",
        answer=best(document),
        good=True if document["verdict"] == "better" else None,
        facts=conditions(document, str(document["setting"]).split(" × ")),
        figures=(_runs(document, values), _differences(values)),
        tables=(_table(document, values),),
        commands=_commands(document, values),
    )


def _runs(document: Document, values: list[Document]) -> Figure:
    figures = [numbers(row["figures"]) for row in values]
    unit, factor = unit_of(str(document["unit"]), list(chain.from_iterable(figures)))
    medians = tuple(Point(str(row["value"]), number(row["median"]) * factor) for row in values)
    runs = tuple(
        Point(str(row["value"]), figure * factor)
        for row, some in zip(values, figures, strict=True)
        for figure in some
    )
    return Figure(
        headed(f"{document['metric']} by value"), str(document["setting"]), unit, "dots",
        (Series("run", runs), Series("median", medians)),
        note="the first value is the original one",
    )  # fmt: skip


def _differences(values: list[Document]) -> Figure:
    points = []
    for row in values:
        if "interval" in row:
            low, high = pair(row["interval"])
            middle = 100 * number(row["median_difference"])
            points.append(Point(str(row["value"]), middle, 100 * low, 100 * high))
    return Figure(
        "Difference from the original value", "", "%", "dots",
        (Series("median and interval", tuple(points)),), rule=(0.0, "no change"),
    )  # fmt: skip


def _table(document: Document, values: list[Document]) -> Table:
    every = [number(row["median"]) for row in values]
    unit, factor = unit_of(str(document["unit"]), every)
    head = ("value", f"median, {unit}", "difference", "interval", "verdict", "because")
    return Table("Values", head, tuple(
        (
            str(row["value"]), f"{number(row['median']) * factor:.4g}",
            share(row["median_difference"]) if "median_difference" in row else "",
            span(row["interval"]) if "interval" in row else "",
            str(row.get("verdict", "original")), str(row.get("because", "")),
        )
        for row in values
    ), frozenset({1, 2, 3}))  # fmt: skip


def _commands(document: Document, values: list[Document]) -> tuple[str, ...]:
    """The command; a sweep of two settings stores `A × B` and values `a × b`."""
    first, *more = str(document["setting"]).split(" × ")
    columns = list(zip(*(str(row["value"]).split(" × ") for row in values), strict=False))
    words = ["sweep", first]
    for place, column in enumerate(columns[:2]):
        if place and more:
            words += ["--and", more[0]]
        flag = "--and-value" if place else "--value"
        words += chain.from_iterable((flag, value) for value in dict.fromkeys(column))
    return (reading.again_experiment(document, words),)
