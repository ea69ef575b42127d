"""A recording that grows stays within the bounds of a recording that is read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nettop.files import bounds
from nettop.host.archive import RecordingError, Room


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("moments", 2), ("entries", 3), ("recording", 100)):
        monkeypatch.setitem(bounds.BOUNDS, name, replace(bounds.BOUNDS[name], most=most))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("parts", "taken"),
    [
        (["-- a --\n1\n-- b --\n2\n-- c --\n3\n", "-- d --\n"], 1),  # entries
        (["-- @1.0 --\n", "-- @2.0 --\n", "-- @3.0 --\n"], 2),  # moments
        (["x" * 60, "y" * 40, "z"], 2),  # bytes
    ],
)
def test_what_would_exceed_a_bound_is_refused(parts: list[str], taken: int) -> None:
    room = Room()
    for part in parts[:taken]:
        assert room.take(part) == part.encode()
    before = replace(room)
    with pytest.raises(RecordingError):
        room.take(parts[taken])
    assert room == before
