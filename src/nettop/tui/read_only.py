"""The read-only screen: which keys it refuses."""

from __future__ import annotations

from typing import Final

from ..views.ask import Ask
from ..views.scene import View

# what concerns the screen itself; every other verb does something to the host or writes a file
HARMLESS: Final = frozenset("copy dismiss faster palette quit slower suspend".split())
REFUSED: Final = "read-only: this screen changes nothing, runs no test and writes no file"


def refused(before: View, after: View, ask: Ask | None) -> bool:
    """Whether a key asked for more than a view.

    Values cannot be typed. Counting drops by reason loads a program into the kernel: only
    `--drop-reasons` on the command line does that here.
    """
    doing = ask is not None and ask.verb not in HARMLESS
    return doing or bool(after.editing) or after.reasons != before.reasons
