"""The mutants of `make mutants`: each is one change, and the same seed gives the same ones."""

from __future__ import annotations

import ast

import line_map
import mutant_record
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
    text = "def f():\n  a = g(\n    1)\n  b = 2\n"
    rows = [mutants.mutant(text, number)[2] for number in range(2)]
    assert sorted(rows, key=lambda one: one.start) == [range(3, 4), range(4, 5)]


def test_what_an_import_executes_is_not_the_line_of_a_test() -> None:
    text = "A = 1\n@d(True)\nclass C:\n    b: int = 2\ndef f(c=3): return 4\ng = lambda: 5\n"
    lines = {
        mutants.mutant(text, number)[1]: mutants.mutant(text, number)[2] for number in range(7)
    }
    assert {words.partition(": ")[2] for words, rows in lines.items() if rows} == {
        "return 4 → return None", "4 → 5", "5 → 6",
    }  # fmt: skip


def test_tests_beyond_the_seconds_of_a_mutant_are_left_out() -> None:
    lines = line_map.LineMap({}, {"a": 1.0, "b": 2.0, "c": 3.0})
    assert mutants.within(lines, ["a", "b", "c"], 3.0) == ["a", "b"]
    assert mutants.within(lines, ["a", "b", "c"], float("inf")) == ["a", "b", "c"]


def test_the_page_is_that_of_the_record() -> None:
    every = mutant_record.load()
    assert mutant_record.PAGE.read_text(encoding="utf-8") == mutant_record.page(every)
    assert not [one for one in every if one.same and one.now]


def test_the_share_leaves_out_what_changes_nothing() -> None:
    def one(now: bool, *, same: bool = False) -> mutant_record.Played:
        return mutant_record.Played(1, "terms/units.py", 3, "1 → 2", False, now, same=same)

    page = mutant_record.page([one(True), one(True), one(False), one(False, same=True)])
    assert "| terms | 4 | 0 | 2 | 1 | 67 % |" in page
    assert page.count("`terms/units.py` `1 → 2`") == 2


def test_the_fastest_test_of_a_line_comes_first() -> None:
    tests = {"src/nettop/a.py": {3: {"slow", "fast"}, 4: {"fast"}, 9: {"other"}}}
    lines = line_map.LineMap(tests, {"slow": 2.0, "fast": 0.1, "other": 1.0})
    assert lines.of("src/nettop/a.py", range(3, 5)) == ["fast", "slow"]
    assert lines.of("src/nettop/a.py", range(4, 5)) == ["fast"]
    every = [*line_map.READ_ALL, "fast", "other", "slow"]
    assert lines.of("src/nettop/a.py", range(1, 2)) == every
    assert lines.of("src/nettop/b.py", range(1, 2)) == [*line_map.READ_ALL]


def test_a_test_with_parameters_is_chosen_with_each_of_them() -> None:
    seconds = {"t[slow]": 9.0, "t[fast]": 0.1, "u": 1.0, "tt": 0.1}
    lines = line_map.LineMap({"src/nettop/a.py": {3: {"t", "u"}}}, seconds)
    assert lines.of("src/nettop/a.py", range(3, 4)) == ["t[fast]", "u", "t[slow]"]


def test_tests_that_start_processes_and_lines_without_a_test_are_not_forgotten() -> None:
    seconds = dict.fromkeys(("tests/x/t.py::a", "tests/x/t.py::b[1]", "tests/y/t.py::c"), 1.0)
    starting = frozenset({"tests/x/t.py::b", "tests/y/t.py::c"})
    by_line = {3: {"tests/x/t.py::a"}}
    lines = line_map.LineMap({"src/nettop/x/m.py": by_line}, seconds, starting)
    own = ["tests/x/t.py::a", "tests/x/t.py::b[1]"]
    assert lines.of("src/nettop/x/m.py", range(3, 4)) == own
    assert lines.of("src/nettop/x/m.py", range(7, 8)) == [*line_map.READ_ALL, *own]
    assert lines.of("src/nettop/y/m.py", range(7, 8)) == [*line_map.READ_ALL, "tests/y/t.py::c"]
