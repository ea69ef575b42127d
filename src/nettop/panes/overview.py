"""Overview: what limits, rates and losses over the last minutes, findings, cores, flows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from ..facts.limits import SECONDS, Limit, words
from ..terms.text import Line, cells, crop, fit_line, line, text_of
from ..terms.units import per_second, seconds
from ..views.ask import Ask, Hint, Next, Pointer
from ..views.past import lost
from ..views.scene import Scene, nic_of
from ..views.stages import foremost, moves
from ..views.view import View
from . import (
    corelist,
    cores,
    ends,
    flowlist,
    graph,
    grid,
    interfaces,
    limit,
    listed,
    overviewparts,
    overviewrows,
    unlimited,
)
from .cursor import among
from .frame import FRAMED, abreast, inside, part
from .overviewrows import (
    BESIDE,
    FLOW,
    MARK,
    NIC,
    OTHERS,
    STAGE,
    STAGES,
    finding_ids,
    items,
    listed_at,
)
from .parts import waiting
from .related import related

TITLE = "Overview"
KEY = "1"
LEGEND: Final = (
    "✓ 0 drops: none was counted; ·····: not known. Graph: received above, sent below. I: limit "
    "of the other direction. Core bars: █ softirq ▓ irq ▒ system ░ user; irq/s: of NICs. On a "
    "stage, a mark or a core ← → move to the next one."
)
NEEDS: tuple[str, ...] = (flowlist.SOCKETS,)  # of one second, as the interfaces beside them
DRAWS: Final = ()  # they are drawn from facts
BOUND = True
GRAPH: Final = 6  # lines of the graph at the least
TALL: Final = 35  # percent of the height that the graph has before cores have their load over time
TEXT: Final = 18  # lines for the text of a finding and the load over time, before a higher graph
TELLS: Final = 20  # lines from which the measurement of the limit is told whole, if it fits in
MORE: Final = 2  # further lines, which the graph has else
SHORT: Final = 3  # lines of a list at the least
AXIS: Final = re.compile("now|┴")  # in the time axis of the graph


def updown(view: View, scene: Scene, by: int) -> View:
    """Move the cursor as the rows are drawn; the first key leads to what limits."""
    on = view.spot.on or overviewrows.start(scene, view)
    return overviewrows.updown(view.at(on=on), scene, by, on)


undoes, start = listed.undoes, overviewrows.start
boxes, enter, sideways = overviewrows.boxes, overviewrows.enter, overviewrows.sideways


def command(here: str) -> str:
    """What `y` copies: of a core the command, of a flow or an interface its name."""
    if corelist.core_of(here) is not None:
        return cores.command(here)
    return "" if here.startswith((STAGE, MARK)) else here.removeprefix(FLOW).removeprefix(NIC)


def hints(scene: Scene, view: View, here: str) -> tuple[Hint, ...]:
    """What Enter shows."""
    source = "show" if here.startswith(OTHERS) else "why" if here in finding_ids(scene) else ""
    known = (Hint("Enter", source, "enter"),) if source else ()  # the finding there may be gone
    found = foremost(scene, view)
    ways = (_other_way(found),) if found is not None else ()
    free = not known and (found is None or not moves(found))
    if free and unlimited.busy(scene):  # what takes the time of the CPUs
        known = (Hint("2", "cores", "cores"),)
    return (*known, *ways, Hint("i", "interface", "interface"))


def _other_way(found: Limit) -> Hint:
    """The limit of the other direction."""
    return Hint("I", "show tx" if found.direction == "rx" else "show rx", "invert")


def row_at(scene: Scene, view: View, at: Pointer) -> str:
    """The stage or mark under the mouse; in the lines of the verdict its finding, or its stage."""
    found, nic = foremost(scene, view), nic_of(scene, view)
    framed = at.height - 2 >= FRAMED
    inner = inside(at.width, framed=framed)
    axis = AXIS.search(text_of(at.row)) is not None
    if nic is not None and at.part.startswith(f"{nic.name} ") and axis:
        mark = graph.mark_at(scene, nic, inner, at.x - framed)
        return f"{MARK}{mark}" if mark else ""
    if (row := listed_at(scene, at)) in items(scene, view):
        return row
    if at.part.startswith("FINDINGS"):  # of the text below a row: the finding that it is about
        return listed.at(scene, at.row) or (
            view.spot.on if view.spot.on in finding_ids(scene) else ""
        )
    if found is None or at.height - 2 < 12 or at.width < 50:
        return ""
    first = 2 + len(
        answer(scene, view, found, inner, **_told(at.height - 2))[0]
    )  # below header and title
    if first <= at.y < first + 3 and at.height - 2 >= STAGES:
        stage = limit.stage_at(scene, found, inner, at.x - framed)
        return f"{STAGE}{stage}" if stage else ""
    if not 2 <= at.y < first:
        return ""
    finding, named = related(scene, found), f"{STAGE}{found.stage.stage}"
    return finding.id if finding is not None else named if named in items(scene, view) else ""


def wheel(view: View, scene: Scene, at: Pointer, by: int) -> Next:
    """Over the graph to another moment; over a list the cursor in that list."""
    nic = nic_of(scene, view)
    if nic is not None and at.part.startswith(f"{nic.name} "):
        return view, Ask("earlier" if by > 0 else "later")
    rows = items(scene, view)
    if at.part.startswith("FINDINGS"):
        rows = finding_ids(scene)
    elif at.part.startswith("FLOWS"):
        rows = tuple(one for one in rows if one.startswith(FLOW))
    return among(view, items(scene, view), rows, by), None


# -- what limits ----------------------------------------------------------------------------------


def _told(height: int) -> dict[str, Any]:
    """How the limit is told in a pane of that height: above its stages, in more than one line."""
    return {"tall": height >= STAGES, "more": MORE if height >= TELLS else 0}


def band(scene: Scene, view: View, width: int, height: int, *, framed: bool) -> list[Line]:
    """The limit in words, what to do, the next limit, and the stages."""
    told = _told(height)
    found = foremost(scene, view)
    inner = inside(width, framed=framed)
    rows, name = answer(scene, view, found, inner, **told)
    if found is not None and told["tall"] and not unlimited.unknown(scene):
        rows += limit.stages(scene, found, inner, view.spot.on.removeprefix(STAGE))
    if scene.facts is not None:
        rows += interfaces.reasons(scene.facts, inner)
    rows += ends.band(scene, inner)
    name, remarks = f"{name} · {scene.window}", _remarks(scene, found)
    while sum(cells(one) + 3 for one in remarks) + cells(name) + 8 > width and remarks[1:]:
        remarks.pop(0)
    return part(name, " · ".join(remarks), rows, width, framed=framed)


def _remarks(scene: Scene, found: Limit | None) -> list[str]:
    """How many problems there are, since when it limits; what is less important comes first."""
    many = [text] if (text := limit.problems(scene)) else []
    if found is None:
        return many
    way = _other_way(found)
    since = moves(found) and found.since > 0 and scene.wall - found.since >= SECONDS
    held = [_since(scene.wall - found.since)] if since else []
    return [*held, f"{way.key} {way.text}", *many]


def _since(duration: float) -> str:
    """Since when it limits; it rarely changes on the screen."""
    return "since " + seconds(duration // 10 * 10 if duration < 60 else duration // 60 * 60)


def answer(
    scene: Scene, view: View, found: Limit | None, width: int, *, tall: bool = False, more: int = 0
) -> tuple[list[Line], str]:
    """The lines in words, and the title of the band; `tall`: the stages are shown below them.

    The measurement may take `more` lines than the first one.
    """
    nic = nic_of(scene, view)
    name = nic.name if nic is not None else "THIS HOST"
    if unknown := unlimited.unknown(scene, width):
        return [fit_line(row, width) for row in unknown], f"WHAT LIMITS {name}"
    if found is None or not moves(found) or words.unread(found):
        way = {"rx": " · receive", "tx": " · send"}[found.direction] if found is not None else ""
        unread = found is not None and words.unread(found)
        rows = unlimited.without_limit(scene, width, nic, unread=unread)
        return [fit_line(row, width) for row in rows], f"WHAT LIMITS {name}{way}"
    way = "receive" if found.direction == "rx" else "send"
    if words.early(found) or words.answers(found):
        told = unlimited.unjudged(found, scene.units)
        return [fit_line(row, width) for row in told], f"WHAT LIMITS {name} · {way}"
    finding = related(scene, found)
    one = next((one for one in listed.standing(scene) if one.id == view.spot.on), None)
    keys: Line = ()
    if finding is not None and one is not None and one.id == finding.id:
        keys = line((listed.keys_of(scene, one, width), "key"))
    counted = tall and limit.counts(scene, found)
    told = [
        *limit.verdict(found, width, keys, scene.peer, counted=counted, more=more),
        limit.remedy(scene, found, finding, width),
    ]
    return [fit_line(row, width) for row in told], f"WHAT LIMITS {name} · {way}"


# -- how they are arranged ------------------------------------------------------------------------


def tiny(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The smallest screens: what limits, the rates, the cores."""
    found = foremost(scene, view)
    out = answer(scene, view, found, width)[0][:1]
    nic = nic_of(scene, view)
    if nic is not None:
        text = f" {nic.name} rx {scene.units.rate(nic.per_s.rx_bytes)}"
        out.append(line((crop(text, width), "")))
        out.append(line((crop(f" tx {scene.units.rate(nic.per_s.tx_bytes)}", width), "")))
        drops = lost(nic.per_s)
        if drops:
            out.insert(1, line((f" ✗ {per_second(drops, 'dropped')}", "bad")))
    if scene.facts is not None:
        out += grid.block(scene.facts, width, height - len(out))
    return [fit_line(one, width) for one in out[:height]]


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """What limits, the graph, findings, cores and flows: as much as the height allows."""
    if scene.facts is None:
        return waiting(scene, width)
    if height < 12 or width < 50:
        return tiny(scene, view, width, height)
    if height >= FRAMED:
        return roomy(scene, view, width, height)[:height]
    return [fit_line(one, width) for one in close(scene, view, width, height)[:height]]


