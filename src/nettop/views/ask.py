"""Keys as values: a binding, the request of a key, and the next view.

A key never acts on the host itself. It gives the next `View` and, if more is needed, an `Ask` that
the application carries out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..terms.dataclass import dataclass
from ..terms.text import Line
from .scene import Scene
from .view import View


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to the application: the verb, its target and its value."""

    verb: str
    target: str = ""
    value: str = ""


class Hint(NamedTuple):
    """A key, what it does here, and the action that a click on it does."""

    key: str
    text: str
    action: str


class Pointer(NamedTuple):
    """The mouse over the painted screen, in cells from its upper left corner."""

    x: int
    y: int
    width: int  # of the screen
    height: int
    row: Line = ()  # the painted row under it
    part: str = ""  # the title of the part of the pane under it


Next = tuple[View, Ask | None]


@dataclass(frozen=True, slots=True)
class Key:
    """One binding: the keys (as Textual names them, or the character), and what they do."""

    keys: tuple[str, ...]
    action: str
    help: str
    group: str  # heading in the help: panes, moving, looking, doing, nettop
    shown: str = ""  # how the help writes the keys; empty: `keys` with spaces
    press: Callable[[View, Scene], Next] | None = None  # what a pane's own key does
    everywhere: bool = False  # a pane's own key works in every pane: it opens its pane first
