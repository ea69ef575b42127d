"""The screen as the parts that post updates see it."""

from nettop.views.scene import Scene


class Heard:
    """A scene that updates are applied to."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def __call__(self, update: object) -> None:
        assert callable(update)
        self.scene = update(self.scene)

    @property
    def last(self) -> str:
        return self.scene.notes[-1].text
