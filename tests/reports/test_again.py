"""The command that repeats an experiment measures as the experiment did."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from nettop.cli import _command
from nettop.reports import again

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
    command = again.experiment(document, words)
    expected = [*words, "--tool", "bulk", "--to", "10.0.0.2", "--peer", "ssh host2"]
    expected += ["--seconds", "10", "--streams", "4", *(["--no-ends"] if no_ends else [])]
    told = shlex.split(command)
    assert told[1:] == expected
    assert _command(told[1]).parse_args(told[2:]).no_ends is no_ends
