"""The table of goals: each goal has a line, with the last figure; each is noted somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import every
import goals
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_each_goal_has_a_line_with_its_last_figure(tmp_path: Path) -> None:
    file = tmp_path / "out" / "bench.jsonl"
    for figure in (9.0, 1.25):
        goals.note("1,000 interfaces", figure, file)
    goals.note("capture / netsniff-ng", 0.94, file)
    lines = list(goals.table(goals.measured(file.read_text().splitlines())))
    assert len(lines) == 1 + len(goals.GOALS)
    told = {line[:38].strip(): line[38:].split(maxsplit=2) for line in lines}
    assert told["1,000 interfaces"] == ["≤", "1.5", "1.25 % of a core met"]
    assert told["capture / netsniff-ng"] == ["≥", "1", "0.94 times       not met"]
    assert told["30,000 processes"][2].endswith("not measured")


def test_an_unknown_goal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        goals.note("2,000 interfaces", 1.0, tmp_path / "bench.jsonl")
    assert not list(tmp_path.iterdir())


def _bare(text: str) -> str:
    """An f-string without its values."""
    return re.sub(r"\{.*?\}", "", text)


def test_every_goal_is_noted_by_a_benchmark() -> None:
    text = "".join(p.read_text() for p in BENCHMARKS.glob("*.py") if p.name != "goals.py")
    quoted = re.findall(r'"([^"\n]+)"', text)
    shapes = [re.sub(r"\\\{.*?\\\}", ".+", re.escape(one)) for one in quoted if len(_bare(one)) > 5]
    missing = [name for name in goals.GOALS if not any(re.fullmatch(s, name) for s in shapes)]
    assert missing == []


def test_a_run_that_was_stopped_goes_on_and_a_new_tree_begins_anew(tmp_path: Path) -> None:
    kept, ran = tmp_path / "out" / "bench.json", list[str]()

    def run(name: str) -> bool:
        ran.append(name)
        return name != "b.py"

    assert every.play(kept, "x", ["a.py", "b.py"], 0, run) == ["a.py", "b.py"]
    assert every.play(kept, "x", ["a.py", "b.py"], 1, run) == []  # a failure counts as run
    assert every.play(kept, "x", ["a.py", "b.py", "c.py"], 1, run) == []
    assert ran == ["a.py", "b.py", "c.py"]
    assert every.ended(kept, "y") == []


def test_the_page_has_the_goals_and_what_was_printed() -> None:
    told = {"a.py": "a figure\n", "b.py": ""}
    lines = "\n".join(every.page(["a.py", "b.py"], told.__getitem__, "Here."))
    assert "Here." in lines
    assert all(name in lines for name in goals.GOALS)
    assert "## a.py\n\n```\na figure\n```" in lines
    assert "## b.py" not in lines


def test_a_change_of_a_rule_changes_the_digest(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    before = every.digest(tmp_path)
    (tmp_path / "rules" / "a.toml").write_text("x")
    assert every.digest(tmp_path) != before
