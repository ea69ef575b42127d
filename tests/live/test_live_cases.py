"""The cases as data, and how they are scored; the hosts among them that are files."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from folded import folded
from live import ask, scoreboard
from live.place import served
from live.programs.run import kinds
from live.scenario import Scenario, files, scenarios, score

from nettop.advice.rules.load import load
from nettop.config import rules_folder

ALL = [one for name in files() for one in scenarios(name)]
RECORDED = [one for one in ALL if one.file.startswith("recorded")]


def told(**words: Any) -> Scenario:
    return Scenario("recorded", {"name": "a host", "surface": "rings", **words})


@folded("scenario", RECORDED, ids=lambda one: str(one.name))
def test_a_recorded_host_is_diagnosed_rightly(scenario: Scenario) -> None:
    outcome = ask.run(scenario)
    assert outcome.right, (outcome.verdict, outcome.seen, outcome.alarms)


@folded(
    ("command", "port"),
    [
        ("iperf3 -s", "5201"),
        ("taskset -c 1 iperf3 -s", "5201"),
        ("{run} reads-rarely 9001", "9001"),
        ("taskset -c 1 {run} echo 9005", "9005"),
        ("iperf3 -c 10.94.0.2 -t 60", ""),
        ("{run} asks 10.94.0.2 9005", ""),
        ("{run} quota 20 {run} read 7300", "7300"),
        ("sysctl -qw net.core.rmem_max=8388608", ""),
    ],
)
def test_a_load_is_waited_for_where_it_serves(command: str, port: str) -> None:
    assert served(command.split()) == port


def test_a_case_starts_programs_that_exist() -> None:
    known = {*kinds()}
    for one in ALL:
        commands = [command for key in ("break", "load", "mend") for command in one.words(key)]
        said = {kind for command in commands for kind in re.findall(r"{run} (\S+)", command)}
        assert said <= known, one.name


def test_no_two_cases_have_one_name() -> None:
    assert not [name for name, count in Counter(one.name for one in ALL).items() if count > 1]


def test_the_page_says_what_is_in_each_file() -> None:
    about = Path(scoreboard.__file__).with_name("about.md").read_text()
    assert [name for name in files() if f"| {name} |" not in about] == []


def test_a_case_names_rules_that_exist() -> None:
    known = {rule.id for rule in load([rules_folder()])}
    for one in ALL:
        words = [word for key in ("first", "expect", "may", "never") for word in one.words(key)]
        assert {word.partition("@")[0] for word in words} <= known, one.name


@folded(
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
