"""The clinic's data and its score; its wards of recordings, which need no namespaces and no VM."""

from __future__ import annotations

from typing import Any

import pytest
from clinic import cure, scoreboard, ward
from clinic.scenario import Scenario, scenarios, score, wards

from nettop.advice.load import load
from nettop.config import rules_folder

ALL = [one for name in wards() for one in scenarios(name)]
RECORDED = [one for one in ALL if one.ward.startswith("recorded")]


def told(**words: Any) -> Scenario:
    return Scenario("recorded", {"name": "a host", "surface": "rings", **words})


@pytest.mark.parametrize("scenario", RECORDED, ids=lambda one: str(one.name))
def test_a_recorded_patient_is_diagnosed_rightly(scenario: Scenario) -> None:
    outcome = ward.run(scenario)
    assert outcome.right, (outcome.verdict, outcome.seen, outcome.alarms)


def test_there_are_enough_sick_sound_and_misleading_hosts() -> None:
    assert len(ALL) >= 30
    assert sum(bool(one.told.get("healthy")) for one in ALL) >= 8
    assert sum("obvious" in one.told for one in ALL) >= 6
    assert all(one.words("never") for one in ALL if "obvious" in one.told)
    assert all(one.sound == bool(one.told.get("healthy")) for one in ALL)
    assert len({(one.ward, one.name) for one in ALL}) == len(ALL)


def test_a_scenario_names_rules_that_exist() -> None:
    known = {rule.id for rule in load([rules_folder()])}
    for one in ALL:
        words = [word for key in ("first", "expect", "may", "never") for word in one.words(key)]
        assert {word.partition("@")[0] for word in words} <= known, one.name


@pytest.mark.parametrize(
    ("words", "findings", "verdict", "alarms"),
    [
        ({"first": ["a@*"]}, [("critical", "a@x"), ("info", "b@x")], "first", ()),
        ({"first": ["a@y"]}, [("critical", "a@x")], "missed", ("a@x",)),
        ({"first": ["a@*"]}, [("warning", "b@x"), ("advice", "a@x")], "found", ("b@x",)),
        ({"first": ["a@*"], "may": ["b"]}, [("advice", "a@x"), ("warning", "b@x")], "first", ()),
        ({"expect": ["a@*"], "never": ["c"]}, [("info", "c@x")], "missed", ("c@x",)),
        ({"healthy": True}, [("advice", "a@x")], "quiet", ()),
        ({"healthy": True}, [("warning", "a@x")], "quiet", ("a@x",)),
    ],
)
def test_the_score(
    words: dict[str, Any], findings: list[tuple[str, str]], verdict: str, alarms: tuple[str, ...]
) -> None:
    outcome = score(told(**words), findings)
    assert (outcome.verdict, outcome.alarms) == (verdict, alarms)
    assert outcome.right == (verdict in ("first", "quiet") and not alarms)


def test_a_fix_is_measured_by_the_best_of_the_sweep() -> None:
    assert cure.recovered(100.0, 190.0, 200.0) == "90%"
    assert cure.recovered(40.0, 2.0, 0.0) == "95%"
    assert cure.recovered(100.0, 105.0, 104.0) == "does not respond"


def test_the_scoreboard_counts_every_surface_and_the_sum() -> None:
    outcomes = [score(told(first=["a@*"]), [("critical", "a@x")]), score(told(healthy=True), [])]
    lines = scoreboard.table(scoreboard.rows(outcomes))
    assert lines[1] == ("rings", 2, 1, 0, 0, 1, 0)
    assert lines[-1] == ("all", 2, 1, 0, 0, 1, 0)
    assert "| all | 2 | 1 | 0 | 0 | 1 | 0 |" in scoreboard.page(scoreboard.rows(outcomes))
