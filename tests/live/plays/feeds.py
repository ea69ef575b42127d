"""What feeds or drains a flow: the stage that `why` names, and the program that waits there."""

import time
from functools import partial
from pathlib import Path
from typing import Final

from live.limits.feeding import CASES, RATE, Fed
from live.limits.stage import Stage
from live.play import RIGHT, SILENT, WRONG, Outcome, Play, Truth, answer, record

SETTLED: Final = 2.5  # seconds in which buffers and windows grow
NEAR: Final = 0.2  # of the capacity of a device: what is told is so near


def file(case: Fed) -> str:
    """The recording of a case."""
    return f"feed-{case.name}.host.gz"


def stage(case: Fed, folder: Path) -> Truth:
    """Make the limit and record the flow at its end."""
    with Stage("feed") as made:
        case.make(made)
        time.sleep(SETTLED)
        record(folder / file(case), made.there if case.drains else made.here, interval=0.5)
    return {}


def judge(case: Fed, folder: Path, truth: Truth) -> Outcome:
    """The stage, the program, and the capacity of a device."""
    direction = "rx" if case.drains else "tx"
    found = answer("why", "--replay", str(folder / file(case)))["limits"]
    one = next(
        (x for x in found if x["direction"] == direction and ":7300" in x["target"]), None
    )  # fmt: skip
    if one is None:
        return Outcome(SILENT, "no limit")
    limit = one["limit"]
    said = f"{limit['stage']} {limit['end']} of {limit['name']}, {limit['because']}"
    good = (limit["stage"], limit["end"]) == (case.stage, "here")
    good = good and limit["name"].startswith(case.program)
    if case.device and limit["capacity"] is not None:
        middle = sum(limit["capacity"]) / 2
        said += f"; {middle / 1e6:.1f} Mb/s"
        good = good and abs(middle - 8 * RATE) <= NEAR * 8 * RATE
    return Outcome(RIGHT if good else WRONG, said)


PLAYS: Final = tuple(
    Play(f"feed-{name}", partial(stage, case), partial(judge, case), (file(case),), quick=True,
         alone=case.stage in ("memory", "pipe-cpu"))
    for name, case in CASES.items()
)  # fmt: skip
