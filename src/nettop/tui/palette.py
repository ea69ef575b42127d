"""The entries of the command palette: what can be done here, other actions, panes, themes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .. import panes
from ..panes import hints
from ..views.ask import Key
from ..views.options import THEMES
from ..views.scene import Scene
from ..views.view import View
from . import keys

if TYPE_CHECKING:
    from textual.command import Provider


def provider() -> type[Provider]:
    """What lists the entries in their order; imported when the palette opens."""
    from .entries import Entries

    return Entries


def commands(view: View, scene: Scene) -> Iterator[tuple[str, str, tuple[str, str]]]:
    """Title, hint, and the entry: its kind ("pane", "theme" or "action") and its name.

    What can be done with the row under the cursor comes first.
    """
    known = {key.action: key for key in keys.KEYS if key.action not in ("open", "palette")}
    first = [one.action for one in hints.hints(scene, view) if one.action in known]
    order = list(dict.fromkeys([*first, *known]))
    yield from (_action(known[name]) for name in order[: len(set(first))])
    for name in panes.names():
        module = panes.pane(name)
        yield f"Pane: {module.TITLE}", f"key {module.KEY}", ("pane", name)
    yield from (_action(known[name]) for name in order[len(set(first)) :])
    for name in THEMES:
        yield f"Theme: {name}", "colours", ("theme", name)


def _action(key: Key) -> tuple[str, str, tuple[str, str]]:
    title = key.help[:1].upper() + key.help[1:]
    return title, f"key {keys.shown_as(key)}", ("action", key.action)
