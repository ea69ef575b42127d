"""The stages of both hosts in one line, from the thread that writes to the thread that reads."""

from __future__ import annotations

from dataclasses import replace

from ..limits import Limit, Reading
from ..limits.stages import declared
from . import BETWEEN


def stages(sender: Limit | None, receiver: Limit | None, ends: tuple[str, str]) -> list[Reading]:
    """The stages on the way; `ends` are the hosts of sender and receiver, `here` or `there`."""
    known, ways = declared(), {"tx": sender.ladder if sender else ()}
    ways["rx"] = receiver.ladder if receiver else ()
    found = [
        (direction, replace(one, end=end if one.end == "here" else BETWEEN))
        for (direction, ladder), end in zip(ways.items(), ends, strict=True)
        for one in ladder
        if known[one.stage].place(direction) and (one.end == "here" or known[one.stage].between)
        and not (direction == "rx" and one.stage == "path")
    ]  # fmt: skip
    found += [("rx", replace(one, end=ends[1])) for one in ways["tx"] if one.stage == "rwnd"]
    found.sort(key=lambda at: (at[0] == "rx", known[at[1].stage].place(at[0])))
    return [one for _, one in found]
