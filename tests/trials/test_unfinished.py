"""A sweep that was interrupted goes on with the runs that it has."""

import contextlib
import threading
from pathlib import Path

import pytest

from nettop.trials import experiment
from nettop.trials.end import Cancelled
from nettop.trials.experiment import Sample
from nettop.trials.statistics import ExperimentPlan
from nettop.trials.unfinished import Unfinished

NAMES = ["256", "512", "1024"]
FIGURES = [100.0, 101.0, 150.0]


class Lever:
    pause = 0.0

    def __init__(self) -> None:
        self.runs: list[int] = []

    def put(self, state: int) -> None:
        self.runs.append(state)

    def restore(self) -> None:
        pass


def of(where: Path, setting: str = "ring.rx@eth0") -> Unfinished:
    return Unfinished.of({"setting": setting, "states": NAMES}, where)


def sweep(file: Unfinished, stop_after: int | None = None) -> tuple[Lever, tuple[object, ...]]:
    """A sweep that is cancelled after so many runs, the two of the probe included."""
    lever, cancel = Lever(), threading.Event()

    def take(state: int) -> Sample:
        if stop_after is not None and len(lever.runs) >= stop_after:
            cancel.set()
        return Sample(FIGURES[state], {"retransmits": 0.0}, ("slow",))

    rows: tuple[object, ...] = ()
    with contextlib.suppress(Cancelled):
        rows = experiment.sweep(
            lever, NAMES, take, experiment.METRICS["rate"], ExperimentPlan(), cancel=cancel,
            log=file,
        )  # fmt: skip
    return lever, rows


def test_the_runs_of_whole_rounds_are_used_and_the_last_round_is_repeated(tmp_path: Path) -> None:
    file = of(tmp_path)
    sweep(file, stop_after=2 + 3 * 3 + 1)  # three rounds, and one run of the fourth
    assert {state: len(runs) for state, runs in file.samples().items()} == {0: 4, 1: 3, 2: 3}
    file.cut()
    assert {state: len(runs) for state, runs in file.samples().items()} == {0: 3, 1: 3, 2: 3}
    assert file.samples()[2][0] == Sample(150.0, {"retransmits": 0.0}, ("slow",))
    lever, rows = sweep(of(tmp_path))
    assert lever.runs[2:] == [0, 1, 2] * 2  # rounds four and five
    _, whole = sweep(of(tmp_path, "another"))
    assert rows == whole


def test_a_sweep_may_be_interrupted_more_than_once(tmp_path: Path) -> None:
    file = of(tmp_path)
    for runs in (2 + 3 * 2 + 1, 2 + 3 + 2):  # the second goes on with round three
        sweep(file, stop_after=runs)
        file.cut()
    assert {state: len(found) for state, found in file.samples().items()} == {0: 3, 1: 3, 2: 3}


def test_another_measurement_has_another_file_and_a_finished_one_has_none(tmp_path: Path) -> None:
    file = of(tmp_path)
    sweep(file, stop_after=9)
    assert of(tmp_path, "ring.tx@eth0").samples() == {}
    file.forget()
    assert file.samples() == {}
    file.forget()


def test_a_line_that_was_cut_off_is_not_used_and_another_damage_is_refused(tmp_path: Path) -> None:
    file = of(tmp_path)
    sweep(file, stop_after=2 + 3 * 2 + 1)
    text = file.path.read_bytes()
    file.path.write_bytes(text + b'{"round": 9, "sta')
    assert {state: len(runs) for state, runs in file.samples().items()} == {0: 3, 1: 2, 2: 2}
    for line in (b"{}\n", b"[]\n", b"\xff\n", b'{"round": 1}\n'):
        file.path.write_bytes(line + text)
        with pytest.raises(ValueError, match="is damaged"):
            file.samples()
