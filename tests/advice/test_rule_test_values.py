"""A value in a [[test]] that no host has is refused with one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from nettop.advice.judge.rule_tests import check
from nettop.advice.rules.load import RuleError

RULE = Path(__file__).parents[2] / "rules" / "flow-control" / "pause-stops-the-port.toml"


def changed(folder: Path, lines: str) -> Path:
    path = folder / RULE.name
    head, mark, rest = RULE.read_text("utf-8").partition("[[test]]\n")
    first, _, others = rest.partition("\n\n")
    kept = [one for one in first.splitlines() if one.partition(" ")[0] != lines.partition(" ")[0]]
    path.write_text("\n".join([f"{head}{mark}{lines}", *kept, "", others]), "utf-8")
    return path


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e309", "9" * 400, "1" + "0" * 19])
def test_a_number_is_finite_and_bounded(number: str, tmp_path: Path) -> None:
    path = changed(tmp_path, f"nic = {{ per_s = {{ phy_discards = {number} }} }}")
    with pytest.raises(RuleError, match="or not finite"):
        check(path)


@pytest.mark.parametrize(
    "line",
    [f"{key} = {value}" for key in ("name", "finds", "profile", "target", "title", "silent",
                                    "recorded", "before", "ago", "after", "wanted", "advice")
     for value in ("[[]]", "{ a = [] }")
     if (key, value) not in {("before", "{ a = [] }"), ("wanted", "[[]]")}],
)  # fmt: skip
def test_a_key_has_a_value_of_its_type(line: str, tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=f"{line.partition(' ')[0]} cannot be"):
        check(changed(tmp_path, line))
