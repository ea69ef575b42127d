"""Run an external capturing program: wait until it captures, stop it, read its summary."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..run import Trial, TrialError

if TYPE_CHECKING:
    from ._capture_options import CaptureOptions

Counts = Callable[[], Mapping[str, Any]]
Summary = Callable[[str], Mapping[str, Any]]


@contextmanager
def capturing(
    trial: Trial,
    capture: CaptureOptions,
    argv: Sequence[str],
    ready: str,
    parse: Summary,
    linger: float = 0.0,
) -> Iterator[Counts]:
    """Start it, wait for the text `ready`; yields a function that stops it and returns counts."""
    words = [*argv, f"udp and dst port {capture.port}"]
    with trial.start(trial.here, words, cpus=list(capture.cpus)) as near:
        near.wait_for("pid")
        for message in near.messages(10):
            if ready in str(message.get("out", message.get("err", ""))):
                break
            if "exit" in message:
                raise TrialError(f"{argv[0]} ended at once; it needs root")

        def counts() -> Mapping[str, Any]:
            if linger:
                trial.cancel.wait(linger)
            near.stop()
            return parse("\n".join(trial.output(near, 20)[1:]))

        yield counts


def summary(said: str, program: str, counted: re.Pattern[str], needed: str) -> dict[str, int]:
    """The counts by name (`counted` finds number and name); TrialError without the needed one."""
    found = {name: int(count) for count, name in counted.findall(said)}
    if needed not in found:
        last = said.strip().splitlines()[-1:] or ["no output"]
        raise TrialError(f"{program}: {last[0]}")
    return found