def close(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """Few rows: headings instead of frames; the cores in one line if there is a graph.

    The graph stays while a message or a countdown takes rows: findings and flows become fewer.
    """
    out = band(scene, view, width, height, framed=False)
    left = height - len(out)
    known = max(1, min(SHORT, len(finding_ids(scene))))
    spare = left - 3 - SHORT - graph.LEAST  # rows for findings beside the lowest graph
    nic = nic_of(scene, view)
    most = graph.worth(scene, nic, width) if nic is not None else graph.LEAST
    rows = max(graph.LEAST, min(GRAPH + 2, most, left - 2 * SHORT - known - 1))
    if not finding_ids(scene):  # what is looked at, and what to try
        known = max(1, left - rows - 3 - max(SHORT, len(flowlist.busiest(scene)) + 2))
    few = min(known, spare)
    drawn = overviewparts.rates(scene, view, width, rows, framed=False) if few > 0 else []
    out += drawn
    left -= len(drawn)
    if drawn or scene.facts is None:
        known = few if drawn else known
        on = corelist.core_of(view.spot.on)
        out += grid.brief(scene.facts, width, on) if scene.facts is not None else []
        out += listed.finding_lines(scene, view, width, known, framed=False)
    else:
        low = known + 1
        wanted = grid.needs(scene.facts, width)
        out += overviewparts.cores(
            scene, view, width, max(1, min(wanted, left - low - SHORT - 2)), framed=False
        )
        out += listed.finding_lines(scene, view, width, known, framed=False)
    left = height - len(out)
    if left >= SHORT:
        out += overviewparts.flows(scene, view, width, left - 1, framed=False)
    return out


def roomy(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """Frames; findings and cores side by side if there are findings and the width allows."""
    out = band(scene, view, width, height, framed=True)
    beside, ports = overviewrows.beside(scene, width), interfaces.needs(scene, view)
    table = 0 if beside or width < BESIDE or not ports else ports + 2
    left = height - len(out) - 2 * (3 if beside else 4) - table
    nic, flows = nic_of(scene, view), len(flowlist.busiest(scene))
    most = graph.worth(scene, nic, width - 2) if nic is not None else 0
    lists = _steady(1 + flows) if flows else 1
    need = _middle(scene, view, width, beside=beside)
    rows = _given(left, (
        ("graph", GRAPH), ("middle", SHORT), ("flows", min(lists, SHORT)),
        ("middle", min(need, left // 2)), ("flows", min(lists, left // 4)),
        ("graph", min(most, height * TALL // 100)), ("flows", lists),
        ("middle", need + TEXT), ("graph", graph.HIGHEST if most > GRAPH else 0),
        ("middle", left),
    ))  # fmt: skip
    out += overviewparts.rates(scene, view, width, rows["graph"], framed=True)
    out += between(scene, view, width, rows["middle"], beside=beside)
    return out + overviewparts.flows(scene, view, width, max(1, rows["flows"]), framed=True)


def _given(room: int, wants: Iterable[tuple[str, int]]) -> Counter[str]:
    """The lines of each part: one after the other gets up to what it wants, as long as any are."""
    rows = Counter[str]()
    for name, wanted in wants:
        rows[name] += max(0, min(wanted - rows[name], room - rows.total()))
    return rows


def _steady(rows: int) -> int:
    """The next even number, so that parts do not move whenever a row comes or goes."""
    return rows + rows % 2


def _middle(scene: Scene, view: View, width: int, *, beside: bool) -> int:
    """The lines inside the frames of findings and cores, without figures and load over time."""
    inner = width // 2 - 2 if beside else width - 2
    wanted = grid.needs(scene.facts, inner) if scene.facts is not None else 1
    many = _findings(scene, view, width)
    if not beside:
        return _steady(wanted + many)
    ports = interfaces.needs(scene, view)
    return _steady(max(wanted, many + (ports + 2 if ports else 0)))


def _findings(scene: Scene, view: View, width: int) -> int:
    """The lines that list the findings, or say that there is none."""
    return len(finding_ids(scene)) or len(listed.nothing(scene, view, width - 2))


def between(scene: Scene, view: View, width: int, height: int, *, beside: bool) -> list[Line]:
    """Findings and interfaces at the left, cores at the right; else one below the other.

    Without a finding the load of the cores over time has the whole width.
    """
    many, ports = _findings(scene, view, width), interfaces.needs(scene, view)
    if not beside:
        upper = min(many, max(1, height // 2))
        out = listed.finding_lines(scene, view, width, upper, framed=True)
        if ports and width >= BESIDE:
            out += overviewparts.ports(scene, view, width, ports)
        return out + overviewparts.cores(scene, view, width, height - upper, framed=True)
    from . import advisor  # where there is room for it

    half = width // 2
    room = height - min(many, max(1, (height - 2) // 2)) - 2
    table = overviewparts.ports(scene, view, half, min(ports, room))
    left = listed.finding_lines(
        scene, view, half, height - len(table), framed=True,
        argued=lambda one, wide: advisor.argued(one, scene, wide),
    )  # fmt: skip
    right = overviewparts.cores(scene, view, width - half, height, framed=True)
    return abreast([fit_line(one, half) for one in (*left, *table)], right)
