"""Cores & IRQs: queues by cores, with interrupt rates and affinity, and the load of the cores.

A cell has the interrupts per second; `0` for an idle queue; `.` where the affinity excludes the
core; `+` `-` `*` where RPS, XPS or both include it; nothing where the core is allowed but not used.
Below are the cores; `Enter` opens the page of one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from ..facts import Facts
from ..files import own
from ..terms import cpulist
from ..terms.text import Line, clauses, fit_line, line, text_of
from ..terms.units import many, percent
from ..views.ask import Hint, Next, Pointer
from ..views.scene import Scene, only
from ..views.view import Spot, View, under
from . import corelist, corepage, grid, interfaces, loads
from .frame import drawn_inside, enclosed
from .parts import Order, core_load, listing, marked, matches, ordered, section, waiting, window
from .queuematrix import (
    CELL,
    HOT,
    Row,
    head_lines,
    label_of,
    matrix_row,
    one_each,
    queue_table,
    spread,
    titles,
    whole,
)

if TYPE_CHECKING:
    from ..facts.kinds.core import Core
    from ..facts.kinds.queue import Queue


TITLE = "Cores & IRQs"
KEY = "2"
LEGEND: Final = (
    "A cell: interrupts/s · 0 idle queue · . excluded by affinity · + RPS · - XPS · * both. "
    "SQUEEZED: polls in which softirq ran out of its budget or time."
)
NEEDS: tuple[str, ...] = ("interrupts", "irqs", "nicqueues", "queues", "softirqs")
DRAWS: Final = ("interrupts", "softirqs", "threads", "profiles")
BOUND = PAGED = LISTED = FILTERED = True
COLUMNS = corelist.COLUMNS  # of the table below the matrix
MANY = 16  # with more queues or cores, idle ones are folded
RECENT = 5  # free rows from which the load over time is shown
_DIGITS: Final = re.compile(r"\d+")
ORDERS: Final[Sequence[Order[Row]]] = (  # of the matrix
    Order("", lambda one: 0.0),  # noqa: ARG005
    Order("IRQ/s", lambda one: max(q.irq_per_s or 0.0 for q in one[1])),
    Order("PACKETS", lambda one: sum(q.packets_per_s or 0.0 for q in one[1])),
    Order("CORE", lambda one: one[1][0].cpu),  # of the table of cores too
    Order("QUEUE", lambda one: _DIGITS.sub(lambda n: n[0].zfill(6), one[0]), down=False),
    Order("IRQ", lambda one: one[1][0].irq, down=False),
)
TITLES: Final = tuple(
    dict.fromkeys([*(one.title for one in ORDERS), *(one.title for one in corelist.ORDERS)])
)


def rows_of(scene: Scene, view: View) -> list[Row]:
    """The queues by interrupt (a combined pair is one row), filtered and sorted."""
    facts = scene.facts
    if facts is None:
        return []
    by: dict[tuple[str, int | str], list[Queue]] = {}
    chosen = only(scene, view)
    for queue in facts.queues:
        if chosen and queue.nic != chosen:
            continue
        key = (queue.nic, queue.irq if queue.irq is not None else queue.name)
        by.setdefault(key, []).append(queue)
    rows = [(f"{group[0].nic}/{group[0].name}", group) for group in by.values()]
    text = view.spot.filter
    rows = [r for r in rows if matches(text, r[0], r[1][0].irq_name, str(r[1][0].irq))]
    sort = view.spot.sort % len(TITLES)
    if 0 < sort < len(ORDERS):
        return ordered(rows, ORDERS, view.spot)
    if not sort and view.spot.invert:
        rows.reverse()
    if len(rows) > MANY:
        hot = {c.cpu for c in facts.cores if (core_load(c) or 0.0) >= HOT}
        moving = {nic.name for nic in facts.nics if interfaces.rate(nic) > interfaces.BUSY}
        # queues of containers at rest have no interrupt, and there may be hundreds
        known: list[Row] = []
        rest: list[Row] = []
        for one in rows:
            serves = one[1][0].irq is not None or one[1][0].nic in moving
            (known if serves else rest).append(one)
        if view.fold_idle and known and not text:
            rest = []
        known.sort(key=lambda r: not any(q.cpu in hot and q.irq_per_s for q in r[1]))
        rows = known + rest
    return rows


def orders(view: View) -> tuple[str, ...]:  # noqa: ARG001
    """The columns that the matrix, the cores or both can be sorted by."""
    return TITLES


def order(spot: Spot) -> tuple[str, bool]:
    """The column that the matrix is sorted by, and whether the largest is first; "": none."""
    sort = spot.sort % len(TITLES)
    if not sort:
        return ("QUEUE", True) if spot.invert else ("", True)
    return marked(ORDERS, spot) if sort < len(ORDERS) else ("", True)


def order_of_cores(spot: Spot) -> Spot | None:
    """The order of the table of cores in `corelist.ORDERS`; None: that of the matrix only."""
    title = TITLES[spot.sort % len(TITLES)]
    known = [one.title for one in corelist.ORDERS]
    return Spot(sort=known.index(title), invert=spot.invert) if title in known else None


def cores_of(scene: Scene, view: View) -> list[Core]:
    """The cores in the order shown."""
    facts = scene.facts
    return [] if facts is None else corelist.rows_of(facts, view.spot, order_of_cores(view.spot))


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """The queues, then the cores, in the order shown."""
    return (*(name for name, _ in rows_of(scene, view)), *details(scene, view))


def details(scene: Scene, view: View) -> tuple[str, ...]:
    """The cores, whose pages can be opened."""
    return tuple(f"{corelist.CORE}{core.cpu}" for core in cores_of(scene, view))


def boxes(scene: Scene, view: View) -> tuple[tuple[str, ...], ...]:
    """The rows of each part that Tab leads to."""
    return tuple(name for name, _ in rows_of(scene, view)), details(scene, view)


def row_at(scene: Scene, view: View, at: Pointer) -> str:
    """The core or queue of the painted row under the mouse."""
    if view.spot.open:
        return ""
    if (cpu := corelist.at(at)) is not None:
        return f"{corelist.CORE}{cpu}"
    name, *others = text_of(at.row).strip("│| ").split() or [""]
    for row, group in rows_of(scene, view):
        irq = group[0].irq
        alike = (irq is None or [str(irq)] == others[:1]) and bool(name.strip("…"))
        if alike and whole(row, group).endswith(name.lstrip("…")):
            return row
    return ""


def enter(view: View, scene: Scene, here: str) -> Next:
    """Open the page of the core; of a queue, that of the core that serves it."""
    if view.spot.open or scene.facts is None:
        return view, None
    served = {f"{q.nic}/{q.name}": q.cpu for q in scene.facts.queues}
    cpu = corelist.core_of(here) if here.startswith(corelist.CORE) else served.get(here)
    known = any(core.cpu == cpu for core in scene.facts.cores)
    return (view.at(open=f"{corelist.CORE}{cpu}", top=0) if known else view), None


def command(here: str) -> str:
    """What `y` copies for a core: the command that says the same as its page, and more."""
    cpu = corelist.core_of(here)
    return here if cpu is None else f"{own.called()} profile {cpu}"


def hints(scene: Scene, view: View, here: str) -> tuple[Hint, ...]:
    """Opening; moving an interrupt, if the queue has one of its own."""
    if view.spot.open:
        copy = Hint("y", "nettop profile", "copy")
        return Hint("n", "next", "next_detail"), Hint("Esc", "back", "escape"), copy
    moving = (Hint("e", "move", "edit"), Hint("S", "spread", "spread"))
    queue = here and corelist.core_of(here) is None
    known = moving if queue and not fixed(scene, here) and not (scene.origin or scene.fixed) else ()
    opens = (Hint("Enter", "core", "enter"),) if here else ()
    many = len(scene.facts.cores) > MANY or len(scene.facts.queues) > MANY if scene.facts else False
    fold = (Hint("z", "fold", "fold"),) * many
    return (*opens, *known, Hint(">", "sort", "sort"), Hint("/", "filter", "filter"), *fold)


def setting(here: str) -> str:
    """The affinity of the queue's interrupt."""
    return f"irq.affinity@{here}" if here and corelist.core_of(here) is None else ""


