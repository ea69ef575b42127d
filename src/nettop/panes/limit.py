"""What limits the interface shown: the limit in words, what to do, the next limit, the stages.

Without a limit: whether enough is known, and what is lost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..advice.rules.severity import SERIOUS
from ..facts import Facts
from ..facts.limits import Limit, Reading, words
from ..facts.limits.following import bound
from ..facts.limits.stages import declared
from ..terms.text import (
    Line,
    bar,
    cells,
    clauses,
    continued,
    crop,
    ends,
    fit_line,
    line,
    line_cells,
    over,
)
from ..terms.units import Units, brief, packets, per_second, share
from ..views.enough import unjudged, witnesses
from ..views.past import lost
from ..views.scene import Peer, Scene, once
from ..views.stages import PROGRAMS, Bar, at_fault, bars, flow_of, moves, process_of
from . import interfaces
from .parts import apart, flow_words, severity

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..facts.kinds.nic import Nic


CROWDED: Final = "other programs run on its core: move it, or them"
SHARES: Final = 5.0  # percent of a core: a program that uses less does not crowd it
BOTH: Final = "both ends were read: see ⇄ below"
READS: Final = "the program reads too slowly"
PAYLOAD: Final = "wire"  # the stage whose capacity is that of TCP payload
_FLOW: Final = "its flow "  # before the measurement of a flow that stands for its interface
ADVISED: Final = ("critical", "warning", "advice")
LEAST: Final = 10  # columns of a stage
MOST: Final = 28


def mark(limit: Limit) -> tuple[str, str]:
    """Glyph and role: data is lost here, this host limits, or something else does."""
    if at_fault(limit):
        loses = limit.stage.kind == "reported" or limit.over == "socket"
        return ("✗", "bad") if loses else ("!", "warn")
    return "●", "accent"


def about(finding: Finding, limit: Limit, flow: Limit) -> bool:
    """Whether a finding concerns the interface, the process or the flow that limits."""
    name = str(finding.target)
    near = (limit.nic, limit.target, str(limit.pid))
    return name.partition("/")[0] in near or name.endswith(f":{flow.target.replace('>', '-')}")


def verdict(
    limit: Limit, width: int, keys: Line = (), peer: Peer | None = None, *, counted: bool = False,
    more: int = 0,
) -> list[Line]:  # fmt: skip
    """The limit in words, its measurement, which may take `more` lines, and keys of its finding.

    `counted`: the stages below it show what is lost now, so that its mean is not told too.
    """
    glyph, role = mark(limit)
    at = f", at {peer.hosts[1]}" if peer is not None and words.away(limit.stage) else None
    text = words.limited(limit, at)
    head = line((f" {glyph} {text[0].upper()}{text[1:]}", role if role == "bad" else "strong"))
    because = (limit.stage.cause if counted else "") or _because(limit)
    rest = f": {because}" if because else ""
    room = width - line_cells(head) - (line_cells(keys) + 1 if keys else 0)
    if room < 12:
        keys, room = (), width - line_cells(head)
    first, *others = continued(rest, room, width - 4, more)
    later = [line("   ", (text, "")) for text in others]
    return [ends((*head, *line((first, ""))), keys, width), *later]


def _because(limit: Limit) -> str:
    """The measurement, without the flow that it is of and without what to do."""
    return "no queue here is full" if words.elsewhere(limit) else _parted(limit)[0]


def _parted(limit: Limit) -> tuple[str, str]:
    """The measurement, and what it says to do where no stage limits; without the flow."""
    because = limit.stage.because
    if because.startswith(_FLOW):
        because = because[len(_FLOW) :].partition(": ")[2]
    if limit.stage.stage != "unknown":
        return because, ""
    head, _, tail = because.partition(": ")
    return head, tail


def further(limit: Limit, units: Units) -> str:
    """`next: the link, ≤ 921 Mb/s payload`; `≤ 921 Mb/s payload: the link` if others may be next.

    The interface beside it has its rate with all headers, which is larger.
    """
    if limit.next is not None and limit.next.capacity is not None:
        return f"next: {words.stage(limit.next)}, {_most(limit.next, units)} "
    most = bound(limit)
    if most is None or most.capacity is None:
        return ""
    return f"{_most(most, units)}: {words.stage(most)} "


def _most(one: Reading, units: Units) -> str:
    """`≤ 921 Mb/s payload`: what a stage can carry, and of what kind that is where it is known."""
    kind = " payload" if one.stage == PAYLOAD else ""
    return f"≤ {units.speed(one.capacity[1] if one.capacity else None)}{kind}"


def counts(scene: Scene, limit: Limit) -> bool:
    """Whether the stage that limits loses packets now."""
    return any(one.limits and one.lost for one in shown(scene, limit))


def _other(limit: Limit) -> str:
    """The other end of the flow, by its address."""
    ends = limit.target.removeprefix("tcp:").replace("-", ">").split(">")
    return ends[1] if len(ends) == 2 else "the other end"


def _crowded(scene: Scene, limit: Limit) -> str:
    """The programs that share the core of the one that waits for it, with their shares."""
    facts = scene.facts
    pid = limit.pid
    own = next((one for one in facts.processes if one.pid == pid), None) if facts else None
    if facts is None or own is None or own.cpu is None:
        return CROWDED
    others = ((one, (one.user or 0.0) + (one.system or 0.0)) for one in facts.processes
              if one.cpu == own.cpu and one.pid != pid)  # fmt: skip
    first, taken = max(others, key=lambda pair: pair[1], default=(own, 0.0))
    if taken < SHARES:
        return CROWDED
    return f"core {own.cpu} also runs {first.name}[{first.pid}] ({taken:.0f}%): move one of them"


def remedy(scene: Scene, limit: Limit, finding: Finding | None, width: int) -> Line:
    """What to do: the first change of the finding, else a sentence; the next limit at the right."""
    after, stages = further(limit, scene.units), declared()
    taken = len(after) + 1
    late = limit.stage.stage == "application" and limit.direction == "rx"
    advice = READS if late else _parted(limit)[1] or stages[limit.stage.stage].advice
    if limit.stage.stage == "thread" and _because(limit).startswith("waited"):
        advice = _crowded(scene, limit)
    if words.unread(limit):
        advice = "look at both ends"
    if words.elsewhere(limit):
        advice = f"look at {_other(limit)}, or at the network"
    own = next((one.stage for one in limit.ladder
                if one.stage in limit.joint and one.end == "here"), "")  # fmt: skip
    if stages[limit.stage.stage].beyond and own:
        advice = f"look at the other end, and here: {stages[own].advice}"
    if stages[limit.stage.stage].beyond and scene.peer is not None and scene.peer.joined:
        advice = BOTH
    text: Line = line("   ", (advice, "dim"))
    if finding is not None:
        steps = scene.steps(finding.id)
        if steps:
            step = steps[0]
            setting = step.setting.partition("@")[0]
            change = f"{setting} {step.before} → {step.after}"
            if cells(change) + 3 + taken > width:  # the value to set is what must be read
                change = " → ".join(apart(step.before, step.after))
                change = f"{setting.removeprefix('sysctl.')} {change}"
            if cells(change) + 3 + taken > width:
                after, taken = "", 0
            text = line("   ", (change, "strong"))
            shell = line((f"   # {step.shell}", "dim"))
            risk = line(("   reverts unless confirmed", "dim")) if step.risk == "link" else ()
            for more in (shell, risk):
                if step.shell and line_cells(text) + line_cells(more) + taken <= width:
                    text += more
        else:
            glyph, role = severity(finding)
            text = line((f"   {glyph} ", role), finding.title)
    room = width - taken
    return ends(fit_line(text, room) if line_cells(text) > room else text,
                line((after, "head")), width)  # fmt: skip


@once
def shown(scene: Scene, limit: Limit | None) -> tuple[Bar, ...]:
    """The stages of the band, without those that are left out where there is little room."""
    facts = scene.facts
    return tuple(bars(facts, limit)) if facts is not None and limit is not None else ()


def fitting(scene: Scene, limit: Limit, width: int) -> list[Bar]:
    """The stages for which there is room, without the least full of those that do not limit."""
    places = [*shown(scene, limit)]
    if scene.shortfall:  # if nothing moved, counters do not show that nothing is lost
        places = [replace(one, lost=one.lost or None) for one in places]
    while len(places) > max(1, (width - 2) // LEAST):
        places.remove(min(places, key=lambda one: (one.limits, one.lost or 0.0, one.full or 0.0)))
    return places


def stages(scene: Scene, limit: Limit, width: int, on: str = "") -> list[Line]:
    """Three lines: the stages in order, how full each one is, and what passes or is lost there.

    `on` is the stage under the cursor.
    """
    places = fitting(scene, limit, width)
    if not places:
        return []
    each = min(MOST, (width - 2) // len(places))
    rows: list[Line] = [line(" "), line(" "), line(" ")]
    for number, one in enumerate(places):
        head = _name(one, limit, each, last=number == len(places) - 1)
        cells = (
            over(head, "select") if one.stage == on else head,
            _fill(one, limit, each),
            _figure(one, each, scene.units),
        )
        rows = [
            (*row, *fit_line(cell, each - 1), (" ", ""))
            for row, cell in zip(rows, cells, strict=True)
        ]
    return [fit_line(row, width) for row in rows]


def stage_at(scene: Scene, limit: Limit, width: int, x: int) -> str:
    """The stage in that column of the band; empty for none."""
    places = fitting(scene, limit, width)
    each = min(MOST, (width - 2) // max(1, len(places)))
    at = (x - 1) // max(1, each)
    return places[at].stage if 0 <= at < len(places) else ""


def _name(one: Bar, limit: Limit, each: int, *, last: bool) -> Line:
    """The name of a stage, and a line to the next one."""
    limits = one.limits and moves(limit)
    name = declared()[one.stage].bar
    if one.stage in PROGRAMS:
        name = process_of(one) or name
    elif one.stage == "core" and one.reading is not None:
        name = one.reading.name.partition(",")[0].upper()
    glyph, role = mark(limit)
    if cells(name) > each - 1:
        name = name.partition("[")[0]  # the name without the PID
    text = crop(f"{glyph} {name}" if limits else name, each - 1)
    head = line((text, role if limits else "head"))
    room = each - line_cells(head) - 2
    return head if last or room < 1 else line(*head, " ", ("─" * room, "faint"))


def _fill(one: Bar, limit: Limit, each: int) -> Line:
    """A bar with its share; where no share is known, whether the stage loses or limits."""
    if one.full is None:
        if one.limits and moves(limit):
            return line(("may limit" if words.unread(limit) else "limits", mark(limit)[1]))
        if one.lost is None and one.passed is not None and one.passed.why:
            return line(("not counted", "dim"))
        return line(("✓ no loss", "good")) if one.lost == 0 else line(("·" * (each - 6), "idle"))
    size = max(3, each - 7)
    filled, rest = bar(one.full, size)
    role = mark(limit)[1] if one.limits and at_fault(limit) else "accent"
    tail = (f" {share(one.full)}", "strong" if one.limits else "")
    return line((filled, role), (rest, "idle"), tail)


def _figure(one: Bar, each: int, units: Units) -> Line:
    """What is lost at a stage; else what passes it, or what it could carry."""
    if one.lost:
        return line((f"-{per_second(one.lost)}", "bad"))
    passed = one.passed
    if passed is not None and passed.rate is not None and passed.unit == "packets/s":
        return line((packets(passed.rate), "dim"))
    if one.stage in PROGRAMS and one.moved:
        return line((units.rate(one.moved), "dim"))
    if passed is not None and passed.rate is not None and passed.unit == "bit/s":
        return line((units.speed(passed.rate), "dim"))
    if one.stage == "core" and passed is not None and passed.rate is not None:
        return line((f"{passed.rate:.0f}% {'si' if each < 13 else 'softirq'}", "dim"))
    if one.reading is not None and one.reading.capacity is not None:
        return line((f"≤ {units.speed(one.reading.capacity[1])}", "dim"))
    if passed is not None and passed.rate is not None:
        return line((f"{brief(round(passed.rate))} {passed.unit}", "dim"))
    return line(("0 lost", "dim")) if one.lost == 0 else ()


def lines(
    scene: Scene, limit: Limit, finding: Finding | None, width: int, keys: Line = ()
) -> list[Line]:
    """The whole band: verdict, what to do, and the stages in three lines."""
    counted = counts(scene, limit)
    out = [*verdict(limit, width, keys, scene.peer, counted=counted),
           remedy(scene, limit, finding, width)]  # fmt: skip
    return [*(fit_line(row, width) for row in out), *stages(scene, limit, width)]


def related(scene: Scene, limit: Limit) -> Finding | None:
    """The first serious finding about what limits; None if the limit needs no fix."""
    facts = scene.facts
    if facts is None or not at_fault(limit) or not moves(limit):
        return None
    flow = flow_of(facts, limit)
    serious = (one for one in scene.findings if one.severity in ADVISED)
    return next((one for one in serious if about(one, limit, flow)), None)


BUSY: Final = 5.0  # percent idle below which the CPUs are full


def problems(scene: Scene) -> str:
    """The number of serious findings; empty for none."""
    count = sum(finding.severity in SERIOUS for finding in scene.findings)
    return f"{count} problem{'s' * (count > 1)}" if count else ""


def unknown(scene: Scene) -> Line | None:
    """Why there is no verdict; None if enough was read."""
    facts = scene.facts
    if facts is None:
        return None
    if not facts.cores:
        text = f" ? no verdict: {len(facts.missing)} kernel interfaces cannot be read here"
        return line((text, "warn"))
    if facts.cores[0].idle is None and not (scene.origin and scene.shortfall):
        if why := facts.missing.get("cpu"):
            return line((f" ? no verdict: CPU times: {why}", "warn"))
        return line((" … measuring the first interval", "dim"))
    return None


# where packets are lost
PLACES: Final = ("ring", "backlog", "rcvbuf", "sndbuf", "tx-ring", "qdisc")


def uncounted(facts: Facts, nic: Nic) -> list[str]:
    """The places on the way of the interface's packets whose losses are not known."""
    paths = [path for path in facts.paths if path.nic == nic.name]
    if not paths:
        return ["drops of the interface"] if lost(nic.per_s) is None else []
    names = [stage.name for path in paths for stage in path.stages
             if stage.name in PLACES and stage.why and stage.lost is None]  # fmt: skip
    return list(dict.fromkeys(names))


