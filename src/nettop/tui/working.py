"""Protocols of the two parts that work in the background. Tests use other implementations."""

from __future__ import annotations

from typing import Protocol

from ..views.ask import Ask
from ..views.scene import Scene
from ..views.view import View


class Actions(Protocol):
    """Carries out requests on the host (`actions.Actions`)."""

    def start(self) -> None:
        """Read the journal and the results for the first time."""

    def do(self, ask: Ask, view: View, scene: Scene) -> None:
        """Start to carry out a request; returns at once."""

    def follow(self, scene: Scene, view: View) -> None:
        """Read what this scene and view need; returns at once."""

    def stop(self) -> None:
        """End the running test."""

    def wait(self, seconds: float) -> bool:
        """Wait for running requests; False if some still run after so many seconds."""


class Engine(Protocol):
    """Samples the host and posts scenes (`engine.Engine`)."""

    interval: float  # seconds between samples

    def start(self) -> None:
        """Start to sample."""

    def set_view(self, view: View) -> None:
        """The view has changed."""

    def advance(self) -> bool:
        """Go on by one moment in a recording, also if it is held; False for another source."""

    def refresh(self) -> None:
        """The host was changed: read everything again."""

    def look(self) -> None:
        """Count drops and failed calls for some seconds."""

    def record(self, path: str) -> None:
        """Start a recording to a file; an empty path ends it."""

    def stop(self) -> None:
        """End the loop soon."""
