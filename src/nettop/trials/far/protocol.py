"""The protocol between a helper program and nettop: one JSON object per line.

A program exits when its standard input closes. If nettop or the connection ends, the kernel closes
the pipe; the program then kills the processes that it started and exits.
"""

import json
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, List, Optional, Sequence

if TYPE_CHECKING:
    from types import FrameType
    from typing import Unpack

    from nettop.trials.far.schema import Message

children: List[int] = []  # process groups started here, killed at exit
stopping = threading.Event()  # set when nettop sends `stop`


def send(**message: "Unpack[Message]") -> None:
    """Send one message; exit if nobody reads it."""
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        leave()


def leave() -> None:
    """Kill the process groups of `children` and end this process at once."""
    for group in children:
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:
            continue
    os._exit(0)


def _read_input() -> None:
    try:
        for line in sys.stdin:
            if line.strip() == "stop":
                stopping.set()
    except (OSError, ValueError):
        pass
    leave()


def _terminate(number: int, frame: "Optional[FrameType]") -> None:
    leave()


def watch_input() -> None:
    """Read standard input in a thread: `stop` sets `stopping`, end of file ends this process."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _terminate)
    threading.Thread(target=_read_input, daemon=True).start()


def pin(cpus: "Optional[Sequence[int]]") -> None:
    """Run on these CPUs only; empty: on all. Report an unknown CPU and exit."""
    if not cpus:
        return
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        send(error="cannot run on CPU {}: {}".format(",".join(map(str, cpus)), error.strerror))
        leave()
