"""The rate at which `capture` begins to lose, against netsniff-ng's and tcpdump's; root.

    capture_vs_netsniff.py [--ring 1M] [--busy 40] [--seconds 1] [--rounds 3]

On a core of their own none of them loses what one core can send. So each captures beside a
real-time neighbour that takes the core for most of every 50 ms: what comes meanwhile must fit the
ring, and be gone before the next time. Generator and reception have the other core, and all of it
is ahead of what else runs here (priorities: nice counts within a session alone). All get a ring
of the same size (netsniff-ng and libpcap cut it into blocks of their own). Frames of 64 bytes at
rising rates; at each rate they take turns, in another order each round. A capture is out when the
median of its rounds has lost more than a thousandth. Prints the medians, the last rate each
carried, and the ratio. Asserts nothing.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import goals

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from veth import Pair, pair

TOOLS = {"capture": "capture", "netsniff": "netsniff-ng", "tcpdump": "tcpdump"}
RATES = (60, 100, 120, 130, 140, 150, 160, 170, 180, 200, 240, 300, 400, 600)  # thousands a second
BITS = 512  # of a frame of 64 bytes
LOST = 0.1  # percent
MORE = 1.05  # of the previous rate; below it the generator has reached its limit
AHEAD = ("chrt", "-f", "1")


NEIGHBOUR = """
import os, sys, time
os.sched_setaffinity(0, {1})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
busy, parent = float(sys.argv[1]) / 1000, os.getppid()
while os.getppid() == parent:
    begun = time.perf_counter()
    while time.perf_counter() - begun < busy:
        pass
    time.sleep(0.05 - busy)
"""


@contextmanager
def neighbour(busy: float) -> Iterator[None]:
    """A process that takes core 1 for so many of every 50 ms."""
    with subprocess.Popen([sys.executable, "-c", NEIGHBOUR, str(busy)]) as running:
        try:
            yield
        finally:
            running.kill()


def trial(place: Pair, tool: str, rate: int, args: argparse.Namespace) -> dict[str, Any]:
    """One point of `nettop test`: who captures, and how many thousand packets a second."""
    argv = [*place.near, *AHEAD, sys.executable, "-m", "nettop", "test", tool, "--to", place.to,
            "--peer", " ".join([*place.far, *AHEAD]), "--sizes", "18",
            "--seconds", str(args.seconds),
            "--cpu-here", "1", "--cpu-there", "0", "--window", args.ring,
            "--rate", f"{rate * BITS * 1000}", "--no-keep", "--json"]  # fmt: skip
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)["details"]["points"][0]
    return found


def main() -> None:
    """Raise the rate until every program loses packets, or the generator reaches its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ring", default="1M")
    parser.add_argument("--busy", type=float, default=40, help="ms of every 50")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    carried = dict.fromkeys(TOOLS, 0.0)
    left = list(TOOLS)
    most = 0.0
    print(f"ring {args.ring}, the core taken for {args.busy:g} of 50 ms, frames of 64 bytes")
    with pair("capt") as place, neighbour(args.busy):
        for rate in RATES:
            lost: dict[str, list[float]] = {tool: [] for tool in left}
            offered: dict[str, list[float]] = {tool: [] for tool in left}
            for number in range(args.rounds):
                turn = number % len(left)
                for tool in left[turn:] + left[:turn]:
                    point = trial(place, tool, rate, args)
                    lost[tool].append(point["loss"])
                    offered[tool].append(point["offered_pps"] / 1e3)
            told = [
                f"{TOOLS[t]} {median(offered[t]):.0f} kpps {median(lost[t]):.3f} %" for t in left
            ]
            print(f"{rate} kpps asked: {'  '.join(told)}", flush=True)
            for tool in list(left):
                if median(lost[tool]) > LOST:
                    left.remove(tool)
                else:
                    carried[tool] = max(carried[tool], median(offered[tool]))
            before, most = most, max(most, *map(median, offered.values()))
            if not left or most < MORE * before:
                break
    for tool, rate_ in carried.items():
        ended = "" if tool not in left else " and more: the generator ends there"
        print(f"{TOOLS[tool]:<12} carries {rate_:.0f} kpps{ended}")
    best = max(carried["netsniff"], carried["tcpdump"])
    if best:
        goals.note("capture / netsniff-ng", carried["capture"] / best)
        print(f"capture / the better of the others: {carried['capture'] / best:.2f}")


if __name__ == "__main__":
    main()
