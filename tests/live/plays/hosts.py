"""Hosts that are mis-tuned, and sound ones: what `advise` finds first (cases/*.toml)."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from live import ask
from live.play import LATER, RIGHT, SILENT, WRONG, Outcome, Play, Truth, answer, record, slug
from live.scenario import Scenario, files, scenarios, score

_VERDICTS: Final = {"first": RIGHT, "quiet": RIGHT, "found": LATER}


def stage(scenario: Scenario, folder: Path) -> Truth:
    """Make the host and its load, and record it."""
    with ask.host(scenario) as place:
        settle = float(scenario.told.get("settle", 1.5))
        with place.running(scenario.words("load"), settle):
            seconds = float(scenario.told.get("seconds", 4))
            record(folder / f"{slug(scenario.name)}.host.gz", place.here[-1], seconds=seconds)
    return {}


def judge(scenario: Scenario, folder: Path, truth: Truth) -> Outcome:
    """What `advise` finds in the recording, scored as the case demands."""
    told = ask.looks(scenario)
    path = str(folder / f"{slug(scenario.name)}.host.gz")
    found = answer("advise", "--fail-on", "never", "--replay", path, *told)["findings"]
    return outcome(scenario, [(str(one["severity"]), str(one["id"])) for one in found])


def outcome(scenario: Scenario, findings: list[tuple[str, str]]) -> Outcome:
    """The verdict on findings in their order."""
    scored = score(scenario, findings)
    verdict = _VERDICTS.get(scored.verdict, WRONG if scored.alarms else SILENT)
    said = ", ".join(scored.seen) or "nothing"
    if scored.alarms:
        return Outcome(WRONG, f"{said}; false alarms: {', '.join(scored.alarms)}")
    return Outcome(verdict, said)


def takes_cores(scenario: Scenario) -> bool:
    """Whether its load, or how soon it fails, depends on the cores; others have their own rate."""
    shaped = any("tbf rate" in command for command in scenario.words("break"))
    return any(
        ("iperf3 -c" in load and " -b " not in load and not shaped)
        or {"asks", "out-of-files"} & {*load.split()}
        for load in scenario.words("load")
    )


def _plays() -> Iterator[Play]:
    for file in files():
        if not file.startswith(("recorded", "vm-")):
            for one in scenarios(file):
                yield Play(
                    slug(one.name), partial(stage, one), partial(judge, one),
                    (f"{slug(one.name)}.host.gz",),
                    quick=bool(one.told.get("quick")), alone=takes_cores(one),
                )  # fmt: skip


PLAYS: Final = tuple(_plays())
