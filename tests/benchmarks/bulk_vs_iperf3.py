"""Rate of `bulk` against iperf3's, 1 and 4 streams, interleaved, in one pair of namespaces.

    bulk_vs_iperf3.py --near "ip netns exec a" --far "ip netns exec b" --to ADDRESS [--seconds 3]

Prints medians and their ratio, and how far the payload by the receiver's interface counters is from
iperf3's own count of the same run. Both tools run on core 0 here and core 1 there. Asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from statistics import median
from typing import Any


def trial(args: argparse.Namespace, tool: str, streams: int) -> dict[str, Any]:
    """One result of `nettop test`."""
    argv = [*shlex.split(args.near), sys.executable, "-m", "nettop", "test", tool,
            "--to", args.to, "--peer", args.far, "--seconds", str(args.seconds), "--warmup",
            "1", "--streams", str(streams), "--cpu-here", "0", "--cpu-there", "1",
            "--no-keep", "--json"]  # fmt: skip
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Three rounds of each tool for each number of streams."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--near", default="")
    parser.add_argument("--far", default="")
    parser.add_argument("--to", default="127.0.0.1")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    for streams in (1, 4):
        rates: dict[str, list[float]] = {"bulk": [], "iperf3": []}
        counters = []
        for _ in range(args.rounds):
            for tool, seen in rates.items():
                found = trial(args, tool, streams)
                seen.append(found["bits_per_second"] / 1e9)
                if tool == "iperf3":
                    counters += [c["because"] for c in found["checks"] if c["name"] == "counters"]
        ratio = median(o / t for o, t in zip(rates["bulk"], rates["iperf3"], strict=True))
        print(f"{streams} streams: bulk / iperf3 {ratio:.2f}, the median of neighbouring runs")
        print("   ", {tool: [round(rate, 2) for rate in seen] for tool, seen in rates.items()})
        print("    iperf3's payload by counters:", "; ".join(counters))


if __name__ == "__main__":
    main()
