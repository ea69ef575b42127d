"""Journal: what nettop changed on this host, whether it still holds, and how to take it back."""

from __future__ import annotations

from typing import Final

from ..terms.text import Line, fit_line, line
from ..terms.units import seconds
from ..views.scene import Made, Scene, View, under
from .clock import when
from .parts import Column, heading, listing, matches, row, section, widths

TITLE = "Journal"
KEY = "8"
LEGEND: Final = (
    "● is in force, ↺ was taken back. What changes by itself or was changed by others since is "
    "said below the list."
)
NEEDS: tuple[str, ...] = ()
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


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The list, and below it the entry under the cursor in words."""
    shown = rows_of(scene, view)
    standing = sum(d.state in ("applied", "rounded", "pending") and not d.since for d in shown)
    out = [
        section(
            "JOURNAL",
            f"{standing} in force of {len(shown)}   u undo  c confirm  s keep  x export",
            width,
        )
    ]
    if not shown:
        told = "nothing was changed: whatever a key applies is written here first"
        if scene.origin:
            told = f"{scene.origin}: what was changed there stands in that host's own journal"
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
                        f" goes back by itself in {seconds(round(left))} unless confirmed with c",
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
