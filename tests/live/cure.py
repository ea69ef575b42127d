"""What a cure is worth: before, after nettop's fix, the best of a sweep, and what peers reach.

A case's `cure` says how: `finding` (what is applied), `measure` (rate or loss), `load`
(programs that must run for it), `command` (an iperf3 that reports in JSON), `sweep` (every other
way to set the same thing) and `rounds`: the median of five runs counts, or of that many.
"""

import contextlib
import json
import statistics
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from live import ask, treated
from live.peers import Peer, peers
from live.place import Place
from live.scenario import Scenario, scenarios

ROUNDS = 5
HEAD = ("case", "measured", "before", "nettop's fix", "best of the sweep", "recovered")


def head() -> tuple[str, ...]:
    """The columns: ours, then a peer each."""
    return (*HEAD, *(peer.name for peer in peers()))


def all_of(names: Sequence[str], only: str = "") -> list[tuple[Any, ...]]:
    """A line a cure, the peers' figures at its end."""
    sick = [one for name in names for one in scenarios(name) if "cure" in one.told]
    return [tried(one, peers()) for one in sick if only in one.name]


def tried(scenario: Scenario, others: Sequence[Peer]) -> tuple[Any, ...]:
    """Measure one host mis-tuned, cured by nettop, in every way of the sweep, and by each peer.

    The states are measured in turn, five rounds of them, each on a host of its own: what else
    the machine does meanwhile falls on all alike.
    """
    cure = scenario.told["cure"]
    theirs = {peer.name: peer.commands(whole=scenario.file.startswith("vm")) for peer in others}
    states: dict[str, Sequence[str]] = {"before": (), "fix": cured(scenario)}
    states |= {f"sweep {command}": (command,) for command in cure["sweep"]}
    states |= {f"peer {name}": did for name, did in theirs.items() if not isinstance(did, str)}
    ends = {f"peer {peer.name}": peer.after for peer in others}
    found: dict[str, list[float]] = {name: [] for name in states}
    failed: set[str] = set()
    for _ in range(int(cure.get("rounds", ROUNDS))):
        for name, commands in states.items():
            with ask.host(scenario) as place, ended(place, ends.get(name, ())):
                worked = [_done(place, command) for command in commands]
                failed |= set() if all(worked) else {name}
                found[name].append(measure(place, cure))
    middle = {name: statistics.median(values) for name, values in found.items()}
    better = max if cure["measure"] == "rate" else min
    best = better(value for name, value in middle.items() if name.startswith("sweep"))
    figures = (shown(value, cure) for value in (middle["before"], middle["fix"], best))
    part = recovered(middle["before"], middle["fix"], best)
    cells = [
        did if isinstance(did, str) else shown(middle[f"peer {name}"], cure)
        + (" (refused)" if f"peer {name}" in failed else "")
        for name, did in theirs.items()
    ]  # fmt: skip
    return (scenario.name, cure["measure"], *figures, part, *cells)


@contextlib.contextmanager
def ended(place: Place, commands: Sequence[str]) -> Iterator[None]:
    """What must be done after a peer, whatever it did."""
    try:
        yield
    finally:
        for command in commands:
            _done(place, command)


def _done(place: Place, command: str) -> bool:
    """Whether a command worked: a knob that this host does not have is no reason to stop."""
    return not subprocess.run(place.words(command), check=False, capture_output=True).returncode


def recovered(before: float, after: float, best: float) -> str:
    """What part of the sweep's gain the fix brings; a gain below a tenth is no answer."""
    gain = best - before
    if abs(gain) <= 0.1 * abs(before):
        return "does not respond"
    return f"{(after - before) / gain:.0%}"


def cured(scenario: Scenario) -> list[str]:
    """Let nettop apply its fix once; the commands that do the same. LookupError: it is not found.

    On a machine that lasts it only says them: its guard would take the change back in between.
    """
    words = ["apply", "--json", *ask.looks(scenario)]
    words += ["--dry-run"] if scenario.file.startswith("vm") else []
    wanted = str(scenario.told["cure"]["finding"]).partition("@")[0]
    with (
        ask.host(scenario) as place,
        place.running(scenario.words("load"), float(scenario.told.get("settle", 1.5))),
    ):
        for _ in range(treated.ASKED):
            found = [one for one in ask.ask(place, scenario)["findings"] if one["rule"] == wanted]
            if not found:
                continue
            with contextlib.suppress(RuntimeError):  # it held, and no longer does
                done = ask.nettop(place, [*words, found[0]["id"]])
                return [f"here {change['shell']}" for change in done["changes"]]
    raise LookupError(f"{scenario.name}: {wanted} is not found")


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
