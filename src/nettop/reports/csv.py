"""The samples of a report as CSV (RFC 4180): one row for each point of each figure."""

from __future__ import annotations

import csv
import io

from .figure import Report

COLUMNS = ("figure", "series", "x", "y", "low", "high", "x_label", "y_label")


def text(report: Report) -> str:
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
                writer.writerow([_plain(cell) for cell in cells])
    return out.getvalue()


def _plain(cell: str) -> str:
    """A cell that a spreadsheet does not run as a formula; numbers stay as they are."""
    try:
        float(cell)
    except ValueError:
        return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
    return cell
