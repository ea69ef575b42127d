"""Advisor: findings with evidence, commands, risk, sources and contrary evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..advice.language.words import field_name, value_text
from ..advice.rules.explain import prediction
from ..advice.rules.papers import citation
from ..terms.text import Line, cells, ends, fit, fit_line, line, line_cells, wrap
from ..terms.units import seconds
from ..views.ask import Key, Next
from ..views.enough import unjudged
from ..views.scene import Scene, View, under
from . import listed
from .clock import clock
from .listed import Listed
from .parts import RISKS, listing, matches, section, severity, waiting

if TYPE_CHECKING:
    from ..advice.rules.rule import Cite, Finding

TITLE = "Advisor"
KEY = "5"
LEGEND: Final = (
    "✗ loss or fault now · ! costs performance now · ▸ could be better · · information; ✓ done, "
    "○ ended, ◇ muted. SILENT RULES: rules without a finding, with the reason."
)
NEEDS: tuple[str, ...] = ()
LAZY = ("silent",)
BOUND = PAGED = True
ABREAST: Final = 170  # columns from which findings and silent rules are side by side


def shown(scene: Scene, view: View) -> list[Listed]:
    """The findings that match the filter: most severe first, then done, ended and muted ones."""

    def passes(row: Listed) -> bool:
        texts = (row.finding.title, row.finding.severity) if row.finding is not None else ()
        return matches(view.spot.filter, row.id, row.state, *texts)

    return [row for row in listed.listed(scene) if passes(row)]


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """The findings in the order shown."""
    return tuple(one.id for one in shown(scene, view))


def enter(view: View, scene: Scene, here: str) -> Next:  # noqa: ARG001
    """Open the finding."""
    return (view.at(open=here, top=0) if here and not view.spot.open else view), None


def muted(view: View, scene: Scene) -> Next:
    """Move the cursor to the first muted finding."""
    first = next((one.id for one in listed.listed(scene) if one.state == "muted"), "")
    return (view.at(on=first, open="", top=0, filter="") if first else view), None


undoes = listed.undoes
KEYS: Final = (Key(("M",), "muted", "go to the muted findings", "looking", "", muted, True),)


def paragraph(text: str, width: int, role: str = "", indent: int = 2) -> list[Line]:
    """Wrapped prose."""
    return [
        line(" " * indent, (piece, role))
        for piece in wrap(text, max(10, min(width - indent - 1, 110)))
    ]


def cite(source: Cite, width: int, role: str) -> list[Line]:
    """A source, wrapped; contrary evidence with the reason why it does not apply."""
    because = f" ({source['because']})" if source.get("because") else ""
    return paragraph(citation(source) + because, width, role, 4)


def remedy(finding: Finding, scene: Scene, width: int) -> list[Line]:
    """The fix: commands, what they change, their risk; advice in words."""
    out: list[Line] = []
    steps = scene.steps(finding.id)
    if steps or finding.advice:
        out.append(
            section(
                "WHAT TO DO",
                "a apply  p prove  y copy  s persist" if steps else "",
                width,
            )
        )
    for step in steps:
        out.append(
            line(("  # " if not step.because else "  ", "dim"), (step.shell or step.setting, "key"))
        )
        risk, kind = RISKS.get(step.risk, (step.risk, "dim"))
        change = line(("    ", ""), f"{step.setting}: {step.before} → {step.after}")
        if line_cells(change) + cells(risk) + 4 <= width:
            out.append((*change, (f"   {risk}", kind)))
        else:  # a risk is never cropped
            out += [change, *paragraph(risk, width, kind, 4)]
        if step.because:
            out.append(line((f"    {step.because}", "warn")))
    for text in finding.advice:
        out += paragraph(text, width)
    return out


def state(one: Listed, width: int) -> list[Line]:
    """The state of a finding that is done, ended or muted, and what can be done."""
    mark, role = listed.MARKS[one.state]
    if one.state == "muted":
        text = "muted: still evaluated. m unmutes it"
        return [fit_line(line((f" {mark} {text}", role)), width)]
    ended = f"{mark} no longer holds: ended {clock(one.wall)}"
    out = [line((f" {ended}", role if one.state == "done" else "warn"))]
    for entry in one.changes:
        text = f"{entry.setting}: {entry.before} → {entry.after}, journal {entry.id}; u undoes it"
        out += paragraph(text, width, "good", 3)
    return out


def detail(one: Listed, scene: Scene, width: int) -> list[Line]:
    """One finding in full: evidence, commands, reason, sources, contrary evidence."""
    finding = one.finding
    out: list[Line] = state(one, width) if one.state else []
    if finding is None:
        return [*out, line(f"   {one.id}", ("   does not hold now", "dim"))]
    mark, role = severity(finding)
    title = line((f" {mark} {finding.title}", "" if one.state in ("done", "ended") else role))
    since = line((f"for {seconds(round(finding.held))} ", "dim"))
    out.append(title if one.state in ("done", "ended") else ends(title, since, width))
    if finding.cause:
        out.append(
            fit_line(line((f"   explained by {finding.cause}: fix that first", "warn")), width)
        )
    if finding.evidence:
        out.append(section("SEEN HERE", "", width))
        longest = max(cells(field_name(item["field"])) for item in finding.evidence)
        wide = min(max(36, longest + 3), width * 2 // 3)
        for item in finding.evidence:
            value = value_text(item["field"], item["value"], item.get("unit") or "")
            out.append(
                line((fit(f"  {field_name(item['field'])}", wide) + " ", "dim"), (value, "strong"))
            )
    out += remedy(finding, scene, width)
    if text := prediction(finding):
        out += paragraph(f"Predicted: {text}", width, "strong")
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
        out.append(section("CONTRARY EVIDENCE", "", width))
        for source in finding.competing:
            out += cite(source, width, "dim")
    return out


def nothing(scene: Scene, view: View) -> Line:
    """The line in place of the list: no finding, none that matches, or not enough to judge by."""
    if view.spot.filter and (listed.listed(scene) or not scene.shortfall):
        return line((" ✓ no finding matches the filter", "good"))
    if scene.shortfall:
        return line((f" ? {unjudged(scene.shortfall)}", "warn"))
    return line((" ✓ no findings on this host now", "good"))


def silence(scene: Scene, width: int, height: int) -> list[Line]:
    """The rules without a finding, with their reasons."""
    silent = [result for result in scene.silent if result.applies]
    out = [section("SILENT RULES", f"{len(silent)}", width)]
    shown = silent[: max(0, height - 1)]
    names = [f"{result.rule}@{result.target}" if result.target else result.rule for result in shown]
    wide = min(38, max(map(len, names), default=0) + 2)
    for result, name in zip(shown, names, strict=True):
        out.append(line((fit(f"  {name}", wide), "dim"), (" ", ""), (result.because, "")))
    return out


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The list, and below it the finding under the cursor; or the opened finding alone."""
    waits = waiting(scene.facts, width)
    if waits is not None or scene.facts is None:
        return waits or []
    rows = shown(scene, view)
    if not rows and not view.spot.open:
        out = [section("FINDINGS", "", width), nothing(scene, view)]
        return [fit_line(one, width) for one in (out + silence(scene, width, height - 2))[:height]]
    if width >= ABREAST and scene.silent:  # silent rules at the right
        half = width * 3 // 5
        left = findings(scene, view, rows, half - 1, height)
        right = silence(scene, width - half, height)
        left += [()] * (height - len(left))
        bar = line(("│", "faint"))
        return [
            fit_line(fit_line(a, half - 1) + bar + b, width)
            for a, b in zip(left, right + [()] * (height - len(right)), strict=True)
        ]
    out = findings(scene, view, rows, width, height)
    if height - len(out) > 4 and scene.silent:
        out.append(())
        out += silence(scene, width, height - len(out))
    return [fit_line(one, width) for one in out[:height]]