def without_limit(scene: Scene, width: int, nic: Nic | None) -> list[Line]:
    """One or two lines: the first finding if it is serious; else what is lost, or that nothing is.

    `nic` is the interface shown.
    """
    first = next((finding for finding in scene.findings if finding.severity in SERIOUS), None)
    if first is not None:
        glyph, role = severity(first)
        return [line((f" {glyph} ", role), (clauses(first.title, width - 3), "strong"))]
    advice = len(scene.findings)
    more = f"; {advice} piece{'s' * (advice > 1)} of advice" if advice else ""
    paths = scene.facts.paths if scene.facts is not None else ()
    losing = max(paths, key=lambda one: one.lost or 0.0, default=None)
    if losing is not None and losing.lost:
        text = f" · {per_second(losing.lost, 'lost')} on the path, most at the {losing.worst} of"
        return [line((f"{text} {losing.nic}; no finding yet", "warn"), (more, ""))]
    if scene.shortfall:
        return [line((f" ? {unjudged(scene.shortfall)}", "warn"), (more, ""))]
    parts = [line(part) for part in _sound(scene, nic)]
    parts[-1:] = [line(*part, (more, "")) for part in parts[-1:]]
    first_row, *rest = flow_words(parts, width - 2, "", 0) or [()]
    return [first_row, *(line("  ", *row) for row in rest)]


