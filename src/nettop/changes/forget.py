"""Remove the one file that `--install` put at another host (`--forget`), if no change needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..host import install
from ..terms.errors import Refused
from ..terms.text import safe
from .remote import AbsentError, Remote

_WATCHED: Final = frozenset({"pending", "held", "begun"})  # a process there may have to revert it
_MADE: Final = frozenset({"applied", "rounded"})


def forget(words: Sequence[str], *, asks: bool = False) -> str:
    """Remove it; what was done, in one sentence. Refused while a change there is unconfirmed."""
    name = safe(" ".join(words))
    known = install.look(words, asks=asks)
    if not (known.root or known.user):
        return f"{name}: nothing to remove: --install has put nothing there"
    states: list[str] = []
    if known.root:
        try:
            journal = Remote(words, root=known.way == "direct").journal()
        except AbsentError as error:  # the file is gone, or of another version
            why = f"nothing was removed: {error}; --install it, then --forget removes all"
            raise Refused(why, 3) from None
        except OSError as error:
            raise Refused(f"nothing was removed: {error}", 3) from None
        states = [str(one.get("state")) for one in journal]
    if not _WATCHED.isdisjoint(states):
        raise Refused(f"nothing was removed: a change at {name} is unconfirmed or in a test", 4)
    made = sum(state in _MADE for state in states)
    folder = install.forget(words, known, keep=made > 0, asks=asks)
    if not folder:
        return f"{name}: removed, with what it made there"
    why = f", with {made} change{'s' * (made > 1)} in force" if made else ", which was there before"
    return f"{name}: removed; its journal stays in {folder}{why}"
