"""Loss of `capture` against netsniff-ng's and tcpdump's, same generator, same rates; root.

    capture_vs_netsniff.py --near "ip netns exec a" --far "ip netns exec b" --to ADDRESS

For each offered rate the percent that each lost, interleaved. Asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import signal
import subprocess
import sys
import time
from typing import Any

RATES = (20e6, 40e6, 80e6, 0.0)  # offered bit/s of 64-byte frames; 0: as fast as it goes


def trial(args: argparse.Namespace, tool: str, rate: float) -> dict[str, Any]:
    """One point of `nettop test capture` or `netsniff`."""
    argv = [*shlex.split(args.near), sys.executable, "-m", "nettop", "test", tool,
            "--to", args.to, "--peer", args.far, "--seconds", str(args.seconds),
            "--sizes", "18", "--no-keep", "--json"]  # fmt: skip
    argv += ["--rate", str(rate)] if rate else []
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)["details"]["points"][0]
    return found


def tcpdump(args: argparse.Namespace, rate: float) -> dict[str, Any]:
    """tcpdump into nothing beside the same generator (`capture` generates, tcpdump watches too)."""
    argv = [*shlex.split(args.near), "tcpdump", "-n", "-i", args.interface, "-w", "/dev/null",
            "udp and dst portrange 1024-65535"]  # fmt: skip
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as running:
        time.sleep(0.5)
        found = trial(args, "netsniff", rate)  # somebody has to start the generator
        running.send_signal(signal.SIGINT)
        said = running.communicate()[1]
    taken = re.search(r"(\d+) packets captured", said)
    dropped = re.search(r"(\d+) packets dropped by kernel", said)
    captured = int(taken.group(1)) if taken else 0
    lost = int(dropped.group(1)) if dropped else 0
    return {**found, "captured": captured, "loss": 100 * lost / max(1, lost + captured)}


def main() -> None:
    """Every rate, every capturer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--near", default="")
    parser.add_argument("--far", default="")
    parser.add_argument("--to", default="127.0.0.1")
    parser.add_argument("--interface", default="eth0")
    parser.add_argument("--seconds", type=float, default=1.5)
    args = parser.parse_args()
    for rate in RATES:
        points = {
            "capture": trial(args, "capture", rate),
            "netsniff-ng": trial(args, "netsniff", rate),
            "tcpdump": tcpdump(args, rate),
        }
        told = "  ".join(
            f"{name} {p['offered_pps'] / 1e3:.0f} kpps {p['loss']:.3f} %"
            for name, p in points.items()
        )
        print(f"{rate / 1e6 or 'flood'} Mbit/s: {told}", flush=True)


if __name__ == "__main__":
    main()
