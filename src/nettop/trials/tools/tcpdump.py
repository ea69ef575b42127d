"""tcpdump: like `capture`, with tcpdump as the capturing program."""

import re
from contextlib import AbstractContextManager
from typing import Final

from ..result import Measured
from ..run import Trial
from . import capture
from .capture import Captured, CaptureOptions, Counts, capturing, summary

TOOL: Final = "tcpdump"
PACKAGE: Final = "tcpdump"
HELP: Final = "packets captured and lost by tcpdump"
TAKES: Final = "interface sizes length rate window"
TIMEOUT: Final = 1.2  # seconds until the kernel hands over the last, partly full block of the ring
_COUNT: Final = re.compile(
    r"\b(\d{1,20}) packets? (captured|dropped by kernel|dropped by interface)"
)


def measure(trial: Trial) -> Measured:
    """As `capture`, with the ring of libpcap."""
    return capture.sweep(trial, dump)


def dump(trial: Trial, capture: CaptureOptions) -> AbstractContextManager[Counts]:
    """Capture with tcpdump into /dev/null."""
    argv = ["tcpdump", "-n", "-i", capture.interface, "-w", "/dev/null"]
    argv += ["-B", str(max(1, capture.ring >> 10))] if capture.ring else []
    return capturing(trial, capture, argv, "listening on", parse, TIMEOUT)


def parse(output: str) -> Captured:
    """The counts of the summary; TrialError without one."""
    counts = summary(output, "tcpdump", _COUNT, "captured")
    dropped = counts.get("dropped by kernel", 0) + counts.get("dropped by interface", 0)
    return {"packets": counts["captured"], "dropped": dropped}
