"""Leaving the screen: what ends with it, and what stays in force on this host."""

from __future__ import annotations

from collections.abc import Iterable

from ..terms.text import line, safe
from ..terms.units import seconds
from ..views.kept import PEERS, ROOTS
from ..views.scene import IN_FORCE, JournalEntry, Question, Scene

QUIT = "quit"


def question(scene: Scene) -> Question | None:
    """The question before the screen ends; None if no test runs and no change is unconfirmed."""
    rows = []
    if scene.progress is not None:
        rows.append(
            line(f" {scene.progress.title} runs:", " it is stopped, and what it set is reverted")
        )
    for one in scene.pending:
        left = seconds(max(0.0, round(one.deadline - scene.wall)))
        way = scene.origin.command if scene.origin and scene.distant else ""
        if one.id.startswith(PEERS) and scene.peer is not None:
            way = scene.peer.way
        there = f"{safe(way)} " if way else ""
        command = f"{there}nettop confirm {one.id.removeprefix(ROOTS).removeprefix(PEERS)}"
        rows.append(
            line(f" {one.setting} reverts in {left}", (f"   # {command}", "key"), " keeps it")
        )
    if not rows:
        return None
    return Question("Quit", (("", tuple(rows)),), QUIT, "quit", whole=False)


def in_force(
    entries: Iterable[JournalEntry], since: float, there: str = "", peer: str = ""
) -> list[str]:
    """The changes made since that time (wall seconds) that are in force, with their commands.

    `there` is the command prefix of another host, `peer` that of the other end of the flows.
    """
    lines = []
    for entry in entries:
        if entry.wall < since or entry.state not in IN_FORCE or entry.since:
            continue
        way = peer if entry.id.startswith(PEERS) else there
        sudo = f"{safe(way)} " if way else "sudo " if entry.id.startswith(ROOTS) else ""
        number = entry.id.removeprefix(ROOTS).removeprefix(PEERS)
        host = f"{entry.host}: " if entry.host else ""
        values = safe(f"{host}{entry.setting}: {entry.before} → {entry.after}")
        lines.append(f"nettop: in force: {values}   {sudo}nettop undo {number}")
        if entry.state == "pending":
            lines.append(f"nettop: it reverts unless confirmed: {sudo}nettop confirm {number}")
    return lines
