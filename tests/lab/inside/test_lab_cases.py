"""The hosts of this topology under real traffic; what came out goes to the scoreboard."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from live import ask, scoreboard
from live.play import Outcome
from live.plays.hosts import outcome
from live.scenario import Scenario, files, scenarios

TOPOLOGY = os.environ.get("NETTOP_LAB", "")
GROUP = f"vm-{TOPOLOGY}"
HOSTS = scenarios(GROUP) if GROUP in files() else []
pytestmark = [
    pytest.mark.live,
    pytest.mark.topology(*(one.removeprefix("vm-") for one in files() if "vm-" in one)),
]


@pytest.fixture(scope="module")
def outcomes() -> Iterator[dict[str, Outcome]]:
    made: dict[str, Outcome] = {}
    yield made
    scoreboard.save(
        (
            {"name": f"{GROUP}: {name}", "group": GROUP, "verdict": one.verdict, "said": one.said,
             "disturbed": "", "in_a_row": int(not one.right)}
            for name, one in made.items()
        ),
        Path(os.environ["NETTOP_LAB_OUT"], "live.json"),
    )  # fmt: skip


@pytest.mark.parametrize("scenario", HOSTS, ids=lambda one: one.name)
def test_the_diagnosis_is_right(scenario: Scenario, outcomes: dict[str, Outcome]) -> None:
    settle = float(scenario.told.get("settle", 1.5))
    with ask.host(scenario) as place, place.running(scenario.words("load"), settle):
        found = ask.ask(place, scenario)["findings"]
    said = outcomes[scenario.name] = outcome(scenario, [(f["severity"], f["id"]) for f in found])
    assert said.right, said
