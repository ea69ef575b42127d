"""Limits of one flow, known by construction: the stage that `why` names, seen from either end.

Where the case says how its limit is lifted, the flow is recorded once more without it: the rate is
then in the interval that was predicted.
"""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from live.limits.case import Case, right
from live.limits.stage import LOCAL, Stage
from live.limits.table import CASES, SHORT
from live.play import RIGHT, SILENT, WRONG, Outcome, Play, Truth, answer, record, worst

SETTLED: Final = 2.5  # seconds in which buffers and windows grow
LIFTED: Final = 1.5  # seconds until the rate follows
ENDS: Final = ("writer", "reader", "lifted")


def stage(case: Case, folder: Path) -> Truth:
    """Make the limit and record the flow at each end, and without the limit."""
    with Stage(case.name[:12]) as made:
        case.make(made)
        time.sleep(SETTLED)
        for end in _ends(case):
            if end == "lifted" and made.lift is not None:
                made.lift()
                time.sleep(LIFTED)
            space = made.there if end == "reader" and case.to != LOCAL else made.here
            record(folder / _file(case, end), space, sysfs=False)
    return {}


def judge(case: Case, folder: Path, truth: Truth) -> Outcome:
    """The stage at each end, and the rate that was predicted for the next one."""
    looks = {end: limit(case, folder / _file(case, end), end) for end in _ends(case)}

    def outcomes() -> Iterator[Outcome]:
        for end, look in looks.items():
            if look is None:
                yield Outcome(SILENT, f"{end}: no limit")
            elif end != "lifted":
                expected = case.receives if end == "reader" else case.sends
                found, joint = look["limit"], look["limit"]["joint"]
                good = right(expected, found["stage"], found["end"]) or not {
                    *expected.split()
                }.isdisjoint(joint)
                good = good and bool(found["because"])
                said = f"{end}: {found['stage']} {found['end']}, {found['because']}"
                yield Outcome(RIGHT if good else WRONG, said)
            elif looks["writer"] is not None:
                yield foretold(looks["writer"], look["rate"])

    return worst(outcomes())


def foretold(look: dict[str, Any], lifted: float) -> Outcome:
    """Whether the rate without the limit is what was predicted; nothing may be predicted."""
    following = look["next"]
    if following is None:
        return Outcome(RIGHT, "nothing is predicted")
    least, most = following["capacity"]
    said = f"lifted: {lifted / 1e6:.1f} Mb/s; predicted: {least / 1e6:.1f} to {most / 1e6:.1f}"
    return Outcome(RIGHT if least <= lifted <= most else WRONG, said)


def limit(case: Case, path: Path, end: str) -> dict[str, Any] | None:
    """What limits the flow of a recording; None: nothing does, or there is none."""
    address = f"{case.target}:7300" if "." in case.target else f"[{case.target}]:7300"
    direction = "rx" if end == "reader" else "tx"
    found = answer("why", "--replay", str(path))["limits"]
    return next(
        (one for one in found if one["direction"] == direction and address in one["target"]), None
    )


def _ends(case: Case) -> tuple[str, ...]:
    has = {"writer": case.sends, "reader": case.receives, "lifted": case.lift and case.sends}
    return tuple(end for end in ENDS if has[end])


def _file(case: Case, end: str) -> str:
    return f"limit-{case.name}-{end}.host.gz"


PLAYS: Final = tuple(
    Play(
        f"limit-{case.name}", partial(stage, case), partial(judge, case),
        tuple(_file(case, end) for end in _ends(case)), quick=case.name in SHORT, alone=case.quiet,
    )
    for case in CASES.values()
)  # fmt: skip
