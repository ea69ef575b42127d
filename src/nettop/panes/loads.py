"""The load of cores over time, by kind of work: a row for each core, or a graph of one.

The names of the kinds are those of their colours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import count
from typing import Final

from ..terms import braille
from ..terms.text import Line, fit, level, line, line_cells, resample
from ..terms.units import seconds
from ..views.past import KINDS, Summary, moment
from ..views.scene import Scene
from .grid import SCALES, merge
from .parts import legend, section

LABEL: Final = 11
MARGIN: Final = LABEL + 5  # columns beside a graph
MOST: Final = 16  # rows of the load of one core
LEAST: Final = 3  # below that, a core has one row with the colour of the kind that takes most
SMALL: Final = 3.0  # percent: below, a core is idle


def load(scene: Scene, width: int, rows: int, cpus: Collection[int] | None = None) -> list[Line]:
    """The load of the busiest cores over the last minutes; [] before there are two samples.

    `cpus`: of these only; None: of all.
    """
    moments = _drawn(scene, width)
    if rows < 2 or len(moments) < 2:
        return []
    only = None if cpus is None else frozenset(cpus)
    return [_title(moments, width), *heat(moments, width - MARGIN, rows - 1, only)]


def of_core(scene: Scene, cpu: int, width: int, rows: int) -> list[Line]:
    """The load of one core over the last minutes; [] before there are two samples of it."""
    moments = _drawn(scene, width)
    if rows < LEAST or len(moments) < 2 or cpu not in moments[-1].cpus:
        return []
    at, room = moments[-1].cpus.index(cpu), width - MARGIN
    most = max(one.busy[at] for one in moments if one.cpus == moments[-1].cpus)
    top = next((one for one in SCALES if most <= one), SCALES[-1])
    *drawn, _ = _tall(moments, at, room, min(MOST, rows - 1) + 1, top)
    scale = {0: f"{top:g}%", len(drawn) - 1: "0"}
    labels = (line((fit(scale.get(row, ""), LABEL + 3, ">") + " ", "dim")) for row in count())
    graph = (label + row[1:] for label, row in zip(labels, drawn, strict=False))
    return [_title(moments, width), *graph]


def _drawn(scene: Scene, width: int) -> tuple[Summary, ...]:
    """The moments for that width; the last one is that of the loads in figures.

    The others move every second sample, as the graph of rates does: fewer bytes for the terminal.
    """
    known, facts = scene.past.fine, scene.facts
    if not known:
        return ()
    late = facts is not None and facts.at > known[-1].at  # less than a second after it
    last = moment(facts, scene.wall, known[-1]) if facts is not None and late else known[-1]
    before = known[:-2] if int(known[-1].at) % 2 else known[:-1]
    return (*before, last)[-max(1, width - MARGIN) :]


def _title(moments: Sequence[Summary], width: int) -> Line:
    """The heading, with what the colours mean."""
    colours = legend()
    wide = line_cells(colours)
    length = seconds(round(moments[-1].at - moments[0].at))
    head = section("LOAD", f"last {length}, now at the right", width - wide)
    return (*head[:-1], *colours, *head[-1:])


@lru_cache(maxsize=4)
def heat(
    moments: tuple[Summary, ...], room: int, rows: int, only: frozenset[int] | None = None
) -> tuple[Line, ...]:
    """The load of the busiest cores over time, one core per row; several rows if there is room.

    `only`: of these cores; None: of all.
    """
    if not moments:
        return ()
    cpus = moments[-1].cpus
    sums = [0] * len(cpus)
    for one in moments:
        if one.cpus == cpus:
            for index, value in enumerate(one.busy):
                sums[index] += value
    known = [index for index, cpu in enumerate(cpus) if only is None or cpu in only]
    if len(known) > rows:  # beside a busy one, those that were idle all the time say nothing
        known = [index for index in known if sums[index] >= SMALL * len(moments)] or known
    bins = SMALL * len(moments)  # so that cores at rest do not change places
    order = sorted(known, key=lambda i: (-(sums[i] // bins), i))[:rows]
    each = min(MOST, rows // max(1, len(known)))
    if each >= LEAST:
        return tuple(row for index in sorted(order) for row in _tall(moments, index, room, each))
    if each == 2:  # one below the other without a gap
        low = (_tall(moments, index, room, each + 1)[:each] for index in sorted(order))
        return tuple(row for rows_ in low for row in rows_)
    out = []
    for index in order:
        busy, kinds = _values(moments, index, room)
        chars = [
            (" " if load is None else level(load), _most(shares, load or 0.0))
            for load, *shares in zip(busy, *kinds, strict=True)
        ]
        out.append(line((fit(f"core {cpus[index]}", LABEL + 3, ">") + " ", "dim"), *merge(chars)))
    return tuple(out)


def _values(
    moments: Sequence[Summary], index: int, room: int
) -> tuple[list[float | None], list[list[float | None]]]:
    """The load of a core in each column, and its kinds in the order of `KINDS`; None: unknown."""
    cpus = moments[-1].cpus
    busy = [float(one.busy[index]) if one.cpus == cpus else None for one in moments]
    kinds = [
        [float(one.kinds[kind][index]) if one.cpus == cpus else None for one in moments]
        for kind in range(len(KINDS))
    ]
    return resample(busy, room), [resample(values, room) for values in kinds]


def _most(shares: Sequence[float | None], load: float) -> str:
    """The role of the kind that takes most of a load."""
    known = [share or 0.0 for share in shares]
    return KINDS[known.index(max(known))] if load >= SMALL else "idle"


def _tall(
    moments: Sequence[Summary], index: int, room: int, rows: int, top: float = 100.0
) -> list[Line]:
    """The load of one core in several rows, the last one empty: the next core is told apart.

    Its height is the load, up to `top`. Its colours are the kinds, stacked as in the core's bar.
    """
    cpus, deep = moments[-1].cpus, rows - 1
    busy, kinds = _values(moments, index, room)
    drawn = braille.area([value for value in busy for _ in range(2)], deep, top)
    labels = [(f"core {cpus[index]}", "dim"), *[("", "")] * rows]  # its load now is in its row
    columns = [_column(load, tuple(shares), deep, top)
               for load, *shares in zip(busy, *kinds, strict=True)]  # fmt: skip
    out = []
    for (label, role), text, at in zip(labels, drawn, range(deep), strict=False):
        chars = [
            (char, "" if char == " " else roles[at])
            for char, roles in zip(text, columns, strict=True)
        ]
        out.append(line((fit(label, LABEL + 3, ">") + " ", role), *merge(chars)))
    return [*out, ()]


@lru_cache(maxsize=4096)  # nearly all columns were there in the last frame, one further right
def _column(
    load: float | None, shares: tuple[float | None, ...], rows: int, top: float
) -> tuple[str, ...]:
    """The role of each row of a column, the highest first."""
    bounds = [top * (rows - at) / rows for at in range(rows + 1)]
    rises = zip(bounds[1:], bounds, strict=False)
    return tuple(_at((low + min(high, load or 0.0)) / 2, shares, load) for low, high in rises)


def _at(percent: float, shares: Sequence[float | None], load: float | None) -> str:
    """The role of the kind at that height of the stacked load."""
    upto = 0.0
    for share, role in zip(shares, KINDS, strict=True):
        upto += share or 0.0
        if percent < upto:
            return role
    return _most(shares, load or 0.0)
