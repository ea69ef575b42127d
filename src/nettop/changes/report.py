"""Results of changes as text, their exit code, and the countdown to the confirmation.

Only a single Enter after the question confirms a change. Input typed before the question is
discarded (tcflush(3)), so a pasted script confirms nothing. The terminal delivers single bytes
(termios(3), non-canonical mode) and marks pasted text if it can (bracketed paste: ESC [ ? 2004 h,
xterm ctlseqs). An answer is one Enter without other input QUIET seconds before and after it,
because a paste may arrive in several parts.
"""

import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..files import interrupt, own
from ..files.streams import ERASE, control
from ..settings import Host
from ..terms.text import safe
from . import Result, chain, guard, risk, status
from .journal import Journal, since_boot
from .namespaces import Survey

_MARKS = {
    "applied": "✓",
    "rounded": "≈",
    "pending": "…",
    "held": "…",
    "undone": "↶",
    "reverted": "↶",
}


def code(results: Sequence[Result]) -> int:
    """The exit code: 4 refused or conflict, 5 reverted, else 0."""
    states = {result.state for result in results}
    if states & {"refused", "conflict"}:
        return 4
    return 5 if "reverted" in states else 0


def show(results: Sequence[Result]) -> None:
    """Print each change with the current or planned value of the host.

    Pending changes of one command are confirmed together, so one line says how.
    """
    waits = [r for r in results if r.state == "pending" and r.deadline is not None]
    for result in results:
        if result.state == "planned":
            _plan(result)
            continue
        name = f"{result.id}  " if result.id else ""
        mark = _MARKS.get(result.state, "✗" if result.state in ("refused", "conflict") else "·")
        if result.state in ("refused", "conflict") or result.after is None:
            values = f"{result.before} → {result.wanted}"
        elif result.state in ("undone", "reverted"):
            values = f"{result.after} (was {result.wanted})"
        else:
            values = f"{result.before} → {result.after}"
        print(safe(f"{mark} {name}{result.setting}: {values}  {result.state}"))
        if result in waits[-1:]:
            left = max(0, round((result.deadline or 0.0) - time.time()))
            each = "it reverts" if len(waits) == 1 else "they revert"
            print(f"    {each} in {left} s unless confirmed: {own.called()} confirm {result.id}")
        if result.because:
            print(safe(f"    {result.because}"))


def _plan(result: Result) -> None:
    """Print a planned change and the equivalent command."""
    values = f"{result.before} → {result.wanted}"
    print(safe(f"{result.setting}: {values}   (risk: {risk(result.setting)})"))
    print(safe(f"    {result.shell}"))
    if result.because:
        print(safe(f"    {result.because}"))


def await_enter(journal: Journal, results: Sequence[Result]) -> tuple[Result, ...]:
    """Count down on the terminal until Enter confirms pending changes, or the guard reverts them.

    Ctrl-C reverts them at once. Without a terminal, or in the background, they stay pending.
    """
    numbers = [r.id for r in results if r.state == "pending" and r.id is not None]
    if not numbers or not possible():
        return tuple(results)
    group = next((e.group for e in journal.entries() if e.id in numbers), 0)
    older = [e.id for e in chain.of_group(journal.entries(), group) if e.group != group]
    also = f" and the pending changes with it ({', '.join(map(str, older))})" if older else ""
    try:
        if enter(lambda: _left(journal, group), f"Press only Enter to confirm it{also}"):
            guard.confirm(journal, numbers)
        elif chain.of_group(journal.entries(), group):
            print(f"{ERASE}  Not confirmed: reverting", file=sys.stderr, flush=True)
        else:  # confirmed or reverted by another process
            control(ERASE, sys.stderr)
        tried = guard.finish(journal, group)
    except KeyboardInterrupt:
        interrupt.handled()
        tried = guard.revert(journal, group)
    return follow(journal, results, {r.id: r.because for r in tried})


def _left(journal: Journal, group: int) -> float:
    """Seconds until the chain reverts; a newer change may add time. 0: nothing is pending."""
    pending = chain.of_group(journal.entries(), group)
    if not guard.own(pending, group):
        return 0.0
    return chain.expiry(pending) - since_boot()


def follow(
    journal: Journal, results: Sequence[Result], failed: Mapping[int | None, str] | None = None
) -> tuple[Result, ...]:
    """The results with their current state; one that still waits is a conflict.

    `failed`: why changes could not be reverted, by number.
    """
    numbers = {r.id for r in results}
    now = {e.id: e for e in journal.entries() if e.id in numbers}
    host, survey = Host.at(), Survey()
    told = []
    for result in results:
        entry = now.get(result.id or 0)
        if entry is None:
            told.append(result)
        elif chain.unconfirmed(entry):
            because = (failed or {}).get(entry.id) or "it is neither confirmed nor reverted"
            because += f": {own.called()} undo {entry.id}"
            told.append(replace(result, state="conflict", because=because, deadline=None))
        elif entry.state in ("undone", "reverted"):
            told.append(status.of(entry, host, survey))
        elif entry.state == "begun":
            told.append(result)
        else:
            told.append(replace(result, state=entry.state, deadline=None))
    return tuple(told)


QUIET: Final = 0.3  # seconds without a byte, before an Enter and after it
_PASTES, _NO_PASTES = "\x1b[?2004h", "\x1b[?2004l"
_ENTERS: Final = (b"\n", b"\r")


def possible() -> bool:
    """Whether a user can answer: stderr is a terminal and we are its foreground job."""
    try:
        return sys.stderr.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


def enter(left: Callable[[], float], question: str) -> bool:
    """Whether Enter was pressed before `left()` (seconds) reached 0; counts down on stderr."""
    with _raw() as terminal:
        _drained(terminal, left)  # the rest of a paste
        while (seconds := left()) > 0:
            _paint(f"{question}; reverts in {seconds:.0f} s ")
            if not select.select([terminal], [], [], min(1.0, seconds))[0]:
                continue
            first = os.read(terminal, 4096)
            if not first:  # the terminal is gone
                return False
            rest = _drained(terminal, left)
            if first in _ENTERS and not rest:
                print(file=sys.stderr)
                return True
            _paint("Not confirmed: press only Enter\n")
    return False


def _paint(text: str) -> None:
    print(f"{ERASE}  {text}", end="", file=sys.stderr, flush=True)


def _drained(terminal: int, left: Callable[[], float]) -> bytes:
    """All input until QUIET seconds pass without any, or the time is over."""
    rest = b""
    while left() > 0 and select.select([terminal], [], [], QUIET)[0]:
        more = os.read(terminal, 4096)
        if not more:
            break
        rest = (rest + more)[-4096:]
    return rest


@contextlib.contextmanager
def _raw() -> Iterator[int]:
    """The terminal in non-canonical mode, without earlier input; restored afterwards."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSANOW)  # Ctrl-C stays a signal
    termios.tcflush(terminal, termios.TCIFLUSH)
    control(_PASTES, sys.stderr)
    try:
        yield terminal
    finally:
        control(_NO_PASTES, sys.stderr)
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcflush(terminal, termios.TCIFLUSH)
            termios.tcsetattr(terminal, termios.TCSANOW, before)
