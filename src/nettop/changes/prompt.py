"""The one key that keeps a change: Enter, alone, pressed after the question was shown.

What was typed before is thrown away (tcflush(3)), so a pasted script confirms nothing. Bytes come
one by one (termios(3), no canonical mode), and a terminal that can marks what is pasted
(bracketed paste: ESC [ ? 2004 h, xterm's ctlseqs). An answer is one Enter with a quiet moment
before and after it: a paste may come in several parts.
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
    """Whether somebody at a terminal can answer us: it is ours, and not another job's."""
    try:
        return sys.stderr.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


def enter(left: Callable[[], float], question: str) -> bool:
    """Whether Enter was pressed before `left` (seconds) was used up; counts down on stderr."""
    with _raw() as terminal:
        _drained(terminal, left)  # the rest of what is being pasted
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
            _paint("That was more than Enter alone: it is no answer\n")
    return False


def _paint(text: str) -> None:
    print(f"{ERASE}  {text}", end="", file=sys.stderr, flush=True)


def _drained(terminal: int, left: Callable[[], float]) -> bytes:
    """Whatever else comes until it is quiet, or the time is over."""
    rest = b""
    while left() > 0 and select.select([terminal], [], [], QUIET)[0]:
        more = os.read(terminal, 4096)
        if not more:
            break
        rest = (rest + more)[-4096:]
    return rest


@contextlib.contextmanager
def _raw() -> Iterator[int]:
    """The terminal without its line editor, and without what was typed ahead; given back after."""
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
