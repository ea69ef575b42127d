"""Journal: the changes that nettop made on this host, their state, and their undo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..files import own
from ..terms.text import Line, cells, fit_line, line, wrap
from ..terms.units import count, seconds
from ..views.altered import SEEN, changes, settings
from ..views.ask import Hint
from ..views.kept import PEERS, exportable
from ..views.scene import IN_FORCE, JournalEntry, Scene, nic_of
from ..views.view import View, under
from . import graph, interfaces
from .frame import enclosed, inside, roomy
from .parts import (
    Cell,
    Column,
    Order,
    apart,
    column_of,
    heading,
    listing,
    marked,
    matches,
    ordered,
    row,
    section,
    when,
    widths,
)

TITLE = "Journal"
KEY = "8"
LEGEND: Final = (
    "● in force, ↺ reverted, ○ seen in a recording. Pending reverts and outside changes are listed "
    "below. ADVISED: changes of findings that hold."
)
NEEDS: tuple[str, ...] = ()
BOUND = FILTERED = True
LAZY = ("journal",)  # that of another host takes a connection
STATES: Final = {
    "applied": ("● applied", "good"),
    "rounded": ("● rounded", "good"),
    "held": ("◆ held", "warn"),
    "pending": ("◆ pending", "warn"),
    "reverted": ("↺ reverted", "dim"),
    "undone": ("↺ undone", "dim"),
    "conflict": ("✗ conflict", "bad"),
    "refused": ("✗ refused", "bad"),
    "unchanged": ("· unchanged", "dim"),
    "void": ("· closed", "dim"),
    "forgotten": ("· closed", "dim"),
    SEEN: ("○ seen", "accent"),
}
BEFORE: Final = Column("BEFORE", 10, grow=1)
AFTER: Final = Column("AFTER", 10, grow=1)
_COLUMNS: Final = (
    Column(" STATE", 12), Column("SETTING", 34, grow=3), BEFORE, AFTER, Column("WHEN", 19),
    Column("BECAUSE OF", 24, grow=2), Column("BY", 8), Column("ID", 8),
)  # fmt: skip
SHORT: Final = 14  # columns of the name of a setting at least
KEYS_FROM: Final = 70  # columns from which the heading has the keys
GRAPH: Final = 8  # lines of the graph at the least
MOST: Final = 30  # lines of the graph at the most
ADVISED: Final = (" ▸ advised", "key")
ORDERS: Final[Sequence[Order[JournalEntry]]] = (
    Order("", lambda one: one.wall),
    Order("WHEN", lambda one: one.wall, down=False),
    Order("STATE", lambda one: one.state, down=False),
    Order("SETTING", lambda one: one.setting, down=False),
    Order("BECAUSE OF", lambda one: one.finding or None, down=False),
    Order("BY", lambda one: one.user, down=False),
)
OVERTAKEN: Final = ("! changed since", "warn")


def rows_of(scene: Scene, view: View) -> list[JournalEntry]:
    """The entries that match the filter, by default newest first; those of a test are one."""
    text = view.spot.filter
    rows = [e for e in changes(scene) if matches(text, e.id, e.setting, e.state, e.finding)]
    return ordered(_together(rows), ORDERS, view.spot)


def _together(rows: Sequence[JournalEntry]) -> list[JournalEntry]:
    """The runs of an experiment as the last of them, for each value that it tests."""
    known: dict[tuple[str, ...], JournalEntry] = {}
    for one in sorted(rows, key=lambda one: one.wall):
        key = (one.test, one.setting, one.after) if one.test else (one.id,)
        known[key] = replace(one, runs=known[key].runs + 1 if key in known else 1)
    return list(known.values())


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """The entries in the order shown."""
    return tuple(entry.id for entry in rows_of(scene, view))


def command(here: str) -> str:
    """The command that reverts the change."""
    made = here and not here.startswith(SEEN)
    return f"{own.called()} undo {here.removeprefix(PEERS)}" if made else ""


def hints(scene: Scene, view: View, here: str) -> tuple[Hint, ...]:  # noqa: ARG001
    """Exporting the changes."""
    known = (Hint("x", "export", "export"),) if scene.journal else ()
    return (*known, Hint("/", "filter", "filter"))


def undoes(scene: Scene, here: str) -> list[JournalEntry]:
    """The change under the cursor, if it is in force."""
    return [entry for entry in scene.journal if entry.id == here and entry.state in IN_FORCE]


def exports(scene: Scene) -> list[JournalEntry]:
    """The changes in force of this host."""
    return exportable(scene.journal)


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The list, the entry under the cursor in words, and what findings advise."""
    framed = roomy(width, height)
    inner, room = inside(width, framed=framed), height - framed
    out = [fit_line(one, inner) for one in _rows(scene, view, inner, room)[:room]]
    if framed:
        out += rates(scene, view, inner, room - len(out))
    return enclosed(out, width, height) if framed else out


def columns(width: int) -> tuple[Column, ...]:
    """The columns; where there is little room a shorter name leaves both values."""
    state, name, before, after, *others = _COLUMNS
    fixed = sum(one.width + 1 for one in (state, before, after))
    short = min(name.width, max(SHORT, width - fixed - 1))
    return state, replace(name, width=short), before, after, *others


