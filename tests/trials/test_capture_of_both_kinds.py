"""capture: its own ring, or with `--pid` the running capture of another program."""

from typing import Any

import pytest

from nettop.trials.result import Options
from nettop.trials.tools import capture


@pytest.mark.parametrize(("pid", "captor"), [(None, capture.ring), (4711, capture.watched)])
def test_each_size_is_captured_by_the_chosen_captor(
    pid: int | None, captor: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Trial:
        options = Options(to="10.0.0.2", pid=pid)

    trial: Any = Trial()
    asked: list[tuple[object, object]] = []
    result = object()

    def sweep(*words: object) -> object:
        asked.append((words[0], words[1]))
        return result

    monkeypatch.setattr(capture, "sweep", sweep)
    assert capture.measure(trial) is result
    assert asked == [(trial, captor)]
