"""The clinic's wards of this topology; what came out goes back to the scoreboard."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from clinic import cure, scoreboard, ward
from clinic.peers import peers
from clinic.scenario import Outcome, Scenario, scenarios, wards

TOPOLOGY = os.environ.get("NETTOP_LAB", "")
WARD = f"vm-{TOPOLOGY}"
PATIENTS = scenarios(WARD) if WARD in wards() else []
CURABLE = [one for one in PATIENTS if "cure" in one.told and os.environ.get("NETTOP_LAB_FULL")]


@pytest.fixture(scope="module")
def outcomes() -> Iterator[list[Outcome]]:
    made: list[Outcome] = []
    yield made
    out = Path(os.environ["NETTOP_LAB_OUT"], "clinic.json")
    out.write_text(json.dumps(scoreboard.rows(made), indent=1))


@pytest.mark.parametrize("scenario", PATIENTS, ids=lambda one: one.name)
def test_the_diagnosis_is_right(scenario: Scenario, outcomes: list[Outcome]) -> None:
    outcome = ward.run(scenario)
    outcomes.append(outcome)
    assert outcome.right, (outcome.verdict, outcome.seen, outcome.alarms)


@pytest.mark.parametrize("scenario", CURABLE, ids=lambda one: one.name)
def test_the_cure_is_nearly_the_best_there_is(scenario: Scenario) -> None:
    """Before, after, the best of a sweep and what peers reach: `make lab-full`."""
    line = cure.tried(scenario, peers())
    left = Path(os.environ["NETTOP_LAB_OUT"], "cures.json")
    before = json.loads(left.read_text()) if left.exists() else []
    left.write_text(json.dumps([*(one for one in before if one[0] != line[0]), line], indent=1))
    recovered = line[cure.HEAD.index("recovered")]
    assert recovered == "does not respond" or int(recovered.rstrip("%")) >= 95, line
