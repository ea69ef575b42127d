"""What the rules want set exists as a setting, and their values are ones it would take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nettop import settings
from nettop.advice.rules import load

RULES = Path(__file__).parents[2] / "rules"


def wanted() -> list[Any]:
    """Each setting and value that a rule's own test expects it to want."""
    found = {
        (setting, value): path.stem
        for path in load.files(RULES)
        for test in load.tests(path)
        for setting, value in test.get("wanted", ())
    }
    return [pytest.param(*key, id=f"{rule}: {key[0]}") for key, rule in found.items()]


@pytest.mark.parametrize(("setting", "value"), wanted())
def test_a_wanted_setting_exists_and_takes_its_value(setting: str, value: str) -> None:
    address = settings.parse(setting)
    assert str(address) == setting
    assert settings.normal(address, value) == value


def test_a_rule_that_sets_something_says_in_a_test_what() -> None:
    silent = []
    for path in load.files(RULES):
        sets = "\nset " in path.read_text().partition("[[test]]")[0]
        if sets and not any(test.get("wanted") for test in load.tests(path)):
            silent.append(path.stem)
    assert silent == []
