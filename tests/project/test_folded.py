"""A test of many cases tells each that fails, and plays only those that are named."""

from __future__ import annotations

import folded
import pytest


def test_every_case_is_played_and_each_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    played = list[tuple[int, str]]()

    @folded.folded(("a", "b"), [(1, "x"), pytest.param(2, "y", id="two"), (3, "z")])
    def one(a: int, b: str, update: bool) -> None:
        played.append((a, b))
        assert update
        assert a != 2
        if a == 3:
            pytest.fail("no")

    monkeypatch.setattr(folded, "_chosen", [])
    with pytest.raises(BaseExceptionGroup, match="2 of 3 cases failed") as told:
        one(update=True)
    assert played == [(1, "x"), (2, "y"), (3, "z")]
    notes = [error.__notes__ for error in told.value.exceptions]
    assert notes == [["the case: two"], ["the case: 3-z"]]
    played.clear()
    folded.only("two or 1-X")
    with pytest.raises(BaseExceptionGroup, match="1 of 2 cases failed"):
        one(update=True)
    folded.only("test_folded")  # the test itself was chosen
    with pytest.raises(BaseExceptionGroup, match="2 of 3 cases failed"):
        one(update=True)
    assert "[two]" in vars(one)


def test_the_name_of_a_case_can_be_sent_to_a_worker() -> None:
    @folded.folded("a", ["a\udcff"])
    def one(a: str) -> None:
        assert a

    assert all(name.isascii() for name in vars(one))
