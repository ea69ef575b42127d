"""The command that repeats an experiment measures as the experiment did."""

import shlex
from typing import Any

import pytest

from nettop.cli import _command
from nettop.reports import reading

KNOWN: dict[str, Any] = {
    "tool": "bulk", "to": "10.0.0.2", "peer": "ssh host2", "run_seconds": 10.0, "streams": 4,
}  # fmt: skip


@pytest.mark.parametrize("words", [["prove", "rule@eth0"], ["tune", "--budget", "60s"],
                                   ["sweep", "ring.rx@eth0", "--value", "64"]])  # fmt: skip
@pytest.mark.parametrize("no_ends", [True, False])
def test_an_experiment_without_the_other_end_is_repeated_without_it(
    words: list[str], no_ends: bool
) -> None:
    document = {**KNOWN, "no_ends": True} if no_ends else KNOWN
    command = reading.again_experiment(document, words)
    expected = [*words, "--tool", "bulk", "--to", "10.0.0.2", "--peer", "ssh host2"]
    expected += ["--seconds", "10", "--streams", "4", *(["--no-ends"] if no_ends else [])]
    told = shlex.split(command)
    assert told[1:] == expected
    assert _command(told[1]).parse_args(told[2:]).no_ends is no_ends


def test_the_options_of_the_runs_are_those_of_the_repetition() -> None:
    """All of them but those that an experiment has as fields, which are told once."""
    options = {
        "to": "10.0.0.2", "peer": "ssh host2", "seconds": 10.0, "streams": 4, "warmup": 0.1,
        "congestion": "cubic", "reverse": True, "cpu_here": [0, 2],
    }  # fmt: skip
    told = shlex.split(
        reading.again_experiment({**KNOWN, "options": options}, ["prove", "rule@eth0"])
    )
    assert told[-7:] == ["--warmup", "0.1", "--congestion", "cubic", "--reverse", "--cpu-here",
                         "0,2"]  # fmt: skip
    parsed = _command(told[1]).parse_args(told[2:])
    assert (parsed.warmup, parsed.congestion, parsed.seconds) == (0.1, "cubic", 10.0)
    assert all(told.count(flag) == 1 for flag in ("--to", "--peer", "--seconds", "--streams"))


def test_a_study_is_repeated_with_its_peer_and_its_length() -> None:
    options = {"to": "10.0.0.2", "peer": "ssh host2", "seconds": 2.0, "congestion": "cubic"}
    told = shlex.split(reading.again_study({"study": "nasa-3", "options": options, "repeats": 5}))
    parsed = _command(told[1]).parse_args(told[2:])
    assert (parsed.to, parsed.peer, parsed.seconds) == ("10.0.0.2", "ssh host2", 2.0)
    assert (parsed.repeats, parsed.congestion) == (5, "cubic")
    old = {"study": "nasa-3", "to": "10.0.0.2"}  # a result of an earlier version
    assert reading.again_study(old) == "nettop study run nasa-3 --to 10.0.0.2"
