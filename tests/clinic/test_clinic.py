"""The clinic's data and its score; its wards of recordings, which need no namespaces and no VM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clinic import cure, peers, scoreboard, ward
from clinic.place import served
from clinic.scenario import Scenario, scenarios, score, wards
from generated.plant_host import FAULTS
from generated.score import Outcome
from generated.sound import KINDS
from generated.tally import Tally

from nettop.advice.rules.load import load
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


def test_a_fix_is_measured_by_the_best_of_the_sweep() -> None:
    assert cure.recovered(100.0, 190.0, 200.0) == "90%"
    assert cure.recovered(40.0, 2.0, 0.0) == "95%"
    assert cure.recovered(100.0, 105.0, 104.0) == "does not respond"


def test_the_scoreboard_counts_every_surface_and_the_sum() -> None:
    outcomes = [score(told(first=["a@*"]), [("critical", "a@x")]), score(told(healthy=True), [])]
    rows = scoreboard.rows(outcomes)
    rows[0]["cures"] = True
    lines = scoreboard.table(rows)
    assert lines[1] == ("rings", 2, 1, 0, 0, 0, 1, 0, "1 of 1")
    assert lines[-1] == ("all", 2, 1, 0, 0, 0, 1, 0, "1 of 1")
    assert "| all | 2 | 1 | 0 | 0 | 0 | 1 | 0 | 1 of 1 |" in scoreboard.page(rows)


def test_a_miss_is_wrong_where_something_else_is_warned_of_and_silent_where_not() -> None:
    outcomes = [
        score(told(first=["a@*"]), [("warning", "b@x")]),
        score(told(first=["a@*"]), [("info", "b@x")]),
        score(told(first=["a@*"]), [("info", "b@x"), ("info", "a@x")]),
    ]
    cells = dict(
        zip(scoreboard.COUNTED, scoreboard.counted(scoreboard.rows(outcomes)), strict=True)
    )
    assert (cells["wrong"], cells["silent"], cells["later"]) == (1, 1, 1)
    assert cells["fix cures"] == "–"


def test_a_rule_has_the_scenarios_that_ask_for_it_and_its_generated_hosts() -> None:
    tally = Tally()
    tally.add([Outcome("a", ("crc-errors",), "router", (), (), frozenset({"frames-damaged"}))])
    rows = scoreboard.rows([score(told(first=["frames-damaged@*"]), [("critical", "bus-bound@x")])])
    by = {row[0]: row[1:] for row in scoreboard.by_rule(rows, tally)}
    assert by["frames-damaged"][:7] == (1, 0, 0, 1, 0, 0, "–")
    assert by["frames-damaged"][7:] == (1, 1, 0, 0, 0, "100.0%", "100.0%")
    assert by["bus-bound"][5] == 1  # a false alarm of this rule


def test_the_page_names_every_ward_rule_fault_and_kind() -> None:
    page = (Path(__file__).parents[2] / "docs" / "clinic.md").read_text()
    known = [*wards(), *(rule.id for rule in load([rules_folder()])), *FAULTS]
    known += [f"sound {kind}" for kind in KINDS]
    assert [name for name in known if f"| {name} |" not in page] == []
    assert [one.name for one in ALL if f"| {one.name} |" not in page] == []


def test_a_scenario_that_was_not_run_is_listed_and_counted_nowhere() -> None:
    here = [score(told(first=["a@*"]), [("critical", "a@x")])]
    rows = scoreboard.rows(here)
    rows += scoreboard.not_run(
        rows, [here[0].scenario, Scenario("vm-x", {**here[0].scenario.told})]
    )
    assert [one["verdict"] for one in rows] == ["first", "not run"]
    assert scoreboard.table(rows)[-1] == ("all", 1, 1, 0, 0, 0, 0, 0, "–")
    assert "| vm-x | a host | not run | – | – |" in scoreboard.page(rows)


def test_a_tuned_profile_is_its_net_lines_and_those_it_includes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (
        ("child", '[main]\ninclude=parent\n[sysctl]\nnet.ipv4.tcp_rmem="4096 87380 16777216"\n'),
        (
            "parent",
            "[sysctl]\nvm.swappiness=10\nnet.core.somaxconn=>2048\n[disk]\nreadahead=>4096\n",
        ),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tuned.conf").write_text(text)
    monkeypatch.setattr(peers, "PROFILES", (tmp_path / "none", tmp_path))
    assert list(peers.settings("child")) == [
        "here sysctl -qw net.core.somaxconn=2048",
        "here sysctl -qw 'net.ipv4.tcp_rmem=4096 87380 16777216'",
    ]
    assert list(peers.settings("unheard-of")) == []


def test_a_peer_that_is_not_there_or_does_not_fit_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "SBIN", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    mover = peers.Peer("moves interrupts", "mover", guest=("here mover",))
    assert mover.commands(whole=True) == "not installed"
    (tmp_path / "mover").touch(0o755)
    assert mover.commands(whole=True) == ("here mover",)
    assert mover.commands(whole=False) == "needs a machine of its own"


def test_every_peer_can_do_something_somewhere() -> None:
    assert {one.name for one in peers.peers()} >= {"irqbalance", "rss-ladder"}
    assert all(one.guest for one in peers.peers())
