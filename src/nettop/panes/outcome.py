"""One result of a test, proof or study in full, with its plots; a comparison of two results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ..terms import braille
from ..terms.text import Line, bar, cells, clauses, fit, fit_line, line
from ..terms.units import scaled
from ..terms.units import seconds as duration
from ..views.form import provable
from ..views.kept import BITS
from ..views.scene import Paper, Scene, StoredResult
from .parts import Column, flow_words, heading, row, section, severity, when, widths

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding


def figure(value: float, unit: str) -> str:
    """A value of an experiment with its unit."""
    return scaled(value, "b/s") if unit.startswith("bit/s") else f"{value:.4g} {unit}".rstrip()


def verdict_role(verdict: str) -> str:
    """The role of a verdict."""
    return {"better": "good", "worse": "bad"}.get(verdict, "dim")


def pairs(result: StoredResult, width: int, rows: int, skip: int = 0) -> list[Line]:
    """Each pair of a proof: the value before, the value after, and its gain as it is judged.

    The first `skip` pairs are left out.
    """
    from ..trials import statistics  # when there are pairs

    both = list(zip(result.before, result.after, strict=False))[skip:]
    top = max((*result.before, *result.after), default=0.0) or 1.0
    room = max(4, (width - 43) // 2)
    out = [
        line(("   pair ", "dim"), (fit("before", room + 13), "head"),
             (fit("after", room - 1), "head"), (fit("over median before", 22, ">"), "head"))
    ]  # fmt: skip
    gains = statistics.gains(result.before[: len(result.after)], result.after,
                             higher=result.higher is not False)[skip:]  # fmt: skip
    known = zip(both[: max(0, rows - 1)], gains, strict=False)
    for number, ((a, b), gain) in enumerate(known, skip + 1):
        parts: list[tuple[str, str]] = [(f"   {number:>3}  ", "dim")]
        better = (b > a) == (result.higher is not False)
        for value, role in ((a, "dim"), (b, "good" if better else "bad")):
            filled, rest = bar(value / top, room)
            parts += [
                (filled, role),
                (rest, "faint"),
                (fit(figure(value, result.unit), 12, ">"), ""),
            ]
            parts.append((" ", ""))
        parts.append((f"{gain:>+7.1%}", "good" if better else "bad"))
        out.append(tuple(parts))
    if len(both) > rows - 1:
        out[-1] = line((f"   … {len(both) - max(0, rows - 2)} more pairs", "dim"))
    return out[: max(0, rows)]


def span(result: StoredResult, width: int) -> list[Line]:
    """The confidence interval of the difference on a scale that includes zero."""
    low, high = result.interval
    edge = max(abs(low), abs(high), 0.01) * 1.15
    room = max(11, width - 22)

    def at(value: float) -> int:
        return round((value + edge) / (2 * edge) * (room - 1))

    cells = [("─", "faint")] * room
    for place in range(at(low), at(high) + 1):
        cells[place] = ("━", verdict_role(result.verdict))
    cells[at(result.middle)] = ("●", verdict_role(result.verdict))
    if cells[at(0.0)][0] == "─":
        cells[at(0.0)] = ("│", "strong")
    return [
        line((f"   {-edge:>+7.0%} ", "dim"), *cells, (f" {edge:+.0%}", "dim")),
        line((" " * (12 + at(0.0) - 3), ""), ("no gain", "dim")),
    ]


def so_far(result: StoredResult, width: int, height: int) -> list[Line]:
    """The latest pairs of a running proof, and the interval of their difference."""
    shown = max(1, height - 5)
    count = min(len(result.before), len(result.after))
    out = pairs(result, width, shown + 1, skip=max(0, count - shown))
    if result.after:
        low, high = result.interval
        interval = f", {low:+.1%} to {high:+.1%}" if count > 1 else ""
        of = f"median gain of {count} pairs" if count > 1 else "gain of 1 pair"
        out.append(line((f"   so far {result.middle:+.1%}{interval}: {of}", "strong")))
        out += span(result, width) if height >= 9 else []
    return out


def result(one: StoredResult, width: int, height: int) -> list[Line]:
    """One result in full."""
    out = [section(f"RESULT {one.id}", when(one.wall), width)]
    role = verdict_role(one.verdict)
    out.append(line((f" {one.tool} ", "head"), one.title, (f"   {one.verdict.upper()}", role)))
    words = [line((f"{label} ", "dim"), (text, "strong")) for label, text in one.figures]
    if one.bits_per_second:
        rate = scaled(one.bits_per_second, "b/s")
        words.insert(0, line((rate, "strong"), (" payload", "dim")))
    out += flow_words(words, width)
    left = height - len(out)
    if one.before:
        if left >= 6:
            out += span(one, width)
        out += pairs(one, width, height - len(out))
    elif one.rows:
        out += table(one.rows, one.unit, width, left)
    elif one.points:
        shown = min(len(one.points), left if not one.spread[1] else max(1, left - 7))
        out += curve(one.points, one.unit or BITS, width, shown)
        out += distribution(*one.spread, width, height - len(out))
    else:
        rate_rows = min(8, left if not one.spread[1] else left // 2)
        out += rates(one.intervals, width, rate_rows)
        out += distribution(*one.spread, width, min(10, height - len(out)))
    return [fit_line(one, width) for one in out[:height]]


def table(
    rows: Sequence[tuple[str, str, str, str, str]], unit: str, width: int, height: int
) -> list[Line]:
    """The points of a study: published and measured values side by side."""
    columns = (
        Column(" POINT", 16, grow=2), Column("PUBLISHED", 15, ">"), Column("MEASURED", 10, ">"),
        Column("RATIO", 6, ">"), Column(unit, 14, grow=3),
    )  # fmt: skip
    sizes = widths(columns, width)
    out = [heading(columns, sizes)]
    for name, published, measured, ratio, remark in rows[: max(0, height - 1)]:
        values = (
            f" {name}", (published, "dim"), (measured, "strong"), (ratio, "accent"), (remark, "dim")
        )  # fmt: skip
        out.append(row(values, columns, sizes))
    if len(rows) > height - 1 and out:
        out[-1] = line((f"   … {len(rows) - height + 2} more points", "dim"))
    return out[: max(0, height)]


def paper(study: Paper, last: StoredResult | None, width: int, height: int) -> list[Line]:
    """One study: its table, its requirements, the published and the latest measured values."""
    out = [section(f"STUDY {study.id}", "Enter run it", width)]
    out.append(line((f" {study.title}", "strong")))
    out.append(line((f" {study.paper}, {study.place}; tool {study.tool}", "dim")))
    out += [line((f" {text}", "warn")) for text in study.requires[: max(0, height - 8)]]
    if last is not None:
        out.append(line((f" measured here {when(last.wall)}", "accent")))
        rows = last.rows
    else:
        rows = tuple((name, published, "–", "", skip) for name, published, skip in study.points)
    out += table(rows, study.unit, width, height - len(out))
    return [fit_line(one, width) for one in out[:height]]


def compare(a: StoredResult, b: StoredResult, width: int, height: int) -> list[Line]:
    """Two results compared: figures, ratio, and the settings that differed."""
    out = [section("COMPARE", "Enter on another; Esc ends", width)]
    for name, one in (("A", a), ("B", b)):
        rate = scaled(one.bits_per_second, "b/s") if one.bits_per_second is not None else ""
        figures = "  ".join(f"{label} {text}" for label, text in one.figures)
        out.append(
            line((f" {name} ", "key"), (fit(rate, 12), "strong"), f"{one.tool} {one.title}  ",
                 (figures, "dim"))
        )  # fmt: skip
    if a.bits_per_second and b.bits_per_second is not None:
        ratio = b.bits_per_second / a.bits_per_second
        remark = "single runs: p (prove) gives a verdict"
        out.append(line((f" B / A = {ratio:.3f}  ", "strong"), (remark, "dim")))
    differ = [
        (name, a.settings.get(name, "–"), b.settings.get(name, "–"))
        for name in sorted({*a.settings, *b.settings})
        if a.settings.get(name) != b.settings.get(name)
    ]
    if not differ and (a.settings or b.settings):
        out.append(line((" no setting in force differs", "dim")))
    for name, old, new in differ[:4]:
        out.append(line((f" {name}: ", ""), (old, "dim"), " → ", (new, "strong")))
    left = height - len(out)
    each = left // 2 if a.intervals and b.intervals else left
    if each >= 2:
        out += rates(a.intervals, width, each)
        out += rates(b.intervals, width, left - each)
    return [fit_line(one, width) for one in out[:height]]


SCALE: Final = 11  # columns of the scale at the left
_LABEL: Final = 22  # columns of the name of a point, at the most


def rates(values: Sequence[float], width: int, rows: int) -> list[Line]:
    """A graph of the rate of each second, in bit/s, with its scale; time goes to the right."""
    if not values or rows < 1:
        return []
    top = max(values) or 1.0
    room = max(1, width - SCALE - 2)
    shown = values[-2 * room :]
    each = max(1, 2 * room // max(10, len(shown)))  # dots of a second
    drawn = braille.area([value for value in shown for _ in range(each)], rows, top)
    marks = {0: scaled(top, "b/s")} | ({rows - 1: "0 b/s"} if rows > 1 else {})
    return [
        line((fit(marks.get(at, ""), SCALE, ">") + " ", "dim"), (text, "good"))
        for at, text in enumerate(drawn)
    ]


def distribution(
    title: str, pairs: Sequence[tuple[float, int]], width: int, rows: int
) -> list[Line]:
    """The histogram of (µs, count) pairs in `rows` lines: title, plot, and the range below it."""
    room = width - SCALE - 2
    if rows < 3 or room < 10:
        return []
    drawn = braille.histogram(pairs, room, rows - 2)
    if not drawn:
        return []
    least, most = (duration(pairs[at][0] / 1e6) for at in (0, -1))
    out = [line((f" {title}", "head"))]
    top = f"{max(count for _, count in pairs):,}"
    for at, text in enumerate(drawn):
        out.append(line((fit(top if not at else "", SCALE, ">") + " ", "dim"), (text, "accent")))
    gap = " " * max(1, room - cells(least) - cells(most))
    return [*out, line(" " * (SCALE + 1), (f"{least}{gap}{most}", "dim"))]


def curve(points: Sequence[tuple[str, float, str]], unit: str, width: int, rows: int) -> list[Line]:
    """A bar for each (label, value, remark): throughput against spacing, size or a setting."""
    if not points or rows < 1:
        return []
    top = max(value for _, value, _ in points) or 1.0
    wide = min(_LABEL, max(cells(label) for label, _, _ in points))
    remarks = max(cells(remark) for _, _, remark in points)
    room = max(4, width - wide - remarks - 18)
    out = []
    for label, value, remark in points[:rows]:
        filled, rest = bar(value / top, room)
        text = scaled(value, "b/s") if unit.startswith("bit/s") else f"{value:.4g} {unit}".strip()
        out.append(
            line((f" {fit(label, wide)} ", "head"), (filled, "accent"), (rest, "faint"),
                 (fit(text, 12, ">"), "strong"), (f"  {remark}", "dim"))
        )  # fmt: skip
    if len(points) > rows:
        out[-1] = line((f" … {len(points) - rows + 1} more points", "dim"))
    return out


def likelihood(finding: Finding, scene: Scene) -> str:
    """What proofs on this host say about the fix of a rule; "" where it has nothing to prove."""
    proofs = [
        one for one in scene.results
        if one.tool == "prove" and one.title.partition("@")[0] == finding.rule and one.verdict
    ]  # fmt: skip
    if proofs:
        better = sum(one.verdict == "better" for one in proofs)
        last = max(proofs, key=lambda one: one.wall)
        many = "s" * (len(proofs) > 1)
        return f"better in {better} of {len(proofs)} proof{many} here; the last {last.middle:+.0%}"
    return "not yet tested here: p" if finding.wanted else ""


def proposed(scene: Scene, width: int) -> list[Line]:
    """Before there is a result: the findings that a test can prove, with their first change."""
    out = [section("A TEST CAN PROVE", "run: prove, or p on the finding", width)]
    for name in provable(scene):
        finding, steps = scene.finding(name), scene.steps(name)
        if finding is None or not steps:
            continue
        mark, role = severity(finding)
        change = f"{steps[0].setting}: {steps[0].before} → {steps[0].after}"
        more = f", {len(steps) - 1} more" if len(steps) > 1 else ""
        out.append(line((f" {mark} ", role), clauses(finding.title, max(8, width - 4))))
        out.append(line((f"   {change}{more}", "dim")))
    if len(out) == 1:
        out.append(line((" no finding has a change; a test shows what the path carries", "dim")))
    return out
