"""What the points of all kept results show together, as sentences and a table.

Each number here comes from the points, so that no sentence says more than they do.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from statistics import median
from typing import Any

from nettop.trials import report, study

SECONDS = re.compile(r"^\d+ s, ")
Found = Mapping[str, Mapping[str, Any]]  # by study its result


def state(of: study.Study, point: study.Point) -> tuple[object, ...]:
    """What makes two runs the same here: all but their seconds."""
    options = {**of.options, **point.options}
    asked = {key: value for key, value in options.items() if key not in ("seconds", "count")}
    figure = point.figure or of.figure
    settings = tuple(sorted(point.settings.items()))
    return of.tool, figure, point.mtu, point.rtt_ms, settings, tuple(sorted(asked.items()))


def runs(row: Mapping[str, Any]) -> tuple[float, ...]:
    """What each run of a point measured; none for a void point."""
    return tuple(row.get("samples") or ([row["measured"]] if "measured" in row else ()))


def repeated(name: str, found: Found) -> dict[tuple[object, ...], list[float]]:
    """By state the rates of TCP of one page."""
    of = study.load(name)
    values: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for point, row in zip(of.points, found[name]["rows"], strict=True):
        if of.tool == "bulk":
            values[state(of, point)] += runs(row)
    return values


def factor(values: Iterable[float]) -> float:
    """The largest by the least; 1 for fewer than two."""
    some = sorted(values)
    return some[-1] / some[0] if some else 1.0


def within(found: Found, names: Iterable[str]) -> float:
    """The largest factor between runs of one state on one page."""
    return max(
        (factor(some) for name in names for some in repeated(name, found).values()), default=1.0
    )


def between(found: Found) -> float:
    """The largest factor between runs of one state on two pages, without a round trip."""
    return max(map(factor, pooled({name: found[name] for name in near(found)}).values()))


def pooled(found: Found) -> dict[tuple[object, ...], list[float]]:
    """By state the rates of TCP of all pages."""
    every: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for name in found:
        for key, some in repeated(name, found).items():
            every[key] += some
    return every


def near(found: Found) -> list[str]:
    """The studies without a round trip of their own."""
    return [name for name in found if not any(p.rtt_ms for p in study.load(name).points)]


def far(found: Found) -> list[str]:
    """Those with one at each point that has a value."""
    return [name for name in found if all(p.rtt_ms for p in study.load(name).points)]


def notes(
    name: str, found: Found, directions: Mapping[str, str], bases: Mapping[str, str]
) -> Iterator[str]:
    """What the page of a study adds: repetitions, pages of the same runs, the direction."""
    of = study.load(name)
    own = {state(of, point) for point in of.points}
    some = {key: value for key, value in repeated(name, found).items() if len(value) > 1}
    if some and any("seconds" in point.options for point in of.points):
        worst = max(some.values(), key=factor)
        low, high = min(worst), max(worst)
        seconds = found[name]["conditions"]["here"]["seconds_at_most"]
        yield (
            f"Here: one run of at most {seconds:g} s a cell: points that differ only in their "
            f"seconds are repetitions; they differ by up to a factor of {factor(worst):.2g} "
            f"({low:.2g} to {high:.2g} {of.unit})."
        )
    others = [study.load(other) for other in found if other != name]
    twins = [
        f"{other.id} ({found[other.id]['conditions']['here']['rtt_ms']:g} ms)" for other in others
        if len(own) > 1 and {state(other, point) for point in other.points} == own
        and any("measured" in row for row in found[other.id]["rows"])
        and any("measured" in row for row in found[name]["rows"])
    ]  # fmt: skip
    if twins:
        yield f"Here: the same states as in {', '.join(twins)}; in brackets the round trip there."
    yield f"Here: the direction of the paper: {direction(name, found, directions, bases)}."


def direction(
    name: str, found: Found, directions: Mapping[str, str], bases: Mapping[str, str]
) -> str:
    """At which changes of the paper those here went the same way: all runs of both states apart.

    `bases`: of a page whose states are all changed that with the same points before the change.
    """
    rows = {row["point"]: row for row in found[name]["rows"]}
    if not any("measured" in row for row in rows.values()):
        return "not tested, no point has a value"
    for patterns, said in directions.items():
        if any(fnmatch(name, one) for one in patterns.split()):
            return said
    if study.load(name).figure == "loss.percent":
        lost = [row["measured"] > 0 for row in rows.values() if lossy(row)]
        where = f"the points with a value here and a loss in the paper ({len(lost)})"
        return f"seen at {sum(lost)} of {where}" if any(lost) else f"not seen, no loss at {where}"
    of, first = study.load(name), study.load(bases.get(name, name))
    kinds = {point.name: state(of, point) for point in of.points}
    firsts = {point.name: state(first, point) for point in first.points}
    unchanged = {row["point"]: row for row in found[first.id]["rows"]}
    every = pooled(found)
    changes: dict[str, dict[str, None]] = defaultdict(dict)
    for point, row in rows.items():
        before = row.get("against", point if first is not of else "")
        base = unchanged.get(before, {})
        papers = [
            report.comparable(one) or 0.0 if "measured" in one else 0.0 for one in (row, base)
        ]
        if not all(papers) or papers[0] == papers[1]:
            continue
        here, earlier = every[kinds[point]], every[firsts[before]]
        change = median(here) / median(earlier)
        words = SECONDS.sub("", point)
        if min(map(len, (here, earlier))) == 1:
            changes["not resolved, a single run of each state,"][words] = None
        elif min(here) <= max(earlier) and min(earlier) <= max(here):
            changes["not resolved, the ranges of all runs of these states overlap,"][words] = None
        else:
            same = (change > 1) is (papers[0] > papers[1])
            words += f" ({100 * (change - 1):+.0f} %)"
            changes["seen" if same else "the opposite"][words] = None
    return "; ".join(f"{kind} at {'; '.join(words)}" for kind, words in changes.items())


def lossy(row: Mapping[str, Any]) -> bool:
    """Whether the point has a value, and a loss in the paper."""
    return "measured" in row and "unit" not in row and (report.middle(row["published"]) or 0) > 0


def wide_area(found: Found) -> tuple[str, list[tuple[bool, float, float]]]:
    """The table of the wide-area studies; of each row whether its ranges overlap, and ratios."""
    cells: dict[tuple[float, str], dict[bool, list[tuple[float, float]]]] = {}
    trips: dict[float, list[float]] = defaultdict(list)
    pages: dict[float, list[str]] = defaultdict(list)
    for name in far(found):
        for point, row in zip(study.load(name).points, found[name]["rows"], strict=True):
            if "measured" in row and point.rtt_ms:
                streams = f"{point.options['streams']}"
                tuned = bool(point.settings)
                group = cells.setdefault((point.rtt_ms, streams), {False: [], True: []})
                group[tuned].append((row["published"], row["measured"]))
                trips[point.rtt_ms].append(row["offered"])
                if name not in pages[point.rtt_ms]:
                    pages[point.rtt_ms].append(name)
    lines, said = [], []
    for (rtt, streams), group in sorted(cells.items()):
        middles = {
            tuned: [median(one) for one in zip(*some, strict=True)] for tuned, some in group.items()
        }
        here = {tuned: [one for _, one in some] for tuned, some in group.items()}
        ratios = [middles[True][place] / middles[False][place] for place in (0, 1)]
        shown = [
            f"{middles[tuned][0]:.2f} | {middles[tuned][1]:.2f} "
            f"({min(here[tuned]):.2g} to {max(here[tuned]):.2g})"
            for tuned in (False, True)
        ]
        measured = " to ".join(
            dict.fromkeys(f"{end:.3g}" for end in (min(trips[rtt]), max(trips[rtt])))
        )
        which = ", ".join(one.removeprefix("valente-") for one in pages[rtt])
        lines.append(
            f"| {rtt:g} ms | {measured} ms | {which} | {streams} | {' | '.join(shown)} "
            f"| {ratios[0]:.1f} | {ratios[1]:.1f} | {len(here[False])} |"
        )
        overlap = min(here[True]) <= max(here[False]) and min(here[False]) <= max(here[True])
        said.append((overlap, *ratios))
    return "\n".join(lines), said


def summary(found: Found) -> dict[str, object]:
    """The numbers of the README, by the names that its template has."""
    table, ratios = wide_area(found)
    away = [row for name in far(found) for row in found[name]["rows"]]
    values = [value for row in away for value in runs(row)]
    kept = [row for row in away if "measured" in row]
    return {
        "within": f"{within(found, near(found)):.2g}", "between": f"{between(found):.2g}",
        "far": f"{within(found, far(found)):.2g}", "low": f"{min(values):.2g}",
        "high": f"{max(values):.2g}", "kept": len(kept), "away": len(away), "wide_area": table,
        "warned": sum("faults" in row for row in kept), "rows": len(ratios),
        "overlaps": sum(overlap for overlap, _, _ in ratios),
        "others": sum((paper > 1) is not (here > 1) for _, paper, here in ratios),
    }  # fmt: skip