def value(scene: Scene, here: str) -> str:
    """The cores that may serve the queue's interrupt now."""
    queues = scene.facts.queues if scene.facts is not None else ()
    return next((cpulist.text(q.allowed) for q in queues if f"{q.nic}/{q.name}" == here), "")


def fixed(scene: Scene, here: str) -> str:
    """Why the queue cannot be moved to another core."""
    queues = scene.facts.queues if scene.facts is not None else ()
    own = any(q.irq is not None and f"{q.nic}/{q.name}" == here for q in queues)
    return "" if own else f"{here} has no interrupt of its own: nothing can be moved"


def of_interest(facts: Facts, rows: Sequence[Row], fold_idle: bool) -> list[Core]:
    """The cores that have a column: all, or those that serve the rows, are busy or run a process.

    With many cores, only those that serve the rows shown or are nearly full.
    """
    if not fold_idle or len(facts.cores) <= MANY:
        return list(facts.cores)
    serving = {q.cpu for _, group in rows for q in group if q.irq_per_s or len(rows) <= MANY}
    busy = HOT if len(serving) >= MANY // 2 else 5.0
    picked = [
        c
        for c in facts.cores
        if c.cpu in serving
        or (core_load(c) or 0.0) >= busy
        or (c.processes and len(facts.cores) <= 64)
    ]
    picked.sort(key=lambda c: c.cpu not in serving or (core_load(c) or 0.0) < HOT)  # hot ones first
    return picked or list(facts.cores[:MANY])


