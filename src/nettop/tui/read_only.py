"""A screen for reading only: what its keys may not do."""

from __future__ import annotations

from typing import Final

from ..views.scene import View
from .keys import Ask

# what concerns the screen itself; every other verb does something to the host or writes a file
HARMLESS: Final = frozenset("copy dismiss faster palette quit slower suspend".split())
REFUSED: Final = "reading only: this screen changes nothing, runs no test and writes no file"


def refused(before: View, after: View, ask: Ask | None) -> bool:
    """Whether a key asked for more than to look.

    A value is not even typed. Drops are counted by a program in the kernel, so that is for who
    starts the screen (`--drop-reasons`).
    """
    doing = ask is not None and ask.verb not in HARMLESS
    return doing or bool(after.editing) or after.reasons != before.reasons
