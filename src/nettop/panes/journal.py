"""Journal: the changes that nettop made on this host, their state, and their undo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..terms.text import Line, fit_line, line
from ..terms.units import seconds
from ..views.ask import Hint
from ..views.kept import PEERS
from ..views.scene import IN_FORCE, JournalEntry, Scene, View, under
from .clock import when
from .parts import Column, heading, listing, matches, row, section, widths
from .table import Order, column_of, marked, ordered

TITLE = "Journal"
KEY = "8"
LEGEND: Final = "● in force, ↺ reverted. Pending reverts and outside changes are listed below."
NEEDS: tuple[str, ...] = ()
BOUND = True
LAZY = ("journal",)  # of another host
STATES: Final = {
    "applied": ("● applied", "good"),
    "rounded": ("● rounded", "good"),
    "pending": ("◆ pending", "warn"),
    "reverted": ("↺ reverted", "dim"),
    "undone": ("↺ undone", "dim"),
    "conflict": ("✗ conflict", "bad"),
    "refused": ("✗ refused", "bad"),
    "unchanged": ("· unchanged", "dim"),
}
ORDERS: Final[Sequence[Order[JournalEntry]]] = (
    Order("", lambda one: one.wall),
    Order("WHEN", lambda one: one.wall, down=False),
    Order("STATE", lambda one: one.state, down=False),
    Order("SETTING", lambda one: one.setting, down=False),
    Order("BECAUSE OF", lambda one: one.finding or None, down=False),
    Order("BY", lambda one: one.user, down=False),
)
OVERTAKEN: Final = ("! overtaken", "warn")


def rows_of(scene: Scene, view: View) -> list[JournalEntry]:
    """The entries that match the filter, by default newest first."""
    text = view.spot.filter
    rows = [e for e in scene.journal if matches(text, e.id, e.setting, e.state, e.finding)]
    return ordered(rows, ORDERS, view.spot)


def orders(view: View) -> tuple[str, ...]:  # noqa: ARG001
    """The columns that the changes can be sorted by."""
    return tuple(one.title for one in ORDERS)


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """The entries in the order shown."""
    return tuple(entry.id for entry in rows_of(scene, view))


def command(here: str) -> str:
    """The command that reverts the change."""
    return f"nettop undo {here.removeprefix(PEERS)}" if here else ""


def hints(scene: Scene, view: View, here: str) -> tuple[Hint, ...]:  # noqa: ARG001
    """Exporting the changes."""
    known = (Hint("x", "export", "export"),) if scene.journal else ()
    return (*known, Hint("/", "filter", "filter"))


def undoes(scene: Scene, here: str) -> list[JournalEntry]:
    """The change under the cursor, if it is in force."""
    return [entry for entry in scene.journal if entry.id == here and entry.state in IN_FORCE]


def exports(scene: Scene) -> list[JournalEntry]:
    """The changes in force of this host, without the files that make settings persistent."""
    return [
        entry
        for entry in scene.journal
        if entry.state in IN_FORCE and not entry.setting.startswith("kept.") and not entry.host
    ]


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The list, and below it the entry under the cursor in words."""
    shown = rows_of(scene, view)
    in_force = sum(e.state in ("applied", "rounded", "pending") and not e.since for e in shown)
    out = [
        section(
            "JOURNAL",
            f"{in_force} in force of {len(shown)}   u undo  c confirm  s persist  x export",
            width,
        )
    ]
    if not shown:
        text = "no changes: each change is written here before it is applied"
        if scene.origin:
            text = f"{scene.origin.text}: its changes are in the journal of that host"
        out.append(line((f" {text}", "dim")))
        return [fit_line(one, width) for one in out[:height]]
    columns = (
        Column(" STATE", 12), Column("SETTING", 34, grow=3), Column("BEFORE", 10, grow=1),
        Column("AFTER", 10, grow=1), Column("WHEN", 19), Column("BECAUSE OF", 24, grow=2),
        Column("BY", 8), Column("ID", 8),
    )  # fmt: skip
    sizes = widths(columns, width)
    title, down = marked(ORDERS, view.spot)
    out.append(heading(columns, sizes, column_of(columns, title), down))
    cursor = under(tuple(entry.id for entry in shown), view.spot)
    table = []
    for entry in shown:
        state, role = _state(entry)
        table.append(
            row(
                (
                    (f" {state}", role),
                    entry.setting,
                    (entry.before, "dim"),
                    (entry.after, "strong"),
                    (when(entry.wall)[:19], "dim"),
                    (entry.finding or "by hand", "dim"),
                    (entry.user, "dim"),
                    (entry.id, "dim"),
                ),
                columns,
                sizes,
            )
        )
    below = 4 if height >= 12 else 0
    out += listing(table, cursor, width, min(len(table), height - len(out) - below))
    if below and cursor >= 0:
        entry = shown[cursor]
        state, role = _state(entry)
        out.append(section(entry.id, when(entry.wall), width))
        host = f"{entry.host}: " if entry.host else ""
        values = f" {host}{entry.setting}: {entry.before} → {entry.after}"
        out.append(line(values, (f"   {state}", role)))
        pending = next((p for p in scene.pending if p.id == entry.id), None)
        if pending is not None:
            left = max(0.0, pending.deadline - scene.wall)
            out.append(
                line(
                    (
                        f" applied; reverts in {seconds(round(left))} unless confirmed with c",
                        "warn",
                    )
                )
            )
        for text, role in ((entry.since, "warn"), (entry.because, "dim")):
            if text:
                out.append(line((f" {text}", role)))
    return [fit_line(one, width) for one in out[:height]]


def _state(entry: JournalEntry) -> tuple[str, str]:
    """The text and role of a change's state."""
    return OVERTAKEN if entry.since else STATES.get(entry.state, (entry.state, ""))
