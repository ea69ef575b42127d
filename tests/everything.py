"""Run every check that this machine can run and print one summary: `make test`.

    python tests/everything.py [--workers N] [--sleepers N]

The tests run in three parts: first most tests in parallel, then those of namespaces, which mostly
wait, then one at a time those that depend on the rate of their traffic. A failed part does not stop
the next one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent
COUNTED = ("passed", "failed", "error", "skipped", "rerun")


def summary(tallies: list[dict[str, dict[str, list[str]]]], rules: int) -> list[str]:
    """The lines of the summary: counts, failed tests, reasons of skips.

    A tally maps outcome → reason → tests, as `--tally` writes it; `rules` is the exit code of
    `nettop rules test`.
    """
    tests: dict[str, list[str]] = {
        kind: [one for tally in tallies for ones in tally.get(kind, {}).values() for one in ones]
        for kind in COUNTED
    }
    failed = [*tests["failed"], *tests["error"]]
    counts = {kind: len(ones) for kind, ones in tests.items()}
    out = [
        f"{counts['passed']:,} passed, {len(failed):,} failed, {counts['skipped']:,} skipped"
        + (f", {counts['rerun']:,} tried twice" if counts["rerun"] else "")
        + f"; nettop rules test {'failed' if rules else 'passed'}"
    ]
    out += [f"  failed: {one}" for one in failed]
    out += [f"  tried twice: {one}" for one in tests["rerun"]]
    skips: Counter[str] = Counter()
    for tally in tallies:
        for reason, ones in tally.get("skipped", {}).items():
            skips[reason] += len(ones)
    out += [f"  skipped {count:>4}: {reason}" for reason, count in skips.most_common()]
    return out


def main() -> int:
    """Run the parts and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="auto")
    parser.add_argument("--sleepers", default="4")
    args = parser.parse_args()
    # one worker runs a whole file: its fixtures build a wheel or a zipapp only once
    files = ["--dist", "loadfile"]
    netns = str(TESTS / "netns")
    parts = (
        ["-n", args.workers, *files, "-m", "not netns", str(TESTS)],
        ["-n", args.sleepers, *files, "--reruns", "1", "-m", "netns and not alone", netns],
        ["--reruns", "1", "-m", "netns and alone", netns],
    )
    codes, tallies = [], []
    for number, part in enumerate(parts):
        with tempfile.TemporaryDirectory(prefix="nettop-") as folder:
            tally = Path(folder, f"{number}.json")
            words = [sys.executable, "-m", "pytest", "--tally", str(tally), *part]
            codes.append(subprocess.run(words, check=False).returncode)
            tallies.append(json.loads(tally.read_text()) if tally.exists() else {})
    rules = subprocess.run([sys.executable, "-m", "nettop", "rules", "test"], check=False)
    print("\n" + "\n".join(summary(tallies, rules.returncode)))
    return int(any(codes) or rules.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
