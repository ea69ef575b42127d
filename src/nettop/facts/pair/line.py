"""The stages of both hosts in one line, from the thread that writes to the thread that reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..limits import Limit, Reading
from ..limits.stages import declared
from . import BETWEEN


def stages(sender: Limit | None, receiver: Limit | None, ends: tuple[str, str]) -> list[Reading]:
    """The stages on the way; `ends` are the hosts of sender and receiver, `here` or `there`."""
    known = declared()
    near = list(_own(sender, "tx", ends[0]))
    far = [one for one in _own(receiver, "rx", ends[1]) if one.stage != "path"]
    windows = (one for one in (sender.ladder if sender is not None else ()) if one.stage == "rwnd")
    far += [replace(one, end=ends[1]) for one in windows]
    near.sort(key=lambda one: known[one.stage].sending)
    far.sort(key=lambda one: known[one.stage].receiving)
    return [*near, *far]


def _own(limit: Limit | None, direction: str, end: str) -> Iterator[Reading]:
    """The stages of one end that are on the way, with the host at which they are."""
    for one in limit.ladder if limit is not None else ():
        stage = declared()[one.stage]
        if stage.place(direction) and (one.end == "here" or stage.between):
            yield replace(one, end=end if one.end == "here" else BETWEEN)
