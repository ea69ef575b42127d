"""Play the staged limits and write what `nettop why` said of each: `make limits`.

    python tests/live/limits/page.py [--only TEXT] [--looks 5] [--seconds MOST] [--new] [--write]

The page is docs/records/limits.md; cases that are not played keep their row. Exit code 1 when a
look is wrong. As root, on a machine with little else to do.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from live.limits.case import Case, right
from live.limits.stage import Stage
from live.limits.table import CASES

from nettop.terms import units

PAGE = Path(__file__).parents[3] / "docs" / "records" / "limits.md"
HEAD = (
    "| limit | end | right stages | right looks | stages named | rate | next | lifted | error "
    "| inside |"
)
ABOUT = (
    "Each limit is created on purpose between network namespaces, so its stage is known. `nettop "
    "why` looked at each five times, from the end named, for two seconds. A look is right if it "
    "names one of the right stages, alone or as a joint limit. `make limits` plays all and "
    "rewrites this page. Limits that need modules of a kernel are in "
    "[limits-guest.md](limits-guest.md)."
)
NEXT = (
    "`next` is the stage predicted to limit next, with its capacity; `lifted` is the rate measured "
    "after the limit was taken away; `error` is the distance of the middle of the interval from "
    "it; `inside` whether it is in the interval. Without `next` it is not known: a CPU that is "
    "less than half used, or a thread that is often woken, does not show what it can carry."
)
LOADED = (
    "A limit marked * depends on the CPUs: other work on the machine changes it. Rows are of "
    "several runs; each is the last play of its limit, on a machine with two CPUs. The programs of "
    "work-… spend a fixed CPU time on each byte, and run before other work (SCHED_FIFO)."
)
CPU = ("thread ", "core ")
SECONDS = 2.0  # of one look
TOGETHER = 4  # limits that are played at the same time
SETTLED = 2.5  # from the first byte to the first look


@dataclass(slots=True)
class Played:
    """What was said of one limit at one end."""

    case: Case
    end: str
    expected: str
    named: list[str] = field(default_factory=list)
    good: int = 0
    rate: float | None = None
    following: tuple[str, list[float]] | None = None
    lifted: float | None = None
    ladder: list[str] = field(default_factory=list)

    @property
    def error(self) -> float | None:
        """The predicted next capacity (middle of its interval) against the rate once lifted."""
        if self.following is None or not self.lifted:
            return None
        return abs(sum(self.following[1]) / 2 - self.lifted) / self.lifted

    @property
    def inside(self) -> str:
        """Whether the rate once lifted is in the interval of the next capacity."""
        if self.following is None or not self.lifted:
            return ""
        least, most = self.following[1]
        return "yes" if least <= self.lifted <= most else "no"

    def row(self) -> str:
        """Its line of the page."""
        named = ", ".join(f"{name} {count}" for name, count in Counter(self.named).most_common())
        following = self.following and (
            f"{self.following[0]} {'–'.join(units.scaled(one, 'b/s') for one in self.following[1])}"
        )
        cells = (
            _shown(self.case), self.end,
            self.expected.replace(" ", ", "), f"{self.good} of {len(self.named)}", named,
            _rate(self.rate), following or "", _rate(self.lifted),
            "" if self.error is None else f"{self.error:.0%}", self.inside,
        )  # fmt: skip
        return "| " + " | ".join(cells) + " |"


def _rate(value: float | None) -> str:
    return "" if value is None else units.scaled(value, "b/s")


def play(case: Case, looks: int) -> list[Played]:
    """Stage it, look at it from each end, lift it where that is possible."""
    ends = (("writer", case.sends), ("reader", case.receives))
    played = [Played(case, end, expected) for end, expected in ends if expected]
    with Stage(case.name) as stage:
        case.make(stage)
        time.sleep(SETTLED)
        for one in played:
            for seen in stage.looks(
                looks, case.target, sending=one.end == "writer", seconds=SECONDS
            ):
                _take(one, seen)
        if stage.lift is not None and case.sends:
            stage.lift()
            time.sleep(1.0)
            after = stage.looks(1, case.target, seconds=SECONDS)[0]
            for one in played:
                one.lifted = after["rate"] if after is not None else None
    return played


def _take(one: Played, seen: dict[str, Any] | None) -> None:
    if seen is None:
        one.named.append("nothing")
        return
    stage_name, end = seen["limit"]["stage"], seen["limit"]["end"]
    joint = seen["limit"]["joint"]
    good = right(one.expected, stage_name, end) or not set(joint).isdisjoint(one.expected.split())
    one.named.append(stage_name)
    one.good += good
    one.rate = seen["rate"]
    following = seen["next"]
    one.following = following and (following["stage"], following["capacity"])
    if not good:
        one.ladder = [
            f"{step['stage']} {step['end']} {step['utilisation']} {step['because']}"
            for step in seen["ladder"]
        ]


def write(played: list[Played]) -> None:
    """Put the rows into the page."""
    rows = _rows()
    for one in played:
        rows[tuple(_cells(one.row())[:2])] = one.row()
    order = {_shown(case): place for place, case in enumerate(CASES.values())}
    kept = sorted(
        (key for key in rows if key[0] in order),
        key=lambda key: (order[key[0]], key[1] == "reader"),
    )
    PAGE.write_text(page([rows[key] for key in kept]))


def _rows() -> dict[tuple[str, ...], str]:
    """The rows of the page, by limit and end."""
    if not PAGE.exists():
        return {}
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
    lines = [line + "  |" if len(_cells(line)) < len(_cells(HEAD)) else line for line in lines]
    return {tuple(_cells(line)[:2]): line for line in lines}


def _shown(case: Case) -> str:
    return case.name + (" *" if case.quiet else "")


def page(
    rows: list[str], limits: int = len(CASES), title: str = "Staged limits", about: str = ABOUT
) -> str:
    """The whole page from its rows."""
    cells = [_cells(row) for row in rows]
    counts = [[int(word) for word in one[3].split(" of ")] for one in cells]
    good, looks = sum(one[0] for one in counts), sum(one[1] for one in counts)
    whole = sum(one[0] == one[1] for one in counts)
    measured = [one for one in cells if one[8]]
    inside = sum(one[9] == "yes" for one in measured)
    errors = {
        of: [float(one[8].rstrip("%")) / 100 for one in measured if (one[6].startswith(CPU)) == of]
        for of in (False, True)
    }
    return "\n".join((
        f"# {title}",
        "",
        about,
        "",
        (
            f"{len({one[0] for one in cells})} of {limits} limits played, {len(rows)} ends, "
            f"{looks} looks: {good} right, {good / max(1, looks):.1%}. {whole} of {len(rows)} ends "
            "are right in every look."
        ),
        "",
        (
            f"{NEXT} Median error where it is reported or computed: {_median(errors[False])}; "
            f"where it is a CPU: {_median(errors[True])}. {inside} of {len(measured)} are inside."
        ),
        "",
        LOADED,
        "",
        HEAD,
        "|---" * 10 + "|",
        *rows,
        "",
    ))  # fmt: skip


def _median(errors: list[float]) -> str:
    return f"{statistics.median(errors):.0%} of {len(errors)}" if errors else "not measured"


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row[1:-1].split("|")]


def main() -> int:
    """Play and print; exit code 1 when a look was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="names that contain one of these words")
    parser.add_argument("--looks", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no more then")
    parser.add_argument("--new", action="store_true", help="leave out those of the page")
    parser.add_argument("--write", action="store_true", help="write the page")
    args = parser.parse_args()
    words = args.only.split()
    chosen = [case for case in CASES.values() if not words or any(w in case.name for w in words)]
    began, wrong = time.monotonic(), 0
    written = {key[0] for key in _rows()} if args.new else set()
    chosen = [case for case in chosen if _shown(case) not in written]
    chosen.sort(key=lambda case: case.quiet)
    place = 0
    with ThreadPoolExecutor(TOGETHER) as pool:
        while place < len(chosen):
            if time.monotonic() - began > args.seconds:
                print(f"{place} of {len(chosen)} played; go on with --new", flush=True)
                break
            count = 1 if chosen[place].quiet else TOGETHER
            some = [c for c in chosen[place : place + count] if c.quiet == chosen[place].quiet]
            place += len(some)
            for case, done in [(case, pool.submit(play, case, args.looks)) for case in some]:
                try:
                    played = done.result()
                except (OSError, AssertionError, subprocess.SubprocessError) as error:
                    print(f"??? {case.name}: {error}", flush=True)
                    continue
                wrong += sum(tell(one) for one in played)
                if args.write:
                    write(played)
    return int(bool(wrong))


def tell(one: Played) -> bool:
    """Print what was said; whether any of it was wrong."""
    bad = one.good < len(one.named)
    print(("BAD " if bad else "ok  ") + one.row(), flush=True)
    for line in one.ladder:
        print(f"      {line}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main())
