"""The examples of docs/parts.md are carried out: written into a copy of the tree, listed, run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hang import HANG

ROOT = Path(__file__).parents[2]
NAMES = ("CONTRIBUTING.md", "docs/parts.md")
PAGE = "".join((ROOT / name).read_text(encoding="utf-8") for name in NAMES)
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
RUNS = re.findall(r"<!-- run: (.+?) -->\n```\n(.*?)\n```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources and rules with every example in place."""
    copy = tmp_path_factory.mktemp("tree")
    for folder in ("src", "rules"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        assert not (copy / name).exists(), f"{name} is an example and exists already"
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "tests/hosts", copy / "tests/hosts")
    return copy


def nettop(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    state = tree / "state"
    return subprocess.run(
        [sys.executable, "-m", "nettop", *words],
        capture_output=True, text=True, check=False, cwd=tree, timeout=HANG,
        env={**os.environ, "PYTHONPATH": str(tree / "src"), "NETTOP_STATE": str(state)},
    )  # fmt: skip


def test_every_kind_of_part_has_an_example() -> None:
    folders = {str(Path(name).parent) for name in FILES}
    assert folders >= {
        "src/nettop/collect", "src/nettop/facts/kinds", "src/nettop/settings",
        "src/nettop/facts/limits/stages",
        "src/nettop/advice/language/functions",
        "src/nettop/trials/tools", "src/nettop/panes", "src/nettop/commands",
        "src/nettop/changes/export", "rules/legacy",
    }  # fmt: skip


@pytest.mark.package
@pytest.mark.parametrize(("words", "said"), RUNS, ids=[words for words, _ in RUNS])
def test_an_example_is_listed_and_runs(tree: Path, words: str, said: str) -> None:
    if words.startswith("test ping") and shutil.which("ping") is None:
        pytest.skip("needs ping (Debian's package iputils-ping)")
    done = nettop(tree, *words.split())
    assert done.returncode == 0, done.stderr
    assert said.strip() in done.stdout


@pytest.mark.package
def test_the_listings_know_the_examples(tree: Path) -> None:
    assert "uptime" in nettop(tree, "--help").stdout
    assert "ping" in nettop(tree, "test", "list").stdout
    assert "boot" in nettop(tree, "show", "nosuch").stderr
    assert "up-for-years" in nettop(tree, "rules", "list").stdout


@pytest.mark.package
def test_a_command_that_cannot_read_says_so_in_one_sentence(tree: Path) -> None:
    done = nettop(tree, "uptime", "--replay", "rules/demo.host.gz")
    assert done.returncode == 3
    assert done.stderr == "nettop: not in the recording: /proc/uptime\n"


PRESSES = """
from nettop.collect.uptime import Row
from nettop.frame.rates import Entry, Frame
from nettop.panes import pane
from nettop.terms.text import text_of
from nettop.tui.palette import help_lines
from nettop.tui.keys import press
from nettop.views.scene import Scene
from nettop.views.view import View

row = Row(7200.0)
scene = Scene(frame=Frame(0.0, 0.0, {"uptime": [Entry(row)]}))
assert press("t", "t", View(), scene) == (View(), None)
view, _ = press("0", "0", View(), scene)
assert view.pane == "boot"
show = lambda view: text_of(pane(view.pane).lines(scene, view, 40, 5)[1]).split(maxsplit=1)[1]
first = show(view)
view, _ = press("t", "t", view, scene)
assert show(view).strip() == "7200 s" != first.strip()
assert show(press("t", "t", view, scene)[0]) == first
assert any("boot: seconds or hours" in text_of(one) for one in help_lines(view, 120, 60))
print("answered")
"""


@pytest.mark.package
def test_the_pane_answers_its_digit_and_its_own_key(tree: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRESSES], capture_output=True, text=True, check=False, cwd=tree,
        timeout=HANG, env={**os.environ, "PYTHONPATH": str(tree / "src")},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "answered\n"), done.stderr


