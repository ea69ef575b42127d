"""tcpdump: like `capture`, with tcpdump as the capturing program."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Final

from ..result import Measured
from ..run import Trial
from . import capture
from ._capture_options import CaptureOptions
from ._capturer import Counts, capturing, summary

TOOL: Final = "tcpdump"
PACKAGE: Final = "tcpdump"
HELP: Final = "packets captured and lost by tcpdump"
TIMEOUT: Final = 1.2  # seconds until it has been given the last, half-full block of its ring
_COUNT: Final = re.compile(
    r"\b(\d{1,20}) packets? (captured|dropped by kernel|dropped by interface)"
)


def measure(trial: Trial) -> Measured:
    """As `capture` does, with libpcap's ring."""
    return capture.sweep(trial, dump)


def dump(trial: Trial, capture: CaptureOptions) -> AbstractContextManager[Counts]:
    """Capturing into nothing."""
    argv = ["tcpdump", "-n", "-i", capture.interface, "-w", "/dev/null"]
    argv += ["-B", str(max(1, capture.ring >> 10))] if capture.ring else []
    return capturing(trial, capture, argv, "listening on", parse, TIMEOUT)


def parse(said: str) -> dict[str, int]:
    """The summary's counts; TrialError without one."""
    found = summary(said, "tcpdump", _COUNT, "captured")
    lost = found.get("dropped by kernel", 0) + found.get("dropped by interface", 0)
    return {"packets": found["captured"], "dropped": lost}
