"""Actions that record requests instead of carrying them out."""

import pathlib

from textual.pilot import Pilot

from nettop.tui.keys import Ask
from nettop.tui.screen import WIDEST, Nettop
from nettop.views.scene import Scene
from nettop.views.view import View

SHOTS = pathlib.Path(__file__).parents[2] / "screenshots"


async def settled(app: Nettop, pilot: Pilot[int]) -> None:
    """Until the screen shows all of its scene.

    The first frame is composed before the board has its size and before the cursor is bound to a
    row: the keys of that row are in the next frame, which a busy machine may draw much later.
    """
    while app.board.size != app.size:
        await pilot.pause()
    app.draw()
    await pilot.pause()


async def resized(app: Nettop, pilot: Pilot[int], width: int, height: int) -> None:
    """Give the terminal another size, and wait until the screen is drawn for it."""
    await pilot.resize_terminal(width, height)
    drawn = min(width, WIDEST), min(height, WIDEST)
    while app.board.size != drawn or app.board.size != app.size:
        await pilot.pause()
    await settled(app, pilot)


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
