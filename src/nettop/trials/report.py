"""The report of a study: published and measured values as text and Markdown.

Documents are those of `repeat.run`. KeyError, TypeError, ValueError: a stored document of another
version lacks a field.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..terms import units
from . import checks

NAMES: Final = {
    "cores": "cores of the two ends", "mtu": "MTU", "nic": "NIC", "os": "OS",
    "rtt_ms": "round trip in ms", "seconds_at_most": "limit of a run in s",
    "speed_mbit": "speed in Mbit/s",
}  # fmt: skip
"""Conditions whose key is no word."""

OFTEN: Final = 3  # points with one remark: it is told once, below the table


def published(value: object) -> str:
    """A published cell as text: a number, a range or words."""
    if isinstance(value, list | tuple):
        return " – ".join(map(published, value))
    return f"{value:,.10g}" if isinstance(value, int | float) else str(value)


def cells_of(row: Mapping[str, Any], unit: str = "") -> tuple[str, str, str]:
    """Measured value, ratio of measured to published, and remark of a row.

    There is no ratio to a published value that cannot be right, nor of two shares of losses; `unit`
    is that of the study.
    """
    if "measured" not in row:
        return "–", "", row.get("skipped", "")
    why = row.get("incomparable") or (
        "the published value is doubtful" if row.get("suspect") else ""
    )
    remark = "; ".join((*((f"not compared: {why}",) if why else ()), *row.get("faults", ())))
    paper = comparable(row)
    ratio = f"{row['measured'] / paper:.2f}" if paper and not _lost(row, unit) else ""
    return _digits(row["measured"]), ratio, remark


def comparable(row: Mapping[str, Any]) -> float | None:
    """The published value of a row; None for words, and where it is not compared."""
    return None if row.get("incomparable") or row.get("suspect") else middle(row["published"])


def _lost(row: Mapping[str, Any], unit: str) -> bool:
    """Whether its figure is a share, as of lost packets."""
    return str(row.get("unit", unit)).startswith(("%", "percent"))


def changes(document: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """By point its change in the paper and here against the study's own baseline, as text.

    Only points that name a baseline. A published change in words is printed as it is; a change of
    shares is a difference. Here it takes several runs of both: one run of each says nothing.
    """
    rows = {row["point"]: row for row in document["rows"]}
    found = {}
    for name, row in rows.items():
        base = rows.get(row.get("against", ""))
        if base is not None:
            own = row["published"] if middle(row["published"]) is None else ""
            share = _lost(row, document["unit"])
            papers = _change(middle(row["published"]), middle(base["published"]), share=share)
            found[name] = papers or str(own), _measured_change(row, base, share=share)
    return found


def _measured_change(row: Mapping[str, Any], base: Mapping[str, Any], *, share: bool) -> str:
    """The change of the medians; not resolved where the runs of both overlap."""
    own, others = row.get("samples", ()), base.get("samples", ())
    if not own or not others:
        return ""
    if min(own) <= max(others) and min(others) <= max(own):
        return "not resolved"
    return _change(row.get("measured"), base.get("measured"), share=share)


def _change(value: float | None, base: float | None, *, share: bool) -> str:
    if value is None or base is None or not (share or base):
        return ""
    return f"{value - base:+.4g} points" if share else f"{100 * (value / base - 1):+.1f} %"


def _digits(value: float) -> str:
    """Four digits; from 1000 on without an exponent."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def middle(value: object) -> float | None:
    """The number, or the middle of a range; None for words."""
    if isinstance(value, list | tuple) and value:
        return float(sum(value) / len(value))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _header(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"{document['study']}: {document['title']} ({document['paper']}, {document['place']})"
    for name, conditions in document["conditions"].items():
        pairs = (f"{named(key)} {condition(v)}" for key, v in conditions.items())
        yield f"  {name}: {', '.join(pairs)}"
    for sentence in sentences(document["requires"], document["notes"]):
        yield f"  {sentence}"


def sentences(requires: Iterable[str], notes: Iterable[str]) -> tuple[str, ...]:
    """What the repetition needs, then what the paper says and what is done here."""
    return (*(f"Needs: {one}" for one in requires), *notes)


def named(key: str) -> str:
    """The name of a condition in words."""
    return NAMES.get(key, key.replace("_", " "))


def condition(value: object) -> str:
    """A condition as text; a list holds the values of both ends, or of several parts."""
    if isinstance(value, list | tuple):
        return " and ".join(map(condition, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def text(document: Mapping[str, Any]) -> str:
    """The table for a terminal."""
    lines = [*_header(document), ""]
    every = [list(head(document, f", {document['unit']}")), *map(list, rows(document))]
    widths = [max(len(row[i]) for row in every) for i in range(len(every[0]) - 1)]
    for first, *middles, last in every:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(wide) for cell, wide in zip(middles, widths[1:], strict=True)]
        lines.append("  " + "  ".join([*cells, last]).rstrip())
    return "\n".join(lines) + "\n"


def head(document: Mapping[str, Any], unit: str) -> tuple[str, ...]:
    """The columns of a study; those of changes only where it has a baseline of its own."""
    runs = ("range of the runs",) if _repeated(document) else ()
    both = ("change in the paper", *(("change here",) if runs else ()))
    both = both if changes(document) else ()
    rate = ("offered / requested",) if _paced(document) else ()
    return ("point", f"published{unit}", "measured", *runs, *rate, "ratio", *both, "remark")


def _repeated(document: Mapping[str, Any]) -> bool:
    return any("samples" in row for row in document["rows"])


def _paced(document: Mapping[str, Any]) -> bool:
    """Whether rows have conditions of their own; one round trip of all is that of the path."""
    asked = {(row.get("condition"), row["asked"]) for row in document["rows"] if "asked" in row}
    return len(asked) > 1 or any(name != "round trip" for name, _ in asked)


def _offered(row: Mapping[str, Any]) -> str:
    """The rate or spacing of datagrams, or the round trip, and the one that was asked."""
    if "asked" not in row:
        return ""
    return f"{_amount(row, row.get('offered'))} / {_amount(row, row['asked'])}"


def _amount(row: Mapping[str, Any], value: float | None) -> str:
    """A condition of the row with its unit; a spacing of 0 is none."""
    name = row.get("condition", "rate")
    if value is None:
        return "not recorded"
    if name == "rate":
        return units.scaled(value, "b/s")
    return f"{value:.4g} {'ms' if name == 'round trip' else 'µs'}" if value else "back to back"


def missed(row: Mapping[str, Any]) -> str:
    """What the condition of the row was, where that is not the one that was asked."""
    asked, offered = row.get("asked"), row.get("offered")
    name = row.get("condition", "rate")
    least = checks.TRIP if name == "round trip" else checks.REACHED
    if asked is None or offered is None or checks.reached(asked, offered, least):
        return ""
    return f"a {name} of {_amount(row, offered)}, not {_amount(row, asked)}"


def _range(row: Mapping[str, Any]) -> str:
    """The least and the largest of several runs, and their number."""
    samples = row.get("samples", ())
    if not samples:
        return ""
    return f"{_digits(min(samples))} – {_digits(max(samples))} ({len(samples)})"


def rows(document: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The cells of each point as text, in the order of `head`."""
    found = changes(document)
    for row in document["rows"]:
        name = str(row["point"])
        measured, ratio, remark = cells_of(row, document["unit"])
        both = found.get(name, ("", ""))[: 1 + _repeated(document)] if found else ()
        mark = " (suspect)" if row.get("suspect") else ""
        runs = (_range(row),) if _repeated(document) else ()
        unit = f" {row['unit']}" if "unit" in row else ""
        rate = (_offered(row),) if _paced(document) else ()
        paper = published(row["published"]) + unit + mark
        yield name, paper, measured, *runs, *rate, ratio, *both, remark


def markdown(document: Mapping[str, Any]) -> str:
    """The report as Markdown."""
    first, *rest = _header(document)
    lines = [f"# {first}", "", *(f"- {line.strip()}" for line in rest), ""]
    columns = head(document, f", {document['unit']}")
    aligned = ["---", *["---:"] * (len(columns) - 2), "---"]
    lines += ["| " + " | ".join(columns) + " |", "|" + "|".join(aligned) + "|"]
    every = list(rows(document))
    often = Counter(remark for *_, remark in every if " " in remark)
    notes = [remark for remark, times in often.items() if times >= OFTEN]
    for *cells, remark in every:
        note = f"({notes.index(remark) + 1})" if remark in notes else remark
        row = " | ".join(cell.replace("|", "\\|") for cell in (*cells, note))
        lines.append(f"| {row} |")
    told = [f"- ({number}): {note}" for number, note in enumerate(notes, 1)]
    return "\n".join((*lines, *([""] if told else ()), *told)) + "\n"
