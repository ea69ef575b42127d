"""Every check that this machine can run, and one summary: what `make test` starts.

    python tests/everything.py [--workers N] [--sleepers N]

The tests run in three parts: side by side; those of namespaces, which wait more than they work;
alone, what depends on the rate of its traffic. A part that fails does not stop the next.
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
    """The lines that tell it: counts, what failed, what was skipped and why."""
    told: dict[str, list[str]] = {
        kind: [one for tally in tallies for ones in tally.get(kind, {}).values() for one in ones]
        for kind in COUNTED
    }
    broken = [*told["failed"], *told["error"]]
    out = [
        f"{len(told['passed']):,} passed, {len(broken):,} failed, {len(told['skipped']):,} skipped"
        + (f", {len(told['rerun']):,} tried twice" if told["rerun"] else "")
        + f"; nettop rules test {'failed' if rules else 'passed'}"
    ]
    out += [f"  failed: {one}" for one in broken]
    out += [f"  tried twice: {one}" for one in told["rerun"]]
    why: Counter[str] = Counter()
    for tally in tallies:
        for reason, ones in tally.get("skipped", {}).items():
            why[reason] += len(ones)
    out += [f"  skipped {count:>4}: {reason}" for reason, count in why.most_common()]
    return out


def main() -> int:
    """Run the parts, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="auto")
    parser.add_argument("--sleepers", default="4")
    args = parser.parse_args()
    # a file stays with one worker: what its fixtures build, a wheel or a zipapp, is built once
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
