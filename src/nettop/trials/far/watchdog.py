"""Run one command if nettop ends without sending `stop`, so that a crash reverts its changes."""

import signal
import subprocess
import sys
from typing import Any, Dict

from nettop.trials.far.protocol import say


def main(options: Dict[str, Any]) -> None:
    """Wait for `stop`, or for the end of standard input and then run `argv`."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    say(watching=True)
    for line in sys.stdin:
        if line.strip() == "stop":
            return
    subprocess.call(
        [str(word) for word in options["argv"]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
