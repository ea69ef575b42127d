"""What of the overview the cursor can be on, part by part, and where Enter leads from there."""

from __future__ import annotations

from itertools import chain
from typing import Final

from ..advice.rules.severity import CRITICAL
from ..facts.limits import SECONDS
from ..terms.text import text_of
from ..views.ask import Next, Pointer
from ..views.scene import Scene
from ..views.stages import at_fault, foremost, moves
from ..views.view import View
from . import corelist, cursor, flowlist, graph, grid, interfaces, limit, listed, unlimited
from .frame import FRAMED
from .related import related

BESIDE: Final = 104  # columns from which findings and cores are side by side
STAGE: Final = "stage:"  # rows of the cursor that are no findings begin with one of `OTHERS`
STAGES: Final = 15  # rows from which the stages are shown
MARK: Final = "mark:"
FLOW: Final = "flow:"
NIC: Final = "nic:"
CORE: Final = corelist.CORE
OTHERS: Final = (STAGE, MARK, FLOW, NIC, CORE)
SETTLED: Final = 4.0  # seconds after which the first finding of what limits is the one


def finding_ids(scene: Scene) -> tuple[str, ...]:
    """The findings: those that hold, then those that are done."""
    return tuple(one.id for one in listed.standing(scene))


def beside(scene: Scene, width: int) -> bool:
    """Whether the findings have the left half and the cores the right one: not without any."""
    return width >= BESIDE and bool(finding_ids(scene))


def boxes(scene: Scene, view: View) -> tuple[tuple[str, ...], ...]:
    """The rows of each part, from the top: stages, marks, findings, interfaces, cores, flows."""
    stages = (f"{STAGE}{one.stage}" for one in limit.shown(scene, foremost(scene, view)))
    marks = (f"{MARK}{one}" for one in graph.marks(scene))
    width, height = view.size
    tabled = width >= BESIDE and height - 2 >= FRAMED
    nics = (f"{NIC}{one.name}" for one in interfaces.shown(scene, view) if tabled)
    every = scene.facts.cores if scene.facts is not None else ()
    cores = (f"{CORE}{one.cpu}" for one in grid.named(every))
    flows = (f"{FLOW}{one.id}" for one in flowlist.busiest(scene))
    return (*map(tuple, (stages, marks)), finding_ids(scene), *map(tuple, (nics, cores, flows)))


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """What the cursor can be on."""
    return tuple(chain.from_iterable(boxes(scene, view)))


def start(scene: Scene, view: View) -> str:
    """The finding of what limits, which the headline names; else where it is, or the first one.

    In the first seconds it waits for the finding of what is seen to limit, which must have held for
    some time, and for a more severe one.
    """
    found = foremost(scene, view)
    named = related(scene, found) if found is not None else None
    seen_to_limit = found is not None and moves(found) and found.stage.kind != "inferred"
    if named is not None:
        wait = 0.0 if named.severity == CRITICAL else SETTLED
    else:
        measured = not unlimited.unknown(scene)
        at_once = measured and not (seen_to_limit or (found is not None and at_fault(found)))
        wait = 0.0 if at_once else SECONDS
    seen = scene.past.fine
    if seen and scene.wall - seen[0].wall < wait:
        return ""
    if named is not None:
        return named.id
    every = finding_ids(scene)
    return view.spot.on if view.spot.on in every else next(iter(every), "")


def _below(scene: Scene, view: View) -> tuple[tuple[str, ...], ...]:
    """The rows of the screen that are one below the other where the cursor is, from the top.

    What stands side by side is one row. Where cores stand beside findings and interfaces, the rows
    are those of the column that has the cursor.
    """
    stages, marks, findings, nics, _, flows = boxes(scene, view)
    width, height = view.size
    framed = not height or height - 2 >= FRAMED
    abreast = framed and beside(scene, width or BESIDE)
    every = scene.facts.cores if scene.facts is not None else ()
    known = (
        grid.arranged(every, (width // 2 if abreast else width) - 2)
        if framed
        else [tuple(grid.named(every))]
    )
    cores = [tuple(f"{CORE}{one.cpu}" for one in row) for row in known]
    rest: list[tuple[str, ...]] = [(one,) for one in (*findings, *nics)]
    middle = [*rest, *cores] if framed else [*cores, *rest]
    if abreast:
        middle = cores if view.spot.on.startswith(CORE) else rest
    tall = framed or height - 2 >= STAGES
    rows = (stages if tall else (), marks, *middle, *((one,) for one in flows))
    return tuple(row for row in rows if row)


def updown(view: View, scene: Scene, by: int, start: str) -> View:
    """The cursor moved to a row above or below; without one, to `start`.

    To the stages it comes where the limit is, to the marks at the latest one.
    """
    rows = _below(scene, view)
    at = next((at for at, row in enumerate(rows) if view.spot.on in row), None)
    if at is None:
        return _on(view, scene, start or (rows[0][0] if rows else ""))
    to = rows[max(0, min(len(rows) - 1, at + by))]
    if to is rows[at]:
        return view
    column = rows[at].index(view.spot.on) if view.spot.on.startswith(CORE) else 0
    name = to[min(column, len(to) - 1)] if to[0].startswith(CORE) else to[0]
    if to[0].startswith(MARK):
        name = to[-1]
    if to[0].startswith(STAGE):
        places = limit.shown(scene, foremost(scene, view))
        name = next((f"{STAGE}{one.stage}" for one in places if one.limits), name)
    return _on(view, scene, name)


def sideways(view: View, scene: Scene, by: int) -> View:
    """The cursor moved along its row, round at the ends; the same view where it stands alone."""
    row = next((row for row in _below(scene, view) if view.spot.on in row), ())
    if len(row) < 2:
        return view
    return _on(view, scene, row[(row.index(view.spot.on) + by) % len(row)])


def _on(view: View, scene: Scene, row: str) -> View:
    every = items(scene, view)
    return view.at(on=row, index=every.index(row)) if row in every else view


def enter(view: View, scene: Scene, here: str) -> Next:
    """Show where the row comes from: the finding, the stage, the flow; a core, an interface."""
    facts, found = scene.facts, foremost(scene, view)
    to = cursor.Origin("advisor", here)
    if not here or facts is None:
        return view, None
    if here.startswith(FLOW):
        name = here.removeprefix(FLOW)
        to = cursor.of_flow(next((one for one in facts.flows if one.id == name), None))
    elif here.startswith(STAGE) and found is not None:
        to = cursor.of_stage(facts, found, here.removeprefix(STAGE))
    elif here.startswith(CORE):
        to = cursor.Origin("cores", here, open=True)
    elif here.startswith(NIC):
        to = cursor.Origin("nic", "", here.removeprefix(NIC))
    elif here.startswith(MARK):
        to = cursor.of_mark(here.removeprefix(MARK))
    return cursor.jump(view, to), None


def listed_at(scene: Scene, at: Pointer) -> str:
    """The core, flow or interface of the painted row under the mouse."""
    if (cpu := corelist.at(at)) is not None:
        return f"{CORE}{cpu}"
    if at.part.startswith("FLOWS"):
        return f"{FLOW}{flowlist.at(scene, at.row)}"
    if at.part.startswith("INTERFACES"):
        words = text_of(at.row).strip("│| ▸").split()
        return f"{NIC}{words[0]}" if words else ""
    return ""
