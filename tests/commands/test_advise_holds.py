"""The default length of a look: no rule that can fail a run is judged sooner than it asks for."""

from __future__ import annotations

import argparse

from nettop.advice.rules.load import load
from nettop.commands import advise
from nettop.config import rules_folder


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