def rates(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The rates of the interface with a mark for each change; [] where there is little room."""
    nic = nic_of(scene, view)
    if nic is None or height < GRAPH + 1:
        return []
    rows = rows_of(scene, view)
    at = under(tuple(entry.id for entry in rows), view.spot)
    on = f"change:{rows[at].id}" if at >= 0 else ""
    drawn = graph.lines(scene, nic, width, min(height - 1, MOST), on)
    title = f"{nic.name} {graph.title(scene, nic)}"
    return [section(title, interfaces.title(nic), width), *drawn] if drawn else []


def _rows(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The lines of the pane, without a frame."""
    shown = rows_of(scene, view)
    in_force = sum(e.in_force and e.state != "begun" for e in shown)
    remark = f"{in_force} in force of {len(shown)}"
    if width >= KEYS_FROM:
        keys = {
            "undo": "u undo",
            "confirm": "c confirm",
            "persist": "s persist",
            "export": "x export",
        }
        able = [text for action, text in keys.items() if action not in scene.barred]
        remark += "   " * bool(able) + "  ".join(able)
    if recorded(scene):
        remark = f"{len(shown)} seen in the recording"
    out = [section("JOURNAL", remark, width)]
    sizes = widths(columns(width), width)
    if shown:
        title, down = marked(ORDERS, view.spot)
        out.append(heading(_COLUMNS, sizes, column_of(_COLUMNS, title), down))
        cursor = under(tuple(entry.id for entry in shown), view.spot)
        below = 4 if height >= 12 else 0  # the entry in words comes before what is advised
        table = [_row(entry, sizes) for entry in shown]
        out += listing(table, cursor, width, min(len(table), height - len(out) - below))
        if below and cursor >= 0:
            out += detail(shown[cursor], scene, width)
    else:
        out += nothing(scene, view, width)
    if height >= 12 or not shown:
        out += advised(scene, view, sizes, width, height - len(out))
    return out


def recorded(scene: Scene) -> bool:
    """Whether a recording is shown: what nettop changed on that host is not in it."""
    return scene.origin is not None and scene.origin.kind == "recording"


def nothing(scene: Scene, view: View, width: int) -> list[Line]:
    """Why there is no row."""
    if view.spot.filter and changes(scene):
        return [line((" no change matches the filter", "dim"))]
    if scene.origin is None:
        return [line((" no changes: each change is written here before it is applied", "dim"))]
    if not recorded(scene):
        return [line((f" {scene.origin.text}: its changes are in the journal of that host", "dim"))]
    number = count(len(settings(scene.facts))) if scene.facts is not None else 0
    owner = f"{scene.origin.text}: the journal of that host is not in a recording."
    seen = f"Compared from sample to sample: {number} settings and properties. None has changed "
    seen += "so far; a change is listed here, and has a ◆ in the graphs."
    return [line((f" {row}", "dim")) for text in (owner, seen) for row in wrap(text, width - 2)]


def detail(entry: JournalEntry, scene: Scene, width: int) -> list[Line]:
    """One entry in words, with the time that is left to confirm it."""
    state, role = _state(entry)
    name = entry.setting if entry.state == SEEN else entry.id
    out = [section(name, when(entry.wall), width)]
    host = f"{entry.host}: " if entry.host else ""
    values = f" {host}{_where(entry)}: {entry.before} → {entry.after}"
    out.append(line(values, (f"   {state}", role)))
    if entry.runs > 1:
        out.append(line((f" a test set it {entry.runs} times; this is its last run", "dim")))
    pending = next((p for p in scene.pending if p.id == entry.id), None)
    if pending is not None:
        left = seconds(round(scene.left(pending)))
        out.append(line((f" applied; reverts in {left} unless confirmed with c", "warn")))
    for text, role in ((entry.since, "warn"), (entry.because, "dim")):
        if text:
            out.append(line((f" {text}", role)))
    return out


def advised(scene: Scene, view: View, sizes: list[int], width: int, height: int) -> list[Line]:
    """The changes that findings advise, which nobody has made, in at most `height` lines."""
    made = {(one.setting, one.after) for one in scene.journal if one.state in IN_FORCE}
    rows = [
        row(
            (ADVISED, step.setting, *_values(step.before, step.after, sizes), "",
             (finding.id, "dim"), "", ""),
            _COLUMNS, sizes,
        )
        for finding in scene.findings for step in scene.steps(finding.id)
        if not view.spot.filter and (step.setting, step.after) not in made
    ]  # fmt: skip
    if not rows or height < 4:
        return []
    head = section(f"ADVISED {len(rows)}", "not made; 5 shows why", width)
    return [(), head, *rows[: height - 2]]


def _row(entry: JournalEntry, sizes: list[int]) -> Line:
    """One entry of the list."""
    state, role = _state(entry)
    seen = entry.state == SEEN
    values = (
        (f" {state}", role), _where(entry), *_values(entry.before, entry.after, sizes),
        (when(entry.wall)[:19], "dim"),
        (_because(entry), "dim"),
        ("" if seen else entry.user, "dim"), ("" if seen else entry.id, "dim"),
    )  # fmt: skip
    return row(values, _COLUMNS, sizes)


def _where(entry: JournalEntry) -> str:
    """The setting, with its network namespace where that is another one."""
    return f"{entry.setting} in {entry.space}" if entry.space else entry.setting


def _because(entry: JournalEntry) -> str:
    """The finding for which it was made, and how often a test did."""
    why = entry.finding or ("not recorded" if entry.state == SEEN else "by hand")
    return f"{entry.runs} runs for {why}" if entry.runs > 1 else why


def _values(before: str, after: str, sizes: Sequence[int]) -> tuple[Cell, Cell]:
    """The cells of both values; without the first words that are equal where they do not fit."""
    room = min(sizes[_COLUMNS.index(BEFORE)], sizes[_COLUMNS.index(AFTER)])
    if max(cells(before), cells(after)) > room:
        before, after = apart(before, after)
    return (before, "dim"), (after, "strong")


def _state(entry: JournalEntry) -> tuple[str, str]:
    """The text and role of a change's state."""
    return (
        OVERTAKEN if entry.since and not entry.space else STATES.get(entry.state, (entry.state, ""))
    )
