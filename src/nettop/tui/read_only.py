"""The read-only screen: which keys it refuses."""

from __future__ import annotations

from typing import Final

from ..views.ask import Ask
from ..views.view import View
from .keys import TIMES

# verbs that concern the screen only; all others act on the host or write a file
HARMLESS: Final = TIMES | frozenset("copy dismiss faster palette quit slower suspend".split())
REFUSED: Final = "read-only: this screen changes nothing, runs no test and writes no file"


def refused(before: View, after: View, ask: Ask | None) -> bool:
    """Whether a read-only screen refuses a key.

    Values cannot be typed. Counting drops by reason loads a program into the kernel; here only the
    option `--drop-reasons` does that.
    """
    acting = ask is not None and ask.verb not in HARMLESS
    return acting or bool(after.editing) or after.reasons != before.reasons
