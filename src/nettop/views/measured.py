"""The plots of a stored result: its distribution, and the points of its curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

Pairs = tuple[tuple[float, int], ...]  # value in µs, count; by value
Points = tuple[tuple[str, float, str], ...]  # label, value, remark
BITS: Final = "bit/s"


def spread(document: Mapping[str, object]) -> tuple[str, Pairs]:
    """The title and pairs of the latencies, or of the gaps between datagrams; ("", ()) for none."""
    latency = document.get("latency")
    if isinstance(latency, Mapping) and (pairs := _pairs(latency.get("histogram"))):
        return "latency", pairs
    total: dict[float, int] = {}
    for row in rows_of(document):
        for value, count in _pairs(row.get("gaps")):
            total[value] = total.get(value, 0) + count
    return ("gaps between datagrams", tuple(sorted(total.items()))) if total else ("", ())


def points(document: Mapping[str, object]) -> Points:
    """The points of a sweep: a value of the setting, or size and spacing; () without any."""
    if document.get("kind") == "sweep":
        return tuple(_value(row) for row in _tables(document.get("rows")))
    return tuple(_point(row) for row in rows_of(document) if "size" in row)


def rows_of(document: Mapping[str, object]) -> list[Mapping[str, object]]:
    """The points that a tool measured one after another."""
    details = document.get("details")
    return _tables(details.get("points")) if isinstance(details, Mapping) else []


def _value(row: Mapping[str, object]) -> tuple[str, float, str]:
    """One value of a setting, with its difference to the current one."""
    difference, low_high = row.get("median_difference"), row.get("interval")
    remark = "now"
    if isinstance(difference, int | float) and isinstance(low_high, Sequence):
        low, high = (float(end) for end in low_high)
        remark = f"{difference:+.1%} ({low:+.1%} … {high:+.1%}) {row.get('verdict', '')}"
    return str(row["value"]), _number(row["median"]), remark


def _point(row: Mapping[str, object]) -> tuple[str, float, str]:
    """One size of datagrams, with the spacing where there are several, and its loss in percent."""
    loss, spacing = _number(row.get("loss")), _number(row.get("spacing_us"))
    label = f"{row.get('size')} B" + (f" each {spacing:g} µs" if spacing else "")
    bits = row.get("payload_bits", row.get("capture_bits"))
    return label, _number(bits), f"{loss:.2f}% lost" if loss else ""


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _tables(value: object) -> list[Mapping[str, object]]:
    rows: Iterable[object] = value if isinstance(value, list | tuple) else ()
    return [row for row in rows if isinstance(row, Mapping)]


def _pairs(value: object) -> Pairs:
    rows: Iterable[object] = value if isinstance(value, list | tuple) else ()
    known = [tuple(row) for row in rows if isinstance(row, list | tuple) and len(row) == 2]
    return tuple(sorted((_number(edge), int(_number(count))) for edge, count in known))
