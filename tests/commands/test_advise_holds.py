"""The default length of a look: no rule that can fail a run is judged sooner than it asks for."""

import argparse
import json
from pathlib import Path

import pytest

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judgement
from nettop.advice.rules.load import load
from nettop.cli import main
from nettop.commands import advise
from nettop.config import rules_folder
from nettop.frame.rates import Frame
from nettop.views.enough import not_read
from nettop.views.observer import Observation


def test_the_default_look_cuts_no_hold_of_a_critical_or_warning_rule() -> None:
    parser = argparse.ArgumentParser()
    advise.arguments(parser)
    seconds = parser.parse_args([]).seconds
    longest = {
        rule.id: rule.hold
        for rule in load([rules_folder()])
        if rule.severity in ("critical", "warning")
    }
    assert [name for name, hold in longest.items() if hold > seconds] == []


# `advise` names the interfaces whose drops are not known by kind.


HOSTS = Path(__file__).parents[1] / "hosts"
LINE = "eth0: this driver's drops are not known by kind: link statistics only"


@pytest.mark.parametrize(("host", "named"), [("guest-transfer", True), ("vm-e1000e", False)])
def test_drops_that_are_not_known_by_kind_are_named(
    host: str, named: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["advise", "--replay", str(HOSTS / f"{host}.host"), "--fail-on", "never"]
    assert main(words) == 0
    assert (LINE in capsys.readouterr().out.splitlines()) == named
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["link_only"] == (["eth0"] if named else [])


# A table that is too slow for each sample: `advise` says how often it was read.


def said(**waits: float) -> list[str]:
    frame = Frame(1.0, 1.0, {}, cost={"sockets_tcp": 1.24, "links": 0.01})
    return list(not_read(Observation(frame, facts({}, "server", 1.0), Judgement(), waits)))


def test_how_often_a_slow_table_was_read_is_said() -> None:
    text = "sockets_tcp: read every 20 s and at the end only; a reading took 1.2 s"
    assert said(sockets_tcp=20.0) == [text]
    assert said(sockets_tcp=20.0, bql=20.0) == [text]  # this one could not be read
    assert said() == []
