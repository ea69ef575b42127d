"""The rate at which `capture` begins to lose, against netsniff-ng's and tcpdump's; root.

    capture_vs_netsniff.py [--ring 64K] [--seconds 1] [--rounds 3]

With a large ring none of them loses what this generator can send. So all get the same small ring
(netsniff-ng and libpcap cut it into blocks of their own; libpcap's hold one whole packet of 256 KiB
at least) and the generator's core, where they run when it pauses: each must empty its ring in the
pauses. Frames of 64 bytes at rising rates; at each rate they take turns, in another order each
round. A capture is out when the median of its rounds has lost more than a thousandth. Prints the
medians, the last rate each carried, and the ratio. Asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from veth import Pair, pair

TOOLS = {"capture": "capture", "netsniff": "netsniff-ng", "tcpdump": "tcpdump"}
RATES = (5, 10, 20, 40, 60, 80, 100, 130, 160, 200, 250, 300)
BITS = 512  # of a frame of 64 bytes
LOST = 0.1  # percent


def trial(place: Pair, tool: str, rate: int, args: argparse.Namespace) -> dict[str, Any]:
    """One point of `nettop test`: who captures, and how many thousand packets a second."""
    argv = [*place.near, sys.executable, "-m", "nettop", "test", tool, "--to", place.to,
            "--peer", " ".join([*place.far, "nice", "-n", "-15"]), "--sizes", "18",
            "--seconds", str(args.seconds),
            "--cpu-here", "0", "--cpu-there", "0", "--window", args.ring,
            "--rate", f"{rate * BITS * 1000}", "--no-keep", "--json"]  # fmt: skip
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)["details"]["points"][0]
    return found


def main() -> None:
    """Rising rates until all are out, or the generator is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ring", default="64K")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    carried = dict.fromkeys(TOOLS, 0.0)
    left = list(TOOLS)
    print(f"ring {args.ring}, one core for generator and capture, frames of 64 bytes")
    with pair("capt") as place:
        for rate in RATES:
            lost: dict[str, list[float]] = {tool: [] for tool in left}
            offered: dict[str, list[float]] = {tool: [] for tool in left}
            for number in range(args.rounds):
                for tool in left[number % len(left) :] + left[: number % len(left)]:
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
            if not left:
                break
    for tool, rate_ in carried.items():
        ended = "" if tool not in left else " and more: the generator ends there"
        print(f"{TOOLS[tool]:<12} carries {rate_:.0f} kpps{ended}")
    best = max(carried["netsniff"], carried["tcpdump"])
    if best:
        print(f"capture / the better of the others: {carried['capture'] / best:.2f}")


if __name__ == "__main__":
    main()
