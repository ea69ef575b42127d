"""The report of a study: published beside measured values, as bars or, over streams, as curves."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from math import nan
from typing import Any, Final, cast

from ...trials.report import comparable, condition, head, named, sentences
from ...trials.report import rows as cells
from .. import reading
from ..figure import Figure, Point, Report, Series, Table
from ..reading import Document, mapping, number, rows, sequence, when
from . import test

# "kernel, MTU 9000, 4 streams": the last part is a number with its unit, the rest names a curve
_COUNTED: Final = re.compile(r"(?P<curve>.*?),? ?(?P<x>\d+(?:\.\d+)?) (?P<unit>streams?|bytes|µs)$")


def report(document: Document) -> Report:
    """The report of a `nettop study run` document."""
    points = rows(document["rows"])
    measured = [row for row in points if "measured" in row]
    study = cast("Mapping[str, Any]", document)
    columns = head(study, f", {document['unit']}")
    table = tuple(cells(study))
    if not any(row[-1] for row in table):  # no remark
        columns, table = columns[:-1], tuple(row[:-1] for row in table)
    return Report(
        title=f"{document['study']}: {document['title']}",
        answer=f"{document['paper']}, {document['place']}: {len(measured)} of {len(points)} points "
        "measured here",
        facts=tuple(_facts(document)),
        figures=_figures(str(document["unit"]), points),
        tables=(
            Table("Points", columns, table, frozenset(range(1, len(head(study, "")) - 1))),
        ),
        notes=sentences(study["requires"], study["notes"]),
        commands=(reading.again_study(document),),
    )  # fmt: skip


def _facts(document: Document) -> list[tuple[str, str]]:
    facts = [("measured", when(document))]
    for where, values in mapping(document["conditions"]).items():
        for name, value in mapping(values).items():
            facts.append((f"{where}: {named(name)}", condition(value)))
    return facts


def _figures(unit: str, rows_of: list[Document]) -> tuple[Figure, ...]:
    """The points in the unit of the study, then what they were computed from."""
    points = [row for row in rows_of if row.get("unit", unit) == unit]
    counted = [_COUNTED.fullmatch(str(row["point"])) for row in points]
    units = {found["unit"].rstrip("s") for found in counted if found}
    if points and all(counted) and len(units) == 1 and _curved(counted):
        first: tuple[Figure, ...] = (_curves(unit, points, [found for found in counted if found]),)
    else:
        first = (_bars(unit, points),) if points else ()
    return (*first, *_distributions(rows_of))


def _distributions(points: list[Document]) -> Iterator[Figure]:
    """Histogram, or rate and loss by spacing, of the points that have several; equal ones once."""
    seen = []
    for row in points:
        samples = {"latency": row.get("latency"), "details": {"points": row.get("points")}}
        spacings = {point.get("spacing_us") for point in rows(row.get("points"))}
        if samples["latency"] is None and len(spacings) < 2:
            continue
        shape = [point.get("size") for point in rows(row.get("points"))]
        if shape not in seen:
            seen.append(shape)
            for figure in islice(test.figures(samples), 2):
                yield replace(figure, title=f"{figure.title} ({row['point']})")


def _curved(counted: list[re.Match[str] | None]) -> bool:
    """Whether the numbers of one curve differ."""
    return len({found["x"] for found in counted if found}) > 1


def _curves(unit: str, points: list[Document], names: list[re.Match[str]]) -> Figure:
    series = []
    for number_of, curve in enumerate(dict.fromkeys(name["curve"] for name in names)):
        rows_of = [
            (float(name["x"]), row)
            for name, row in zip(names, points, strict=True)
            if name["curve"] == curve
        ]
        label = curve or "points"
        papers = tuple(
            Point(x, value) for x, row in rows_of if (value := comparable(row)) is not None
        )
        here = tuple(_measured(x, row) for x, row in rows_of if "measured" in row)
        if here:
            series.append(Series(label, here, colour=number_of))
        if papers:
            series.append(Series(f"{label}, published", papers, True, number_of))
    x = names[0]["unit"].rstrip("s") + "s" if names[0]["unit"] != "µs" else "µs"
    return Figure("Published (dashed) and measured", x, unit, "line", tuple(series))


def _measured(x: float | str, row: Document) -> Point:
    """A measured point, with the range of its runs if there are several."""
    samples = [number(one) for one in sequence(row.get("samples", []))]
    low, high = (min(samples), max(samples)) if samples else (None, None)
    return Point(x, number(row["measured"]), low, high)


def _bars(unit: str, points: list[Document]) -> Figure:
    papers = tuple(
        Point(str(row["point"]), value) for row in points if (value := comparable(row)) is not None
    )
    here = tuple(
        _measured(str(row["point"]), row) if "measured" in row else Point(str(row["point"]), nan)
        for row in points
        if "measured" in row or str(row.get("skipped", "")).startswith("void: ")
    )
    series = [Series("published", papers, dashed=True, colour=0)] if papers else []
    if here:
        series.append(Series("measured", here, colour=1))
    names = tuple(str(row["point"]) for row in points)
    title = "Published and measured" if papers else "Measured"
    return Figure(title, "", unit, "bar", tuple(series), names=names)
