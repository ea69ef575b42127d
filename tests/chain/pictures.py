"""The board of Grafana drawn from Prometheus' own answers, pages of `nettop fleet`, and pictures.

No Grafana is needed: each panel has the query, the legend and the size of the board that
`nettop metrics --board` prints, and the series that Prometheus returns for it. A panel without data
fails. The pages are those of the audit and of a generated fleet. Each page is drawn for light and
for dark screens.
"""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

import fleet_hosts
from chain.panels import STYLE, graph, now, section
from chain.sites import run
from chain.story import Chain
from chain.watching import labels

from nettop.metrics.alerts import PANELS, Panel

STEP: Final = 5.0  # seconds between two points
RATE: Final = "2m"  # $__rate_interval for metrics that are written every minute
HOSTS, OUTLIERS = 120, 12  # of the generated fleet
PAGE: Final = ("fleet", "--format", "html")
SCHEMES: Final = {"": 1, "-dark": 0}  # Blink's numbers of the colour schemes


def draw(chain: Chain, out: Path, started: float) -> None:
    """Write the pages and their pictures; `started` in seconds since 1970."""
    ended = time.time()
    (out / "board.html").write_text(
        page("".join(_panel(chain, panel, started, ended) for panel in PANELS))
    )
    (out / "audit.html").write_text((chain.controller.folder / "audit/fleet.html").read_text())
    with tempfile.TemporaryDirectory() as folder:
        fleet_hosts.write(Path(folder), HOSTS, OUTLIERS, seed=4)
        (out / "fleet.html").write_text(run(chain.controller.nettop, *PAGE, folder))
    for name, height in (("board", 1500), ("audit", 560), ("fleet", 1400)):
        pictures(out / f"{name}.html", height)
    chain.tell(f"board of {len(PANELS)} panels: each has data; pictures are in {out}")


def page(sections: str) -> str:
    """The page of these panels."""
    return (
        f"<!doctype html><meta charset=utf-8><title>nettop</title><style>{STYLE}</style>"
        f"<main>{sections}</main>"
    )


def pictures(source: Path, height: int) -> None:
    """A picture of a page for light and for dark screens, by Chromium; AssertionError for none."""
    for suffix, scheme in SCHEMES.items():
        image = source.with_name(f"{source.stem}{suffix}.png")
        image.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix="nt-chromium-") as own:
            done = subprocess.run(
                ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                 f"--blink-settings=preferredColorScheme={scheme}",
                 f"--user-data-dir={own}/data", f"--window-size=1240,{height}",
                 f"--screenshot={image}", source.as_uri()],
                env={**os.environ, "HOME": own, "TMPDIR": own}, capture_output=True, text=True,
                timeout=300, check=False,
            )  # fmt: skip
        assert image.exists(), done.stderr[-2000:]


def _panel(chain: Chain, panel: Panel, started: float, ended: float) -> str:
    query = panel.query.replace("$instance", ".*").replace("$__rate_interval", RATE)
    assert "$" not in query, query
    series = panel.kind == "timeseries"
    found = (
        chain.prometheus.range(query, started, ended, STEP)
        if series
        else chain.prometheus.query(query)
    )
    # a table of findings may be empty at the end of the story
    assert found or panel.kind == "table", f"no data: {panel.title}: {query}"
    lines = [
        (legend(panel, one), _points(one["values"] if series else [one["value"]])) for one in found
    ]
    return section(panel, graph(panel, lines) if series else now(panel, lines))


def legend(panel: Panel, series: dict[str, object]) -> str:
    """The name of a series as Grafana makes it of the legend."""
    known = labels(series)
    return re.sub(r"{{(\w+)}}", lambda one: known.get(one[1], ""), panel.legend) or panel.title


def _points(values: object) -> list[tuple[float, float]]:
    assert isinstance(values, list)
    return [(float(at), float(value)) for at, value in values]
