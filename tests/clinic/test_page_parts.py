"""The page from parts: what was played is kept, and only what is missing is played."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from clinic import parts, treated
from clinic.scenario import Outcome, Scenario

HOSTS = [Scenario("netns", {"name": name, "surface": "tcp"}) for name in ("one", "two", "three")]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was played; `two` is diagnosed wrongly."""
    names: list[str] = []

    def play(one: Scenario) -> tuple[Outcome, None]:
        names.append(one.name)
        return Outcome(one, "missed" if one.name == "two" else "first", (), ()), None

    monkeypatch.setattr(treated, "play", play)
    monkeypatch.setattr(parts, "wards", lambda: ["netns", "vm-lab"])
    monkeypatch.setattr(parts, "scenarios", lambda _ward: HOSTS)
    return names


def test_a_run_that_was_stopped_goes_on(played: list[str], tmp_path: Path) -> None:
    assert parts.play(tmp_path, 0, 0) == 3
    assert played == []
    assert parts.play(tmp_path, 0, 5) == 0
    assert {*played} == {"one", "two", "three"}
    played.clear()
    assert parts.play(tmp_path, 0, 5) == 0
    assert played == []
    assert sorted(row["name"] for row in parts.rows(tmp_path)) == ["one", "three", "two"]


def test_what_is_not_right_in_company_is_played_alone(played: list[str], tmp_path: Path) -> None:
    parts.play(tmp_path, 0, 5)
    assert (sorted(played), played[-1]) == (["one", "three", "two", "two"], "two")


def test_what_was_wrong_is_played_again(played: list[str], tmp_path: Path) -> None:
    parts.play(tmp_path, 0, 5)
    played.clear()
    parts.forget_wrong(tmp_path)
    parts.play(tmp_path, 0, 5)
    assert {*played} == {"two"}


def test_a_seed_that_has_no_time_is_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "outcomes", lambda _seed: iter(()))
    assert parts._seed(tmp_path, time.monotonic() - 1, 4) is None
    assert parts._seed(tmp_path, time.monotonic() + 60, 4) == 4
    assert [one.name for one in tmp_path.iterdir()] == ["generated-4.json"]


def test_the_parts_of_another_tree_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules").mkdir()
    monkeypatch.setattr(parts, "ROOT", tmp_path)
    before = parts.folder(tmp_path)
    (tmp_path / "rules" / "a.toml").write_text("x")
    assert parts.folder(tmp_path) != before
