"""Advisor: what is wrong, the figures seen here, who measured it, what to type, what may fail."""

from __future__ import annotations

from typing import Any, Final

from ..advice.spoken import named, told
from ..text import Line, cells, ends, fit, fit_line, line, line_cells, wrap
from ..units import seconds
from .overview import finding_row
from .parts import listing, matches, section, severity, waiting
from .scene import Scene, View, chosen

TITLE = "Advisor"
KEY = "5"
LEGEND: Final = (
    "✗ loses or is broken now, ! costs now, ▸ could be better, · is worth knowing. Silent rules "
    "say what they would need to see."
)
NEEDS: tuple[str, ...] = ()
ABREAST: Final = 170  # columns from which findings and silent rules stand side by side
RISKS: Final = {
    "none": ("no interruption", "good"),
    "queues": ("the queues restart: a few packets are lost", "warn"),
    "link": ("the link may drop for seconds; it goes back by itself unless confirmed", "warn"),
    "reboot": ("takes effect at the next boot", "dim"),
    "advice": ("for you to decide; nettop does not do it", "dim"),
}


def shown(scene: Scene, view: View) -> list[Any]:
    """The findings that match the filter, in the judge's order."""
    return [f for f in scene.findings if matches(view.spot.filter, f.id, f.title, f.severity)]


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """The findings in the order shown."""
    return tuple(f.id for f in shown(scene, view))


def paragraph(text: str, width: int, role: str = "", indent: int = 2) -> list[Line]:
    """Wrapped prose."""
    return [
        line(" " * indent, (piece, role))
        for piece in wrap(text, max(10, min(width - indent - 1, 110)))
    ]


def cite(source: Any, width: int, role: str) -> list[Line]:
    """A published measurement: who, where, what."""
    name = source.get("paper") or source.get("doc") or source.get("url") or "?"
    where = ", ".join(str(part) for part in (name, source.get("place")) if part)
    because = f" ({source['because']})" if source.get("because") else ""
    text = f"{where}: {source.get('figure', '')}{because}"
    return paragraph(text, width, role, 4)


def remedy(finding: Any, scene: Scene, width: int) -> list[Line]:
    """What would put it right: commands, what they change, the risk; advice in words."""
    out: list[Line] = []
    steps = scene.plans.get(finding.id, ())
    if steps or finding.advice:
        out.append(
            section(
                "WHAT TO DO",
                "a apply  p prove  y copy  s keep over reboots" if steps else "",
                width,
            )
        )
    for step in steps:
        out.append(
            line(("  # " if not step.because else "  ", "dim"), (step.shell or step.setting, "key"))
        )
        risk, kind = RISKS.get(step.risk, (step.risk, "dim"))
        told = line(("    ", ""), f"{step.setting}: {step.before} → {step.after}")
        if line_cells(told) + cells(risk) + 4 <= width:
            out.append((*told, (f"   {risk}", kind)))
        else:  # what may happen is never cut
            out += [told, *paragraph(risk, width, kind, 4)]
        if step.because:
            out.append(line((f"    {step.because}", "warn")))
    for text in finding.advice:
        out += paragraph(text, width)
    return out


def detail(finding: Any, scene: Scene, width: int) -> list[Line]:
    """One finding in full: evidence, commands, why, sources, what points the other way."""
    mark, role = severity(finding)
    out: list[Line] = [
        ends(
            line((f" {mark} {finding.title}", role)),
            line((f"for {seconds(round(finding.held))} ", "dim")),
            width,
        )
    ]
    if finding.evidence:
        out.append(section("SEEN HERE", "", width))
        longest = max(cells(named(item["field"])) for item in finding.evidence)
        wide = min(max(36, longest + 3), width * 2 // 3)
        for item in finding.evidence:
            value = told(item["field"], item["value"], item.get("unit") or "")
            out.append(
                line((fit(f"  {named(item['field'])}", wide) + " ", "dim"), (value, "strong"))
            )
    out += remedy(finding, scene, width)
    if finding.expected:
        out += paragraph(f"Expected: {finding.expected}", width, "good")
    if finding.why:
        out.append(section("WHY", "", width))
        out += paragraph(finding.why, width)
    if finding.sources:
        out.append(section("MEASURED BY", "", width))
        for source in finding.sources:
            out += cite(source, width, "accent")
    if finding.competing:
        out.append(section("WHAT POINTS THE OTHER WAY, AND WHY IT LOSES HERE", "", width))
        for source in finding.competing:
            out += cite(source, width, "dim")
    return out


def silence(scene: Scene, width: int, height: int) -> list[Line]:
    """The rules that looked and said nothing, with their reasons."""
    looked = [one for one in scene.silent if one.applies]
    out = [section("SILENT RULES", f"{len(looked)}", width)]
    told = looked[: max(0, height - 1)]
    names = [f"{one.rule}@{one.target}" if one.target else one.rule for one in told]
    wide = min(38, max(map(len, names), default=0) + 2)
    for one, name in zip(told, names, strict=True):
        out.append(line((fit(f"  {name}", wide), "dim"), (" ", ""), (one.because, "")))
    return out


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The list on top, the one under the cursor below; Enter gives it the whole pane."""
    waits = waiting(scene.facts, width)
    if waits is not None or scene.facts is None:
        return waits or []
    found = shown(scene, view)
    if not found:
        quiet = (
            "no finding matches the filter"
            if view.spot.filter
            else "nothing to say about this host now"
        )
        out = [section("FINDINGS", "", width), line((f" ✓ {quiet}", "good"))]
        return [fit_line(one, width) for one in (out + silence(scene, width, height - 2))[:height]]
    if width >= ABREAST and scene.silent:  # who keeps silent, and why, has the right-hand side
        half = width * 3 // 5
        left = findings(scene, view, found, half - 1, height)
        right = silence(scene, width - half, height)
        left += [()] * (height - len(left))
        bar = line(("│", "faint"))
        return [
            fit_line(fit_line(a, half - 1) + bar + b, width)
            for a, b in zip(left, right + [()] * (height - len(right)), strict=True)
        ]
    out = findings(scene, view, found, width, height)
    if height - len(out) > 4 and scene.silent:
        out.append(())
        out += silence(scene, width, height - len(out))
    return [fit_line(one, width) for one in out[:height]]


def findings(scene: Scene, view: View, found: list[Any], width: int, height: int) -> list[Line]:
    """The list and the finding under the cursor, in at most `height` lines."""
    cursor = chosen(tuple(f.id for f in found), view.spot)
    out: list[Line] = []
    if not view.spot.open:
        room = min(len(found), max(1, (height - 1) // 3))
        out.append(section("FINDINGS", f"{len(found)}, the most harmful first", width))
        longest = max(len(f.id) for f in found)
        rows = [finding_row(f, width, "", longest) for f in found]
        out += listing(rows, cursor, width, room)
    full = detail(found[cursor], scene, width)
    left = height - len(out)
    top = max(0, min(view.spot.top, len(full) - left))
    body = full[top : top + left]
    if top + left < len(full) and body:
        how = "PgDn" if view.spot.open else "Enter, then PgDn"
        more = f"{len(full) - top - left + 1} more lines: {how} "
        body[-1] = ends((), line((more, "dim")), width)
    return out + body
