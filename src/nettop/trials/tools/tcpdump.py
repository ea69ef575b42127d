"""tcpdump: the same as `capture`, with tcpdump doing the capturing."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Final

from ..result import Measured
from ..run import Trial
from . import capture
from ._capturer import Counts, capturing, summary
from ._wish import Wish

TOOL: Final = "tcpdump"
PACKAGE: Final = "tcpdump"
BUILT_IN: Final = False
HELP: Final = "packets captured and lost by tcpdump"
TIMEOUT: Final = 1.2  # seconds until it has been given the last, half-full block of its ring
_COUNT: Final = re.compile(
    r"\b(\d{1,20}) packets? (captured|dropped by kernel|dropped by interface)"
)


def measure(trial: Trial) -> Measured:
    """As `capture` does, with libpcap's ring."""
    return capture.sweep(trial, dump)


def dump(trial: Trial, wish: Wish) -> AbstractContextManager[Counts]:
    """Capturing into nothing."""
    argv = ["tcpdump", "-n", "-i", wish.interface, "-w", "/dev/null"]
    argv += ["-B", str(max(1, wish.ring >> 10))] if wish.ring else []
    return capturing(trial, wish, argv, "listening on", parse, TIMEOUT)


def parse(said: str) -> dict[str, int]:
    """The summary's counts; TrialError without one."""
    found = summary(said, "tcpdump", _COUNT, "captured")
    lost = found.get("dropped by kernel", 0) + found.get("dropped by interface", 0)
    return {"packets": found["captured"], "dropped": lost}
