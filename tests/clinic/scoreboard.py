"""The scoreboard as text and as the page of this folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from clinic import cure
from clinic.scenario import Outcome, Scenario

NOT_RUN = "not run"
HEAD = ("surface", "asked", "found first", "found", "missed", "sound, quiet", "false alarms")


def rows(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """Outcomes as plain data."""
    return [
        _row(one.scenario)
        | {"verdict": one.verdict, "alarms": list(one.alarms), "seen": list(one.seen)}
        for one in outcomes
    ]


def not_run(told: Sequence[dict[str, Any]], scenarios: Iterable[Scenario]) -> list[dict[str, Any]]:
    """Rows for the scenarios that have none: a machine for them was not there."""
    known = {(one["ward"], one["name"]) for one in told}
    return [
        _row(one) | {"verdict": NOT_RUN, "alarms": [], "seen": []}
        for one in scenarios
        if (one.ward, one.name) not in known
    ]


def _row(one: Scenario) -> dict[str, Any]:
    return {"ward": one.ward, "name": one.name, "surface": one.surface, "sound": one.sound,
            "obvious": one.told.get("obvious")}  # fmt: skip


def table(told: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """A line a surface, and the sum."""
    lines: list[tuple[Any, ...]] = [HEAD]
    told = [one for one in told if one["verdict"] != NOT_RUN]
    for surface in [*sorted({one["surface"] for one in told}), None]:
        of = [one for one in told if surface in (None, one["surface"])]
        verdicts = [one["verdict"] for one in of]
        lines.append(
            (
                surface or "all",
                len(of),
                *(verdicts.count(verdict) for verdict in ("first", "found", "missed")),
                sum(one["verdict"] == "quiet" and not one["alarms"] for one in of),
                sum(len(one["alarms"]) for one in of),
            )
        )
    return lines


def text(told: Sequence[dict[str, Any]], tried: Sequence[tuple[Any, ...]] = ()) -> str:
    """For a terminal."""
    out = [_aligned(table(told))]
    if tried:
        out.append(_aligned([cure.head(), *tried]))
    return "\n\n".join(out)


def page(told: Sequence[dict[str, Any]], tried: Sequence[tuple[Any, ...]] = ()) -> str:
    """README.md of the clinic."""
    parts = [(Path(__file__).parent / "about.md").read_text(), _markdown(table(told))]
    parts.append("## Every scenario\n")
    head = ("ward", "scenario", "verdict", "false alarms", "the obvious advice, wrong here")
    parts.append(
        _markdown(
            [head]
            + [
                (one["ward"], one["name"], one["verdict"], ", ".join(one["alarms"]) or "–",
                 one["obvious"] or "")
                for one in sorted(told, key=lambda one: (one["ward"], one["surface"]))
            ]
        )
    )  # fmt: skip
    if tried:
        parts.append("## Cures and peers (`make clinic-full`)\n")
        parts.append(_markdown([cure.head(), *tried]))
    return "\n".join(parts)


def _aligned(lines: Sequence[tuple[Any, ...]]) -> str:
    widths = [max(len(str(line[i])) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _markdown(lines: Sequence[tuple[Any, ...]]) -> str:
    head, *rest = lines
    marked = [head, ("---",) * len(head), *rest]
    return "".join(f"| {' | '.join(str(c).replace('|', '/') for c in line)} |\n" for line in marked)
