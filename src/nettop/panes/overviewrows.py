"""What of the overview the cursor can be on, part by part, and where Enter leads from there."""

from __future__ import annotations

from itertools import chain
from typing import Final

from ..terms.text import text_of
from ..views.ask import Next, Pointer
from ..views.scene import Scene
from ..views.stages import foremost
from ..views.view import View
from . import corelist, flowlist, graph, grid, interfaces, limit, listed, origins
from .frame import FRAMED

BESIDE: Final = 104  # columns from which findings and cores are side by side
STAGE: Final = "stage:"  # rows of the cursor that are no findings begin with one of these
MARK: Final = "mark:"
FLOW: Final = "flow:"
NIC: Final = "nic:"
CORE: Final = corelist.CORE


def finding_ids(scene: Scene) -> tuple[str, ...]:
    """The findings: those that hold, then those that are done."""
    return tuple(one.id for one in listed.standing(scene))


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


def enter(view: View, scene: Scene, here: str) -> Next:
    """Show where the row comes from: the finding, the stage, the flow; a core, an interface."""
    facts, found = scene.facts, foremost(scene, view)
    to = origins.Origin("advisor", here)
    if not here or facts is None:
        return view, None
    if here.startswith(FLOW):
        name = here.removeprefix(FLOW)
        to = origins.of_flow(next((one for one in facts.flows if one.id == name), None))
    elif here.startswith(STAGE) and found is not None:
        to = origins.of_stage(facts, found, here.removeprefix(STAGE))
    elif here.startswith(CORE):
        to = origins.Origin("cores", here, open=True)
    elif here.startswith(NIC):
        to = origins.Origin("nic", "", here.removeprefix(NIC))
    elif here.startswith(MARK):
        to = origins.of_mark(here.removeprefix(MARK))
    return origins.jump(view, to), None


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
