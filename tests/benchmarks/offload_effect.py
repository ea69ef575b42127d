"""The effect of --zero-copy, --segments and --busy-poll, in one pair of namespaces; root.

    offload_effect.py [--seconds 1] [--rounds 5]

Pairs of neighbouring runs with and without the option, each first in every other pair. Prints the
median of the pairs' ratios with their spread, and the busy CPU time of this machine, which is both
ends. Asserts nothing.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from veth import Pair, pair, spread

Figure = Callable[[Mapping[str, Any]], float]

# the test, its options, the option whose effect is measured, the figure and its unit
CASES: tuple[tuple[str, str, str, Figure, str], ...] = (
    ("bulk", "", "--zero-copy", lambda d: d["bits_per_second"] / 1e9, "Gb/s"),
    ("udp-sweep", "--sizes 1400 --spacings 0", "--segments 16",
     lambda d: d["details"]["points"][0]["wire_bits"] / 1e9, "Gb/s"),
    ("udp-sweep", "--sizes 1400 --spacings 0", "--segments 40",
     lambda d: d["details"]["points"][0]["wire_bits"] / 1e9, "Gb/s"),
    ("udp-latency", "--sizes 64", "--busy-poll 50", lambda d: d["latency"]["p50"], "µs"),
)  # fmt: skip


def busy(document: Mapping[str, Any]) -> float:
    """Busy cores of this machine during the test."""
    return float(sum(100 - c["idle"] - c["iowait"] for c in document["cores"]["here"]) / 100)


def trial(place: Pair, tool: str, words: str, seconds: float) -> Mapping[str, Any]:
    """One result of `nettop test`."""
    argv = [*place.near, sys.executable, "-m", "nettop", "test", tool, "--to", place.to, "--peer",
            " ".join(place.far), "--seconds", f"{seconds:g}", "--warmup", "0.3", "--no-keep",
            "--no-ends", "--json", *words.split()]  # fmt: skip
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(done.stderr.strip())
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Rounds of pairs for each option."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with pair("effect") as place:
        for tool, options, option, figure, unit in CASES:
            found: dict[bool, list[Mapping[str, Any]]] = {False: [], True: []}
            for number in range(args.rounds):
                for given in (False, True) if number % 2 else (True, False):
                    words = f"{options} {option}" if given else options
                    found[given].append(trial(place, tool, words, args.seconds))
            plain, changed = ([figure(d) for d in found[given]] for given in (False, True))
            ratios = [b / a for a, b in zip(plain, changed, strict=True)]
            cores = [median(map(busy, found[given])) for given in (False, True)]
            print(f"{tool} {option}: {spread(ratios)}; {median(plain):.2f} to "
                  f"{median(changed):.2f} {unit}; busy cores {cores[0]:.2f} to {cores[1]:.2f}",
                  flush=True)  # fmt: skip
            copied = found[True][0].get("details", {}).get("zero_copy_copied_percent")
            if copied is not None:
                print(f"    the kernel copied {copied:.0f} % of the sends all the same")


if __name__ == "__main__":
    main()
