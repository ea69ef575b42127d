"""The protocol between an end and nettop: one JSON object per line.

An end exits when its standard input closes. If nettop or the connection ends, the kernel closes the
pipe, and this end kills the processes it started and exits.
"""

import json
import os
import signal
import sys
import threading
from typing import Any, List

children: List[int] = []  # process groups started here, killed on the way out
stopping = threading.Event()  # set when nettop says `stop`


def say(**message: Any) -> None:
    """Send one message; when nobody listens any more, leave."""
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        leave()


def leave() -> None:
    """Kill what was started here and end this process at once."""
    for group in children:
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:
            continue
    os._exit(0)


def _listen() -> None:
    try:
        for line in sys.stdin:
            if line.strip() == "stop":
                stopping.set()
    except (OSError, ValueError):
        pass
    leave()


def _terminate(number: int, frame: Any) -> None:
    leave()


def listen() -> None:
    """Watch standard input from now on."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _terminate)
    threading.Thread(target=_listen, daemon=True).start()


def pin(cpus: Any) -> None:
    """Run on these CPUs only (none: anywhere). Unknown CPUs are an error that is said."""
    if not cpus:
        return
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        say(error="cannot run on CPU {}: {}".format(",".join(map(str, cpus)), error.strerror))
        leave()
