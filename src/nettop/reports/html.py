"""A report as one HTML page: no script, no font, no picture from elsewhere; light and dark.

The content security policy of the page forbids every request, so that a name in a result cannot
make one (https://www.w3.org/TR/CSP3/).
"""

from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Final

from ..terms.text import safe
from .figure import Figure, Report, Table

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
SENTENCE: Final = 4  # spaces from which a cell is a sentence, which a narrow page must not squeeze
MANY: Final = 400  # a figure with more points has no table of values; CSV has them


def page(report: Report, draw: Callable[[Figure, str], str]) -> str:
    """The page; `draw` returns the SVG of a figure with a prefix for its ids."""
    return "\n".join(_lines(report, draw)) + "\n"


def _lines(report: Report, draw: Callable[[Figure, str], str]) -> Iterator[str]:
    title = _text(report.title)
    style = Path(__file__).with_name("report.css").read_text("utf-8")
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<h1>{title}</h1>"
    kind = {True: " good", False: " bad", None: ""}[report.good]
    yield f'<p class="answer{kind}">{_text(report.answer)}</p>'
    if report.figures:
        yield '<div class="figures">'
        for number, figure in enumerate(report.figures):
            yield from _figure(figure, draw(figure, f"f{number}"))
        yield "</div>"
    for table in report.tables:
        yield f"<h2>{_text(table.title)}</h2>"
        yield from _table(table)
    if report.notes:
        yield "<h2>Notes</h2>\n<ul>"
        yield from (f"<li>{_text(note)}</li>" for note in report.notes)
        yield "</ul>"
    if report.facts:
        yield "<h2>Conditions</h2>\n<dl>"
        yield from (f"<dt>{_text(n)}</dt><dd>{_text(value)}</dd>" for n, value in report.facts)
        yield "</dl>"
    if report.commands:
        yield "<h2>Repeat it</h2>"
        yield f"<pre>{_text(chr(10).join(report.commands))}</pre>"
    yield "<footer>Written by nettop. This page makes no network request.</footer>"
    yield "</body>\n</html>"


def _figure(figure: Figure, svg: str) -> Iterator[str]:
    yield f"<figure>\n<figcaption>{_text(figure.title)}</figcaption>"
    yield svg.replace("<svg", f'<svg role="img" aria-label="{_text(figure.title)}"', 1)
    if figure.note:
        yield f"<p>{_text(figure.note)}</p>"
    points = [(series.name, point) for series in figure.series for point in series.points]
    if len(points) <= MANY:
        rows = tuple(
            (
                name,
                point.x if isinstance(point.x, str) else f"{point.x:.6g}",
                f"{point.y:.6g}",
                "" if point.low is None or point.high is None
                else f"{point.low:.6g} to {point.high:.6g}",
            )
            for name, point in points
        )  # fmt: skip
        yield "<details><summary>values</summary>"
        head = ("series", figure.x or "x", figure.y, "interval")
        yield from _table(Table("", head, rows, frozenset({2})))
        yield "</details>"
    yield "</figure>"


def _table(table: Table) -> Iterator[str]:
    def attribute(place: int, cell: str) -> str:
        if place in table.numeric:
            return ' class="number"'
        return ' class="sentence"' if cell.count(" ") >= SENTENCE else ""

    def cells(tag: str, row: tuple[str, ...]) -> str:
        return "".join(
            f"<{tag}{attribute(place, cell)}>{_text(cell)}</{tag}>"
            for place, cell in enumerate(row)
        )

    yield '<div class="scroll"><table>'
    yield f"<thead><tr>{cells('th', table.head)}</tr></thead><tbody>"
    yield from (f"<tr>{cells('td', row)}</tr>" for row in table.rows)
    yield "</tbody></table></div>"


def _text(value: str) -> str:
    """Text of a result in the page: escaped, without control characters except line breaks."""
    return escape("\n".join(map(safe, value.split("\n"))))
