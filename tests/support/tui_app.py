"""Actions that record requests instead of carrying them out."""

import pathlib

from textual.pilot import Pilot

from nettop.tui.keys import Ask
from nettop.tui.screen import Nettop
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
