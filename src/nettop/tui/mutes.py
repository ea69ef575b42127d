"""The list of muted findings: written from the screen, and what the scene becomes by it."""

from __future__ import annotations

from dataclasses import replace

from .. import config
from ..panes.listed import may_mute, mutes
from ..views.scene import Scene
from .notes import Update, note


def put(name: str, *, muted: bool) -> Update:
    """Write the name on the list, or take it off; the update that shows it so.

    OSError when the list cannot be written; ConfigError when it cannot be read.
    """
    names = [one for one in config.muted() if one != name]
    config.mute([*names, name] if muted else names)
    said = f"muted {name}; M shows the muted ones" if muted else f"{name} is shown again"

    def update(scene: Scene) -> Scene:
        rest = tuple(one for one in scene.mutes if one != name)
        listed = replace(scene, mutes=(*rest, name) if muted else rest)
        return note(said, "good")(sorted_by_mutes(listed))

    return update


def sorted_by_mutes(scene: Scene) -> Scene:
    """The findings that hold, those on the list of muted findings apart.

    Those that the judge muted by the name of a process stay muted while such a name is on the list.
    """
    names = scene.mutes
    muted = tuple(f for f in scene.muted if any(may_mute(name, f) for name in names))
    muted += tuple(f for f in scene.findings if any(mutes(name, f) for name in names))
    if muted == scene.muted:
        return scene
    every = (*scene.findings, *scene.muted)
    quiet = {f.id for f in muted}
    ended = tuple(one for one in scene.ended if one.finding.id not in names)
    return replace(
        scene, findings=tuple(f for f in every if f.id not in quiet), muted=muted, ended=ended
    )
