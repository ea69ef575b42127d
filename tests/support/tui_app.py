"""An application that records what it is told."""

from __future__ import annotations

import pathlib

from nettop.tui.keys import Ask
from nettop.views.scene import Scene, View

SHOTS = pathlib.Path(__file__).parents[2] / "screenshots"


class Told:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Ask] = []
        self.stopped = False

    def do(self, ask: Ask, view: View, scene: Scene) -> None:
        self.asked.append(ask)

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self.stopped = True

    def know(self, scene: Scene, view: View) -> None: ...

    def wait(self, seconds: float) -> bool:
        return True
