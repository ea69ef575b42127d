"""The board of Grafana drawn from Prometheus' own answers, the fleet page, and pictures of both.

No Grafana is needed: each panel has the query, the legend and the width of the board that
`nettop metrics --board` prints, and the series that Prometheus returns for it. A panel without data
fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final

from chain.story import Chain
from chain.watching import Found, labels

from nettop.metrics.board import PANELS, Panel

COLUMN, HEIGHT = 50, 190  # pixels of a column of the board, and of a panel
COLOURS: Final = (
    "#3a7bd5", "#d9822b", "#3f9142", "#c23b3b", "#7d58b5", "#0f8b8d", "#a0741c", "#b83280",
)  # fmt: skip
NAMED: Final = 4  # series of a panel whose names are printed
STEP: Final = 5.0  # seconds between two points
RATE: Final = "2m"  # $__rate_interval for metrics that are written every minute
STYLE: Final = """\
body { font: 13px sans-serif; margin: 12px; width: 1216px; background: #f4f5f8 }
main { display: flex; flex-wrap: wrap; gap: 6px }
section { background: #fff; border: 1px solid #d5d9e0; box-sizing: border-box; padding: 6px }
h2 { font-size: 13px; margin: 0 0 4px } p { margin: 0; font-size: 11px; line-height: 14px }
.stat { font-size: 26px; text-align: center } .stat small { font-size: 12px; color: #555 }
"""


def draw(chain: Chain, out: Path, started: float) -> None:
    """Write board.html and fleet.html with their pictures; `started` in seconds since 1970."""
    ended = time.time()
    parts = [_panel(chain, panel, started, ended) for panel in PANELS]
    (out / "board.html").write_text(
        f"<!doctype html><meta charset=utf-8><title>nettop</title><style>{STYLE}</style>"
        f"<main>{''.join(parts)}</main>"
    )
    (out / "fleet.html").write_text((chain.controller.folder / "audit/fleet.html").read_text())
    for name, height in (("board", 1580), ("fleet", 1400)):
        picture(out / f"{name}.html", out / f"{name}.png", height)
    chain.tell(f"board of {len(PANELS)} panels: each has data; pictures are in {out}")


def picture(page: Path, image: Path, height: int) -> None:
    """A picture of a page by Chromium; AssertionError if there is none."""
    image.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="nt-chromium-") as own:
        done = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={own}/data", f"--window-size=1240,{height}",
             f"--screenshot={image}", page.as_uri()],
            env={**os.environ, "HOME": own, "TMPDIR": own}, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
    assert image.exists(), done.stderr[-2000:]


def _panel(chain: Chain, panel: Panel, started: float, ended: float) -> str:
    query = panel.query.replace("$instance", ".*").replace("$__rate_interval", RATE)
    assert "$" not in query, query
    if panel.kind == "timeseries":
        found = chain.prometheus.range(query, started, ended, STEP)
        inside = _graph(panel, found)
    else:
        found = chain.prometheus.query(query)
        inside = _now(panel, found)
    # a table of findings may be empty at the end of the story
    assert found or panel.kind == "table", f"no data: {panel.title}: {query}"
    size = f"width:{panel.width * COLUMN - 6}px;height:{HEIGHT}px"
    return f'<section style="{size}"><h2>{escape(panel.title)}</h2>{inside}</section>'


def legend(panel: Panel, series: dict[str, object]) -> str:
    """The name of a series as Grafana makes it of the legend."""
    known = labels(series)
    return re.sub(r"{{(\w+)}}", lambda one: known.get(one[1], ""), panel.legend) or panel.title


def _now(panel: Panel, found: Found) -> str:
    """The values of now: figures, or rows of a table."""
    rows = [(legend(panel, one), _points([one["value"]])[0][1]) for one in found]
    if panel.kind == "table":
        return "".join(f"<p>{escape(name)}</p>" for name, _ in rows) or "<p>none</p>"
    figures = "&ensp;".join(f"{value:g} <small>{escape(name)}</small>" for name, value in rows)
    return f'<div class="stat">{figures}</div>'


def _points(values: object) -> list[tuple[float, float]]:
    assert isinstance(values, list)
    return [(float(at), float(value)) for at, value in values]


def _graph(panel: Panel, found: Found) -> str:
    """Lines over time, with the largest value and the names of the first series."""
    width, height = panel.width * COLUMN - 24, HEIGHT - 78
    lines = [(legend(panel, one), _points(one["values"])) for one in found]
    every = [point for _, points in lines for point in points]
    first, last = min(at for at, _ in every), max(at for at, _ in every)
    most = max(value for _, value in every) or 1.0
    lines.sort(key=lambda line: -max(value for _, value in line[1]))
    drawn = "".join(
        f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>'
        for colour, points in _drawn(
            [line for _, line in lines], (first, last, most), (width, height)
        )
    )
    names = "&ensp;".join(
        f'<span style="color:{COLOURS[at % len(COLOURS)]}">■</span> {escape(name)}'
        for at, (name, _) in enumerate(lines[:NAMED])
    )
    more = f" and {len(lines) - NAMED} more" if len(lines) > NAMED else ""
    return (
        f"<p>{most:,.4g} {escape(panel.unit)}</p>"
        f'<svg width="{width}" height="{height}" style="border:1px solid #e5e8ee">{drawn}</svg>'
        f"<p>{names}{more}</p>"
    )


def _drawn(
    lines: Sequence[Sequence[tuple[float, float]]],
    span: tuple[float, float, float],
    size: tuple[int, int],
) -> Iterator[tuple[str, str]]:
    """The colour and the points of each line; time grows to the right, values upwards."""
    first, last, most = span
    width, height = size
    for at, line in enumerate(lines):
        points = " ".join(
            f"{(when - first) / ((last - first) or 1) * (width - 4) + 2:.1f},"
            f"{height - 3 - value / most * (height - 8):.1f}"
            for when, value in line
        )
        yield COLOURS[at % len(COLOURS)], points
