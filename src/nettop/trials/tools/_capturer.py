"""Run an external capturing program: wait until it captures, stop it, read its summary."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypedDict

from ...terms.dataclass import dataclass
from ..run import Trial, TrialError
from ._client_server import failed


class Captured(TypedDict, total=False):
    """What a capture counted."""

    packets: int  # missing: only losses are known
    dropped: int  # by the socket, ring or interface
    early: int  # of these by the interface, before any socket


Counts = Callable[[], Captured]
Summary = Callable[[str], Captured]


@contextmanager
def capturing(
    trial: Trial,
    capture: CaptureOptions,
    argv: Sequence[str],
    ready: str,
    parse: Summary,
    linger: float = 0.0,
) -> Iterator[Counts]:
    """Start it, wait for the text `ready`; yields a function that stops it and returns the counts.

    It waits `linger` seconds before it stops the program. TrialError if the program ends early.
    """
    words = [*argv, f"udp and dst port {capture.port}"]
    with trial.start(trial.here, words, cpus=capture.cpus) as near:
        near.wait_for("pid")
        for message in near.messages(10):
            if ready in message.get("out", message.get("err", "")):
                break
            if "exit" in message:
                raise TrialError(f"{argv[0]} ended at once; it needs root")

        def counts() -> Captured:
            if linger:
                trial.cancel.wait(linger)
            near.stop()
            return parse("\n".join(trial.output(near, 20)[1:]))

        yield counts


def summary(output: str, program: str, pattern: re.Pattern[str], needed: str) -> dict[str, int]:
    """The counts by name; `pattern` matches number and name. TrialError without `needed`."""
    counts = {name: int(count) for count, name in pattern.findall(output)}
    if needed not in counts:
        raise failed(program, output)
    return counts


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """The traffic to capture and the cores of the capturing process."""

    interface: str
    port: int
    v6: bool
    cpus: tuple[int, ...]
    ring: int = 0  # ring size in bytes; 0: the program's default
