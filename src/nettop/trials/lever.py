"""The switch of an experiment: changes settings through the journal and always restores them.

Every write is journaled with a tag of the experiment. If nettop is killed, crashes or loses its
terminal, a separate process (the warden) reverts all open changes with that tag: it runs
`python -I -m nettop.trials.lever FOLDER TAG`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Protocol, Self

from .. import settings
from ..changes import Change, Result
from ..changes.apply import Terms, apply
from ..changes.journal import Journal
from ..changes.plan import plan
from ..changes.undo import undo
from ..settings import Host
from . import peer

PAUSE: Final = {"none": 0.3, "queues": 2.0, "link": 4.0}  # seconds after a change, by its risk


class LeverError(Exception):
    """A change could not be made or reverted; one sentence."""


class Lever(Protocol):
    """Something that can be in one of several states; state 0 is how the host was found."""

    pause: float  # seconds of quiet that a change needs after it

    def put(self, state: int) -> None:
        """Bring the host into that state; LeverError when it will not go."""

    def restore(self) -> None:
        """Bring it back to state 0, whatever happened."""


class Switch:
    """States of this host's settings: 0 as found, then each set of changes."""

    def __init__(
        self, states: Sequence[Sequence[tuple[str, str]]], finding: str, host: Host | None = None
    ) -> None:
        """`states` are the wanted settings of states 1, 2, …; ValueError when all is so already."""
        self.host = host or Host.at()
        self.journal = Journal()
        self.finding = finding
        self.tag = f"{finding}, experiment {os.getpid()}-{time.time_ns()}"
        self.states = [plan(wanted, self.host.source) for wanted in states]
        self.now = 0
        risks = [settings.risk(settings.parse(c.setting)) for s in self.states for c in s]
        bad = [risk for risk in risks if risk not in PAUSE]
        if bad:
            raise ValueError(f"this change needs a {bad[0]}, so it cannot be tested")
        self.pause = max((PAUSE[risk] for risk in risks), default=PAUSE["none"])
        self._warden: peer.End | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of the last state."""
        return self.states[-1]

    def __enter__(self) -> Self:
        argv = [sys.executable, "-I", "-m", __name__, self.journal.folder, self.tag]
        self._warden = peer.HERE.start("watchdog", {"argv": argv})
        self._warden.wait_for("watching")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.restore()
        if self._warden is not None:
            self._warden.stop()
            self._warden.close()

    def put(self, state: int) -> None:
        """Take back what stands, then apply the state's changes."""
        if state == self.now:
            return
        self.restore()
        if state:
            self._apply(self.states[state - 1], self.tag)
            self.now = state

    def _apply(self, changes: Sequence[Change], finding: str) -> tuple[Result, ...]:
        results = apply(changes, self.host, self.journal, Terms(finding=finding, confirm=0.0))
        for result in results:
            if result.state not in ("applied", "rounded", "unchanged"):
                raise LeverError(f"{result.setting}: {result.because or result.state}")
        return results

    def restore(self) -> None:
        """Undo what this experiment left standing; LeverError when something else is in the way."""
        self.now = 0
        for result in restore(self.journal, self.tag, self.host):
            if result.state == "conflict":
                raise LeverError(f"cannot restore {result.setting}: {result.because}")

    def keep(self, state: int) -> tuple[Result, ...]:
        """Apply a state for good, under the finding's own name; its journal entries."""
        self.restore()
        return self._apply(self.states[state - 1], self.finding)


def restore(journal: Journal, tag: str, host: Host | None = None) -> tuple[Result, ...]:
    """Undo every open entry of the journal that has this tag, newest first."""
    numbers = [e.id for e in journal.entries() if e.open and e.finding == tag]
    return undo(journal, host or Host.at(), numbers) if numbers else ()


if __name__ == "__main__":
    restore(Journal(sys.argv[1]), sys.argv[2])
