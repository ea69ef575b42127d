"""The clinic's wards of this topology; what came out goes back to the scoreboard."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from live import cure, scoreboard, ward
from live.peers import peers
from live.scenario import Outcome, Scenario, scenarios, wards

TOPOLOGY = os.environ.get("NETTOP_LAB", "")
WARD = f"vm-{TOPOLOGY}"
PATIENTS = scenarios(WARD) if WARD in wards() else []
pytestmark = pytest.mark.topology(*(one.removeprefix("vm-") for one in wards() if "vm-" in one))
CURABLE = [one for one in PATIENTS if "cure" in one.told]


@pytest.fixture(scope="module")
def outcomes() -> Iterator[dict[str, Outcome]]:
    made: dict[str, Outcome] = {}  # of one that is tried again the last counts
    yield made
    out = Path(os.environ["NETTOP_LAB_OUT"], "clinic.json")
    out.write_text(json.dumps(scoreboard.rows(made.values()), indent=1))


@pytest.mark.parametrize("scenario", PATIENTS, ids=lambda one: one.name)
def test_the_diagnosis_is_right(scenario: Scenario, outcomes: dict[str, Outcome]) -> None:
    outcome = ward.run(scenario)
    outcomes[scenario.name] = outcome
    assert outcome.right, (outcome.verdict, outcome.seen, outcome.alarms)


@pytest.mark.full
@pytest.mark.parametrize("scenario", CURABLE, ids=lambda one: one.name)
def test_the_cure_is_nearly_the_best_there_is(scenario: Scenario) -> None:
    """Before, after, the best of a sweep and what peers reach: `make lab-full`."""
    line = cure.tried(scenario, peers())
    left = Path(os.environ["NETTOP_LAB_OUT"], "cures.json")
    before = json.loads(left.read_text()) if left.exists() else []
    left.write_text(json.dumps([*(one for one in before if one[0] != line[0]), line], indent=1))
    recovered = line[cure.HEAD.index("recovered")]
    assert recovered == "does not respond" or int(recovered.rstrip("%")) >= 95, line
