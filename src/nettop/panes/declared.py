"""The names that a pane module declares; an optional name that is absent has the default here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from types import ModuleType

from ..terms.dataclass import dataclass
from ..terms.text import Line
from ..views.ask import Hint, Key, Next, Pointer
from ..views.scene import JournalEntry, Scene
from ..views.view import View
from .parts import Column


def columns(view: View, scene: Scene, by: int) -> View:  # noqa: ARG001
    """Scroll the columns."""
    return view.at(left=max(0, view.spot.left + by))


def _escape(view: View, scene: Scene) -> View:  # noqa: ARG001
    """Close the opened row; if none is open, clear the filter."""
    if view.spot.open:
        return view.at(open="", top=0)
    return view.at(filter="") if view.spot.filter else view


def _fold(view: View) -> View:
    """Fold or unfold idle cores."""
    return replace(view, fold_idle=not view.fold_idle)


def _unsorted(view: View) -> tuple[str, ...]:  # noqa: ARG001
    """One order, by no column."""
    return ("",)


def _itself(here: str) -> str:
    return here


def _changeable(scene: Scene, here: str) -> str:  # noqa: ARG001
    return ""


Printed = Callable[[View, View, Mapping[str, object], int], list[Line]]


@dataclass(frozen=True, slots=True)
class Pane:
    """A pane: the names of its module. `here` is the id of the row under the cursor, or empty."""

    TITLE: str
    KEY: str  # the digit that opens it
    LEGEND: str  # the meaning of its symbols, for the help
    NEEDS: tuple[str, ...]  # tables read only while it is shown
    items: Callable[[Scene, View], tuple[str, ...]]  # ids of the rows, in the order shown
    lines: Callable[[Scene, View, int, int], list[Line]]  # at most `height` lines of `width` cells

    # -- what it draws ----------------------------------------------------------------------------
    DRAWS: tuple[str, ...] | None = None  # tables of the frame that it draws; default: NEEDS
    COLUMNS: Sequence[Column] = ()  # of its table; the configuration may select some
    LAZY: tuple[str, ...] = ()  # fields of the scene that are filled only while it is shown
    BOUND: bool = False  # the cursor stays on the row that was painted under it
    PAGED: bool = False  # a row has a text: page keys scroll it; arrows too while it is open
    FILTERED: bool = False  # `/` chooses among its rows
    LISTED: bool = False  # page keys move the cursor while no row is open
    TIMELINE: bool = False  # draws the time up to now, also while an earlier moment is shown
    PROGRESS: bool = False  # shows the running test; other panes show one line and its key

    printed: Printed | None = None  # for `nettop show`, if the host plays no part; default: lines
    large: Callable[[Scene, View, int, int], list[Line]] | None = None  # for the whole screen
    hints: Callable[[Scene, View, str], tuple[Hint, ...]] | None = None  # keys for the footer

    # -- what keys do ----------------------------------------------------------------------------
    KEYS: tuple[Key, ...] = ()  # keys of its own
    enter: Callable[[View, Scene, str], Next] | None = None  # Enter; default: as `e`
    sideways: Callable[[View, Scene, int], View] = columns  # h l: -1 or 1; if declared, also ← →
    # the title that each sort order sorts by; default: those of ORDERS
    orders: Callable[[View], tuple[str, ...]] = _unsorted
    start: Callable[[Scene, View], str] | None = None  # the first row under the cursor, if not 0
    details: Callable[[Scene, View], tuple[str, ...]] | None = None  # n N: rows; default: items
    boxes: Callable[[Scene, View], tuple[tuple[str, ...], ...]] | None = None  # Tab: rows by part
    updown: Callable[[View, Scene, int], View] | None = None  # ↑ ↓: rows; default: the cursor
    escape: Callable[[View, Scene], View] = _escape
    fold: Callable[[View], View] = _fold  # `z`
    setting: Callable[[str], str] | None = None  # the setting that `e` changes
    value: Callable[[Scene, str], str] = _changeable  # the present value of that setting
    fixed: Callable[[Scene, str], str] = _changeable  # why it cannot be changed; "": it can
    command: Callable[[str], str] = _itself  # what `y` copies if the row has no planned change
    undoes: Callable[[Scene, str], list[JournalEntry] | None] | None = None  # `u`; None: default
    exports: Callable[[Scene], list[JournalEntry]] | None = None  # `x`; default: the plan
    row_at: Callable[[Scene, View, Pointer], str] | None = None  # the row that a click is on
    wheel: Callable[[View, Scene, Pointer, int], Next] | None = None  # -1 or 1; default: the cursor
    moment_at: Callable[[Scene, View, Pointer], float | None] | None = None  # under the mouse


def is_pane(module: ModuleType) -> bool:
    """Whether a module of this folder is a pane; the others are parts that panes share."""
    return hasattr(module, "KEY")


def of(module: ModuleType) -> Pane:
    """The pane that a module declares; AttributeError for a required name that it lacks."""
    names = [f.name for f in fields(Pane) if f.default is MISSING or hasattr(module, f.name)]
    declared = {name: getattr(module, name) for name in names}
    titles = tuple(one.title for one in getattr(module, "ORDERS", ()))
    return Pane(**({"orders": lambda _view: titles} if titles else {}) | declared)
