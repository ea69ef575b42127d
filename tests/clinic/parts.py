"""The page docs/clinic.md from parts: a scenario or a seed of generated hosts each.

A part is kept in lab-out/page-KEY as soon as it is played, so a run that was stopped goes on where
it was. KEY stands for the code, the rules and the hosts: after a change of one of them all parts
are played anew.

Scenarios are played `TOGETHER` at once, each in namespaces of its own. They share the CPUs, so a
scenario that is not right in company is played once more alone, and that counts. The generated
hosts of several seeds are played at once too, one on each CPU.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from clinic import scoreboard, treated
from clinic.scenario import Scenario, scenarios, wards
from generated import score, tally
from generated.plant_host import FAULTS
from generated.sound import KINDS

ROOT = Path(__file__).parents[2]
INPUTS = ("src/nettop", "rules", "tests/clinic", "tests/generated")
PAIRS = 10  # hosts with two faults, for each seed
TOGETHER = 3  # scenarios at once: most of them wait for most of their time


def folder(lab: Path) -> Path:
    """Where the parts of this tree are kept."""
    digest = hashlib.sha256()
    for path in sorted(one for name in INPUTS for one in (ROOT / name).rglob("*")):
        if path.suffix in {".py", ".toml", ".json"}:
            digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return lab / f"page-{digest.hexdigest()[:12]}"


def outcomes(seed: int, only: str = "") -> Iterator[score.Outcome]:
    """One host of each sound kind, one with each fault, and some with two."""
    for kind in KINDS:
        if only in kind:
            yield score.judge(score.sound(kind, seed))
    for name in FAULTS:
        if only in name:
            yield score.judge(score.sick(name, seed), (name,))
    for one, other in () if only else score.drawn_pairs(seed, PAIRS):
        yield score.judge(score.sick(one, seed, other), (one, other))


def play(lab: Path, seeds: int, minutes: float) -> int:
    """Play what is missing for at most that long; the number of parts that are still missing."""
    kept, end = folder(lab), time.monotonic() + 60 * minutes
    kept.mkdir(parents=True, exist_ok=True)
    live = [one for name in wards() if not name.startswith("vm") for one in scenarios(name)]
    hosts = [one for one in live if not _file(kept, one).exists()]
    left = [seed for seed in range(seeds) if not (kept / f"generated-{seed}.json").exists()]
    print(f"{kept}: {len(hosts)} scenarios and {len(left)} seeds are to be played", flush=True)
    with ThreadPoolExecutor(TOGETHER) as beds:
        in_company = [*beds.map(partial(_scenario, kept, end, company=True), hosts)]
    alone = [one for one, right in zip(hosts, in_company, strict=True) if not right]
    hosts = [one for one in alone if not _scenario(kept, end, one)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        waiting = [pool.submit(partial(_seed, kept, end), seed) for seed in left]
        for done in as_completed(waiting):
            if (seed := done.result()) is not None:
                left.remove(seed)
                print(f"seed {seed}: {len(left)} left", flush=True)
    return len(hosts) + len(left)


def rows(lab: Path) -> list[dict[str, Any]]:
    """The outcomes of the scenarios that were played."""
    return [json.loads(one.read_text()) for one in sorted(folder(lab).glob("scenario-*.json"))]


def counts(lab: Path) -> list[dict[str, dict[str, int]]]:
    """The counts of the seeds that were played."""
    return [json.loads(one.read_text()) for one in sorted(folder(lab).glob("generated-*.json"))]


def forget_wrong(lab: Path) -> None:
    """Drop the scenarios that were not diagnosed rightly: they are played once more."""
    for one in folder(lab).glob("scenario-*.json"):
        row = json.loads(one.read_text())
        if row["verdict"] not in {"first", "quiet"} or row["alarms"]:
            one.unlink()


def _file(kept: Path, one: Scenario) -> Path:
    name = hashlib.sha256(one.name.encode()).hexdigest()[:12]
    return kept / f"scenario-{one.ward}-{name}.json"


def _scenario(kept: Path, end: float, one: Scenario, *, company: bool = False) -> bool:
    """Play a scenario and keep it, in company only if it is right; False: it is not kept."""
    began = time.monotonic()
    if began >= end:
        return False
    try:
        outcome, fix = treated.play(one)
    except Exception:
        if company:  # the CPUs were not its own, or another scenario has used a name
            return False
        raise
    (row,) = scoreboard.rows([outcome])
    row |= scoreboard.fixed(fix)
    if company and not (outcome.right and row.get("cures", True)):
        return False
    _keep(_file(kept, one), row)
    mark = "ok " if outcome.right else "BAD"
    print(f"{mark} {one.ward}: {one.name}: {outcome.verdict}"
          f" ({time.monotonic() - began:.0f} s)", flush=True)  # fmt: skip
    return True


def _seed(kept: Path, end: float, seed: int) -> int | None:
    """Play a seed and keep it; None: there was no time to begin."""
    if time.monotonic() >= end:
        return None
    found = tally.Tally()
    found.seeds[str(seed)] += 1
    found.add(outcomes(seed))
    _keep(kept / f"generated-{seed}.json", found.counts())
    return seed


def _keep(path: Path, value: object) -> None:
    """Whole or not at all."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value, indent=1))
    new.rename(path)
