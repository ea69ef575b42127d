"""The cases as data, and how they are scored; the hosts among them that are files."""

from __future__ import annotations

from typing import Any

import pytest
from live import ask, scoreboard
from live.place import served
from live.scenario import Scenario, scenarios, score, wards

from nettop.advice.rules.load import load
from nettop.config import rules_folder

ALL = [one for name in wards() for one in scenarios(name)]
RECORDED = [one for one in ALL if one.ward.startswith("recorded")]


def told(**words: Any) -> Scenario:
    return Scenario("recorded", {"name": "a host", "surface": "rings", **words})


@pytest.mark.parametrize("scenario", RECORDED, ids=lambda one: str(one.name))
def test_a_recorded_patient_is_diagnosed_rightly(scenario: Scenario) -> None:
    outcome = ask.run(scenario)
    assert outcome.right, (outcome.verdict, outcome.seen, outcome.alarms)


@pytest.mark.parametrize(
    ("command", "port"),
    [
        ("iperf3 -s", "5201"),
        ("taskset -c 1 iperf3 -s", "5201"),
        ("loads deaf 9001", "9001"),
        ("taskset -c 1 loads echo 9005", "9005"),
        ("iperf3 -c 10.94.0.2 -t 60", ""),
        ("loads asks 10.94.0.2 9005", ""),
        ("loads pages 10.94.0.2 9005", ""),
        ("sysctl -qw net.core.rmem_max=8388608", ""),
    ],
)
def test_a_load_is_waited_for_where_it_serves(command: str, port: str) -> None:
    assert served(command.split()) == port


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


def row(verdict: str, disturbed: str = "", group: str = "tcp") -> dict[str, Any]:
    return {"name": verdict, "group": group, "verdict": verdict, "said": "", "disturbed": disturbed}


def test_only_what_was_not_right_counts_as_disturbed() -> None:
    rows = [row("right", "other programs"), row("wrong", "other programs"), row("silent")]
    assert [scoreboard.column(one) for one in rows] == ["right", "disturbed", "silent"]
    lines = scoreboard.table(rows)
    assert lines[-1] == ("all", "3", "1", "0", "0", "1", "1", "0")
    assert not scoreboard.measured(rows)
    assert scoreboard.measured([*rows, row("right"), row("later")])
