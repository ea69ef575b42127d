"""The clinic's wards of this topology; what came out goes back to the scoreboard."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from clinic import scoreboard, ward
from clinic.scenario import Outcome, Scenario, scenarios, wards

TOPOLOGY = os.environ.get("NETTOP_LAB", "")
WARDS = [f"vm-{TOPOLOGY}"]
if os.environ.get("NETTOP_LAB_FULL"):
    WARDS.append(f"vm-{TOPOLOGY}-open")
PATIENTS = [one for name in wards() if name in WARDS for one in scenarios(name)]


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
