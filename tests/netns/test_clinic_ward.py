"""The clinic's ward of namespaces: mis-tuned and healthy hosts under real traffic, in turn."""

from __future__ import annotations

import pytest
from clinic import ward
from clinic.scenario import Scenario, scenarios

pytestmark = pytest.mark.netns


@pytest.mark.parametrize("scenario", scenarios("netns"), ids=lambda one: str(one.name))
def test_a_patient_is_diagnosed_rightly(scenario: Scenario) -> None:
    outcome = ward.run(scenario)
    assert outcome.right, (outcome.verdict, outcome.seen, outcome.alarms)
