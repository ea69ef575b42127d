"""The counter of samples: stacks, names, what is lost, and that old samples are forgotten."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

from nettop.host.bpf import counting, profile
from nettop.host.bpf.profile import Sample

NAMES = {100: "outer.cold", 199: "outer", 200: "inner", 300: ""}


class Ring:
    cpu = 3

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.lost = 0
        self.closed = False

    def take(self) -> tuple[list[Sample], int]:
        taken, self.samples, lost, self.lost = self.samples, [], self.lost, 0
        return taken, lost

    def close(self) -> None:
        self.closed = True


class Symbols:
    hidden = False

    def learn(self, addresses: Iterable[int]) -> None:
        assert {*addresses} <= NAMES.keys()

    def name(self, address: int) -> str:
        return NAMES[address]


class Bed:
    """A counter with one ring, at a time that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.ring = 0.0, Ring()
        monkeypatch.setattr(profile, "rings", lambda _cpus, _rate: ("clock", [self.ring]))
        monkeypatch.setattr(profile, "Symbols", Symbols)
        monkeypatch.setattr(profile, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.counter = profile.Counter()

    def lines(self, now: float) -> list[str]:
        self.now = now
        return self.counter.text().splitlines()


@pytest.fixture
def bed(monkeypatch: pytest.MonkeyPatch) -> Bed:
    return Bed(monkeypatch)


def test_the_same_stacks_are_one_line_the_outermost_function_first(bed: Bed) -> None:
    me = os.getpid()
    name = Path("/proc/self/comm").read_text("utf-8").strip()
    bed.ring.samples = [Sample(me, me, 0, (200, 200)), Sample(me, me, 0, (200, 200)),
                        Sample(0, 0, 0, (100,)), Sample(0, 0, 0, (300,))]  # fmt: skip
    bed.ring.lost = 5
    lines = bed.lines(2.0)
    assert lines[:2] == ["2.000", "clock 99 5 0"]
    assert lines[2:] == [
        "3 0 0 1 - outer swapper", "3 0 0 1 - unknown swapper",
        f"3 {me} {me} 2 - outer;inner {name}",
    ]  # fmt: skip


def test_a_program_is_shown_by_its_mapped_file_and_one_that_has_ended_as_unknown(bed: Bed) -> None:
    place = next(
        int(line.split("-")[0], 16)
        for line in Path("/proc/self/maps").read_text("utf-8").splitlines()
        if "r-xp" in line and os.path.basename(os.path.realpath(sys.executable)) in line
    )
    bed.ring.samples = [Sample(os.getpid(), os.getpid(), place + 1, ()), Sample(0, -1, 4096, ())]
    file, unknown = (line.split(" ")[4] for line in reversed(bed.lines(1.0)[2:]))
    assert file == os.path.basename(os.path.realpath(sys.executable))
    assert unknown == "unknown"


def test_samples_are_forgotten_after_ten_seconds(bed: Bed) -> None:
    bed.ring.samples = [Sample(0, 0, 0, (100,))]
    assert bed.lines(1.0)[2:] == ["3 0 0 1 - outer swapper"]
    bed.ring.samples = [Sample(0, 0, 0, (200,))]
    assert bed.lines(6.0) == [
        "6.000", "clock 99 0 0", "3 0 0 1 - inner swapper", "3 0 0 1 - outer swapper",
    ]  # fmt: skip
    assert bed.lines(11.0) == ["10.000", "clock 99 0 0", "3 0 0 1 - inner swapper"]
    assert bed.lines(30.0) == ["19.000", "clock 99 0 0"]


def test_what_has_no_room_is_counted(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "ROOM", 1)
    bed.ring.samples = [Sample(0, 0, 0, (200,)), Sample(0, 0, 0, (200,)), Sample(0, 0, 0, (100,))]
    assert bed.lines(1.0)[1:] == ["clock 99 0 1", "3 0 0 2 - inner swapper"]


def test_hidden_names_are_one_sentence_and_end_the_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Symbols, "hidden", True)
    with pytest.raises(PermissionError, match="hides the addresses"):
        Bed(monkeypatch)


@pytest.mark.parametrize(
    ("cpus", "rate"), [("0-1", 99), ("0-63", 99), ("0-127", 49), ("0-1023", 19)]
)
def test_with_many_cores_each_is_sampled_less_often(
    cpus: str, rate: int, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    file = f"{tmp_path}/online"
    with open(file, "w", encoding="ascii") as online:
        online.write(cpus)
    monkeypatch.setattr(profile, "_ONLINE", file)
    assert Bed(monkeypatch).counter.rate == rate
