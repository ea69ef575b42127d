"""Play real traffic, record it, judge it, and print the scoreboard: `make live`.

    python tests/live/run.py [NAME…] [--all] [--minutes M] [--strict] [--cures] [--write]

Without names the quick plays, and the tests of this folder that have the mark `live`. NAME is a
part of names of plays: their recordings are stored anew in tests/live/recordings. What is not right
is played again with nothing beside it. The rows are in lab-out/live.json; `--write` puts them into
scores.json and docs/records/live.md as well. Exit code 0 whatever is found; with `--strict` 1
where a play was not right in three undisturbed plays. `--cures` applies nettop's fixes and looks
again.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from live import scoreboard, wordless
from live.disturbed import Cpu, disturbance
from live.play import (
    ABSENT,
    RECORDINGS,
    RIGHT,
    TRUTH,
    WRONG,
    Outcome,
    Play,
    nameless,
    plays,
    truths,
    unread,
)
from live.scoreboard import DISTURBED, FAULT, LEFT_OUT, ROOT, Row

OUT: Final = ROOT / "lab-out" / "live.json"
TOGETHER: Final = 3  # plays side by side: most of them wait
NOT_MADE: Final = "not made: "


def alone_in_proc() -> None:
    """Start again in a process namespace: recordings then show only what belongs to a play."""
    if os.getpid() != 1:
        words = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable]
        os.execvp(words[0], [*words, *sys.argv])


class Runner:
    """Plays, and remembers what came out."""

    def __init__(self, args: argparse.Namespace, last: dict[str, Row]) -> None:
        self.args, self.last = args, last
        self.end = time.monotonic() + 60 * args.minutes
        self.folder = Path(tempfile.mkdtemp(prefix="nettop-live-"))
        self.rows: dict[str, Row] = {}

    def all(self, chosen: list[Play]) -> None:
        """Play those that wait together, then what was not right and what needs the cores."""
        beside = [play for play in chosen if not play.alone]
        with ThreadPoolExecutor(TOGETHER) as pool:
            work = {pool.submit(self.staged, play): play for play in beside}
            for done in as_completed(work):
                self.judged(work[done], *done.result(), more=True)
        again = [play for play in beside if not self.right(play)]
        for play in [*again, *(play for play in chosen if play.alone)]:
            for _ in range(FAULT if self.args.strict else 1):
                if self.judged(play, *self.staged(play)) or self.late:
                    break

    @property
    def late(self) -> bool:
        """No more time."""
        return bool(time.monotonic() > self.end)

    def right(self, play: Play) -> bool:
        """What came out is right, or there was no time."""
        return str(self.rows[play.name]["verdict"]) in (RIGHT, LEFT_OUT)

    def staged(self, play: Play) -> tuple[Any, str]:
        """The truth of a play, or None; what disturbed it, or why it was not made."""
        if self.late:
            return None, LEFT_OUT
        (self.folder / play.name).mkdir(exist_ok=True)
        before = Cpu.now()
        try:
            truth = play.stage(self.folder / play.name)
        except (OSError, RuntimeError, AssertionError, subprocess.SubprocessError) as error:
            return None, f"{NOT_MADE}{error}"
        return truth, disturbance(before, Cpu.now())

    def judged(self, play: Play, truth: Any, disturbed: str, *, more: bool = False) -> bool:
        """Judge a recorded play and keep its row; whether it was right. `more`: it is not final."""
        if truth is None:
            verdict = LEFT_OUT if disturbed == LEFT_OUT else WRONG
            outcome = Outcome(verdict, disturbed)
        else:
            outcome = play.judge(self.folder / play.name, truth)
        before = self.rows.get(play.name, self.last.get(play.name, {})).get("in_a_row", 0)
        counts = not outcome.right and not disturbed and not more
        self.rows[play.name] = {
            "name": play.name, "group": group(play), "verdict": outcome.verdict,
            "said": outcome.said, "disturbed": disturbed if disturbed != LEFT_OUT else "",
            "in_a_row": 0 if outcome.right else before + counts,
            **self.kept(play),
        }  # fmt: skip
        print(f"{outcome.verdict:6} {play.name}: {outcome.said[:300]}"
              f"{' [' + disturbed[:120] + ']' if disturbed else ''}", flush=True)  # fmt: skip
        if outcome.right and truth is not None:
            self.store(play, truth)
        return outcome.right

    def kept(self, play: Play) -> dict[str, Any]:
        """What the fixes of a play did, now or when they were tried last."""
        fix = self.last.get(play.name, {}).get("fix")
        return {"fix": fix} if fix else {}

    def store(self, play: Play, truth: Any) -> None:
        """Keep the recordings of a play that was asked for by name, or that has none."""
        absent = play.quick and not all((RECORDINGS / name).exists() for name in play.files)
        if not (self.args.names or absent):
            return
        RECORDINGS.mkdir(exist_ok=True)
        for name in play.files:
            path = self.folder / play.name / name
            nameless(path)
            shutil.copyfile(path, RECORDINGS / name)
        kept = {**truths(), play.name: {**truth, ABSENT: unread(play)}}
        lines = [f" {json.dumps(name)}: {json.dumps(kept[name])}" for name in sorted(kept)]
        (RECORDINGS / TRUTH).write_text("{\n" + ",\n".join(lines) + "\n}\n")
        truths.cache_clear()


def group(play: Play) -> str:
    """The cases that it belongs to."""
    case = play.stage.args[0] if getattr(play.stage, "args", ()) else None  # type: ignore[attr-defined]
    return str(getattr(case, "file", "") or play.name.partition("-")[0])


def tests(minutes: float) -> Iterator[Row]:
    """The tests of this folder with the mark `live`: a row each."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        words = [sys.executable, "-m", "pytest", "-m", "live", "--tally", file.name]
        before = Cpu.now()
        try:
            subprocess.run([*words, str(Path(__file__).parent)], check=False, cwd=ROOT,
                           timeout=60 * minutes)  # fmt: skip
        except subprocess.TimeoutExpired:
            print("the live tests were left out: no time", flush=True)
            return
        disturbed = disturbance(before, Cpu.now())
        tally = json.loads(Path(file.name).read_text() or "{}")
    verdicts = {"passed": RIGHT, "failed": WRONG, "error": WRONG, "skipped": LEFT_OUT}
    for kind, verdict in verdicts.items():
        for why, names in tally.get(kind, {}).items():
            for name in names:
                yield {"name": name.removeprefix("tests/live/"), "group": "tests",
                       "verdict": verdict, "said": why, "disturbed": disturbed,
                       "in_a_row": 0}  # fmt: skip


