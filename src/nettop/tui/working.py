"""What the screen sets to work: who makes its scenes, and who does things to the host."""

from __future__ import annotations

from typing import Protocol

from ..views.scene import Scene, View
from .keys import Ask


class Doer(Protocol):
    """What does things to the host (`actions.Actions`)."""

    def do(self, ask: Ask, view: View, scene: Scene) -> None:
        """Start what was asked for."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End what still runs."""


class Looker(Protocol):
    """What makes scenes (`engine.Engine`)."""

    interval: float

    def start(self) -> None:
        """Begin."""

    def look(self, view: View) -> None:
        """The view has changed."""

    def record(self, path: str) -> None:
        """Begin a recording, or end it with an empty path."""

    def stop(self) -> None:
        """End."""
