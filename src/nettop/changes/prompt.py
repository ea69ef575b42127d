"""The prompt that confirms a change: only a single Enter after the question counts.

Input typed before the question is discarded (tcflush(3)), so a pasted script confirms nothing. The
terminal delivers single bytes (termios(3), non-canonical mode) and marks pasted text if it can
(bracketed paste: ESC [ ? 2004 h, xterm ctlseqs). An answer is one Enter without other input QUIET
seconds before and after it, because a paste may arrive in several parts.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from typing import Final

from ..files.streams import ERASE, control

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
