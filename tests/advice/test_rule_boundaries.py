"""Every rule begins and ends to hold where tests/golden/rules says (`--update` searches anew)."""

from __future__ import annotations

from pathlib import Path

import pytest
import rule_boundaries as boundaries
from folded import folded
from sentences import no_fault

from nettop.advice.rules.load import files, read

PATHS = files(boundaries.PACK)
RING = boundaries.PACK / "rings/rx-ring-overrun.toml"


@folded("path", PATHS, ids=lambda path: path.stem)
def test_a_rule_holds_up_to_its_boundaries_and_not_beyond(path: Path, update: bool) -> None:
    rule, file = read(path), boundaries.golden(path)
    kept = boundaries.kept(file)
    if update:
        kept[rule.id] = boundaries.needed(rule, path)
        boundaries.keep(file, kept)
    if rule.id not in kept:
        which = f"tests/advice/test_rule_boundaries.py -k {rule.id}"
        pytest.fail(f"no boundaries of {rule.id}: `pytest {which} --update`", pytrace=False)
    assert boundaries.differences(rule, path, kept[rule.id]) == {}


def test_no_boundaries_are_left_of_a_rule_that_is_gone() -> None:
    there = {(boundaries.golden(path), path.stem) for path in PATHS}
    no_fault(
        f"tests/golden/rules/{file.name} has {name}, which is no rule of this folder: delete it"
        for file in sorted(boundaries.GOLDEN.glob("*.txt"))
        for name in boundaries.kept(file)
        if (file, name) not in there
    )


def test_what_changes_in_a_rule_is_noticed() -> None:
    rule = read(RING)
    lines = boundaries.kept(boundaries.golden(RING))[rule.id]
    assert lines
    kinds = {"limit x2", "limit /2", "hold", "profiles"}
    found = [one for one in boundaries.mutants(rule) if one[0] in kinds]
    assert {kind for kind, _, _ in found} == kinds
    assert [
        (kind, what)
        for kind, what, one in found
        if not boundaries.differences(one, RING, lines) and not boundaries.fails(one, RING)
    ] == []
