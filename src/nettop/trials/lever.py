"""The switch of an experiment: changes settings through the journal and always restores them.

Every write is journaled with a tag of the experiment. If nettop is killed, crashes or loses its
terminal, a separate process (the watchdog) reverts all open changes with that tag:
`python -I -m nettop.trials.lever FOLDER TAG`. Like a guard, both need neither the journal nor
nettop's own files for that.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final, Protocol, Self

from .. import settings
from ..changes import Change, Result
from ..changes.apply import Terms, apply
from ..changes.chain import READY
from ..changes.guard import STOPS
from ..changes.journal import Book, Journal
from ..changes.memory import Memory
from ..changes.plan import plan
from ..changes.ready import load, ready
from ..changes.undo import undo
from ..host.source import Live
from ..settings import Host
from .documents import ChangeRow

_SEE, _END = b"s", b"e"  # what nettop tells the watchdog
_PAUSES: Final = (0, 1, 2, 4, 8, 16, 32)  # seconds before the tries of the watchdog to revert
PAUSE: Final = {"none": 0.3, "queues": 2.0, "link": 4.0}  # seconds after a change, by risk


class LeverError(Exception):
    """A change could not be made or reverted; one sentence says why."""


class Lever(Protocol):
    """Switches a host between states; state 0 is the original one."""

    pause: float  # seconds to wait after a change

    def put(self, state: int) -> None:
        """Bring the host into this state; LeverError if that fails."""

    def restore(self) -> None:
        """Bring the host back to state 0; LeverError if that fails."""


class Proved(Lever, Protocol):
    """A lever with one change, which can be kept. It is entered, and restored at its exit."""

    where: str  # the prefix of the host that is changed; empty: this host

    @property
    def rows(self) -> list[ChangeRow]:
        """The change of each setting; empty if the host has these settings already."""

    def keep(self, state: int) -> tuple[Result, ...]:
        """Apply a state permanently; the results."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def pause(risks: Sequence[str]) -> float:
    """Seconds to wait after changes of these risks."""
    return max((PAUSE[risk] for risk in risks), default=PAUSE["none"])


def row(setting: str, before: str, after: str, shell: str) -> ChangeRow:
    """A tested change, for documents."""
    address = settings.parse(setting)
    return {
        "setting": setting, "before": settings.data(address, before),
        "after": settings.data(address, after), "risk": settings.risk(address), "shell": shell,
    }  # fmt: skip


class Switch:
    """A lever for settings of this host: state 0 is the original one, then each set of changes."""

    where = ""

    def __init__(
        self, states: Sequence[Sequence[tuple[str, str]]], finding: str, host: Host | None = None,
        exactly: Sequence[Change] = (),
    ) -> None:  # fmt: skip
        """`states` are the settings and values of states 1, 2, …; `finding` is for the journal.

        `exactly`: the last state, as changes with old values and devices that must still be there.

        ValueError: a setting needs a reboot or cannot be written, so it cannot be tested.
        """
        self.host = host or Host.at()
        self.journal = Journal()
        self.memory = Memory(self.journal)
        self.finding = finding
        self.tag = f"{finding}, experiment {os.getpid()}-{time.time_ns()}"
        self.states = [plan(wanted, self.host.source) for wanted in states]
        self.states += [tuple(exactly)] if exactly else []
        self.now = 0
        risks = [settings.risk(c.address) for s in self.states for c in s]
        untestable = [risk for risk in risks if risk not in PAUSE]
        if untestable:
            raise ValueError(f"this change needs a {untestable[0]}, so it cannot be tested")
        self.pause = pause(risks)
        self._watchdog: socket.socket | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of the last state."""
        return self.states[-1]

    @property
    def rows(self) -> list[ChangeRow]:
        """The changes of the last state, for documents."""
        return [
            row(c.setting, c.before, c.after, settings.shell(c.address, c.after, Live()))
            for c in self.changes
        ]

    def __enter__(self) -> Self:
        load()
        argv = [sys.executable, "-I", "-m", __name__, self.journal.folder, self.tag]
        self._watchdog, theirs = socket.socketpair()
        self._watchdog.settimeout(READY)
        with theirs:
            self._process = subprocess.Popen(
                argv, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL,
                start_new_session=True, cwd="/",
            )  # fmt: skip
        self._see()
        return self

    def _see(self) -> None:
        """Wait until the watchdog knows the journal as it is; LeverError if it does not answer."""
        self.memory.entries()
        if self._watchdog is None:
            return
        with contextlib.suppress(OSError):
            self._watchdog.sendall(_SEE)
            if self._watchdog.recv(1) == _SEE:
                return
        raise LeverError("the process that would revert the changes of a killed nettop has ended")

    def __exit__(self, *_: object) -> None:
        self.restore()
        if self._watchdog is not None:
            with self._watchdog, contextlib.suppress(OSError):
                self._watchdog.sendall(_END)
            self._process.wait()

    def put(self, state: int) -> None:
        """Revert the current state, then apply the changes of `state`; LeverError."""
        if state == self.now:
            return
        self.restore()
        if state:
            self._apply(self.states[state - 1], self.tag)
            self.now = state

    def _apply(self, changes: Sequence[Change], finding: str) -> tuple[Result, ...]:
        results = apply(changes, self.host, self.journal, Terms(finding=finding, confirm=0.0))
        self._see()
        for result in results:
            if result.state not in ("applied", "rounded", "unchanged"):
                raise LeverError(f"{result.setting}: {result.because or result.state}")
        return results

    def restore(self) -> None:
        """Undo the open changes of this experiment; LeverError if another program changed one."""
        self.now = 0
        for result in restore(self.memory, self.tag, self.host):
            if result.state == "conflict":
                raise LeverError(f"cannot restore {result.setting}: {result.because}")

    def keep(self, state: int) -> tuple[Result, ...]:
        """Apply a state permanently, with the finding in the journal; the results."""
        self.restore()
        return self._apply(self.states[state - 1], self.finding)


def restore(journal: Book, tag: str, host: Host | None = None) -> tuple[Result, ...]:
    """Undo every open entry of the journal with this tag, newest first."""
    ids = [e.id for e in journal.entries() if e.open and e.finding == tag]
    return undo(journal, host or Host.at(), ids) if ids else ()


def watch(folder: str, tag: str) -> None:
    """Read the journal at each byte of standard input, and answer it; restore at the end of it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    ready()
    memory = Memory(Journal(folder))
    while (word := os.read(0, 1)) == _SEE:
        memory.entries()
        with contextlib.suppress(OSError):  # nettop was killed: the next byte is the end
            os.write(1, _SEE)
    for pause in () if word == _END else _PAUSES:
        time.sleep(pause)
        if not any(result.state == "conflict" for result in restore(memory, tag)):
            break
    memory.record()


if __name__ == "__main__":
    watch(*sys.argv[1:])
