"""The wide graph: rates received above the axis, rates sent below it, losses under both.

All three share one axis of time. Under it stand the marks of findings and changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from ..advice.rules.severity import MARKS
from ..terms import braille
from ..terms.text import LEVELS, Line, cells, clauses, fit, line
from ..terms.units import Units, brief, per_second, seconds, share
from ..views.past import lost
from ..views.scene import Scene, once
from ..views.timeline import Event, Timeline, events, last_step, timeline
from .grid import merge
from .interfaces import load_of
from .parts import ROLES

if TYPE_CHECKING:
    from ..facts.kinds.nic import Nic

LABEL: Final = 12  # columns of the scale
SHADES: Final = 6  # of the gradient: roles rx-0 … rx-5 and tx-0 … tx-5
_IDLE: Final = 0.01  # share of the link that the scale has at least: noise stays low
_UNKNOWN: Final = 100e6  # bit/s assumed for a link of unknown speed
_ROUND: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)  # tops of a scale
_RATES: Final = 3  # rows of the rates at least
_LOW: Final = 0.15  # of the scale: a curve below it has three rows
_DEEP: Final = 3  # times four rows beyond the least, for a curve over the whole scale
HIGHEST: Final = 20  # rows of the graph beside other parts: more say no more
LEAST: Final = _RATES + 2  # rows of the graph at least: also the losses and the axis
_TICKS: Final = (1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0)  # seconds between two ticks of the axis
_APART: Final = 12  # columns between two ticks at least
_NOW: Final = "now"  # at the right end of the axis
_SHORTEST, _LONGEST = 24, 44  # columns of the name of an event: fewer say nothing
WIDEST: Final = 240  # columns of the widest graph whose marks can be selected
MARKS_MOST: Final = 8  # marks that can be selected, the latest ones
_EVENTS: Final = {"change": ("◆", "key"), "ended": ("○", "dim")}


def room(width: int) -> int:
    """The cells of the graph beside its scale."""
    return max(0, width - LABEL - 2)


def title(scene: Scene, nic: Nic) -> str:
    """The last rates with all headers, with their share of what TCP can carry; what is lost."""
    parts = []
    for name, rate in (("rx", nic.per_s.rx_bytes), ("tx", nic.per_s.tx_bytes)):
        load = load_of(nic, name)
        part = f" ({share(load)})" if load is not None and load >= 0.01 else ""
        parts.append(f"{name} {scene.units.rate(rate)}{part}")
    parts[0] = f"{scene.last}: {parts[0]}"
    if drops := lost(nic.per_s):
        parts.append(per_second(drops, "dropped"))
    return " · ".join(parts)


def rounded(value: float) -> float:
    """The next round number, so that a scale rarely changes."""
    if value <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return next((unit * step for step in _ROUND if value <= unit * step * 1.0005), unit * 10)


def top_of(values: Iterable[float | None]) -> float:
    """The top of a scale for these values; 0 where nothing moved."""
    most = max((value for value in values if value), default=0.0)
    return rounded(most) if most else 0.0


def split(rows: int, up: float, down: float) -> int:
    """The rows above the axis, of `rows`: the larger rate has more, but both have at least one."""
    if rows < 2 or up + down <= 0:
        return max(1, rows - 1)
    return max(1, min(rows - 1, round(rows * up / (up + down))))


def lines(scene: Scene, nic: Nic, width: int, height: int, on: str = "") -> list[Line]:
    """The graph in `height` lines of `width` cells; [] where it has no room or no two samples.

    `on` is the id of the mark under the cursor.
    """
    if len(scene.past.fine) < 2 or height < LEAST or room(width) < 20:
        return []
    track, known = _track(scene, nic, width)
    chosen = (
        next((one for one in reversed(latest(scene)) if id_of(one) == on), None) if on else None
    )
    least = (nic.speed or _UNKNOWN) * _IDLE / 8
    rates = _rates(track, scene.units, height - 2, least)
    return [*rates, _losses(track), _axis(track, known, chosen)]


def _track(scene: Scene, nic: Nic, width: int) -> tuple[Timeline, tuple[Event, ...]]:
    """The values of the graph, and the events on its axis."""
    track = timeline(scene.past, nic.name, 2 * room(width), scene.interval)
    return track, tuple(events(scene, track.end, track.step * len(track.rx)))


@once
def latest(scene: Scene) -> tuple[Event, ...]:
    """The latest events on the axis of the widest graph: those that the cursor can be on."""
    if len(scene.past.fine) < 2:
        return ()
    step, last = last_step(scene.past, scene.interval)
    return tuple(events(scene, (last + 1) * step, 2 * room(WIDEST) * step)[-MARKS_MOST:])


def marks(scene: Scene) -> tuple[str, ...]:
    """The ids of the latest events, the oldest first."""
    return tuple(dict.fromkeys(map(id_of, latest(scene))))


def mark_at(scene: Scene, nic: Nic, width: int, x: int) -> str:
    """The id of the event whose mark or name is at column `x` of the axis; empty for none."""
    track, known = _track(scene, nic, width)
    count, at = len(track.rx) // 2, x - LABEL - 1
    for event, following in reversed(_spaced(known, count, 2 * track.step)):
        first = count - 1 - int(event.ago / (2 * track.step))
        if first <= at < first + 1 + cells(named(event, following - first - 1)):
            return id_of(event)
    return ""


def sign(kind: str) -> tuple[str, str]:
    """The mark of an event and its role."""
    return _EVENTS.get(kind) or (MARKS[kind], ROLES[kind])


def id_of(event: Event) -> str:
    """What an event is about: `change:ID`, or `finding:ID`."""
    return f"{'change' if event.kind == 'change' else 'finding'}:{event.id}"


@lru_cache(maxsize=4)  # nothing of it changes for a second or more
def _rates(track: Timeline, units: Units, rows: int, least: float) -> tuple[Line, ...]:
    """Both directions on one scale, so that they can be compared; `least` is its least top."""
    most = [max((v for v in values if v), default=0.0) for values in (track.rx, track.tx)]
    upper = split(rows, *most)
    each = max(most[0] / upper, most[1] / (rows - upper), least / rows)
    larger = max(upper, rows - upper)
    each = rounded(8 * each * larger) / larger / 8
    rx = _area("rx", track.rx, upper, each, units)
    return (*rx, *_area("tx", track.tx, rows - upper, each, units))


def _area(
    name: str, values: Sequence[float | None], rows: int, each: float, units: Units
) -> list[Line]:
    """One direction: `rx` grows upward, `tx` downward; `each` is the rate that a row stands for."""
    down = name == "tx"
    drawn = braille.area(values, rows, each * rows, down=down)
    out = []
    for row, text in enumerate(drawn):
        above = row if down else rows - 1 - row  # rows between this one and the axis
        shade = above * (SHADES - 1) // max(1, rows - 1)
        label, role = ("", "dim")
        if above == rows - 1 and rows > 1:
            label = units.rate(each * rows)
        elif rows >= 2 * _RATES and 2 * (above + 1) in (rows, rows + 1):
            label = units.rate(each * rows / 2)  # the top of that row, or its middle
        elif above == 0:
            label, role = f"{name} {'▼' if down else '▲'}", f"{name}-{SHADES - 1}"
        out.append(
            line((fit(label, LABEL, ">"), role), " ", *braille.parts(text, f"{name}-{shade}"))
        )
    return out


def worth(scene: Scene, nic: Nic, width: int) -> int:
    """The most lines that the graph has something to say in; few while nothing moves."""
    track, _ = _track(scene, nic, width)
    both = (track.rx, track.tx)
    most = max((v for values in both for v in values if v), default=0.0)
    if most < (nic.speed or _UNKNOWN) * _IDLE / 8:
        return LEAST + 1
    return min(HIGHEST, 2 + sum(telling(values, most) for values in both))


def telling(values: Iterable[float | None], top: float) -> int:
    """The rows in which a graph shows what it has, of a scale up to `top`.

    A level curve, however high, says no more in many rows than in few. The steps are coarse, so
    that the parts below do not move with each sample.
    """
    known = [value for value in values if value is not None]
    most = max(known, default=0.0)
    if most < _LOW * top or not most:
        return 3 if most else 1
    return 4 + 4 * math.ceil(_DEEP * (most - min(known)) / top)


@lru_cache(maxsize=4)
def _losses(track: Timeline) -> Line:
    """The packets lost, in one row; a dot where none was."""
    pairs = [one if other is None else other if one is None else max(one, other)
             for one, other in zip_longest(track.lost[::2], track.lost[1::2])]  # fmt: skip
    most = max((v for v in pairs if v), default=0.0)
    parts = [
        (" ", "")
        if value is None
        else ("·", "faint")
        if not value
        else (LEVELS[min(7, int(value / most * 7.99))], "bad")
        for value in pairs
    ]
    known = any(value is not None for value in pairs)
    label = f"peak {brief(round(most))}/s" if most else "0 NIC drops" if known else "not counted"
    head = (fit(label, LABEL, ">"), "bad" if most else "dim")
    return line(head, " ", *merge(parts))


@lru_cache(maxsize=4)
def _axis(track: Timeline, known: tuple[Event, ...], chosen: Event | None) -> Line:
    """Minutes before now, and over them the marks of events with their names if there is room.

    The event under the cursor has its name; one that is before the axis is at its left end.
    """
    count = len(track.rx) // 2
    each = 2 * track.step
    pairs = zip(track.rx[::2], track.rx[1::2], strict=False)
    text = [" " if one is None and other is None else "─" for one, other in pairs]
    roles = ["faint"] * count
    least = _APART * each
    step = next((tick for tick in _TICKS if tick >= least), math.ceil(least / _TICKS[-1]) * 60.0)
    places = [count - 1 - int(event.ago / each) for event in known]
    end = min((at - 1 for at in places if at >= count - cells(_NOW)), default=count)
    if not any(end - cells(_NOW) <= at < end for at in places):  # left of a mark at the present
        _put(text, roles, end - cells(_NOW), _NOW, "dim")
    for event, following in _spaced(known, count, each):
        at = count - 1 - int(event.ago / each)
        mark, role = sign(event.kind)
        _put(text, roles, at, mark + named(event, following - at - 1), role)
    for number in range(1, int(count * each / step) + 1):
        at, told = count - 1 - round(number * step / each), f"┴{_ago(number * step)}"
        if at >= 0 and all(role == "faint" for role in roles[at : at + cells(told)]):
            _put(text, roles, at, told, "dim")
    if chosen is not None:
        told = sign(chosen.kind)[0] + named(chosen, count)
        at = min(count - 1 - int(chosen.ago / each), end - cells(_NOW) - cells(told))
        _put(text, roles, max(0, at), told, "select")
    return line(" " * (LABEL + 1), *merge(list(zip(text, roles, strict=True))))


def _spaced(known: Sequence[Event], count: int, each: float) -> list[tuple[Event, int]]:
    """Each event with the column of the next one, or of "now"."""
    places = [count - 1 - int(event.ago / each) for event in known]
    return list(zip(known, [*places[1:], count - cells(_NOW)], strict=False))


def named(event: Event, room: int) -> str:
    """What an event is in at most so many columns, with a space at each end; empty for few."""
    most = min(_LONGEST, room - 3)
    return f" {clauses(event.text, most)} " if most >= min(_SHORTEST, cells(event.text)) else ""


def _ago(duration: float) -> str:
    return seconds(duration).removesuffix(" 00 s")


def _put(text: list[str], roles: list[str], at: int, mark: str, role: str) -> None:
    for offset, char in enumerate(mark):
        if 0 <= at + offset < len(text):
            text[at + offset], roles[at + offset] = char, role
