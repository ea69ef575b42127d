"""A trial whose two ends are of the test: what was started there, and what they answer."""

import threading
from collections.abc import Callable, Iterator
from typing import Any, Self

from nettop.trials.result import Options
from nettop.trials.run import Trial, nobody


class FakeEnd:
    """A program at an end; it sends these messages, then it has ended."""

    where = "at ssh b"

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.queue = messages
        self.stopped = 0
        self.waited: list[str] = []
        self.patience: list[float] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def wait_for(self, field: str) -> dict[str, Any]:
        self.waited.append(field)
        while self.queue:
            message = self.queue.pop(0)
            if field in message:
                return message
        raise AssertionError(f"nothing with {field}")

    def receive(self, _seconds: float) -> dict[str, Any] | None:
        return self.queue.pop(0) if self.queue else None

    def messages(self, seconds: float) -> Iterator[dict[str, Any]]:
        self.patience.append(seconds)
        while self.queue:
            yield self.queue.pop(0)

    def stop(self) -> None:
        self.stopped += 1


class FakePeer:
    """One host: `answers` gives the messages of each program."""

    def __init__(self, answers: Callable[[str, Any], list[dict[str, Any]]]) -> None:
        self.answers = answers
        self.started: list[tuple[str, Any]] = []
        self.ends: list[FakeEnd] = []

    def start(self, script: str, options: Any) -> FakeEnd:
        self.started.append((script, options))
        end = FakeEnd(self.answers(script, options))
        self.ends.append(end)
        return end


def trial(
    options: Options,
    here: Callable[[str, Any], list[dict[str, Any]]],
    there: Callable[[str, Any], list[dict[str, Any]]] | None,
) -> tuple[Trial, FakePeer, FakePeer]:
    """The trial and its two hosts; without `there` the user has started the server."""
    near: Any = FakePeer(here)
    far: Any = FakePeer(there or (lambda _script, _options: []))
    one = Trial(options, near, far if there else None, nobody, threading.Event())
    one.samples.about["here"] = {"links": {"lo": {"mtu": 9000, "speed": 1000}}}
    return one, near, far
