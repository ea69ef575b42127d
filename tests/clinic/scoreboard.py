"""The scoreboard as text and as the page docs/clinic.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clinic import cure
from clinic.scenario import Outcome, Scenario, wards
from clinic.treated import Treated
from generated.invariants import rules
from generated.tally import Tally

NOT_RUN = "not run"
COUNTED = (
    "asked",
    "first",
    "later",
    "wrong",
    "silent",
    "sound, quiet",
    "false alarms",
    "fix cures",
)


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
    first = next(iter(one.words("first") or one.words("expect")), "")
    return {"ward": one.ward, "name": one.name, "surface": one.surface, "sound": one.sound,
            "rule": first.partition("@")[0], "obvious": one.told.get("obvious")}  # fmt: skip


def fixed(fix: Treated | None) -> dict[str, Any]:
    """What the fixes of a patient did, as part of its row."""
    return {} if fix is None else {"cures": fix.cures, "fix": fix.row()}


def counted(told: Sequence[dict[str, Any]]) -> tuple[Any, ...]:
    """The cells of `COUNTED`. Wrong: a warning about something else; silent: no warning."""
    told = [one for one in told if one["verdict"] != NOT_RUN]
    verdicts = [one["verdict"] for one in told]
    wrong = sum(one["verdict"] == "missed" and bool(one["alarms"]) for one in told)
    tried = [one["cures"] for one in told if one.get("cures") is not None]
    return (
        len(told), verdicts.count("first"), verdicts.count("found"), wrong,
        verdicts.count("missed") - wrong,
        sum(one["verdict"] == "quiet" and not one["alarms"] for one in told),
        sum(len(one["alarms"]) for one in told),
        f"{sum(tried)} of {len(tried)}" if tried else "–",
    )  # fmt: skip


def table(told: Sequence[dict[str, Any]], by: str = "surface") -> list[tuple[Any, ...]]:
    """A line a surface or a ward, and the sum."""
    names = wards() if by == "ward" else sorted({one[by] for one in told})
    lines: list[tuple[Any, ...]] = [(by, *COUNTED)]
    lines += [(name, *counted([one for one in told if one[by] == name])) for name in names]
    return [*lines, ("all", *counted(told))]


def by_rule(told: Sequence[dict[str, Any]], tally: Tally) -> list[tuple[Any, ...]]:
    """A line for each rule: scenarios whose first finding it is, and generated hosts."""
    generated = {str(row[0]): row[1:] for row in tally.rules()}
    heads = tally.rules()[0][2:]
    lines: list[tuple[Any, ...]] = [
        ("rule", *COUNTED[:5], *COUNTED[6:], "generated: asked", *map(str, heads))
    ]
    for name in sorted(rule.id for rule in rules()):
        cells = counted([one for one in told if one["rule"] == name])
        alarms = sum(alarm.partition("@")[0] == name for one in told for alarm in one["alarms"])
        rest = generated.get(name, (0, 0, 0, 0, 0, "–", "–"))
        lines.append((name, *cells[:5], alarms, cells[7], *rest))
    return lines


def fixes(told: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """A line for each scenario with a fix that nettop applied."""
    head = ("scenario", "fixed", "still found", "begins", "before", "after", "worse")
    lines = []
    for one in sorted(told, key=lambda one: (one["ward"], one["name"])):
        if fix := one.get("fix"):
            ends = ", ".join(fix["remains"]) or "–"
            begins = ", ".join([*fix["begins"], *fix["twice"]]) or "–"
            lines.append((one["name"], ", ".join(fix["fixed"]), ends, begins, *fix["told"],
                          ", ".join(fix["worse"]) or "–"))  # fmt: skip
    return [head, *lines]


def text(told: Sequence[dict[str, Any]], tried: Sequence[tuple[Any, ...]] = ()) -> str:
    """For a terminal."""
    out = [aligned(table(told))]
    if len(lines := fixes(told)) > 1:
        out.append(aligned(lines))
    if tried:
        out.append(aligned([cure.head(), *tried]))
    return "\n\n".join(out)


def page(
    told: Sequence[dict[str, Any]],
    tried: Sequence[tuple[Any, ...]] = (),
    counts: Iterable[Mapping[str, Mapping[str, int]]] = (),
) -> str:
    """docs/clinic.md."""
    tally = Tally()
    for one in counts:
        tally.merge(one)
    parts = [(Path(__file__).parent / "about.md").read_text()]
    parts += ["## By ward\n", _markdown(table(told, "ward"))]
    parts += ["## By surface\n", _markdown(table(told))]
    parts += ["## Generated hosts\n", *(f"- {one}" for one in tally.sums()), ""]
    parts += [_markdown(tally.faults()), "## By rule\n", _markdown(by_rule(told, tally))]
    head = ("ward", "scenario", "verdict", "false alarms", "fix cures",
            "the obvious advice, wrong here")  # fmt: skip
    lines = [
        (one["ward"], one["name"], one["verdict"], ", ".join(one["alarms"]) or "–",
         {True: "yes", False: "no", None: "–"}[one.get("cures")], one["obvious"] or "")
        for one in sorted(told, key=lambda one: (one["ward"], one["surface"]))
    ]  # fmt: skip
    parts += ["## Fixes\n", _markdown(fixes(told))]
    parts += ["## Every scenario\n", _markdown([head, *lines])]
    if tried:
        parts.append("## Cures and peers (`make clinic-full`)\n")
        parts.append(_markdown([cure.head(), *tried]))
    return "\n".join(parts)


def aligned(lines: Sequence[tuple[object, ...]]) -> str:
    """Columns of text; the first at the left, the others at the right."""
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
