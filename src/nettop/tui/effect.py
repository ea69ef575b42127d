"""Options of the screen take effect while it runs."""

from __future__ import annotations

from dataclasses import replace

from textual.app import App

from ..views.options import Options
from ..views.scene import Scene
from . import internals, themes
from .board import Board
from .working import Engine


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
