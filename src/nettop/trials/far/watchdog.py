"""Run one command if nettop ends without sending `stop`, so that a crash reverts its changes."""

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from nettop.trials.far.protocol import send

if TYPE_CHECKING:
    from nettop.trials.far.schema import HelperOptions


def main(options: "HelperOptions") -> None:
    """Wait for `stop`; at the end of standard input run `argv` instead."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    send(watching=True)
    for line in sys.stdin:
        if line.strip() == "stop":
            return
    subprocess.call(
        [str(word) for word in options["argv"]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
