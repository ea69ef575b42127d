"""Changes that are reverted when standard input ends: `nettop set --hold`.

The nettop at another host proves a fix of this host by it. If that nettop ends, or the connection
breaks or carries nothing, the changes are reverted; if this process is killed, its keeper does
that, and also if this one is stopped and does not read its input.
"""

from __future__ import annotations

import argparse
import os
import select
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..host.source import Live
from ..terms.errors import Refused, sentence

if TYPE_CHECKING:
    from ..changes import Change, Result


def hold(
    changes: Sequence[Change], args: argparse.Namespace, show: Callable[[Sequence[Result]], int]
) -> int:
    """Make the changes, show them, and revert them at the end of standard input.

    Refused: not root, or a change could not be made or reverted.
    """
    from ..changes.plan import forecast
    from ..trials.lever import LeverError, Switch

    if args.keep:
        raise Refused("--hold reverts the changes, and --keep keeps them: give one of them", 2)
    if os.geteuid() != 0:
        raise Refused("--hold needs root: sudo nettop set …", 4)
    if not changes:
        return show(())
    source = Live()
    made = [replace(forecast(one, source), state="applied") for one in changes]
    try:
        with Switch((), args.finding or "", exactly=changes, silence=args.hold) as lever:
            lever.put(1)
            show(made)
            sys.stdout.flush()
            silent = wait(args.hold, lever.hold)
    except (LeverError, ValueError, OSError) as error:
        raise Refused(sentence(error), 4) from None
    if silent:
        raise Refused(f"standard input was silent for {args.hold:g} s: the change is reverted", 4)
    return 0


def wait(seconds: float, heard: Callable[[], None]) -> bool:
    """Read standard input to its end: False. True if nothing comes for so many seconds.

    `heard` is called first, and after each read.
    """
    heard()
    while select.select([0], [], [], seconds)[0]:
        more = os.read(0, 1 << 12)
        heard()
        if not more:
            return False
    return True