def large(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The load of the core under the cursor over time, else of the cores; [] before two samples."""
    cpu = corelist.core_of(view.spot.open or view.spot.on)
    drawn = None if cpu is None else loads.of_core(scene, cpu, width - 2, height - 1)
    rows = drawn or loads.load(scene, width - 2, height - 1)
    return enclosed(rows, width, height) if rows else []


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The matrix, and below it the cores by kind of work."""
    if scene.facts is None:
        return waiting(scene, width)
    return drawn_inside(partial(_rows, scene, scene.facts, view), width, height)


def _rows(scene: Scene, facts: Facts, view: View, width: int, height: int) -> list[Line]:
    """The lines of the pane, without a frame."""
    if view.spot.open:
        cpu = corelist.core_of(view.spot.open)
        core = next((one for one in facts.cores if one.cpu == cpu), None)
        if core is not None:
            return corepage.lines(core, scene, width, height, view.spot.top)
        return [line((f" core {cpu} is offline", "warn"), ("   Esc back to the list", "key"))]
    rows, cores = rows_of(scene, view), cores_of(scene, view)
    below = min(len(cores) + 2, height // 2 + 1) if height >= 14 else 0
    out: list[Line] = []
    if rows:
        out = matrix(scene, view, rows, width, height - below)
    elif not (view.spot.filter and cores):
        text = "matches the filter" if view.spot.filter else "interrupts are known"
        out = [section("QUEUES × CORES", "", width), line((f" no queue {text} here", "dim"))]
    if height - len(out) >= 4 and cores:
        out.append(section(f"CORES · {scene.last}", _remark(facts, cores), width))
        by, columns = order_of_cores(view.spot), view.columns.get("cores", ())
        out += corelist.listed(facts, cores, width, height - len(out), chosen=columns, by=by,
                               on=corelist.core_of(view.spot.on))  # fmt: skip
    past = loads.load(scene, width, height - len(out) - 1, [core.cpu for core in cores])
    return [*out, (), *past] if past and height - len(out) >= RECENT else out


def _remark(facts: Facts, cores: Sequence[Core]) -> str:
    """The legend of the bars, how many cores are idle, and the scale of a heat map."""
    known = [load for c in facts.cores if (load := core_load(c)) is not None]
    parts = ["█ softirq ▓ irq ▒ system ░ user"]
    if len(facts.cores) > MANY:
        parts.append(f"map to {grid.scale(facts.cores):g} %")
    if len(cores) < len(facts.cores):
        parts.append(f"{len(cores)} of {len(facts.cores)} match")
    elif known:
        parts.append(f"mean {sum(known) / len(known):.0f}% busy")
    return "   ".join(parts)


def matrix(scene: Scene, view: View, rows: Sequence[Row], width: int, height: int) -> list[Line]:
    """The rows around the cursor, the cores of interest as columns, the cursor's row in words."""
    facts = scene.facts
    if facts is None:
        return []
    heads = 3 + any(c.node is not None for c in facts.cores)
    cursor = under(tuple(name for name, _ in rows), view.spot)
    visible = window(len(rows), cursor, max(1, min(len(rows), height - heads - 1)))
    drawn = [rows[index] for index in visible]
    cores = of_interest(facts, drawn, view.fold_idle)
    label, with_packets = label_of(drawn, len(cores), width)
    room = max(1, (width - label) // CELL)
    left = max(0, min(view.spot.left, len(cores) - room))
    here = rows[cursor] if cursor >= 0 else None
    serves = here[1][0].cpu if here is not None else None
    serving = next((i for i, c in enumerate(cores) if c.cpu == serves), None)
    if view.spot.left == 0 and serving is not None and serving >= room:  # keep its cell visible
        left = min(serving - room // 2, len(cores) - room)
    shown = cores[left : left + room]
    rest = ""
    if view.fold_idle and len(facts.queues) > MANY:
        idle = len(rows_of(scene, replace(view, fold_idle=False))) - len(rows)
        rest = f"{many(idle, 'queues')} at rest not shown (z), " if idle else ""
    title, down = by = order(view.spot)
    rates = spread(scene)
    left_titles = titles(label, by, with_packets=with_packets)
    if view.fold_idle and len(cores) > room and one_each(drawn, rates):
        name, remark = (
            "QUEUES AND THEIR CORES",
            f"{rest}{many(len(rows), 'queues')} (z: as a matrix)",
        )
        head, table = queue_table(
            drawn, facts, left_titles, by, (label, width), with_packets=with_packets
        )
        above = [head]
    else:
        name, remark = (
            "QUEUES × CORES",
            f"{rest}{many(len(rows), 'queues')} × {many(len(facts.cores), 'cores')}",
        )
        if len(shown) < len(facts.cores):
            how = "z unfolds, ← →" if view.fold_idle else "← →, z folds"
            remark += f", {len(facts.cores) - len(shown)} not shown ({how})"
        if title == "CORE":  # the matrix has no heading for it
            remark = f"by {title} {'▼' if down else '▲'}   {remark}"
        table = [matrix_row(one, shown, rates, label, with_packets=with_packets) for one in drawn]
        above = head_lines(shown, left_titles, label, width)
    out = [section(f"{name} · {scene.last}", remark, width), *above]
    at = cursor - visible.start if here is not None else -1
    out += listing(table, at, width, len(table))
    out.append(
        explain(here, facts, width, fixed=scene.fixed or scene.plays) if here is not None else ()
    )
    return out[:height]


def explain(row: Row, facts: Facts, width: int, *, fixed: bool) -> Line:
    """The queue under the cursor: its core, the cores that may serve it, the keys."""
    name, group = row
    queue = group[0]
    core = next((c for c in facts.cores if c.cpu == queue.cpu), None)
    parts = [f" {queue.irq_name or name}"]
    if queue.cpu is not None:
        parts.append(
            f"served by core {queue.cpu}"
            + (f" (node {queue.node})" if queue.node is not None else "")
        )
    if core is not None and core.softirq is not None:
        parts.append(f"softirq there {percent(core.softirq)}")
    if queue.allowed:
        parts.append(f"allowed {cpulist.text(queue.allowed)}")
    if queue.rps_cpus:
        parts.append(
            f"{'RPS' if queue.direction == 'rx' else 'XPS'} {cpulist.text(queue.rps_cpus)}"
        )
    if queue.off_node:
        parts.append("NOT ON THE NIC'S NODE")
    keys = "   e move  S spread " * (not fixed)
    if queue.irq is None:
        parts, keys = [*parts, "no interrupt of its own"], ""
    text = clauses(" · ".join(parts), width - len(keys))
    return fit_line(line((text, "warn" if queue.off_node else "dim"), (keys, "key")), width)
