"""A recording that is shorter than a rule holds is judged as the host was, observed so long."""

from __future__ import annotations

from pathlib import Path

from nettop.host.recording import Replay, load
from nettop.views.observer import Observer

HOST = Path(__file__).parents[1] / "hosts" / "vm-send-buffer.host"


def test_the_hold_of_rules_is_limited_to_the_length_of_a_recording() -> None:
    source = Replay(load(str(HOST)))
    source.moments = source.moments[:4]
    assert 0 < source.length < 60
    assert Observer(source, window=60.0).judge.window == source.length
    assert Observer(source, window=1.0).judge.window == 1.0
    assert Observer(source).judge.window is None
