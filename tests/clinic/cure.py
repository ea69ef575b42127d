"""What a cure is worth: before, after nettop's fix, the best of a sweep, and what peers reach.

A scenario's `cure` says how: `finding` (what is applied), `measure` (rate or loss), `load`
(programs that must run for it), `command` (an iperf3 that reports in JSON) and `sweep` (every
other way to
set the same thing). Each state is measured three times; the median counts.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clinic import ward
from clinic.place import Place
from clinic.scenario import Scenario, scenarios

PEERS = Path(__file__).parent / "peers.toml"
HEAD = ("scenario", "measured", "before", "nettop's fix", "best of the sweep", "recovered")


def all_of(names: list[str], only: str = "") -> list[tuple[Any, ...]]:
    """A line a cure, the peers' figures at its end."""
    peers = tomllib.loads(PEERS.read_text())["peer"]
    lines: list[tuple[Any, ...]] = [(*HEAD, *(peer["name"] for peer in peers))]
    sick = [one for name in names for one in scenarios(name) if "cure" in one.told]
    lines.extend(tried(one, peers) for one in sick if only in one.name)
    return lines


def tried(scenario: Scenario, peers: list[dict[str, Any]]) -> tuple[Any, ...]:
    """Measure one patient sick, cured by nettop, in every way of the sweep, and by each peer."""
    cure = scenario.told["cure"]
    better = max if cure["measure"] == "rate" else min
    with ward.patient(scenario) as place:
        before = measure(place, cure)
    with ward.patient(scenario) as place:
        with place.running(scenario.words("load"), float(scenario.told.get("settle", 1.5))):
            done = ward.nettop(place, ["apply", "--json", _id(place, scenario)])
        if any(change["state"] == "pending" for change in done["changes"]):
            ward.nettop(place, ["confirm", "--json"])
        after = measure(place, cure)
    swept = []
    with ward.patient(scenario) as place:
        for command in cure["sweep"]:
            place.do(command)
            swept.append(measure(place, cure))
    best = better(swept)
    gain = best - before
    part = f"{(after - before) / gain:.0%}" if abs(gain) > 0.1 * abs(before) else "does not respond"
    theirs = []
    for peer in peers:
        with ward.patient(scenario) as place:
            for command in peer["commands"]:
                # a knob that a namespace does not have is no reason to stop
                subprocess.run(place.words(command), check=False, capture_output=True)
            theirs.append(shown(measure(place, cure), cure))
    figures = (shown(value, cure) for value in (before, after, best))
    return (scenario.name, cure["measure"], *figures, part, *theirs)


def measure(place: Place, cure: Mapping[str, Any]) -> float:
    """The median of three runs: bit/s, or percent lost."""
    found = []
    for _ in range(3):
        with place.running(list(cure["load"]), 0.3):
            end = json.loads(place.do(cure["command"]))["end"]
        if cure["measure"] == "rate":
            found.append(float(end["sum_received"]["bits_per_second"]))
        else:
            found.append(float(end["sum"]["lost_percent"]))
    return statistics.median(found)


def shown(value: float, cure: Mapping[str, Any]) -> str:
    """With its unit."""
    return f"{value / 1e6:,.0f} Mbit/s" if cure["measure"] == "rate" else f"{value:.1f} % lost"


def _id(place: Place, scenario: Scenario) -> str:
    """The finding that is applied, as nettop names it now."""
    wanted = str(scenario.told["cure"]["finding"]).partition("@")[0]
    said = ward.ask(place, scenario)
    return str(next(one["id"] for one in said["findings"] if one["rule"] == wanted))
