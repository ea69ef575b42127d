"""Which test executes which line of src/nettop: the map that tests/mutants.py chooses tests by.

As a plugin of pytest under `coverage run`, this module makes each test a context of the coverage
data (one context for all its parameters), and writes the seconds of each test, with its parameters,
and which tests start processes: the lines that another process executes are not in the map.
"""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import coverage
import pytest

# the tests of the map; the others need namespaces, a virtual machine or minutes
MARK: Final = "not netns and not lab and not slow"
# this one reads every module
READ_ALL: Final = ("tests/project/test_values.py",)
_SECONDS: dict[str, float] = {}
_STARTED: set[str] = set()
_STARTS: Final = frozenset(
    {"os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen", "socket.sendmsg"}
)  # the last one: warm.py
_now = [""]  # the test that runs


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--durations-to", metavar="FILE")
    sys.addaudithook(_audited)


def _audited(event: str, _words: object) -> None:
    if event in _STARTS and _now[0]:
        _STARTED.add(_now[0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    now = coverage.Coverage.current()
    _now[0] = item.nodeid.partition("[")[0]
    if now is not None:
        now.switch_context(_now[0])
    try:
        return (yield)
    finally:
        _now[0] = ""
        if now is not None:
            now.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _SECONDS[report.nodeid] = _SECONDS.get(report.nodeid, 0.0) + report.duration


def pytest_unconfigure(config: pytest.Config) -> None:
    if path := config.getoption("--durations-to"):
        Path(path).write_text(json.dumps(_SECONDS), encoding="utf-8")
        Path(path).with_suffix(".starts").write_text(json.dumps(sorted(_STARTED)), encoding="utf-8")


def record(tree: Path, to: Path, folders: list[str]) -> None:
    """Run the tests of these folders, or files, of `tests`; each gets three files in `to`."""
    to.mkdir(parents=True, exist_ok=True)
    path = f"{tree / 'src'}{os.pathsep}{tree / 'tests'}"
    environment = {**os.environ, "PYTHONPATH": path, "COVERAGE_CORE": "ctrace"}
    for folder in folders:
        name = folder.replace("/", ".")
        measure = ["--data-file", str(to / f"{name}.lines"), "--source", str(tree / "src/nettop")]
        plugin = ["-p", "line_map", "--durations-to", str(to / f"{name}.seconds")]
        few = ["-m", MARK, str(tree / "tests" / folder)]
        run = [sys.executable, "-m", "coverage", "run", *measure, "-m", "pytest", *plugin, *few]
        subprocess.run(run, cwd=tree, env=environment, stdout=subprocess.DEVNULL, check=False)


@dataclass(frozen=True, slots=True)
class LineMap:
    """Tests by module and line, and the seconds that each test took with each of its parameters."""

    tests: dict[str, dict[int, set[str]]]  # module as a path below the tree
    seconds: dict[str, float]
    starting: frozenset[str] = field(default_factory=frozenset)  # these start processes

    def of(self, path: str, lines: range) -> list[str]:
        """The tests that may notice a change of one of these lines, the fastest first.

        They execute one of the lines, or start a process and are in the folder of tests of this
        module. No test executes a line that only an import (constants, fields) or another process
        executes: then all tests of that folder, those that execute any line of this module, and
        those that read every module.
        """
        by_line = self.tests.get(path, {})
        own = f"tests/{path.split('/')[2]}/"
        names = set().union(*(by_line.get(line, set()) for line in lines))
        if names:
            names |= {name for name in self.starting if name.startswith(own)}
        else:
            names = {*READ_ALL}.union(*by_line.values())
            names |= {name.partition("[")[0] for name in self.seconds if name.startswith(own)}
        every = {one for one in self.seconds if one.partition("[")[0] in names}
        every |= names - {one.partition("[")[0] for one in every}
        return sorted(every, key=lambda name: (self.seconds.get(name, 0.0), name))


def load(folder: Path) -> LineMap:
    """The map that `record` wrote there."""
    tests: dict[str, dict[int, set[str]]] = {}
    seconds: dict[str, float] = {}
    starting: set[str] = set()
    for path in sorted(folder.glob("*.seconds")):
        seconds |= json.loads(path.read_text(encoding="utf-8"))
        starting |= {*json.loads(path.with_suffix(".starts").read_text(encoding="utf-8"))}
    for path in sorted(folder.glob("*.lines")):
        data = coverage.CoverageData(str(path))
        data.read()
        for name in data.measured_files():
            below = "src/nettop/" + name.rpartition("/src/nettop/")[2]
            by_line = tests.setdefault(below, {})
            for line, contexts in data.contexts_by_lineno(name).items():
                by_line.setdefault(line, set()).update(filter(None, contexts))
    return LineMap(tests, seconds, frozenset(starting))
