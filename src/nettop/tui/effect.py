"""What a key, an option or a new finding does to the running screen.

A new critical finding rings the bell and is a notification (`bell = true`). This is OSC 9 of
iTerm2, which other terminals know too; the rest ignore it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.app import App

from ..terms.text import safe
from ..views.scene import Scene
from ..views.view import Options
from . import internals, themes
from .board import Board
from .notes import not_this_host
from .working import Engine

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding


def show(
    app: App[int], board: Board, engine: Engine | None, options: tuple[Options, Options]
) -> None:
    """Put what differs between the old and the new options into effect."""
    old, new = options
    if new.theme != old.theme:
        app.ansi_color = themes.native(new.theme)
        board.set_palette(themes.palette(new.theme))
    if new.mouse != old.mouse:
        internals.use_mouse(app, on=new.mouse)
    if new.interval != old.interval and engine is not None:
        engine.interval = new.interval


def on_scene(scene: Scene, options: Options) -> Scene:
    """The scene with the options that panes draw by."""
    return replace(scene, units=options.units, interval=options.interval)


def sampled(engine: Engine | None, verb: str, scene: Scene) -> tuple[str, str] | None:
    """Record what is sampled from now on, or count what has no counter; a note and its role."""
    if scene.origin:
        return not_this_host(scene.origin), "warn"
    if engine is not None and verb == "record":
        return record_key(engine, scene.recording)
    if engine is not None:
        engine.look()
    return None


def record_key(engine: Engine, running: str) -> tuple[str, str]:
    """Begin a recording in the current directory, or end the running one; a note and its role."""
    if running:
        engine.record("")
        return "the recording is being written", "dim"
    path = os.path.abspath(time.strftime("nettop-%Y%m%d-%H%M%S.host.gz", time.gmtime()))
    engine.record(path)
    return f"recording to {path}; r ends it", "good"


def newly_critical(before: Scene, after: Scene) -> list[Finding]:
    """The critical findings that did not hold before in this run; none in the first scene."""
    if before.facts is None:
        return []
    known = {one.id for one in (*before.findings, *before.muted)}
    known |= {one.finding.id for one in before.ended}
    return [one for one in after.findings if one.severity == "critical" and one.id not in known]


def bell(findings: Sequence[Finding]) -> str:
    """The control sequence for these findings: the bell, and the titles as a notification."""
    if not findings:
        return ""
    more = f" and {len(findings) - 1} more" if len(findings) > 1 else ""
    return f"\a\x1b]9;nettop: {safe(findings[0].title)}{more}\a"
