"""Advisor: findings with evidence, commands, risk, sources and contrary evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..terms.text import Line, cells, ends, fit, fit_line, line, line_cells, over, wrap
from ..terms.units import seconds
from ..views.ask import Hint, Key, Next, Pointer
from ..views.enough import all_clear, unjudged, witnesses
from ..views.scene import Scene
from ..views.view import View, under
from . import checks, cursor, listed, pane
from .cursor import among, moved
from .frame import abreast, enclosed, inside, roomy
from .listed import Listed
from .parts import RISKS, clock, listing, matches, section, severity, waiting

if TYPE_CHECKING:
    from ..advice.rules.rule import Cite, Finding

TITLE = "Advisor"
KEY = "5"
LEGEND: Final = (
    "✗ loss or fault now · ! costs performance now · ▸ could be better · · information; ✓ done, "
    "○ ended, ◇ muted; keys: a change. CHECKS: rules without a finding, with the reason."
)
NEEDS: tuple[str, ...] = ()
LAZY = ("silent",)
BOUND = PAGED = FILTERED = True
ABREAST: Final = 120  # columns from which the list and one finding are side by side


def shown(scene: Scene, view: View) -> list[Listed]:
    """The findings that match the filter: most severe first, then done, ended and muted ones.

    Those that have ended are listed when they are asked for: with z, by a filter, or opened.
    """
    asked = bool(view.spot.filter) or not view.fold_idle

    def passes(row: Listed) -> bool:
        if row.state == "ended" and not asked and row.id != view.spot.open:
            return False
        texts = (row.finding.title, row.finding.severity) if row.finding is not None else ()
        return matches(view.spot.filter, row.id, row.state, *texts)

    return [row for row in listed.listed(scene) if passes(row)]


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """The findings in the order shown."""
    return tuple(one.id for one in shown(scene, view))


def enter(view: View, scene: Scene, here: str) -> Next:
    """Open the finding; on a figure of the opened one, show the pane and row it comes from."""
    if not view.spot.open:
        return (view.at(open=here, top=0, mode=0) if here else view), None
    finding = scene.finding(here)
    if finding is None or not finding.evidence:
        return view, None
    item = finding.evidence[min(view.spot.mode, len(finding.evidence) - 1)]
    to = cursor.of_evidence(scene, finding, item["field"])
    return (view if to is None else cursor.jump(view, to)), None


def updown(view: View, scene: Scene, by: int) -> View:
    """Move the cursor over the findings; in an opened one over its figures, then scroll."""
    finding = scene.finding(view.spot.open) if view.spot.open else None
    last = len(finding.evidence) - 1 if finding is not None else -1
    at = view.spot.mode + by
    if view.spot.top or not 0 <= at <= last:
        return moved(view, scene, by)
    return view.at(mode=at)


def wheel(view: View, scene: Scene, at: Pointer, by: int) -> Next:
    """Over the text of a finding it scrolls the text; over the list it moves the cursor."""
    height, rows = at.height - 2, shown(scene, view)
    beside = at.width >= ABREAST and bool(rows)
    framed = roomy(at.width, height)
    width, room = inside(at.width, framed=framed), height - 2 * framed
    if not view.spot.open and beside:
        text, width = at.x >= at.width * 2 // 5, width - at.width * 2 // 5
    elif not view.spot.open:
        height -= framed
        above = len(findings(scene, view, rows, width, max(2, (height - 1) // 3 + 1)))
        text, room = at.y > above, height - above
    else:
        text = True
    if not text:
        return among(view, items(scene, view), items(scene, view), by), None
    last = max(0, len(full(scene, view, width)) - room)
    return view.at(top=max(0, min(last, view.spot.top + by))), None


def muted(view: View, scene: Scene) -> Next:
    """Move the cursor to the first muted finding."""
    first = next((one.id for one in listed.listed(scene) if one.state == "muted"), "")
    return (view.at(on=first, open="", top=0, filter="") if first else view), None


def hints(scene: Scene, view: View, here: str) -> tuple[Hint, ...]:
    """Reading, muting, and the other details."""
    if view.spot.open:
        return (
            Hint("Enter", "source", "enter"), Hint("n", "next", "next_detail"),
            Hint("Esc", "back", "escape"),
        )  # fmt: skip
    mute = () if scene.fixed or scene.plays else (Hint("m", "mute", "mute"),)
    known = (Hint("Enter", "read", "enter"), *mute) if here else ()
    return (*known, Hint("/", "filter", "filter"))


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
    from ..advice.rules.rule import citation

    because = f" ({source['because']})" if source.get("because") else ""
    return paragraph(citation(source) + because, width, role, 4)


def remedy(finding: Finding, scene: Scene, width: int, title: str) -> list[Line]:
    """The fix: commands, what they change, their risk; advice in words."""
    out: list[Line] = []
    steps = scene.steps(finding.id)
    if steps or finding.advice:
        out.append(section(title, keys_of(finding, scene) if steps else "", width))
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


def keys_of(finding: Finding, scene: Scene) -> str:
    """The keys that act on a finding; an experiment can only be proved, a recording not changed."""
    if not any(one.id == finding.id and not one.state for one in listed.listed(scene)):
        return ""  # done, ended or muted: its state says what can be done
    if scene.fixed:
        return "y copy"
    if scene.plays:
        return "a apply  p prove  y copy"
    sure = any(not one.experiment for one in finding.wanted)
    if finding.host:
        there = f"y copy, for {finding.host}"
        return f"a apply there  p prove  {there}" if sure else f"an experiment: p prove  {there}"
    lasts = "  s persist" * ("persist" not in scene.barred)
    return f"a apply  p prove  y copy{lasts}" if sure else "an experiment: p prove  y copy"


def state(one: Listed, width: int, *, fixed: bool = False) -> list[Line]:
    """The state of a finding that is done, ended or muted, and what can be done."""
    mark, role = listed.MARKS[one.state]
    if one.state == "muted":
        text = "muted: still evaluated" + ". m unmutes it" * (not fixed)
        return [fit_line(line((f" {mark} {text}", role)), width)]
    ended = f"{mark} over since {clock(one.wall)}"
    out = [line((f" {ended}", role if one.state == "done" else "warn"))]
    for entry in one.changes:
        text = f"{entry.setting}: {entry.before} → {entry.after}, journal {entry.id}"
        text += "; u undoes it" * (not fixed)
        out += paragraph(text, width, "good", 3)
    return out


def figures(finding: Finding, scene: Scene, width: int, on: int) -> list[Line]:
    """The figures of the evidence; at the right of number `on` the pane that Enter opens."""
    from ..advice.language.words import field_name, value_text  # not before a finding holds

    longest = max(cells(field_name(item["field"])) for item in finding.evidence)
    wide = min(max(36, longest + 3), width * 2 // 3)
    out = []
    for number, item in enumerate(finding.evidence):
        value = value_text(item["field"], item["value"], item.get("unit") or "", scene.units)
        head = line((fit(f"  {field_name(item['field'])}", wide) + " ", "dim"), (value, "strong"))
        if number == on:
            to = cursor.of_evidence(scene, finding, item["field"])
            tail = line((f"Enter: {pane(to.pane).TITLE} ", "key")) if to is not None else ()
            head = ends((*over(head[:1], "select"), *head[1:]), tail, width)
        out.append(head)
    return out


def detail(one: Listed, scene: Scene, width: int, on: int = -1) -> list[Line]:
    """One finding in full: evidence, commands, reason, sources, contrary evidence.

    `on` is the number of the figure under the cursor.
    """
    finding = one.finding
    out: list[Line] = state(one, width, fixed=scene.fixed) if one.state else []
    if finding is None:
        return [*out, line(f"   {one.id}", ("   does not hold now", "dim"))]
    mark, role = severity(finding)
    over = one.state in listed.OVER
    since = "" if over else f"  for {seconds(round(finding.held))} "
    texts = wrap(listed.titled(one), max(20, width - 3 - cells(since)))
    head, *more = [line((f" {mark if not at else ' '} {text}", "" if over else role))
                   for at, text in enumerate(texts)]  # fmt: skip
    out += [ends(head, line((since, "dim")), width), *more]
    if finding.cause:
        known = scene.finding(finding.cause)
        named = known.title if known is not None else finding.cause
        cause = line((f"   its cause, fix that first: {named}", "warn"))
        out.append(fit_line(cause, width))
    if finding.evidence:
        seen = "WAS SEEN HERE" if over else "SEEN HERE"
        out.append(section(f"{seen} · {scene.last}", finding.id, width))
        out += figures(finding, scene, width, min(on, len(finding.evidence) - 1))
    return out + argued(finding, scene, width, over=over)


def argued(finding: Finding, scene: Scene, width: int, *, over: bool = False) -> list[Line]:
    """What to do about a finding, what that will bring, why, and who has measured it.

    Of one that is over: what was advised; nothing is predicted.
    """
    out = remedy(finding, scene, width, "WAS ADVISED" if over else "WHAT TO DO")
    from ..advice.rules.explain import prediction
    from .outcome import likelihood

    if not over and (text := prediction(finding)):
        out += paragraph(f"Predicted from the {scene.window}: {text}", width, "strong")
    if not over and (text := likelihood(finding, scene)):
        out += paragraph(f"Likelihood: {text}", width)
    if finding.expected:
        out += paragraph(f"Expected: {finding.expected}", width, "good")
    if finding.why:
        out.append(section("WHY", "", width))
        out += paragraph(finding.why, width)
    if finding.sources:
        out.append(section("SOURCE", "", width))
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
    if scene.frame is not None and witnesses(scene.frame):
        return line((f" · {all_clear(scene.frame)}", ""))
    return line((" ✓ no findings on this host now", "good"))


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The list beside the finding under the cursor, or above it; or the opened finding alone."""
    if scene.facts is None:
        return waiting(scene, width)
    framed = roomy(width, height)
    inner, room = inside(width, framed=framed), height - 2 * framed
    if view.spot.open:
        out = page(scene, view, inner, room)
    elif width >= ABREAST and shown(scene, view):
        return both(scene, view, width, height, framed=framed)
    else:
        out = column(scene, view, inner, height - framed)
    return (
        enclosed(out, width, height, view.spot.open)
        if framed
        else [fit_line(one, width) for one in out]
    )


