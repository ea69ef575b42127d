"""Leaving the screen: what ends with it, and what stays in force on this host.

A signal that ends a program ends the screen cleanly; `os._exit` ends one that hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable

from ..files import own
from ..terms.text import line, safe
from ..terms.units import seconds
from ..views.kept import PEERS, ROOTS
from ..views.scene import JournalEntry, Pending, Question, Scene
from .working import Actions

QUIT = "quit"


def question(scene: Scene) -> Question | None:
    """The question before the screen ends; None if no test runs and no change is unconfirmed."""
    if scene.plays:
        return None
    rows = []
    if scene.progress is not None:
        rows.append(
            line(f" {scene.progress.title} runs:", " it is stopped, and what it set is reverted")
        )
    for one in scene.pending:
        left = seconds(round(scene.left(one)))
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
        if entry.wall < since or not entry.in_force:
            continue
        host = f"{entry.host}: " if entry.host else ""
        values = safe(f"{host}{entry.setting}: {entry.before} → {entry.after}")
        lines.append(f"nettop: in force: {values}   {_command('undo', entry)}")
        if entry.state == "pending":
            lines.append(f"nettop: it reverts unless confirmed: {_command('confirm', entry)}")
    return lines


def _command(verb: str, one: JournalEntry | Pending) -> str:
    """The command that does this with a change, at the host where it was made."""
    way = safe(one.way) or (own.called_as_root() if one.id.startswith(ROOTS) else own.called())
    return f"{way} {verb} {one.id.removeprefix(ROOTS).removeprefix(PEERS)}"


# sent by a user, a terminal or a service manager to end a program, or with that default action
ENDING = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
    signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGIO, signal.SIGPWR,
    signal.SIGABRT,
)  # fmt: skip
PATIENCE = 3.0  # seconds in which Textual must end after a signal
END = 15.0  # seconds in which a running change or test must end


def on_signals(leave: Callable[[int], None], actions: Callable[[], Actions | None]) -> None:
    """Call `leave(exit code)` on a signal. Does nothing outside the main thread."""
    loop = asyncio.get_running_loop()

    def ended(number: int) -> None:
        threading.Thread(target=last, args=(number,), name="nettop-last", daemon=True).start()
        leave(128 + number)

    def last(number: int) -> None:
        time.sleep(PATIENCE)
        running = actions()
        if running is not None:  # let a running change end first
            running.wait(END)
        os._exit(128 + number)

    with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
        for number in ENDING:
            loop.add_signal_handler(number, ended, number)
