"""A helper program of `trials/far` inside the test process: its messages, without its input."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest

from nettop.trials.far import protocol


class Clock:
    """A clock that only moves when it is told to; every reading is kept."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


class Program:
    """What one program sent, and the CPUs that it was pinned to."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.pinned: list[Any] = []
        self.watched = 0
        self.heard: Callable[[dict[str, Any]], None] = lambda _message: None

    def send(self, **message: Any) -> None:
        self.messages.append(message)
        self.heard(message)

    def watch_input(self) -> None:
        self.watched += 1


@contextmanager
def inside(module: ModuleType) -> Iterator[Program]:
    """The program of this module, started and heard by the test."""
    program = Program()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "send", program.send)
        for name, stand_in in (
            ("watch_input", program.watch_input),
            ("pin", program.pinned.append),
        ):
            patch.setattr(module, name, stand_in, raising=False)
        try:
            yield program
        finally:
            protocol.stopping.clear()
