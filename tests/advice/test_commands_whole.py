"""A command in backticks has the values that the fact of its rule has: it can be typed."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from folded import folded

from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Rule
from nettop.facts.kinds import kinds

RULES = load([Path(__file__).parents[2] / "rules"])
# fields of a fact, by the word that stands for their value
VALUES = {"IF": "nic", "ADDRESS": "address", "PORT": "port", "PID": "pid"}


@folded("rule", RULES, ids=lambda rule: rule.id)
def test_a_command_has_no_gap_where_the_fact_has_the_value(rule: Rule) -> None:
    known = {one.name for one in fields(kinds()[rule.over].type)}
    advice = [one.advice.form() for one in rule.words.fixes if one.advice]
    texts = " ".join(advice)
    for command in re.findall(r"`([^`]*)`", texts):
        for word, name in VALUES.items():
            gap = name in known and re.search(rf"\b{word}\b", command)
            assert not gap, f"`{command}`: the fact has {name}"
        assert "=…" not in command, f"`{command}` cannot be typed"
