"""Leaving the screen: what ends with it, and what stays in force on this host."""

from __future__ import annotations

from collections.abc import Iterable

from ..terms.text import line, safe
from ..terms.units import seconds
from ..views.kept import PEERS, ROOTS
from ..views.scene import IN_FORCE, JournalEntry, Pending, Question, Scene

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
        command = _command("confirm", one)
        rows.append(
            line(f" {one.setting} reverts in {left}", (f"   # {command}", "key"), " keeps it")
        )
    if not rows:
        return None
    return Question("Quit", (("", tuple(rows)),), QUIT, "quit", whole=False)


def in_force(entries: Iterable[JournalEntry], since: float) -> list[str]:
    """The changes made since that time (wall seconds) that are in force, with their commands."""
    lines = []
    for entry in entries:
        if entry.wall < since or entry.state not in IN_FORCE or entry.since:
            continue
        host = f"{entry.host}: " if entry.host else ""
        values = safe(f"{host}{entry.setting}: {entry.before} → {entry.after}")
        lines.append(f"nettop: in force: {values}   {_command('undo', entry)}")
        if entry.state == "pending":
            lines.append(f"nettop: it reverts unless confirmed: {_command('confirm', entry)}")
    return lines


def _command(verb: str, one: JournalEntry | Pending) -> str:
    """The command that does this with a change, at the host where it was made."""
    way = safe(one.way) or ("sudo nettop" if one.id.startswith(ROOTS) else "nettop")
    return f"{way} {verb} {one.id.removeprefix(ROOTS).removeprefix(PEERS)}"
