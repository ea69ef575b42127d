"""A command in backticks has the values that the fact of its rule has: it can be typed."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

from folded import folded

from nettop.advice.rules.load import files
from nettop.facts.kinds import kinds

RULES = Path(__file__).parents[2] / "rules"
# fields of a fact, by the word that stands for their value
VALUES = {"IF": "nic", "ADDRESS": "address", "PORT": "port", "PID": "pid"}


@folded("path", files(RULES), ids=lambda path: path.stem)
def test_a_command_has_no_gap_where_the_fact_has_the_value(path: Path) -> None:
    rule = tomllib.loads(path.read_text("utf-8").partition("\n[[test]]")[0])
    known = {one.name for one in fields(kinds()[rule["over"]].type)}
    texts = " ".join(one.get("advice", "") for one in rule.get("fix", ()))
    for command in re.findall(r"`([^`]*)`", texts):
        for word, name in VALUES.items():
            gap = name in known and re.search(rf"\b{word}\b", command)
            assert not gap, f"`{command}`: the fact has {name}"
        assert "=…" not in command, f"`{command}` cannot be typed"
