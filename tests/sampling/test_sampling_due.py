"""Which tables a frame reads: counts of readings."""

from types import SimpleNamespace
from typing import Any

import pytest

from nettop import collect
from nettop.collect import Table
from nettop.sampling.sampler import Sampler


class Counting:
    """A source of which a clock is all; the collectors count their readings."""

    batches = None

    def __init__(self) -> None:
        self.at = 100.0
        self.ages: dict[str, float] = {}
        self.kept: list[dict[str, float]] = []

    def now(self) -> float:
        return self.at

    def wall(self) -> float:
        return self.at + 1e9

    def keep_ages(self, ages: dict[str, float]) -> None:
        self.kept.append(ages)

    def keep_open(self, files: tuple[str, ...]) -> None:
        self.files = files


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables that were read: `fast` each time, `slow` every 5 s, `odd` fails for `fast`."""
    read: list[str] = []

    def module(name: str, **more: Any) -> SimpleNamespace:
        def rows(_source: object) -> list[Any]:
            read.append(name)
            if name == "odd":
                raise PermissionError(13, "Permission denied")
            return []

        return SimpleNamespace(read=rows, TABLE=Table(**more))

    made = {"fast": module("fast"), "slow": module("slow", every=5.0),
            "odd": module("odd", every=2.0, instead="fast", keep_open=("/f",))}  # fmt: skip
    monkeypatch.setattr(collect, "collector", made.__getitem__)
    monkeypatch.setattr(collect, "names", lambda: frozenset(made))
    return read


def readings(read: list[str], wanted: list[str], seconds: int, **words: Any) -> list[str]:
    """The tables read in each frame, a second apart."""
    source = Counting()
    taken = Sampler(source)  # type: ignore[arg-type]
    out = []
    for _ in range(seconds):
        read.clear()
        taken.take(wanted, **words)
        out.append("".join(name[0] for name in read))
        source.at += 1.0
    return out


def test_each_table_is_read_at_its_own_interval(read: list[str]) -> None:
    assert readings(read, ["slow", "fast"], 7) == ["fs", "f", "f", "f", "f", "fs", "f"]
    assert readings(read, ["fast"], 5, waits={"fast": 2.0}) == ["f", "", "f", "", "f"]
    assert readings(read, ["slow"], 7, waits={"slow": 2.0}) == ["s", "", "", "", "", "s", ""]
    assert readings(read, ["fast", "fast"], 2) == ["f", "f"]


def test_a_table_that_failed_is_tried_at_its_interval_and_another_stands_in(
    read: list[str],
) -> None:
    assert readings(read, ["odd"], 4) == ["of", "f", "of", "f"]


@pytest.mark.parametrize(("later", "again"), [(4.74, False), (4.76, True), (-50.0, True)])
def test_a_table_is_due_a_twentieth_before_its_interval_or_after_a_restart(
    read: list[str], later: float, again: bool
) -> None:
    source = Counting()
    taken = Sampler(source)  # type: ignore[arg-type]
    taken.take(["slow"])
    source.at += later
    taken.take(["slow"])
    assert len(read) == 1 + again


def test_tables_are_read_again_when_that_is_asked(read: list[str]) -> None:
    source = Counting()
    taken = Sampler(source)  # type: ignore[arg-type]
    for names, count in (((), 2), (["slow"], 3), (["fast"], 4), ((), 6), (None, 6)):
        if names is not None:
            taken.refresh(names)
        taken.take(["slow", "fast"], waits={"fast": 9.0})
        assert len(read) == count


def test_a_recording_says_when_a_table_was_read(read: list[str]) -> None:
    source = Counting()
    taken = Sampler(source)  # type: ignore[arg-type]
    taken.take(["fast"])
    source.at, source.ages = 101.0, {"fast": 1.0}
    taken.take(["fast"])
    assert len(read) == 1  # the recording has nothing new
    source.at, source.ages = 102.0, {"fast": 0.5}
    taken.take(["fast"])
    assert len(read) == 2
    assert source.kept == [{"fast": 0.0}, {"fast": 1.0}, {"fast": 0.5}]


def test_what_a_frame_says_of_tables_that_cannot_be_read(read: list[str]) -> None:
    source = Counting()
    taken = Sampler(source)  # type: ignore[arg-type]
    for _ in range(2):
        frame = taken.take(["odd", "none"])
        assert frame.missing == {"none": "no such collector", "odd": "Permission denied"}
        assert set(frame.tables) == {"fast"}
        assert (frame.at, frame.wall) == (100.0, 100.0 + 1e9)
    assert source.files == ("/f",)
    assert taken.every("slow", {"slow": 9.0}) == 9.0
    assert taken.every("slow") == 5.0


def test_a_frame_lists_the_collectors_once(
    read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To search the list for each table costs more than to read some tables."""
    lists = 0
    names = collect.names

    def counted() -> tuple[str, ...]:
        nonlocal lists
        lists += 1
        return names()

    monkeypatch.setattr(collect, "names", counted)
    Sampler(Counting()).take(["fast", "none", "slow"])  # type: ignore[arg-type]
    assert lists == 1
    assert sorted(read) == ["fast", "slow"]
