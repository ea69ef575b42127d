"""Rate of `bulk` against iperf3's, 1, 4 and 16 streams, in one pair of namespaces; root.

    bulk_vs_iperf3.py [--seconds 3] [--rounds 5] [--streams 1,4,16] [--unpinned]

Pairs of neighbouring runs, each tool first in every other pair; both run on core 0 here and core 1
there, or where the kernel likes. Prints the median of the pairs' ratios with their spread, also of
the CPU time per bit of this machine, which is both ends, and how far the payload by the receiver's
interface counters is from iperf3's own count of the same run. Asserts nothing.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import goals

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from veth import Pair, pair, spread

TOOLS = ("bulk", "iperf3")


def trial(place: Pair, tool: str, streams: int, args: argparse.Namespace) -> dict[str, Any]:
    """One result of `nettop test`."""
    argv = [*place.near, sys.executable, "-m", "nettop", "test", tool, "--to", place.to,
            "--peer", " ".join(place.far), "--seconds", str(args.seconds), "--warmup", "1",
            "--streams", str(streams), "--no-keep", "--no-ends",
            "--json"]  # fmt: skip
    argv += [] if args.unpinned else ["--cpu-here", "0", "--cpu-there", "1"]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _busy(found: dict[str, Any]) -> float:
    """Busy cores of this machine during the test."""
    return float(sum(100 - core["idle"] - core["iowait"] for core in found["cores"]["here"]) / 100)


def main() -> None:
    """Rounds of pairs for each number of streams."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--streams", default="1,4,16")
    parser.add_argument("--unpinned", action="store_true")
    args = parser.parse_args()
    with pair("bulk") as place:
        for streams in map(int, args.streams.split(",")):
            rates: dict[str, list[float]] = {tool: [] for tool in TOOLS}
            costs: dict[str, list[float]] = {tool: [] for tool in TOOLS}
            counters = []
            for number in range(args.rounds):
                for tool in TOOLS if number % 2 else reversed(TOOLS):
                    found = trial(place, tool, streams, args)
                    rates[tool].append(found["bits_per_second"] / 1e9)
                    costs[tool].append(_busy(found) / found["bits_per_second"])
                    if tool == "iperf3":
                        counters += [
                            c["because"] for c in found["checks"] if c["name"] == "counters"
                        ]
            ratios = [o / t for o, t in zip(*rates.values(), strict=True)]
            told = ", ".join(f"{tool} {median(seen):.2f} Gb/s" for tool, seen in rates.items())
            word = "stream" if streams == 1 else "streams"
            if f"bulk / iperf3, {streams} {word}" in goals.GOALS:
                goals.note(f"bulk / iperf3, {streams} {word}", median(ratios))
            print(f"{streams} streams: bulk / iperf3 {spread(ratios)}; medians: {told}")
            dear = [o / t for o, t in zip(*costs.values(), strict=True)]
            print(f"    CPU per bit: bulk / iperf3 {spread(dear)}")
            print("    iperf3's payload by counters:", "; ".join(counters), flush=True)


if __name__ == "__main__":
    main()
