"""How long the messages of a helper program are waited for, by a clock of the test's own."""

from __future__ import annotations

import queue
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from nettop.trials import end


class Silent:
    """A queue without a message until `after`; each wait takes its timeout, by the clock."""

    def __init__(self, after: float = 1e9) -> None:
        self.now = 100.0
        self.after = 100.0 + after
        self.waits: list[float] = []

    def get(self, timeout: float) -> dict[str, Any]:
        self.waits.append(round(timeout, 6))
        self.now += timeout
        if self.now < self.after - 1e-9:
            raise queue.Empty
        return {"port": 5001}


def waiting(clock: Silent, monkeypatch: pytest.MonkeyPatch) -> end.End:
    process: Any = SimpleNamespace(stdin=None, stdout=None, stderr=None)
    one = end.End(process, "capture", b"", "here", threading.Event())
    monkeypatch.setattr(end, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(one, "_queue", clock)
    return one


@pytest.mark.parametrize(
    ("seconds", "waits"),
    [(0.0, []), (0.05, [0.05]), (0.25, [0.1, 0.1, 0.05]), (0.95, [0.1] * 9 + [0.05])],
)
def test_a_message_is_waited_for_as_long_as_asked(
    seconds: float, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Silent()
    with pytest.raises(TimeoutError):
        waiting(clock, monkeypatch).receive(seconds)
    assert [wait for wait in clock.waits if wait > 1e-3] == pytest.approx(waits, abs=1e-3)
    assert clock.now == pytest.approx(100.0 + seconds, abs=1e-3)


def test_a_message_in_the_last_moment_is_received(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Silent(after=0.9)
    assert waiting(clock, monkeypatch).receive(0.95) == {"port": 5001}
    assert len(clock.waits) == 9


def test_a_cancelled_wait_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Silent()
    one = waiting(clock, monkeypatch)
    one._cancel.set()
    with pytest.raises(end.Cancelled):
        one.receive(60.0)
    assert not clock.waits