def findings(scene: Scene, view: View, rows: list[Listed], width: int, height: int) -> list[Line]:
    """The list and the finding under the cursor, in at most `height` lines."""
    out: list[Line] = []
    if view.spot.open:
        every = listed.listed(scene)
        one = next((one for one in every if one.id == view.spot.open), None)
        full = detail(one, scene, width) if one is not None else gone(view.spot.open)
    else:
        cursor = under(tuple(one.id for one in rows), view.spot)
        room = min(len(rows), max(1, (height - 1) // 3))
        out.append(section("FINDINGS", listed.count(rows), width))
        longest = max(len(one.id) for one in rows)
        table = [listed.row(one, width, "", longest) for one in rows]
        out += listing(table, cursor, width, room)
        full = detail(rows[cursor], scene, width) if cursor >= 0 else gone(view.spot.on)
    left = height - len(out)
    top = max(0, min(view.spot.top, len(full) - left))
    body = full[top : top + left]
    if top + left < len(full) and body:
        how = "PgDn" if view.spot.open else "Enter, then PgDn"
        rest = len(full) - top - left + 1
        more = f"{rest} more line{'s' * (rest > 1)}: {how} "
        body[-1] = ends((), line((more, "dim")), width)
    return out + body


def gone(name: str) -> list[Line]:
    """The lines for a finding that is no longer listed."""
    return [
        line((f" ○ {name} no longer holds", "warn")),
        line(("   and is no longer listed. ↑ ↓ select another", "dim")),
    ]
