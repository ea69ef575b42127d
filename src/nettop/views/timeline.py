"""Rates and losses of an interface by equal steps of time, and the events on the same axis.

Steps are bound to absolute time, and only whole pairs of steps are given. A graph with two steps to
a cell therefore moves by whole cells, every second step, and stays as it is in between. While there
are few samples, each has one cell or more, so that the graph is not empty for its first minutes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Final
from weakref import WeakKeyDictionary

from ..advice.rules.severity import SERIOUS
from ..terms.dataclass import dataclass
from ..terms.text import repeats
from .altered import changes
from .past import History, Summary, Trace
from .scene import Scene

LONGEST: Final = 15  # steps for which a rate may be repeated: it is a mean since the sample before
_Values = tuple[float | None, float | None, float | None]
_NONE: Final[_Values] = (None, None, None)
START: Final = 5.0  # seconds; a finding that holds this soon after the start began before it


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Values by step, the oldest first; None where there is no sample. `end` is a time as `at`.

    It is equal only to itself, so that what is drawn of it can be cached.
    """

    step: float  # seconds
    end: float
    rx: Sequence[float | None] = ()  # bytes/s
    tx: Sequence[float | None] = ()
    lost: Sequence[float | None] = ()  # packets/s


@dataclass(frozen=True, slots=True)
class Event:
    """What happened `ago` seconds before the end of the axis."""

    ago: float
    kind: str  # the severity of a finding that began, "change" or "ended"
    text: str
    id: str = ""  # of the finding, or of the change in the journal


def timeline(past: History, nic: str, steps: int, interval: float = 1.0) -> Timeline:
    """The last `steps` steps of an interface; a step is `interval`, at least a second.

    A step is a part of that while the samples seen need fewer steps. The same object is given as
    long as nothing in it changes.
    """
    step, last = last_step(past, interval)
    moments = past.fine
    if not moments or steps < 2:
        return Timeline(step, 0.0)
    each = repeats(last - int(moments[0].at // step) + 1, steps)
    if each % 2 == 0:  # then a step takes whole cells; otherwise only two steps together do
        last = int(moments[-1].at // step)
    whole = -(-steps // each)
    first = bisect_left(moments, (last - whole + 1) * step, key=_at)
    end = bisect_left(moments, (last + 1) * step, key=_at)
    if end < len(moments) and (not end or moments[end - 1].at < last * step):
        end += 1  # the last steps have no sample of their own
    return _track(moments[first:end], nic, steps, each, step, last)


def last_step(past: History, interval: float) -> tuple[float, int]:
    """The length of a step in seconds, and the number of the last one that is drawn."""
    step = max(1.0, interval)
    last = int(past.fine[-1].at // step) if past.fine else -1
    return step, last - (1 - last % 2)  # the end of a pair


_at: Final = attrgetter("at")


@lru_cache(maxsize=4)
def _track(
    moments: tuple[Summary, ...], nic: str, steps: int, each: int, step: float, last: int
) -> Timeline:
    """The steps up to number `last`, each repeated; a rate covers the time since the one before."""
    whole = -(-steps // each)
    start = last - whole + 1
    known: list[_Values | None] = [None] * whole
    before: int | None = None
    for moment in moments:
        number = int(moment.at // step)
        values = _values(moment, nic)
        if number == before:
            known[number - start] = _larger(known[number - start], values)
            continue
        if before is not None and number - before <= LONGEST:
            for place in range(before + 1, min(number, last + 1)):
                known[place - start] = values
        if number <= last:
            known[number - start] = values
        before = number
    repeated = [values or _NONE for values in known for _ in range(each)][-steps:]
    return Timeline(step / each, (last + 1) * step, *zip(*repeated, strict=True))


_KNOWN: Final[WeakKeyDictionary[Summary, dict[str, _Values | None]]] = WeakKeyDictionary()


def _values(moment: Summary, nic: str) -> _Values | None:
    """The rates of an interface at one moment; None if it was not there.

    The same moments are drawn again each second: their rates are kept as long as they are.
    """
    known = _KNOWN.setdefault(moment, {})
    if nic not in known:
        port = moment.ports.get(nic)
        known[nic] = None if port is None else (port.rx, port.tx, port.lost)
    return known[nic]


def _larger(one: _Values | None, other: _Values | None) -> _Values | None:
    """The larger of each value, for a step with two samples."""
    if one is None or other is None:
        return one or other
    pairs = zip(one, other, strict=True)
    rx, tx, lost = (max((v for v in pair if v is not None), default=None) for pair in pairs)
    return rx, tx, lost


def events(scene: Scene, end: float, seconds: float) -> list[Event]:
    """The findings that began or ended and the changes made in the `seconds` before `end`."""
    moments = scene.past.fine
    if not moments:
        return []
    offset = moments[-1].wall - moments[-1].at
    begun = moments[0].at + START
    known: list[tuple[float, str, str, str]] = [
        (entry.wall - offset, "change", entry.setting, entry.id) for entry in changes(scene)
    ]
    for finding in scene.findings:
        began = moments[-1].at - finding.held
        if began > begun and finding.severity in SERIOUS:
            known.append((began, finding.severity, finding.title, finding.id))
    gone = [(one.wall - offset, one.finding) for one in scene.ended]
    known += [(at, "ended", finding.title, finding.id) for at, finding in gone]
    shown = [Event(end - at, kind, text, id_) for at, kind, text, id_ in known]
    return sorted((one for one in shown if 0 <= one.ago < seconds), key=lambda one: -one.ago)


def traces(past: History, flow: str, steps: int, step: float) -> list[Trace | None]:
    """A flow at the last sample of each of the last `steps` steps of `step` seconds.

    A step without a sample has that of the next step with one: rates are means since the sample
    before.
    """
    values: list[Trace | None] = [None] * steps
    moments = past.fine
    if not moments:
        return values
    last = int(moments[-1].at // step)
    last -= 1 - last % 2
    number = last + 1
    after: Trace | None = None
    for moment in reversed(moments):
        at = int(moment.at // step)
        if at > last or at == number:
            continue
        if at <= last - steps:
            break
        kept = moment.flows.get(flow)
        if after is not None and number - at <= LONGEST:
            values[at - last : number - last - 1] = [after] * (number - at - 1)
        number, after = at, kept
        values[at - last - 1] = kept
    return values


def trace(past: History, flow: str, steps: int, step: float) -> list[float | None]:
    """The rate of a flow (bytes/s) at the last sample of each of the last `steps` steps."""
    return [None if one is None else one.rate for one in traces(past, flow, steps, step)]
