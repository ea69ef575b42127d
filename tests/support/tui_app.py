"""Actions that record requests instead of carrying them out."""

from __future__ import annotations

import pathlib

from nettop.tui.keys import Ask
from nettop.views.scene import Scene, View

SHOTS = pathlib.Path(__file__).parents[2] / "screenshots"


class Recorder:
    """Records the requests of keys."""

    def __init__(self) -> None:
        self.requests: list[Ask] = []
        self.stopped = False

    def do(self, ask: Ask, view: View, scene: Scene) -> None:
        self.requests.append(ask)

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self.stopped = True

    def follow(self, scene: Scene, view: View) -> None: ...

    def wait(self, seconds: float) -> bool:
        return True
