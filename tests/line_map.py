"""Which test executes which line of src/nettop: the map that tests/mutants.py chooses tests by.

As a plugin of pytest under `coverage run`, this module makes each test a context of the coverage
data and writes the duration of each test. Tests with parameters are one test here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import coverage
import pytest

# the tests of the map; the others need namespaces, a virtual machine or minutes
MARK: Final = "not netns and not lab and not slow"
READ_ALL: Final = "tests/project/test_values.py"
_SECONDS: dict[str, float] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--durations-to", metavar="FILE")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    now = coverage.Coverage.current()
    if now is not None:
        now.switch_context(item.nodeid.partition("[")[0])
    try:
        return (yield)
    finally:
        if now is not None:
            now.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    name = report.nodeid.partition("[")[0]
    _SECONDS[name] = _SECONDS.get(name, 0.0) + report.duration


def pytest_unconfigure(config: pytest.Config) -> None:
    if path := config.getoption("--durations-to"):
        Path(path).write_text(json.dumps(_SECONDS), encoding="utf-8")


def record(tree: Path, to: Path, folders: list[str]) -> None:
    """Run the tests of these folders, or files, of `tests`; each gets two files in `to`."""
    to.mkdir(parents=True, exist_ok=True)
    path = f"{tree / 'src'}{os.pathsep}{tree / 'tests'}"
    environment = {**os.environ, "PYTHONPATH": path, "COVERAGE_CORE": "ctrace"}
    for folder in folders:
        name = folder.replace("/", ".")
        measure = ["--data-file", str(to / f"{name}.lines"), "--source", str(tree / "src/nettop")]
        plugin = ["-p", "line_map", "--durations-to", str(to / f"{name}.seconds")]
        few = ["--hypothesis-profile", "quick", "-m", MARK, str(tree / "tests" / folder)]
        run = [sys.executable, "-m", "coverage", "run", *measure, "-m", "pytest", *plugin, *few]
        subprocess.run(run, cwd=tree, env=environment, stdout=subprocess.DEVNULL, check=False)


@dataclass(frozen=True, slots=True)
class LineMap:
    """Tests by module and line, and the seconds that each test took."""

    tests: dict[str, dict[int, set[str]]]  # module as a path below the tree
    seconds: dict[str, float]

    def of(self, path: str, lines: range) -> list[str]:
        """The tests that execute one of these lines, the fastest first.

        Lines that only an import executes (constants, fields) have none: then the tests that read
        every module, and those that execute any line of this one.
        """
        by_line = self.tests.get(path, {})
        names = set().union(*(by_line.get(line, set()) for line in lines))
        names = names or {READ_ALL}.union(*by_line.values())
        if names == {READ_ALL}:  # only an import executes the module: all tests of its folder
            own = f"tests/{path.split('/')[2]}/"
            names |= {name for name in self.seconds if name.startswith(own)}
        return sorted(names, key=lambda name: (self.seconds.get(name, 0.0), name))


def load(folder: Path) -> LineMap:
    """The map that `record` wrote there."""
    tests: dict[str, dict[int, set[str]]] = {}
    seconds: dict[str, float] = {}
    for path in sorted(folder.glob("*.seconds")):
        seconds |= json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(folder.glob("*.lines")):
        data = coverage.CoverageData(str(path))
        data.read()
        for name in data.measured_files():
            below = "src/nettop/" + name.rpartition("/src/nettop/")[2]
            by_line = tests.setdefault(below, {})
            for line, contexts in data.contexts_by_lineno(name).items():
                by_line.setdefault(line, set()).update(filter(None, contexts))
    return LineMap(tests, seconds)
