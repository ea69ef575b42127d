"""netsniff: like `capture`, with netsniff-ng as the capturing program."""

import re
from contextlib import AbstractContextManager
from typing import Final

from ..result import Measured
from ..run import Trial
from . import capture
from .capture import Captured, CaptureOptions, Counts, capturing, summary

TOOL: Final = "netsniff"
PACKAGE: Final = "netsniff-ng"
HELP: Final = "packets captured and lost by netsniff-ng"
TAKES: Final = "interface sizes length rate window"
_COUNT: Final = re.compile(r"\b(\d{1,20})\s+packets (incoming|passed filter|failed filter)")


def measure(trial: Trial) -> Measured:
    """As `capture`, with the ring of netsniff-ng."""
    return capture.sweep(trial, sniff)


def sniff(trial: Trial, capture: CaptureOptions) -> AbstractContextManager[Counts]:
    """Capture with netsniff-ng into /dev/null."""
    argv = ["netsniff-ng", "--in", capture.interface, "--out", "/dev/null", "--silent"]
    argv += ["--ring-size", f"{max(1, capture.ring >> 10)}KiB"] if capture.ring else []
    return capturing(trial, capture, [*argv, "--filter"], "Running!", parse)


def parse(output: str) -> Captured:
    """The counts of the summary; TrialError without one. `failed filter` counts a full ring."""
    counts = summary(output, "netsniff-ng", _COUNT, "passed filter")
    return {"packets": counts["passed filter"], "dropped": counts.get("failed filter", 0)}
