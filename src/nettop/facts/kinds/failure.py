"""A counter of failures that rises, and that no rule has of its own: collector `failures`."""

from __future__ import annotations

from ...collect._words import NORMAL
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind
from . import drop


@dataclass(frozen=True, slots=True)
class Failure:
    """One group of counters, by the name of its first."""

    name: str = label("its first counter, e.g. PAWSEstab")
    means: str = gauge("what is counted", default="")
    cause: str = gauge("why it happens", default="")
    advice: str = gauge("how to find out more, and what helps", default="")
    rests: str = gauge("the source that defines it", default="")
    events: float | None = maybe("counted now", "events/s")
    least: float = gauge("number in ten seconds from which it matters", "events", default=3.0)
    reason: str = gauge("drop reason of the kernel that says more, and is seen now", default="")


def build(frame: Frame, facts: Facts) -> tuple[Failure, ...]:
    """One fact for each group that moved."""
    entries = frame.tables.get("failures", ())
    drops = [one for one in drop.build(frame, facts) if one.kind != NORMAL]
    told = {name for one in drops for name in (one.reason, one.id)}
    return tuple(
        Failure(
            row.name,
            row.means,
            row.cause,
            row.advice,
            row.rests,
            rate,
            row.least,
            next((one for one in row.reasons.split() if one in told), ""),
        )
        for entry in entries
        if (rate := entry.rate("events")) and (row := entry.now)
    )


KIND = Kind(Failure, "failures", needs=("failures",), build=build, example={"name": "PAWSEstab"})
