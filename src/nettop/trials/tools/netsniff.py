"""netsniff: the same as `capture`, with netsniff-ng doing the capturing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from ..result import Measured
from ..run import Trial, TrialError
from . import capture

TOOL: Final = "netsniff"
PACKAGE: Final = "netsniff-ng"
BUILT_IN: Final = False
HELP: Final = "packets captured and lost by netsniff-ng"
_COUNT: Final = re.compile(r"(\d+)\s+packets (incoming|passed filter|failed filter)")


def measure(trial: Trial) -> Measured:
    """As `capture` does, with netsniff-ng for its ring."""
    return capture.sweep(trial, sniff)


@contextmanager
def sniff(trial: Trial, wish: capture.Wish) -> Iterator[Callable[[], Mapping[str, Any]]]:
    """netsniff-ng capturing into nothing."""
    argv = ["netsniff-ng", "--in", wish.interface, "--out", "/dev/null", "--silent"]
    argv += ["--ring-size", f"{max(1, wish.ring >> 10)}KiB"] if wish.ring else []
    argv += ["--filter", f"udp and dst port {wish.port}"]
    with trial.keep(trial.here, argv, cpus=list(wish.cpus)) as near:
        near.wait_for("pid")
        for message in near.messages(10):
            if "Running!" in str(message.get("out", message.get("err", ""))):
                break
            if "exit" in message:
                raise TrialError("netsniff-ng ended at once: it needs root")

        def counts() -> Mapping[str, Any]:
            near.stop()
            return parse("\n".join(trial.output(near, 20)[1:]))

        yield counts


def parse(said: str) -> dict[str, int]:
    """The summary's counts; TrialError without one. What found no room was dropped."""
    found = {name: int(count) for count, name in _COUNT.findall(said)}
    if "passed filter" not in found:
        last = said.strip().splitlines()[-1:] or ["it said nothing"]
        raise TrialError(f"netsniff-ng: {last[0]}")
    return {"packets": found["passed filter"], "dropped": found.get("failed filter", 0)}
