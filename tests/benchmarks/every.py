"""Run the benchmarks that have not run yet with this code, then print all goals: `make bench`.

    python tests/benchmarks/every.py [--minutes M] [--again]

What has ended is kept in lab-out/bench.json with a digest of the code, so a run that was stopped
goes on where it was. After a change of the code all run anew. `--minutes`: begin none after these.
Exit code 3: some have still to run. A benchmark that fails is told and counts as run. When all have
run, docs/records/benchmarks.md is written: the goals, and what each program printed.
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import goals

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
INPUTS: Final = ("src/nettop", "rules", "tests/benchmarks", "tests/hosts", "tests/support")
PAGE: Final = ROOT / "docs" / "records" / "benchmarks.md"
KEPT: Final = goals.FILE.with_name("bench")  # what each benchmark printed
OTHERS: Final = ("every.py", "goals.py", "record_seconds.py")  # measure nothing


def digest(root: Path) -> str:
    """Stands for the code and the hosts that are measured."""
    found = hashlib.sha256()
    for path in sorted(one for name in INPUTS for one in (root / name).rglob("*")):
        if path.suffix in {".py", ".toml", ".gz"}:
            found.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return found.hexdigest()[:12]


def ended(kept: Path, code: str) -> list[str]:
    """The benchmarks that have ended with this code."""
    told = json.loads(kept.read_text()) if kept.exists() else {}
    return list(told["ended"]) if told.get("code") == code else []


def play(
    kept: Path, code: str, names: list[str], minutes: float, run: Callable[[str], bool]
) -> list[str]:
    """Run those of `names` that have not ended; the names of those that still have to run."""
    done, end = ended(kept, code), time.monotonic() + 60 * minutes
    left = [name for name in names if name not in done]
    while left and time.monotonic() < end:
        if not run(left[0]):
            print(f"{left[0]} ended early: its goals are not measured", flush=True)
        done.append(left.pop(0))
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps({"code": code, "ended": done}))
    return left


def _run(name: str) -> bool:
    """Run a benchmark; print what it prints, and keep it."""
    print(f"== {name}", flush=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-u", str(HERE / name)]
    with (
        subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as program,
        (KEPT / f"{name}.txt").open("w") as kept,
    ):
        for line in program.stdout or ():
            print(line, end="", flush=True)
            kept.write(line)
    return program.returncode == 0


def page(names: list[str], told: Callable[[str], str], machine: str) -> Iterator[str]:
    """The lines of docs/records/benchmarks.md; `told` gives what a benchmark printed."""
    yield "# Benchmarks\n"
    yield (
        "What `make bench` measured last; it writes this page. A goal that is missed is marked.\n"
        "Figures are medians; those of a screen hold for the 20 seconds after the first 15.\n"
    )
    yield f"{machine}\n"
    lines = goals.FILE.read_text().splitlines() if goals.FILE.exists() else []
    yield "```"
    yield from goals.table(goals.measured(lines))
    yield "```"
    for name in names:
        text = told(name).strip()
        if text:
            yield f"\n## {name}\n\n```\n{text}\n```"


def _machine() -> str:
    """One sentence about this machine."""
    date = time.strftime("%Y-%m-%d")
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    return f"Measured on {date}: {os.cpu_count()} CPUs, {system}."


def _told(name: str) -> str:
    file = KEPT / f"{name}.txt"
    return file.read_text() if file.exists() else ""


def main() -> int:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--again", action="store_true", help="run all of them once more")
    args = parser.parse_args()
    kept, code = goals.FILE.with_name("bench.json"), digest(ROOT)
    if args.again or not ended(kept, code):
        kept.unlink(missing_ok=True)
        goals.FILE.unlink(missing_ok=True)
        for file in KEPT.glob("*.txt"):
            file.unlink()
    names = sorted(one.name for one in HERE.glob("*.py") if one.name not in OTHERS)
    left = play(kept, code, names, args.minutes, _run)
    goals.main()
    if left:
        print(f"still to run: {', '.join(left)}: run the same command again")
    else:
        PAGE.write_text("\n".join(page(names, _told, _machine())) + "\n")
        print(f"written: {PAGE.relative_to(ROOT)}")
    return 3 if left else 0


if __name__ == "__main__":
    sys.exit(main())
