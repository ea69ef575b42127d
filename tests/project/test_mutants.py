"""The mutants of `make mutants`: each is one change, and the same seed gives the same ones."""

from __future__ import annotations

import ast

import line_map
import mutants
import pytest

SOURCE = '''"""Words."""
def f(a):
    """More words."""
    if a > 3 and not a == 5:
        g(a)
    return a
'''


@pytest.mark.parametrize(
    ("new", "lost"),
    [
        ("a >= 3", "a > 3"), ("a > 4", "a > 3"), ("a != 5", "a == 5"), ("a == 6", "a == 5"),
        ("a > 3 or", "a > 3 and"), ("pass", "g(a)"), ("return None", "return a"),
        ("and a == 5", "not"),
    ],
)  # fmt: skip
def test_each_kind_of_change_is_made(new: str, lost: str) -> None:
    count = len(list(mutants.places(ast.parse(SOURCE))))
    made = [mutants.mutant(SOURCE, number)[0] for number in range(count)]
    assert len(set(made)) == count == 8
    assert [text for text in made if new in text and lost not in text]
    assert all('"""Words."""' in text and '"""More words."""' in text for text in made)


def test_there_is_no_mutant_beyond_the_last() -> None:
    with pytest.raises(LookupError):
        mutants.mutant(SOURCE, 8)


def test_a_seed_gives_the_same_sample_of_the_folders_asked_for() -> None:
    chosen = mutants.sample(["terms"], 12, seed=3)
    assert chosen == mutants.sample(["terms"], 12, seed=3)
    assert chosen != mutants.sample(["terms"], 12, seed=4)
    assert {path.relative_to(mutants.SRC).parts[0] for path, _ in chosen} == {"terms"}


def test_the_lines_of_a_mutant_are_those_that_it_changes() -> None:
    rows = [mutants.mutant("a = f(\n  1)\nb = 2\n", number)[2] for number in range(2)]
    assert rows == [range(2, 3), range(3, 4)] or rows == [range(3, 4), range(2, 3)]


def test_the_fastest_test_of_a_line_comes_first() -> None:
    tests = {"src/nettop/a.py": {3: {"slow", "fast"}, 4: {"fast"}, 9: {"other"}}}
    lines = line_map.LineMap(tests, {"slow": 2.0, "fast": 0.1, "other": 1.0})
    assert lines.of("src/nettop/a.py", range(3, 5)) == ["fast", "slow"]
    assert lines.of("src/nettop/a.py", range(4, 5)) == ["fast"]
    assert lines.of("src/nettop/a.py", range(1, 2)) == ["fast", "other", "slow"]
    assert lines.of("src/nettop/b.py", range(1, 2)) == []
