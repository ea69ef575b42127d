"""The entries of the command palette: every action with a key, every pane, every theme."""

from __future__ import annotations

from collections.abc import Iterator

from .. import panes
from . import keys, themes


def commands() -> Iterator[tuple[str, str, tuple[str, str]]]:
    """Title, hint, and the entry: its kind ("pane", "theme" or "action") and its name."""
    for name in panes.names():
        module = panes.pane(name)
        yield f"Pane: {module.TITLE}", f"key {module.KEY}", ("pane", name)
    for key in keys.KEYS:
        if key.action not in ("open", "palette"):
            title = key.help[:1].upper() + key.help[1:]
            yield title, f"key {keys.shown_as(key)}", ("action", key.action)
    for name in themes.NAMES:
        yield f"Theme: {name}", "colours", ("theme", name)
