"""Add a name to the list of muted findings, or remove it."""

from __future__ import annotations

from dataclasses import replace

from .. import config
from ..views.build import sorted_by_mutes
from ..views.scene import Scene
from .notes import Update, note


def put(name: str, *, muted: bool) -> Update:
    """Write the list with or without the name; returns the update of the scene.

    OSError if the list cannot be written; ConfigError if it cannot be read.
    """
    names = [one for one in config.muted() if one != name]
    config.mute([*names, name] if muted else names)
    message = f"muted {name}; M shows the muted ones" if muted else f"unmuted {name}"

    def update(scene: Scene) -> Scene:
        rest = tuple(one for one in scene.mutes if one != name)
        listed = replace(scene, mutes=(*rest, name) if muted else rest)
        return note(message, "good")(sorted_by_mutes(listed))

    return update