def cures(chosen: Iterable[Play], rows: dict[str, Row]) -> None:
    """Apply what nettop advises and look again, where a case of a host allows it."""
    from dataclasses import asdict

    from live import treated
    from live.scenario import Scenario

    for play in chosen:
        case = getattr(play.stage, "args", (None,))[0]
        if isinstance(case, Scenario) and not case.sound:
            _, fix = treated.play(case)
            if fix is not None:
                told = asdict(fix) | {"before": fix.before.told(), "after": fix.after.told()}
                rows[play.name] = {**rows[play.name], "fix": told}
                print(f"fixed {play.name}: {', '.join(fix.fixed)}; still found: {fix.remains}")


def main() -> int:
    """Play as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="parts of names of plays; they are recorded anew")
    parser.add_argument("--all", action="store_true", help="all plays, not only the quick ones")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no more after these")
    parser.add_argument("--strict", action="store_true", help="exit code 1 where there is a fault")
    parser.add_argument("--cures", action="store_true", help="apply fixes and look again")
    parser.add_argument(
        "--write", action="store_true", help="write scores.json and docs/records/live.md"
    )
    args = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("unshare"):
        print("live: left out: needs root and unshare (util-linux): it makes network namespaces")
        return 0
    alone_in_proc()
    last = {**scoreboard.load(), **scoreboard.load(OUT)}
    chosen = [
        play for play in plays().values()
        if (any(name in play.name for name in args.names) if args.names else play.quick or args.all)
    ]  # fmt: skip
    if not chosen:
        parser.error(f"no play has {' or '.join(args.names)} in its name")
    runner = Runner(args, last)
    try:
        runner.all(chosen)
        if args.cures:
            cures(chosen, runner.rows)
        if not args.names and not runner.late:
            left = (runner.end - time.monotonic()) / 60
            runner.rows |= {row["name"]: row for row in tests(min(left, 60))}
    finally:
        shutil.rmtree(runner.folder, ignore_errors=True)
    for left in OUT.parent.glob("*/live.json"):  # of the virtual machine
        runner.rows |= scoreboard.load(left)
    rows = [*runner.rows.values()]
    OUT.parent.mkdir(exist_ok=True)
    scoreboard.save({**last, **runner.rows}.values(), OUT)
    if args.write:
        known = {**scoreboard.load(), **runner.rows}
        scoreboard.save(known.values())
        scoreboard.PAGE.write_text(scoreboard.page([*known.values()]))
    return report(rows, last, strict=args.strict)


def report(rows: list[Row], last: dict[str, Row], *, strict: bool) -> int:
    """Print the scoreboard; the exit code."""
    print("\n" + scoreboard.aligned(scoreboard.table(rows)))
    for row in rows:
        if scoreboard.column(row) == DISTURBED:
            print(f"disturbed: {row['name']}: {row['disturbed']}")
    print(wordless.told())
    if not scoreboard.measured(rows):
        print("more than a fifth of the plays was disturbed: not measured")
    print("\n".join(f"changed: {line}" for line in scoreboard.changed(rows, last)))
    found = scoreboard.faults(rows)
    print("\n".join(f"fault: {row['name']}: {row['said'][:300]}" for row in found))
    return int(strict and bool(found))


if __name__ == "__main__":
    sys.exit(main())
