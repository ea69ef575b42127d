"""The `View`: what the user looks at, as an immutable value. Keys and the mouse make a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

from ..sampling.refresh import BUDGET
from ..terms.dataclass import dataclass
from ..terms.units import Units

THEMES: Final = ("dark", "light", "contrast", "colourblind", "ansi", "mono")
INTERVALS: Final = (0.5, 1.0, 2.0, 5.0, 10.0)  # seconds
BUDGETS: Final = (0.5, 1.0, 2.0, 5.0)  # percent of a core


@dataclass(frozen=True, slots=True)
class Options:
    """The options in effect; `View.columns` has the columns of the tables."""

    theme: str = "dark"
    units: Units = field(default_factory=Units)
    interval: float = 1.0  # seconds between samples
    budget: float = BUDGET  # percent of a core that sampling may take
    mouse: bool = True
    bell: bool = False  # the terminal signals a new critical finding
    ascii: bool = False


def stepped(steps: Sequence[float], now: float, by: int) -> float:
    """The value `by` steps above the one nearest to `now`."""
    place = min(range(len(steps)), key=lambda i: abs(steps[i] - now))
    return steps[max(0, min(len(steps) - 1, place + by))]


@dataclass(frozen=True, slots=True)
class Spot:
    """Cursor, scroll position, sort order and filter of one pane."""

    on: str = ""  # id of the row under the cursor: it follows its row when the order changes
    led: bool = False  # the pane put the cursor there, no key or mouse: it follows the pane's start
    index: int = 0  # of that row; the cursor's place if the row is gone
    top: int = 0  # first visible line of a text longer than the screen
    left: int = 0  # first visible column of a matrix wider than the screen
    sort: int = 0
    invert: bool = False
    filter: str = ""
    open: str = ""  # id of the item whose detail is shown
    mode: int = 0  # for the pane's own keys, for example seconds or hours


@dataclass(frozen=True, slots=True)
class Left:
    """A place that Enter on a figure left, for Esc to lead back to."""

    pane: str
    spots: Mapping[str, Spot]
    nic: str
    opened: str  # the detail that was opened at the other place


@dataclass(frozen=True, slots=True)
class View:
    """What the user looks at: pane, cursor, filter, sort order. Keys and the mouse change it."""

    pane: str = "overview"
    spots: Mapping[str, Spot] = field(default_factory=dict)
    nic: str = ""  # the chosen interface; empty: the busiest
    profile: str = ""  # chosen profile; empty: detected
    paused: bool = False
    typing: bool = False  # keys go into the filter
    help: bool = False
    fold_idle: bool = True  # one line for all idle cores
    driver_names: bool = False  # the driver's own counter names
    span: int = 0  # index in SPANS of the history pane
    marks: tuple[float, ...] = ()  # the ruler: moments (monotonic seconds), at most two
    form: Mapping[str, str] = field(default_factory=dict)  # edited values of the test form
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # chosen, by pane
    options: Options = field(default_factory=Options)  # in effect in this run
    editing: str = ""  # the form field or setting whose value is typed
    draft: str = ""  # the text typed so far
    untouched: bool = False  # the draft is the old value: the first character replaces it
    sheet: int = 0  # index of the question's sheet
    scroll: int = 0  # first visible row of that sheet
    read: int = 0  # rows of the sheet that were on the screen
    unread: int = -1  # rows of the sheet that were not yet; -1: none was
    proving: str = ""  # the finding to prove once its address is typed
    back: tuple[Left, ...] = ()  # the places that Esc leads back to, the last one first
    full: bool = False  # the graph of the pane on the whole screen
    journey: str = ""  # where these packets wait is shown: `*`, an interface or ports; empty: no
    moment: float = 0.0  # the moment shown (wall seconds); 0: the present
    size: tuple[int, int] = (0, 0)  # columns and rows of the screen that was painted last

    @property
    def spot(self) -> Spot:
        """The spot of the pane shown."""
        return self.spots.get(self.pane, Spot())

    def at(self, **changes: Any) -> View:
        """The view with these fields of the spot of the pane shown changed."""
        own = {"led": False} if "on" in changes else {}
        return replace(self, spots={**self.spots, self.pane: replace(self.spot, **own | changes)})


def under(items: tuple[str, ...], spot: Spot) -> int:
    """The index of the row under a cursor that is bound to an id; -1 if that row is gone.

    A cursor that was not painted yet has no id; its row is `spot.index`.
    """
    if spot.on:
        return items.index(spot.on) if spot.on in items else -1
    return min(spot.index, len(items) - 1)


def chosen(items: tuple[str, ...], spot: Spot) -> int:
    """The index of the row under the cursor: by id, else by the last index; -1 without rows."""
    if spot.on in items:
        return items.index(spot.on)
    return min(spot.index, len(items) - 1)
