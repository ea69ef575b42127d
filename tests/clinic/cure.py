"""What a cure is worth: before, after nettop's fix, the best of a sweep, and what peers reach.

A scenario's `cure` says how: `finding` (what is applied), `measure` (rate or loss), `load`
(programs that must run for it), `command` (an iperf3 that reports in JSON) and `sweep` (every
other way to set the same thing). The median of three runs counts.
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

ROUNDS = 3
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
    """Measure one patient sick, cured by nettop, in every way of the sweep, and by each peer.

    The states are measured in turn, three rounds of them, each on a patient of its own: what else
    the machine does meanwhile falls on all alike.
    """
    cure = scenario.told["cure"]
    states = {"before": [], "fix": cured(scenario)}
    states |= {f"sweep {command}": [command] for command in cure["sweep"]}
    states |= {f"peer {peer['name']}": peer["commands"] for peer in peers}
    found: dict[str, list[float]] = {name: [] for name in states}
    for _ in range(ROUNDS):
        for name, commands in states.items():
            with ward.patient(scenario) as place:
                for command in commands:
                    # a knob that this host does not have is no reason to stop
                    subprocess.run(place.words(command), check=False, capture_output=True)
                found[name].append(measure(place, cure))
    middle = {name: statistics.median(values) for name, values in found.items()}
    better = max if cure["measure"] == "rate" else min
    best = better(value for name, value in middle.items() if name.startswith("sweep"))
    theirs = [shown(middle[f"peer {peer['name']}"], cure) for peer in peers]
    figures = (shown(value, cure) for value in (middle["before"], middle["fix"], best))
    part = recovered(middle["before"], middle["fix"], best)
    return (scenario.name, cure["measure"], *figures, part, *theirs)


def recovered(before: float, after: float, best: float) -> str:
    """What part of the sweep's gain the fix brings; a gain below a tenth is no answer."""
    gain = best - before
    if abs(gain) <= 0.1 * abs(before):
        return "does not respond"
    return f"{(after - before) / gain:.0%}"


def cured(scenario: Scenario) -> list[str]:
    """Let nettop apply its fix once; the commands that do the same."""
    with (
        ward.patient(scenario) as place,
        place.running(scenario.words("load"), float(scenario.told.get("settle", 1.5))),
    ):
        done = ward.nettop(place, ["apply", "--json", _id(place, scenario)])
    return [f"here {change['shell']}" for change in done["changes"]]


def measure(place: Place, cure: Mapping[str, Any]) -> float:
    """One run: bit/s, or percent lost."""
    with place.running(list(cure["load"]), 0.3):
        end = json.loads(place.do(cure["command"]))["end"]
    if cure["measure"] == "rate":
        return float(end["sum_received"]["bits_per_second"])
    return float(end["sum"]["lost_percent"])


def shown(value: float, cure: Mapping[str, Any]) -> str:
    """With its unit."""
    return f"{value / 1e6:,.0f} Mbit/s" if cure["measure"] == "rate" else f"{value:.1f} % lost"


def _id(place: Place, scenario: Scenario) -> str:
    """The finding that is applied, as nettop names it now."""
    wanted = str(scenario.told["cure"]["finding"]).partition("@")[0]
    said = ward.ask(place, scenario)
    return str(next(one["id"] for one in said["findings"] if one["rule"] == wanted))
