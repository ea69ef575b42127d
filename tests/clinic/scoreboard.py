"""The scoreboard as text and as the page of this folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from clinic.scenario import Outcome

HEAD = ("surface", "asked", "found first", "found", "missed", "sound, quiet", "false alarms")


def rows(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """Outcomes as plain data."""
    return [
        {
            "ward": one.scenario.ward,
            "name": one.scenario.name,
            "surface": one.scenario.surface,
            "sound": one.scenario.sound,
            "obvious": one.scenario.told.get("obvious"),
            "verdict": one.verdict,
            "alarms": list(one.alarms),
            "seen": list(one.seen),
        }
        for one in outcomes
    ]


def table(told: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """A line a surface, and the sum."""
    lines: list[tuple[Any, ...]] = [HEAD]
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
        out.append(_aligned(tried))
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
        parts.append(_markdown(tried))
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
