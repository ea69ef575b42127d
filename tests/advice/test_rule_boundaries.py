"""Every rule begins and ends to hold where tests/golden/rules says (`--update` searches anew)."""

from __future__ import annotations

from pathlib import Path

import pytest
import rule_boundaries as boundaries
from sentences import no_fault

from nettop.advice.rules.load import files, read

PATHS = files(boundaries.PACK)
RING = boundaries.PACK / "rings/rx-ring-overrun.toml"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_rule_holds_up_to_its_boundaries_and_not_beyond(path: Path, update: bool) -> None:
    rule = read(path)
    file = boundaries.golden(rule)
    if update:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(boundaries.search(rule, path)) + "\n", encoding="utf-8")
    if not file.exists():
        which = f"tests/advice/test_rule_boundaries.py -k {rule.id}"
        pytest.fail(f"no boundaries of {rule.id}: `pytest {which} --update`", pytrace=False)
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) > 2
    assert boundaries.differences(rule, path, lines) == []


def test_no_boundaries_are_left_of_a_rule_that_is_gone() -> None:
    rules = {path.stem for path in PATHS}
    no_fault(
        f"tests/golden/rules/{path.name} is of no rule: delete it"
        for path in sorted(boundaries.GOLDEN.glob("*.txt"))
        if path.stem not in rules
    )


def test_what_changes_in_a_rule_is_noticed() -> None:
    rule = read(RING)
    lines = boundaries.golden(rule).read_text(encoding="utf-8").splitlines()
    kinds = {"limit x2", "limit /2", "hold", "profiles"}
    found = [one for one in boundaries.mutants(rule) if one[0] in kinds]
    assert {kind for kind, _, _ in found} == kinds
    missed = [
        (kind, what) for kind, what, one in found if not boundaries.differences(one, RING, lines)
    ]
    assert missed == []
