"""Limits of a flow whose both ends are read: the host and the stage that `why --peer` names."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from hang import until
from live.limits.both import LIMITS, BothCase
from live.limits.case import FAR
from live.limits.stage import Stage
from live.play import RIGHT, SILENT, WRONG, Outcome, Play, Truth, answer, record, text, worst
from live.programs.run import RUN

SETTLED: Final = 2.5  # seconds in which buffers and windows grow
QUICK: Final = ("reader-sleeps", "writer-sleeps", "tbf-20mbit", "rcvbuf-32768", "acks-tbf")
SIDES: Final = {"writer": True, "reader": False}
_NAT: Final = "ends-translated"


def pair(folder: Path, name: str, made: Stage, *, sending: bool, far: str = "") -> None:
    """Record both ends, from the one that sends or from the other; `far` leads into its prefix."""
    near, other = (made.here, made.there) if sending else (made.there, made.here)
    record(folder / f"{name}.host.gz", near, peer=f"ip netns exec {other} {far}".strip(),
           interval=0.5, seconds=3.5, sysfs=False)  # fmt: skip


def files(*names: str) -> tuple[str, ...]:
    """The files of pairs."""
    return tuple(f"{name}{end}.host.gz" for name in names for end in ("", ".peer"))


def flow(path: Path) -> dict[str, Any] | None:
    """The joined flow with the highest rate."""
    joined = answer("why", "--replay", str(path))["peer"]["flows"]
    return max(joined, key=lambda one: one["limit"]["rate"] or 0.0, default=None)


def stage(case: BothCase, folder: Path) -> Truth:
    """Make the limit and record both ends from either."""
    with Stage("ends") as made:
        case.case.make(made)
        time.sleep(SETTLED)
        for side, sending in SIDES.items():
            pair(folder, f"ends-{case.case.name}-{side}", made, sending=sending)
    return {}


def judge(case: BothCase, folder: Path, truth: Truth) -> Outcome:
    """The host and the stage, seen from either end."""

    def outcomes() -> Iterator[Outcome]:
        for side, sending in SIDES.items():
            found = flow(folder / f"ends-{case.case.name}-{side}.host.gz")
            if found is None:
                yield Outcome(SILENT, f"{side}: no flow is joined")
                continue
            limit = found["limit"]["limit"]
            good = case.right(limit["stage"], limit["end"], sending=sending)
            said = f"{side}: {limit['stage']} {limit['end']}, {limit['because']}"
            yield Outcome(RIGHT if good else WRONG, said)

    return worst(outcomes())


def stage_translated(folder: Path) -> Truth:
    """A flow whose addresses a router translates."""
    with Stage("nat") as made:
        made.chain()
        made.run(made.middle, f"{sys.executable} {RUN} masquerade")
        made.reader()
        made.writer("pace=2500000", to=FAR)
        time.sleep(SETTLED)
        for side, sending in SIDES.items():
            pair(folder, f"{_NAT}-{side}", made, sending=sending)
    return {}


def judge_translated(folder: Path, truth: Truth) -> Outcome:
    """It is named with its candidate, and not joined."""

    def outcomes() -> Iterator[Outcome]:
        for side, sending in SIDES.items():
            path = str(folder / f"{_NAT}-{side}.host.gz")
            both = answer("why", "--replay", path)["peer"]
            ours, theirs = ("10.96.0.2", "10.97.0.1") if sending else ("10.97.0.1", "10.96.0.2")
            words = text("why", "--replay", path)
            good = (
                both["flows"] == []
                and any(
                    ours in one["target"] and len(one["candidates"]) == 1
                    and theirs in one["candidates"][0]
                    for one in both["unmatched"]
                )
                and "its addresses are translated on the way (NAT)" in words
                and "same port and about the same rate there, not joined: " in words
            )  # fmt: skip
            yield Outcome(RIGHT if good else WRONG, f"{side}: {words[:300]}")

    return worst(outcomes())


def stage_ended(folder: Path) -> Truth:
    """The writer ends while both ends are recorded, once some samples are written."""
    with Stage("ended") as made:
        made.reader()
        writer = made.writer("pace=2500000")
        path = folder / "ends-ended.host.gz"
        words = ["record", str(path), "--seconds", "12", "--interval", "0.5", "--keep-addresses",
                 "--peer", f"ip netns exec {made.there}"]  # fmt: skip
        nettop = made.inside(made.here, sys.executable, "-m", "nettop", *words)
        with subprocess.Popen(nettop, stderr=subprocess.DEVNULL) as recording:
            sizes: set[int] = set()

            def grown() -> bool:
                sizes.add(sum(one.stat().st_size for one in os.scandir(folder)))
                return len(sizes) > 4 or recording.poll() is not None

            until(grown)
            writer.kill()
            recording.wait()
    return {}


def judge_ended(folder: Path, truth: Truth) -> Outcome:
    """It is said."""
    said = text("why", "--replay", str(folder / "ends-ended.host.gz"))
    good = "10.94.0.2:7300 ended while it was watched" in said
    return Outcome(RIGHT if good else WRONG, said[:300])


PLAYS: Final = (
    *(
        Play(
            f"ends-{name}", partial(stage, case), partial(judge, case),
            files(f"ends-{case.case.name}-writer", f"ends-{case.case.name}-reader"),
            quick=name in QUICK, alone=case.case.quiet,
        )
        for name, case in LIMITS.items()
    ),
    Play(_NAT, stage_translated, judge_translated, files(f"{_NAT}-writer", f"{_NAT}-reader"),
         quick=True),
    Play("ends-ended", stage_ended, judge_ended, files("ends-ended"), quick=True),
)  # fmt: skip
