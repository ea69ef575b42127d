"""The lines of a journal that was made smaller: one for each entry that is kept."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence

from .entry import JournaledChange, begin
from .lines import Line


def smaller(entries: Sequence[JournaledChange], failures: Sequence[Line], most: int) -> str:
    """The text of a journal of at most `most` bytes, without the oldest entries.

    Those that an undo may need, and the failures, are kept whatever their size.
    """
    needed = _needed(entries)
    texts = {e.id: json.dumps(begin(e), separators=(",", ":")) for e in entries}
    room = most - sum(len(texts[number]) + 1 for number in needed)
    kept: list[str] = []
    for number in sorted(texts, reverse=True):
        room -= 0 if number in needed else len(texts[number]) + 1
        if room >= 0 or number in needed:
            kept.append(texts[number])
    rows = (*reversed(kept), *(json.dumps(line) for line in failures))
    return "".join(row + "\n" for row in rows)


def _needed(entries: Sequence[JournaledChange]) -> set[int]:
    """The entries that an undo may need: open ones, and what was reverted under an open one.

    The newest is one of them, because the next has the number after it.
    """
    still_open = [entry.id for entry in entries if entry.open]
    needed = {*still_open, *(entry.id for entry in entries[-1:])}
    for entry in entries:
        at = bisect_right(still_open, entry.id)
        if still_open[at : at + 1] and still_open[at] <= entry.last:
            needed.add(entry.id)
    return needed
