"""What limits the interface shown: the limit in words, what to do, the next limit, the stages.

Without a limit: whether enough is known, and what is lost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..advice.rules.severity import SERIOUS
from ..facts.flow_words import name
from ..facts.limits import Limit, Reading, words
from ..facts.limits.following import bound
from ..facts.limits.stages import declared
from ..terms.text import (
    Line,
    bar,
    cells,
    concise,
    continued,
    crop,
    ends,
    fit_line,
    line,
    line_cells,
    over,
)
from ..terms.units import Units, brief, packets, per_second, share
from ..views.scene import Peer, Scene, once
from ..views.stages import (
    CORE,
    PROGRAM,
    SOFTIRQ,
    Bar,
    at_fault,
    bars,
    drops,
    moves,
    process_of,
    starved,
    taker,
)
from .parts import Cell, altered, main_kind, severity
from .related import ADVISED, offers

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..facts.kinds.flow import Flow


CROWDED: Final = "give the thread a core of its own, or stop what else runs there"
BOTH: Final = "both ends were read: see ⇄ below"
READS: Final = "the program reads too slowly"
PAYLOAD: Final = "wire"  # the stage whose capacity is that of TCP payload
_FLOW: Final = "its flow "  # before the measurement of a flow that stands for its interface
LEAST: Final = 10  # columns of a stage
MOST: Final = 28


def mark(limit: Limit) -> tuple[str, str]:
    """Glyph and role: not known, data is lost here, this host limits, or something else does."""
    if words.unread(limit):
        return "?", "warn"
    if at_fault(limit):
        loses = limit.stage.kind == "reported" or drops(limit)
        return ("✗", "bad") if loses else ("!", "warn")
    return "●", "accent"


@once
def _of_flows(scene: Scene) -> dict[tuple[str, str | None], Limit]:
    """The limits of flows, by target and namespace."""
    limits = scene.facts.limits if scene.facts is not None else ()
    return {(one.target, one.namespace): one for one in limits if one.over == "flow"}


def of_flow(scene: Scene, flow: Flow) -> Limit | None:
    """The limit of a flow; None where it wants to move no more, or is not judged."""
    return _of_flows(scene).get((name(flow), flow.namespace))


def limit_cell(scene: Scene, flow: Flow | None, text: str) -> Cell:
    """The cell of a table with what limits a flow: the mark of the limit, and the text."""
    one = of_flow(scene, flow) if flow is not None else None
    glyph, role = mark(one) if one is not None else ("", "dim")
    return f"{glyph} {text}".lstrip(), role


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
    head = line((f" {glyph} {text[0].upper()}{text[1:]}", role))
    because = (limit.stage.cause if counted else "") or _parted(limit)[0]
    rest = f": {because}" if because else ""
    room, taken = width - line_cells(head), line_cells(keys) + 1 if keys else 0
    wide = room if cells(rest) > room else room - taken
    splits = bool(more) and cells(rest) > room - taken and wide >= 12
    for later in (width - 4, width - 4 - taken) if splits else ():
        first, *others = continued(rest, wide, later, more)
        whole = " ".join((first, *others)).split() == rest.split()
        if whole and cells(others[-1]) + 4 + taken <= width:  # the keys end the sentence
            rows = [(*head, *line(first)), *(line("   ", text) for text in others)]
            return [*rows[:-1], ends(rows[-1], keys, width)]
    room -= taken
    below = bool(keys and more) and room < 12  # beside the keys there is no room for it
    if room < 12 and not below:
        keys, room = (), width - line_cells(head)
    if below:
        first, others = "", continued(because, width - 4, width - 4, more - 1)
    else:
        first, *others = continued(rest, room, width - 4, more)
    return [ends((*head, *line(first)), keys, width), *(line("   ", text) for text in others)]


def _parted(limit: Limit) -> tuple[str, str]:
    """The measurement, and what it says to do where no stage limits; without the flow."""
    because = limit.stage.because
    if because.startswith(_FLOW):
        because = because[len(_FLOW) :].partition(": ")[2]
    if limit.stage.stage != "unknown":
        return because, ""
    head, _, tail = because.partition(": ")
    return (tail, "") if words.forwarded(limit) and limit.stage.name else (head, tail)


def further(limit: Limit, units: Units, finding: Finding | None = None) -> str:
    """`next: the link, ≤ 921 Mb/s payload`; `≤ 921 Mb/s payload: the link` if others may be next.

    The interface beside it has its rate with all headers, which is larger. What the fix of the
    finding is predicted to bring is told as the finding tells it.
    """
    fix = finding.predicted if finding is not None else None
    after, most = limit.next, bound(limit)
    if fix is not None and fix.limit.over == limit.over:
        after, most = fix.next, fix.bound
        if most.stage == limit.stage.stage:
            return f"with this fix {_most(most, units)} "
    if after is not None and after.capacity is not None:
        return f"next: {words.stage(after)}, {_most(after, units)} "
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
    if words.forwarded(limit):
        return "both ends of its connections"
    ends = limit.target.removeprefix("tcp:").replace("-", ">").split(">")
    return ends[1] if len(ends) == 2 else "the other end"


def _crowded(scene: Scene, limit: Limit) -> str:
    """What to do for a program that waits for its core: a move helps if another one has time."""
    from ..facts import contended  # after the first paint

    facts = scene.facts
    pid = limit.pid
    if facts is None:
        return CROWDED
    if full := contended.everywhere(facts, but=pid):
        return full
    if limit.stage.stage == CORE:
        return declared()[CORE].advice
    own = next((one for one in facts.processes if one.pid == pid), None)
    if own is None or own.cpu is None:
        return CROWDED
    others = contended.takers(facts.means.taken, [own.cpu], but=pid)
    return f"move it or {others[0]}: both run there" if others else CROWDED


def _advice(scene: Scene, limit: Limit) -> str:
    """What to do about a limit where no change is known; the reason comes after it."""
    stages, peer = declared(), scene.peer
    stage = stages[limit.stage.stage]
    own = next((one.stage for one in limit.ladder
                if one.stage in limit.joint and one.end == "here"), "")  # fmt: skip
    if stage.beyond and peer is not None and peer.joined:
        return BOTH
    if stage.beyond and own:
        return f"look at the other end, and here: {stages[own].advice}"
    if words.forwarded(limit) and limit.stage.name:
        return f"look at {limit.stage.name}"
    if words.elsewhere(limit):
        return f"look at {_other(limit)}, or at the network"
    if words.spent(limit) or starved(limit):
        return _crowded(scene, limit)
    reads = (limit.direction == "rx") == (limit.stage.end == "here")  # the end that limits
    late = limit.stage.stage == "application" and reads
    return READS if late else _parted(limit)[1] or stage.advice


def remedy(scene: Scene, limit: Limit, finding: Finding | None, width: int) -> Line:
    """What to do: the first change of the finding, else a sentence; the next limit at the right.

    What to do is told in as many words as have room, and the next limit only beside all of them.
    """
    after = further(limit, scene.units, finding)
    head, said, role = line("   "), _advice(scene, limit), "dim"
    steps = scene.steps(finding.id) if finding is not None else ()
    waits = words.spent(limit) or starved(limit)
    if finding is not None and steps:
        host = f"{finding.host}: " if finding.host else ""
        said, role = host + altered(steps, width - 4 - cells(after) - cells(host)), "strong"
    elif (finding is not None and (at_fault(limit) or offers(limit))
          and finding.severity in ADVISED and not waits):  # fmt: skip
        head, said, role = line("   ", severity(finding), " "), finding.title, ""
    if line_cells(head) + cells(said) + cells(after) >= width:
        after = ""
    text = line(*head, (concise(said, width - line_cells(head)), role))
    command = steps[0].shell if len(steps) == 1 else ""  # one of several says too little
    shell = line((f"   # {command}", "dim"))
    if command and line_cells(text) + line_cells(shell) + cells(after) < width:
        text += shell
    return ends(text, line((after, "head")), width)


@once
def shown(scene: Scene, limit: Limit | None) -> tuple[Bar, ...]:
    """The stages of the band, without those that are left out where there is little room."""
    facts = scene.mean
    return tuple(bars(facts, limit, scene.past)) if facts is not None and limit is not None else ()


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
    limits = one.limits and moves(limit) and not words.unread(limit)
    name = declared()[one.stage].bar
    if name == PROGRAM:
        name = process_of(one) or name
    elif one.reading is not None and words.shaper(one.reading):
        name = "SHAPER"
    elif one.core is not None:
        name = f"CORE {one.core.cpu}"
    elif one.stage == CORE and one.reading is not None:
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
        if one.limits and moves(limit) and not words.unread(limit):
            return line(("limits", mark(limit)[1]))
        if one.lost is None and one.passed is not None and one.passed.why:
            return line(("uncounted", "dim"))
        return line(("✓ 0 drops", "good")) if one.lost == 0 else line(("·" * (each - 6), "idle"))
    size = max(3, each - 7)
    filled, rest = bar(one.full, size)
    load = main_kind(one.core) if one.core is not None else "accent"
    role = mark(limit)[1] if one.limits and at_fault(limit) else load
    tail = (f" {share(one.full)}", "strong" if one.limits else "")
    return line((filled, role), (rest, "idle"), tail)


def _figure(one: Bar, each: int, units: Units) -> Line:
    """What is lost at a stage; else what fills its core, what passes it, or what it could carry."""
    if one.lost:
        return line((f"-{per_second(one.lost)}", "bad"))
    passed = one.passed
    by = taker(one.core) if one.core is not None else ""
    if by and (passed is None or by != SOFTIRQ):
        by = f"by {by}"
        return line((by if cells(by) < each else by.partition("[")[0], "user"))
    if passed is not None and passed.rate is not None and passed.unit == "packets/s":
        return line((packets(passed.rate), "dim"))
    if declared()[one.stage].bar == PROGRAM and one.moved:
        return line((units.rate(one.moved), "dim"))
    if passed is not None and passed.rate is not None and passed.unit == "bit/s":
        return line((units.speed(passed.rate), "dim"))
    if one.reading is not None and one.reading.capacity is not None:
        most = units.speed(one.reading.capacity[1])
        texts = (f"≤ {most}", f"≤{most}", "")
        return line((next(text for text in texts if cells(text) < each), "dim"))
    if one.stage == CORE:  # its bar has its share
        return ()
    if passed is not None and passed.rate is not None:
        return line((f"{brief(round(passed.rate))} {passed.unit}", "dim"))
    return ()


def lines(
    scene: Scene, limit: Limit, finding: Finding | None, width: int, keys: Line = ()
) -> list[Line]:
    """The whole band: verdict, what to do, and the stages in three lines."""
    counted = counts(scene, limit)
    out = [*verdict(limit, width, keys, scene.peer, counted=counted),
           remedy(scene, limit, finding, width)]  # fmt: skip
    return [*(fit_line(row, width) for row in out), *stages(scene, limit, width)]


def problems(scene: Scene) -> str:
    """The number of serious findings; empty for none."""
    count = sum(finding.severity in SERIOUS for finding in scene.findings)
    return f"{count} problem{'s' * (count > 1)}" if count else ""
