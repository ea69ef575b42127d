"""Run every check that this machine can run and print one summary: `make test`.

    python tests/everything.py [--workers N] [--sleepers N]

Most tests run on all cores. Beside them run the tests of namespaces, which mostly wait, the checks
of format, lint and types, and the rules' own tests. Afterwards come, one at a time, the tests that
depend on the rate of their traffic, and the tests that failed, if they are few: what failed only
because the cores were taken passes when nothing runs beside it, and is listed as tried twice. A
part that fails does not stop the others.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TypeAlias

TESTS: Final = Path(__file__).parent
COUNTED: Final = ("passed", "failed", "error", "skipped", "rerun")
Tally: TypeAlias = dict[str, dict[str, list[str]]]  # outcome → reason → tests, as `--tally` writes
CHECK: Final = ["nice", "make", "--no-print-directory", "check"]
RULES: Final = ["nice", sys.executable, "-m", "nettop", "rules", "test"]
PYTEST: Final = [sys.executable, "-m", "pytest"]
# one worker runs a whole file: its fixtures build a wheel or a zipapp only once
FILES: Final = ["--dist", "loadfile"]
FAILED: Final = 1  # pytest's exit code when tests failed
MOST: Final = 12  # failed tests that are tried again; more are no accident


def summary(tallies: Sequence[Tally], checks: int, rules: int) -> list[str]:
    """The lines of the summary: counts, failed tests, reasons of skips.

    `checks` and `rules` are the exit codes of `make check` and `nettop rules test`.
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
        + "".join(
            f"; {name} {'failed' if code else 'passed'}"
            for name, code in (("make check", checks), ("nettop rules test", rules))
        )
    ]
    out += [f"  failed: {one}" for one in failed]
    out += [f"  tried twice: {one}" for one in tests["rerun"]]
    skips: Counter[str] = Counter()
    for tally in tallies:
        for reason, ones in tally.get("skipped", {}).items():
            skips[reason] += len(ones)
    out += [f"  skipped {count:>4}: {reason}" for reason, count in skips.most_common()]
    return out


def together(*commands: Sequence[str]) -> list[int]:
    """The exit codes of commands that run side by side.

    The first writes to the terminal; the output of another is printed when it has ended.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in commands[1:]]
        running = [
            stack.enter_context(subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT))
            if file
            else stack.enter_context(subprocess.Popen(words))
            for words, file in zip(commands, [None, *files], strict=True)
        ]
        codes = [process.wait() for process in running]
        for file in files:
            file.seek(0)
            print(file.read(), end="", flush=True)
    return codes


def _tally(path: Path) -> Tally:
    return dict(json.loads(path.read_text())) if path.exists() else {}


def failed(tally: Tally) -> list[str]:
    """The tests that failed or could not be set up."""
    return [
        one for kind in ("failed", "error") for ones in tally.get(kind, {}).values() for one in ones
    ]


def mended(tally: Tally, again: Tally) -> Tally:
    """The tally with the outcomes of the tests that were tried again."""
    tried = {*failed(tally)}
    kept = {
        kind: {why: [one for one in ones if one not in tried] for why, ones in reasons.items()}
        for kind, reasons in tally.items()
    }
    for kind in COUNTED:
        for why, ones in again.get(kind, {}).items():
            kept.setdefault(kind, {}).setdefault(why, []).extend(ones)
    reruns = {one for ones in kept.get("rerun", {}).values() for one in ones}
    return kept | {"rerun": {"": sorted(tried | reruns)}}


def main() -> int:
    """Run the parts and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="auto")
    parser.add_argument("--sleepers", default="4")
    args = parser.parse_args()
    netns = str(TESTS / "netns")
    with tempfile.TemporaryDirectory(prefix="nettop-") as folder:
        paths = [Path(folder, f"{number}.json") for number in range(5)]
        most, sleeping, alone, *again = ([*PYTEST, "--tally", str(path)] for path in paths)
        # polite: a test of namespaces that no longer waits is served first
        most = ["nice", *most, "-n", args.workers, *FILES, "-m", "not netns", str(TESTS)]
        most += ["--no-loadscope-reorder"]  # the order of conftest.py: slow files first
        sleeping += ["-n", args.sleepers, *FILES, "--reruns", "1", "-m", "netns and not alone"]
        codes = together(most, [*sleeping, netns], CHECK, RULES)
        codes += together([*alone, "--reruns", "1", "-m", "netns and alone", netns])
        tallies = [*map(_tally, paths[:3])]
        for part, words in enumerate(again):
            tries = failed(tallies[part])
            if codes[part] == FAILED and len(tries) <= MOST:
                codes[part] = together([*words, "--reruns", "1", *tries])[0]
                tallies[part] = mended(tallies[part], _tally(paths[3 + part]))
    print("\n" + "\n".join(summary(tallies, checks=codes[2], rules=codes[3])))
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
