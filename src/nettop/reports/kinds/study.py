"""The report of a study: published beside measured values, as bars or, over streams, as curves."""

from __future__ import annotations

import re
from typing import Final

from ...trials.report import middle, published, told
from ..figure import Figure, Point, Report, Series, Table
from ..reading import Document, mapping, number, rows, sequence, when

# "kernel, MTU 9000, 4 streams": the last part is a number with its unit, the rest names a curve
_COUNTED: Final = re.compile(r"(?P<curve>.*?),? ?(?P<x>\d+(?:\.\d+)?) (?P<unit>streams?|bytes|µs)$")


def report(document: Document) -> Report:
    """The report of a `nettop study run` document."""
    points = rows(document["rows"])
    measured = [row for row in points if "measured" in row]
    head = ("point", f"published, {document['unit']}", "measured", "ratio", "remark")
    return Report(
        title=f"{document['study']}: {document['title']}",
        answer=f"{document['paper']}, {document['place']}: {len(measured)} of {len(points)} points "
        "measured here",
        facts=tuple(_facts(document)),
        figures=_figures(str(document["unit"]), points),
        tables=(Table("Points", head, tuple(
            (str(row["point"]), published(row["published"]), *told(row)) for row in points
        ), frozenset({1, 2, 3})),),
        notes=tuple(map(str, (*sequence(document["requires"]), *sequence(document["notes"])))),
        commands=(f"nettop study run {document['study']} --to {document['to']}",),
    )  # fmt: skip


def _facts(document: Document) -> list[tuple[str, str]]:
    facts = [("measured", when(document))]
    for where, values in mapping(document["conditions"]).items():
        for name, value in mapping(values).items():
            text = " and ".join(map(str, value)) if isinstance(value, list) else str(value)
            facts.append((f"{where}: {name.replace('_', ' ')}", text))
    return facts


def _figures(unit: str, points: list[Document]) -> tuple[Figure, ...]:
    counted = [_COUNTED.fullmatch(str(row["point"])) for row in points]
    units = {found["unit"].rstrip("s") for found in counted if found}
    if points and all(counted) and len(units) == 1 and _curved(counted):
        return (_curves(unit, points, [found for found in counted if found]),)
    return (_bars(unit, points),)


def _curved(counted: list[re.Match[str] | None]) -> bool:
    """Whether the numbers of one curve differ."""
    return len({found["x"] for found in counted if found}) > 1


def _curves(unit: str, points: list[Document], names: list[re.Match[str]]) -> Figure:
    series = []
    for curve in dict.fromkeys(name["curve"] for name in names):
        rows_of = [
            (float(name["x"]), row)
            for name, row in zip(names, points, strict=True)
            if name["curve"] == curve
        ]
        label = curve or "points"
        papers = tuple(
            Point(x, value) for x, row in rows_of if (value := middle(row["published"])) is not None
        )
        here = tuple(Point(x, number(row["measured"])) for x, row in rows_of if "measured" in row)
        if here:
            series.append(Series(f"{label}, measured", here))
        if papers:
            series.append(Series(f"{label}, published", papers, dashed=True))
    x = names[0]["unit"].rstrip("s") + "s" if names[0]["unit"] != "µs" else "µs"
    return Figure("Published and measured", x, unit, "line", tuple(series))


def _bars(unit: str, points: list[Document]) -> Figure:
    papers = tuple(
        Point(str(row["point"]), value)
        for row in points
        if (value := middle(row["published"])) is not None
    )
    here = tuple(
        Point(str(row["point"]), number(row["measured"])) for row in points if "measured" in row
    )
    series = [Series("published", papers, dashed=True)] if papers else []
    if here:
        series.append(Series("measured", here))
    return Figure("Published and measured", "", unit, "bar", tuple(series))
