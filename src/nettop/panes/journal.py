"""Journal: the changes that nettop made on this host, their state, and their undo."""

from __future__ import annotations

from typing import Final

from ..terms.text import Line, fit_line, line
from ..terms.units import seconds
from ..views.scene import STANDING, Made, Scene, View, under
from .clock import when
from .parts import Column, heading, listing, matches, row, section, widths

TITLE = "Journal"
KEY = "8"
LEGEND: Final = "● in force, ↺ taken back. Pending reverts and outside changes are listed below."
NEEDS: tuple[str, ...] = ()
BOUND = True
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
OVERTAKEN: Final = ("! overtaken", "warn")


def rows_of(scene: Scene, view: View) -> list[Made]:
    """The entries shown, newest first."""
    found = [
        d for d in scene.journal if matches(view.spot.filter, d.id, d.setting, d.state, d.finding)
    ]
    return sorted(found, key=lambda d: -d.wall)


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """The entries in the order shown."""
    return tuple(made.id for made in rows_of(scene, view))


def command(here: str) -> str:
    """The command that takes the change back."""
    return f"nettop undo {here}" if here else ""


def undoes(scene: Scene, here: str) -> list[Made]:
    """The change under the cursor, where it is in force."""
    return [made for made in scene.journal if made.id == here and made.state in STANDING]


def exports(scene: Scene) -> list[Made]:
    """The changes in force; files that keep them are no setting."""
    return [
        made
        for made in scene.journal
        if made.state in STANDING and not made.setting.startswith("kept.")
    ]


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The list, and below it the entry under the cursor in words."""
    shown = rows_of(scene, view)
    standing = sum(d.state in ("applied", "rounded", "pending") and not d.since for d in shown)
    out = [
        section(
            "JOURNAL",
            f"{standing} in force of {len(shown)}   u undo  c confirm  s persist  x export",
            width,
        )
    ]
    if not shown:
        told = "no changes: each change is written here before it is applied"
        if scene.origin:
            told = f"{scene.origin}: its changes are in the journal of that host"
        out.append(line((f" {told}", "dim")))
        return [fit_line(one, width) for one in out[:height]]
    columns = (
        Column(" STATE", 12), Column("SETTING", 34, grow=3), Column("BEFORE", 10, grow=1),
        Column("AFTER", 10, grow=1), Column("WHEN", 19), Column("BECAUSE OF", 24, grow=2),
        Column("BY", 8), Column("ID", 8),
    )  # fmt: skip
    sizes = widths(columns, width)
    out.append(heading(columns, sizes))
    cursor = under(tuple(d.id for d in shown), view.spot)
    table = []
    for made in shown:
        state, role = _state(made)
        table.append(
            row(
                (
                    (f" {state}", role),
                    made.setting,
                    (made.before, "dim"),
                    (made.after, "strong"),
                    (when(made.wall)[:19], "dim"),
                    (made.finding or "by hand", "dim"),
                    (made.who, "dim"),
                    (made.id, "dim"),
                ),
                columns,
                sizes,
            )
        )
    below = 4 if height >= 12 else 0
    out += listing(table, cursor, width, min(len(table), height - len(out) - below))
    if below and cursor >= 0:
        made = shown[cursor]
        state, role = _state(made)
        out.append(section(made.id, when(made.wall), width))
        out.append(line(f" {made.setting}: {made.before} → {made.after}", (f"   {state}", role)))
        waits = next((p for p in scene.pending if p.id == made.id), None)
        if waits is not None:
            left = max(0.0, waits.deadline - scene.wall)
            out.append(
                line(
                    (
                        f" applied; reverts in {seconds(round(left))} unless confirmed with c",
                        "warn",
                    )
                )
            )
        for more, role in ((made.since, "warn"), (made.because, "dim")):
            if more:
                out.append(line((f" {more}", role)))
    return [fit_line(one, width) for one in out[:height]]


def _state(made: Made) -> tuple[str, str]:
    """The word for a change's state, and its colour."""
    return OVERTAKEN if made.since else STATES.get(made.state, (made.state, ""))