LIMITS = """
from dataclasses import replace

from nettop.commands import man, schema
from nettop.facts.limits import Reading, words
from nettop.facts.pair import HERE, THERE, model
from nettop.metrics.families import _flows
from nettop.panes import limit as band
from nettop.panes.cursor import of_stage
from nettop.terms.text import text_of
from nettop.views.stages import at_fault, bars
from scenes import RING, lossy
from scenes.limits import LOSSY

full = Reading("budget", "here", "poll of core 6", "reported", "900 polls", 1.0, (1e9, 2e9), 0.9)
limit = replace(LOSSY[0], stage=full, ladder=(full, *LOSSY[0].ladder))
assert words.limited(limit) == "limited by the poll budget"
scene = lossy()
facts = scene.facts
names = [bar.stage for bar in bars(facts, limit)]
assert names.index("ring") < names.index("budget") < names.index("core"), names
assert at_fault(limit)
told = "\\n".join(text_of(row) for row in band.lines(scene, limit, None, 198))
assert "✗ BUDGET" in told and "raise net.core.netdev_budget_usecs" in told, told
assert of_stage(facts, limit, "budget").pane == "cores"
joined = [(one.stage, one.end) for one in model.stages(None, limit, (HERE, THERE))]
assert ("budget", THERE) in joined, joined
assert "the time and packets of a poll of the receive ring" in man.concepts()
assert "budget" in schema.load()["$defs"]["stage"]["enum"]
counted = {sample.labels: sample.value for sample in _flows(replace(facts, flows=()))}
assert counted["budget",] == 0
print("known everywhere")
"""


@pytest.mark.package
def test_every_part_knows_a_stage_with_a_new_name(tree: Path) -> None:
    paths = [tree / "src", ROOT / "tests", ROOT / "tests/support", ROOT / "tests/panes"]
    done = subprocess.run(
        [sys.executable, "-c", LIMITS], capture_output=True, text=True, check=False, cwd=tree,
        timeout=HANG, env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "known everywhere\n"), done.stderr


@pytest.mark.package
def test_the_tests_of_the_examples_pass(tree: Path) -> None:
    tests = [name for name in FILES if name.startswith("tests/")]
    assert tests
    plain = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tree)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plain, *tests],
        capture_output=True, text=True, check=False, cwd=tree, timeout=HANG,
        env={**os.environ, "PYTHONPATH": str(tree / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


OF_RULES = ["tests/advice/test_rules.py", "tests/advice/test_rule_boundaries.py"]
OF_PANES = ["tests/panes/test_panes.py", "tests/tui/test_screenshots.py"]
OF_KEYS = ["tests/panes/test_hints.py", "tests/tui/test_tui_keys.py"]
# of the example, and of what all parts of its kind share
EXAMPLE = "up-for-years or boot"
SHARED = (
    "circle or cited_name or everything_known or left_of_a_rule or page_of_all_rules or "
    "bound_twice or help_is_the_table or has_its_picture"
)


@pytest.mark.package
def test_the_project_s_own_tests_accept_the_rule_and_the_pane(tree: Path, tmp_path: Path) -> None:
    """First `--update` writes their golden files, as the page demands; it names these tests."""
    for folder in ("src", "rules", "tests", "screenshots"):
        own = tree if folder in ("src", "rules") else ROOT
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(own / folder, tmp_path / folder, ignore=leave)
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("records"))
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, tmp_path)
    steps: tuple[tuple[list[str], str, list[str]], ...] = (
        ([*OF_RULES, *OF_PANES], f"{EXAMPLE} or page_of_all_rules", ["--update"]),
        ([*OF_RULES, *OF_PANES, *OF_KEYS], f"{EXAMPLE} or {SHARED}", []),
    )
    for files, which, options in steps:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *files, "-k", which, *options],
            capture_output=True, text=True, check=False, cwd=tmp_path, timeout=HANG,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    for file in map(Path, [*OF_RULES, *OF_PANES]):
        assert f"`{file.parent}`" in PAGE or file.name in PAGE


def test_the_examples_pass_the_linter(tree: Path) -> None:
    names = [name for name in FILES if name.endswith(".py")]
    config = ["--config", str(ROOT / "pyproject.toml")]
    for words in (["check", *config], ["format", "--check", *config]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--no-cache", *names],
            capture_output=True, text=True, check=False, cwd=tree,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_map_is_the_ranks() -> None:
    import layers

    rows = re.findall(r"^\| (\d+) \| `(\w+)/`", PAGE, re.MULTILINE)
    told = {name: int(rank) for rank, name in rows}
    assert told == {name: rank for name, rank in layers.RANKS.items() if name in told}
    assert set(layers.RANKS) - set(told) == {"cli", "__main__"}


def test_a_word_has_one_meaning_and_there_are_few() -> None:
    table = PAGE.split("## Words")[1].split("## ")[0]
    rows = re.findall(r"^\| ([a-z, ]+) \| (.+) \|$", table, re.MULTILINE)
    words = [word for names, _ in rows if names != "word" for word in names.split(", ")]
    assert len(words) == len(set(words))
    assert 20 <= len(rows) <= 40
