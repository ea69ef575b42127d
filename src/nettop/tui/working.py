"""Protocols of the two parts that work behind the screen. Tests put others in their place."""

from __future__ import annotations

from typing import Protocol

from ..views.ask import Ask
from ..views.scene import Scene, View


class Actions(Protocol):
    """Carries out requests on the host (`actions.Actions`)."""

    def start(self) -> None:
        """Read the journal and the results for the first time."""

    def do(self, ask: Ask, view: View, scene: Scene) -> None:
        """Start to carry out a request; returns at once."""

    def know(self, scene: Scene, view: View) -> None:
        """Take note of the latest scene and view; returns at once."""

    def stop(self) -> None:
        """End the running test."""

    def wait(self, seconds: float) -> bool:
        """Wait for requests that still run; False when some do after so many seconds."""


class Engine(Protocol):
    """Samples the host and posts scenes (`engine.Engine`)."""

    interval: float  # seconds between samples

    def start(self) -> None:
        """Start to sample."""

    def look(self, view: View) -> None:
        """Take note of a changed view."""

    def refresh(self) -> None:
        """Read everything anew: the host was changed."""

    def record(self, path: str) -> None:
        """Start a recording to a file; an empty path ends it."""

    def stop(self) -> None:
        """End soon."""
