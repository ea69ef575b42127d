"""A report as one HTML page: no script, no font, no picture from elsewhere; light and dark.

The content security policy of the page forbids every request, so that a name in a result cannot
make one (https://www.w3.org/TR/CSP3/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import Final

from ..terms.text import safe
from .figure import Figure, Report, Table

# colours by the eight hues of Okabe and Ito, which colour-blind readers can tell apart
STYLE: Final = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #1b1f24; --faint: #8a9199;
  --line: #d5d9de; --card: #f5f6f8; --good: #00734f; --bad: #b0301c;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #a64d79; --c4: #8a6d00; --c5: #2f8fc4;
  --c6: #5b5b5b; --c7: #7a4fb5; }
@media (prefers-color-scheme: dark) { :root { --page: #14171a; --ink: #e4e7ea; --faint: #7d868f;
  --line: #343a40; --card: #1d2126; --good: #3fcf9b; --bad: #ff8a70;
  --c0: #56b4e9; --c1: #ff9a4d; --c2: #2fd6a3; --c3: #e59ac4; --c4: #f0e442; --c5: #8fd0f5;
  --c6: #b9bec4; --c7: #bfa0f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 24px 20px 60px; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 28px 0 8px; }
.answer { font-size: 17px; margin: 6px 0 18px; padding: 10px 14px; border-left: 4px solid
  var(--faint); background: var(--card); }
.good { border-color: var(--good); } .bad { border-color: var(--bad); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 18px; margin: 0; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 500px), 1fr));
  gap: 18px; }
figure { margin: 0; padding: 12px; border: 1px solid var(--line); border-radius: 6px; }
figcaption { font-weight: 600; margin-bottom: 6px; } figure p { margin: 6px 0 0; }
svg { width: 100%; max-width: 820px; height: auto; display: block; } svg text { fill: var(--ink); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; }
th, td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; } td.sentence { min-width: 15em; }
pre { background: var(--card); padding: 10px 14px; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin-top: 6px; } summary, footer, figure p { color: var(--faint); font-size: 13px; }
@media (max-width: 640px) { dl { display: block; } dd { margin: 0 0 6px; } }
@media print { body { max-width: none; } details { display: none; } }
"""
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
SENTENCE: Final = 4  # spaces from which a cell is a sentence, which a narrow page must not squeeze
MANY: Final = 400  # a figure with more points has no table of values; CSV has them


def page(report: Report, draw: Callable[[Figure, str], str]) -> str:
    """The page; `draw` returns the SVG of a figure with a prefix for its ids."""
    return "\n".join(_lines(report, draw)) + "\n"


def _lines(report: Report, draw: Callable[[Figure, str], str]) -> Iterator[str]:
    title = _text(report.title)
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>"
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