def column(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The findings, below them one finding, or the silent rules."""
    rows = shown(scene, view)
    out = findings(scene, view, rows, width, max(2, (height - 1) // 3 + 1))
    out += page(scene, view, width, height - len(out)) if rows else []
    return [*out, *rest(scene, width, height - len(out))][:height]


def both(scene: Scene, view: View, width: int, height: int, *, framed: bool) -> list[Line]:
    """At the left the findings and below them the silent rules, at the right one finding."""
    half = width * 2 // 5
    rows = shown(scene, view)
    if framed:
        left = _left(scene, view, rows, half - 2, height - 1)
        right = page(scene, view, width - half - 2, height - 2)
        name = next(iter(rows[under(items(scene, view), view.spot) :]), rows[0]).id
        return abreast(enclosed(left, half, height), enclosed(right, width - half, height, name))
    left = _left(scene, view, rows, half - 1, height)
    right = page(scene, view, width - half, height)
    deep = max(len(left), len(right))
    left += [()] * (deep - len(left))
    right += [()] * (deep - len(right))
    bar = line(("│", "faint"))
    return [
        fit_line(fit_line(a, half - 1) + bar + b, width) for a, b in zip(left, right, strict=True)
    ]


def _left(scene: Scene, view: View, rows: list[Listed], width: int, height: int) -> list[Line]:
    """The findings and below them the silent rules."""
    out = findings(scene, view, rows, width, max(2, height * 2 // 3))
    return [*out, *rest(scene, width, height - len(out))]


def rest(scene: Scene, width: int, height: int) -> list[Line]:
    """The silent rules below other lines; [] where there is little room."""
    return [(), *checks.silent_lines(scene.silent, width, height - 1)] if height > 4 else []


def findings(scene: Scene, view: View, rows: list[Listed], width: int, height: int) -> list[Line]:
    """The heading and the rows around the cursor, in at most `height` lines."""
    if not rows:
        return [section("FINDINGS", "", width), nothing(scene, view), *_folded(scene, view)]
    cursor = under(tuple(one.id for one in rows), view.spot)
    longest = max(len(one.id) for one in rows)
    shared = listed.alike(rows)
    right = [f"{listed.keys_of(scene, one, 0)}{held(one):>7}" for one in rows]
    table = [
        listed.row(one, width, keys, longest, shared, fixed=scene.fixed)
        for one, keys in zip(rows, right, strict=True)
    ]
    head = section("FINDINGS", listed.count(rows), width)
    folded = _folded(scene, view)
    return [head, *listing(table, cursor, width, height - 1 - len(folded)), *folded]


def _folded(scene: Scene, view: View) -> list[Line]:
    """One line for the findings that have ended; [] where they are listed."""
    over = listed.over(scene) if view.fold_idle and not view.spot.filter else ""
    return [line((f" ○ {over}", "dim"), ("   z lists them", "key"))] if over else []


def held(one: Listed) -> str:
    """How long a finding has held."""
    return f"{seconds(round(one.finding.held))} " if one.finding is not None else ""


def full(scene: Scene, view: View, width: int) -> list[Line]:
    """All lines of the finding that is open or under the cursor."""
    name = view.spot.open
    if name:
        one = next((one for one in listed.listed(scene) if one.id == name), None)
    else:
        rows = shown(scene, view)
        cursor = under(tuple(one.id for one in rows), view.spot)
        one, name = (rows[cursor], "") if cursor >= 0 else (None, view.spot.on)
    on = view.spot.mode if name else -1
    return detail(one, scene, width, on) if one is not None else gone(name)


def page(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The finding that is open or under the cursor, scrolled, in at most `height` lines."""
    every = full(scene, view, width)
    top = max(0, min(view.spot.top, len(every) - height))
    body = every[top : top + height]
    if top + height < len(every) and body:
        how = "PgDn" if view.spot.open else "Enter, then PgDn"
        left = len(every) - top - height + 1
        more = f"{left} more line{'s' * (left > 1)}: {how} "
        body[-1] = ends((), line((more, "dim")), width)
    return body


def gone(name: str) -> list[Line]:
    """The lines for a finding that is no longer listed."""
    return [
        line((f" ○ {name} is over", "warn")),
        line(("   and is no longer listed. ↑ ↓ select another", "dim")),
    ]