def _sound(scene: Scene, nic: Nic | None) -> tuple[tuple[str, str], ...]:
    """That nothing is lost and nothing waits, as far as counters show it."""
    facts = scene.facts
    if facts is None:
        return ()
    wired = [nic for nic in facts.nics if nic.kind != "loopback"]
    if not wired:
        return ((" · no interface but loopback in this network namespace", ""),)
    if all(nic.per_s.rx_bytes is None and nic.per_s.tx_bytes is None for nic in wired):
        return ((" ? no interface has counters: packet loss is unknown", "warn"),)
    if nic is not None and interfaces.state(nic):
        return ((f" · {nic.name}: {interfaces.state(nic)}; it carries nothing", "warn"),)
    unknown = uncounted(facts, nic) if nic is not None and nic.kind != "loopback" else []
    unknown += witnesses(scene.frame) if scene.frame is not None else []
    idle = facts.host.idle
    sound = f"no loss in what is counted (not: {', '.join(unknown)})" if unknown else "no loss"
    if idle is not None and idle < BUSY:
        full = " other work fills the CPUs;"  # a part ends with its mark: it may end a line
        return (" · nothing waits to be sent or read;", ""), (full, "warn"), (f" {sound}", "")
    mark, role = ("·", "") if unknown else ("✓", "good")
    return ((f" {mark} {sound};", role), (" nothing waits to be sent or read", role))
