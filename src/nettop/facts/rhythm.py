"""When drops and failed calls come: in bursts, and with which period.

Of one kind the moments that follow one another are a burst. What never rests is none. The numbers
are engineering judgement: a period is named from three bursts on, whose distances are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from ..collect import drop_reasons
from ..collect._counted import PART, Moment
from ..terms.units import seconds

LEAST: Final = 20  # events of a burst: fewer are chance
GAP: Final = 3  # parts of time without an event, at the most, inside a burst
SMALL: Final = 0.05  # of the fullest part: what is less stands between bursts
REST: Final = 3.0  # times as long as a burst: the time to the next one, at the least
BURSTS: Final = 3  # with a period
ALIKE: Final = 0.15  # of the period: by so much distances may differ, or by `SLACK`
SLACK: Final = 2  # parts of time
MOSTLY: Final = 0.8  # of the events: one thread ran meanwhile, or they are of the bursts
IDLE: Final = "swapper/"  # the names of the threads that run while a core is idle begin so


class Rhythm(NamedTuple):
    """The bursts of one kind of event, each alike."""

    what: str
    events: int  # of a burst, the median
    lasts: float  # seconds, the median
    bursts: int
    period: float | None  # seconds from one to the next; None: not regular, or of one burst
    thread: str = ""  # the one that ran meanwhile; empty: several


def rhythms(moments: Iterable[Moment]) -> list[Rhythm]:
    """What comes in bursts and is no normal drop, that with most events first."""
    kinds = dict[str, list[Moment]]()
    for one in moments:
        kinds.setdefault(one.what, []).append(one)
    kinds = {what: own for what, own in kinds.items() if not drop_reasons.words(what).normal}
    found = [rhythm for what, own in kinds.items() if (rhythm := _rhythm(what, own))]
    return sorted(found, key=lambda one: (-one.events * one.bursts, one.what))


def _rhythm(what: str, moments: list[Moment]) -> Rhythm | None:
    parts, threads = Counter[int](), Counter[str]()
    for one in moments:
        parts[one.part] += one.events
        threads[one.thread] += one.events
    fullest = max(parts.values())
    bursts = _bursts(sorted(part for part, n in parts.items() if n >= SMALL * fullest))
    sizes = [sum(parts[part] for part in range(begin, end + 1)) for begin, end in bursts]
    lengths = [end - begin + 1 for begin, end in bursts]
    steps = [after[0] - before[0] for before, after in pairwise(bursts)]
    rests = [step - length for step, length in zip(steps, lengths, strict=False)]
    whole = sum(sizes) >= MOSTLY * sum(parts.values())
    if len(bursts) < 2 or median(sizes) < LEAST or not whole:
        return None
    if min(rests) < REST * median(lengths):
        return None
    period = median(steps)
    alike = max(abs(step - period) for step in steps) <= max(SLACK, ALIKE * period)
    (thread, most), *_ = threads.most_common(1)
    known = most >= MOSTLY * threads.total() and not thread.startswith(IDLE)
    return Rhythm(
        what, round(median(sizes)), median(lengths) * PART, len(bursts),
        period * PART if alike and len(bursts) >= BURSTS else None, thread if known else "",
    )  # fmt: skip


def _bursts(parts: list[int]) -> list[tuple[int, int]]:
    """The first and the last part of each burst."""
    found: list[tuple[int, int]] = []
    for part in parts:
        if found and part - found[-1][1] <= GAP + 1:
            found[-1] = found[-1][0], part
        else:
            found.append((part, part))
    return found


def sentences(found: Iterable[Rhythm]) -> list[str]:
    """`40 ms of 6,000 drops (NO_SOCKET) every 5 s, while python3 ran`; times to 10 ms."""
    out = []
    for one in found:
        how = f"every {_rounded(one.period)}" if one.period else f"{one.bursts} times"
        ran = f", while {one.thread} ran" if one.thread else ""
        call, _, error = one.what.partition("/")
        events = f"failed {call} ({error})" if error else f"drops ({one.what})"
        out.append(f"{_rounded(one.lasts)} of {one.events:,} {events} {how}{ran}")
    return out


def _rounded(time: float) -> str:
    return seconds(max(0.01, round(time, 2)))
