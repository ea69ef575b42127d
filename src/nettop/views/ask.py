"""Keys as values: a binding, the request that a key makes, and the next view.

A key never acts on the host itself. It gives the next `View` and, where that is not enough, an
`Ask` that the application carries out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .scene import Scene, View


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to the application: the verb, its target and its value."""

    verb: str
    target: str = ""
    value: str = ""


Next = tuple[View, Ask | None]


@dataclass(frozen=True, slots=True)
class Key:
    """One binding: the keys (as Textual names them, or the character), and what they do."""

    keys: tuple[str, ...]
    action: str
    help: str
    group: str  # panes moving looking doing nettop
    shown: str = ""
    press: Callable[[View, Scene], Next] | None = None  # of a key that a pane declares
    everywhere: bool = False  # of such a key: other panes answer it too, by opening its pane
