"""Take a share of every core in bursts of real-time work, beside tests that must not notice.

    python tests/noise.py [--share 0.4] [--seconds 900] [-- COMMAND…]

One process a core runs ahead of all others (SCHED_FIFO) for 10 to 40 ms at a time, and takes the
share on average. It ends after its seconds, with its parent, and with COMMAND, whose exit code is
then its own. It refuses to run where it may not: without the right to real-time priority, or where
the kernel would take it away from a process that uses a whole core (sched_rt_runtime_us).
"""

import argparse
import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

BURST: Final = (0.01, 0.04)  # seconds
MOST: Final = 3600.0  # seconds
HIGHEST: Final = 0.8  # of a core: the machine must remain usable
_PR_SET_PDEATHSIG: Final = 1  # include/uapi/linux/prctl.h


def refusal(share: float, seconds: float) -> str:
    """Why it may not run here; empty if it may."""
    if not 0 < share <= HIGHEST or not 0 < seconds <= MOST:
        return f"a share up to {HIGHEST:g} and up to {MOST:g} seconds"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError as error:
        return f"no real-time priority: {error.strerror}"
    runtime, period = (
        int(Path(f"/proc/sys/kernel/sched_rt_{name}_us").read_text())
        for name in ("runtime", "period")
    )
    return "" if runtime < 0 or runtime >= share * period else "the kernel limits real-time work"


def burden(cpu: int, share: float, seconds: float) -> None:
    """Take the share of one core for so long."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    chance, end = random.Random(cpu), time.monotonic() + seconds
    while time.monotonic() < end:
        burst = chance.uniform(*BURST)
        until = time.monotonic() + burst
        while time.monotonic() < until:
            pass
        time.sleep(burst * (1 - share) / share)


def main() -> int:
    """Run as the command line says."""
    words, command = sys.argv[1:], list[str]()
    if "--" in words:
        words, command = words[: words.index("--")], words[words.index("--") + 1 :]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.4)
    parser.add_argument("--seconds", type=float, default=900.0)
    args = parser.parse_args(words)
    if why := refusal(args.share, args.seconds):
        print(f"noise: refused: {why}", file=sys.stderr)
        return 2
    children = []
    for cpu in sorted(os.sched_getaffinity(0)):
        child = os.fork()
        if not child:
            burden(cpu, args.share, args.seconds)
            os._exit(0)
        children.append(child)
    try:
        if command:
            return subprocess.run(command, check=False).returncode
        for child in children:
            os.waitpid(child, 0)
        return 0
    finally:
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                continue


if __name__ == "__main__":
    sys.exit(main())
