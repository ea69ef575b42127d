"""The options of the screen are written to config.toml."""

from __future__ import annotations

from dataclasses import replace

from ..views.scene import Scene, changed
from ..views.view import View
from .notes import Update, note


def save(view: View, scene: Scene) -> Update:
    """Write the changed options; returns the update of the scene.

    ConfigError, one sentence, if the file cannot be changed; it is then as before.
    """
    from ..config import save

    values = changed(scene, view)
    if not values:
        return note("every option is in config.toml or as at the start", "dim")
    path = save(values)
    message = note(f"written to {path}: {', '.join(values)}", "good")
    return lambda now: message(replace(now, stored={**now.stored, **values}))
