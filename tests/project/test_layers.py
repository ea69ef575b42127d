"""The layers hold: who may import what, how long a module may be, what a headless command loads."""

import ast
import json
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import layers
from folded import folded

from nettop import panes

SRC = Path(__file__).parents[2] / "src/nettop"
MODULES = sorted(SRC.rglob("*.py"))

# what → the places that may import it (a place is a folder or a file of src/nettop)
ALLOWED = {
    "textual": ("tui",),
    "rich": ("tui",),
    "subprocess": (
        "trials",
        "changes",
        "settings",
        "host/connection.py",
        "host/monitor_guard.py",
        "host/once.py",
        "host/prefix.py",
    ),
    "socket": ("host", "settings", "trials", "facts/toeplitz.py", "metrics/listen.py"),
    "fcntl": ("host", "settings", "trials", "changes", "box/folder.py"),
    "cpuinfo": ("tui",),
    "psutil": ("trials",),
    "ctypes": (
        "host/bpf",
        "trials",
        "changes/namespaces.py",
        "changes/ready.py",
        "host/netlink/elsewhere.py",
        "host/netlink/xtables.py",
    ),
    "aiohttp": ("serving",),
    "textual_serve": ("serving",),
    "prometheus_client": ("metrics/listen.py",),
}
PURE = ("facts", "advice", "panes", "terms", "frame")
# reading rule files and the folder of panes; nothing of the host
FILES_ALLOWED = (
    "advice/rules/load.py", "advice/judge/rule_tests.py",
    "panes/__init__.py", "terms/modules.py",
)  # fmt: skip


def place(path: Path) -> str:
    return str(path.relative_to(SRC))


class Module(NamedTuple):
    """What a module names."""

    imports: set[str]  # packages from elsewhere
    classes: set[str]
    calls: set[str]


@cache
def module(path: Path) -> Module:
    found = Module(set(), set(), set())
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.imports.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.imports.add(node.module.split(".")[0])
        elif isinstance(node, ast.ClassDef):
            found.classes.add(node.name)
        elif isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            found.calls.add(ast.unparse(node.func))
    return found


# one test of all modules: a case for each took longer to set up than to run
def test_only_the_named_places_import_what_touches_the_world() -> None:
    named = {place(path): module(path).imports & ALLOWED.keys() for path in MODULES}
    assert {"textual", "subprocess", "socket"} <= set().union(*named.values())
    assert [
        f"{where} may not import {name}"
        for where, names in named.items()
        for name in names
        if not where.startswith(ALLOWED[name])
    ] == []


def test_what_reasons_does_not_touch_the_host() -> None:
    pure = {place(p): module(p) for p in MODULES if place(p).startswith(PURE)}
    assert len(pure) > 100
    imports = {"subprocess", "fcntl", "ctypes", "select"}
    calls = {"open", "os.open", "os.listdir", "os.readlink", "time.time", "time.monotonic"}
    assert {
        where: touching
        for where, names in pure.items()
        if where not in FILES_ALLOWED
        and (touching := names.imports & imports | names.calls & calls)
    } == {}


def test_modules_stay_small() -> None:
    lengths = {place(path): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: n for name, n in lengths.items() if n > 400} == {}
    assert statistics.median(n for n in lengths.values() if n > 5) <= 150


def test_test_modules_stay_small() -> None:
    tests = Path(__file__).parents[1]
    lengths = {path: len(path.read_text().splitlines()) for path in tests.rglob("*.py")}
    assert len(lengths) > 150
    assert {str(path): n for path, n in lengths.items() if n > 400} == {}


def test_no_names_that_say_nothing() -> None:
    vague = re.compile(r"(Manager|Helper|Utils?|Base)$")
    assert [
        f"{name} in {place(path)}"
        for path in MODULES
        for name in [*module(path).classes, path.stem.title()]
        if vague.search(name)
    ] == []


HEAVY = {"textual", "rich", "asyncio", "cpuinfo", "psutil", "pydantic", "requests"}


@folded(
    "words",
    [
        ["advise", "--json", "--seconds", "0.2", "--fail-on", "never"],
        ["snapshot", "--json", "--seconds", "0.1", "--table", "cpu"],
        ["rules", "list"],
        ["limits", "--json"],
        ["get", "sysctl.net.core.somaxconn", "--json"],
        ["--version"],
    ],
    ids=lambda words: words[0],
)
def test_a_headless_command_loads_nothing_heavy(words: list[str]) -> None:
    program = (
        "import sys, io, contextlib, json\n"
        "from nettop.cli import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()):\n    code = main({words!r})\n"
        "print(json.dumps([code, sorted({m.split('.')[0] for m in sys.modules})]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NETTOP_STATE": "/nonexistent"},
    )
    code, loaded = json.loads(done.stdout.splitlines()[-1])
    assert code in (0, 1), done.stderr
    assert not HEAVY & set(loaded)


def test_every_folder_has_a_rank_and_nothing_lies_flat() -> None:
    there = {p.name for p in SRC.iterdir() if p.is_dir() and any(p.glob("*.py"))}
    flat = {p.stem for p in SRC.glob("*.py")} - {"__init__"}
    assert flat == {"cli", "__main__"}
    assert there | flat == set(layers.RANKS)


def test_imports_run_downwards_and_never_in_a_circle() -> None:
    edges = layers.imports()
    assert layers.climbing(edges) == []
    assert layers.cycles(edges) == []
    assert layers.cycles({name: set(to) for name, to in layers.folders(edges).items()}) == []


def test_the_check_of_layers_sees_a_climb_and_a_circle() -> None:
    edges = {
        "nettop.terms.x": {"nettop.facts.y"},
        "nettop.facts.y": {"nettop.terms.x", "nettop.facts.z"},
        "nettop.facts.z": {"nettop.facts.y"},
    }
    assert layers.climbing(edges) == ["nettop.terms.x (rank 0) imports nettop.facts.y (rank 5)"]
    assert layers.cycles(edges) == [["nettop.facts.y", "nettop.facts.z", "nettop.terms.x"]]


def test_what_reasons_knows_no_configuration_and_no_host() -> None:
    between = layers.folders(layers.imports())
    for folder in layers.PURE:
        assert not {"host", "config"} & between.get(folder, {}).keys(), folder


def test_only_panes_import_a_pane() -> None:
    """A new pane is one file: the page, the screen and the commands know no particular one."""
    known = {f"nettop.panes.{name}" for name in panes.names()}
    imports = {
        f"{module} → {target}"
        for module, targets in layers.imports().items()
        for target in targets & known
        if module not in known
    }
    assert imports == set()


@folded("folder", sorted(set(layers.RANKS) - {"cli", "__main__"}))
def test_a_folder_says_what_it_takes_and_gives(folder: str) -> None:
    text = ast.get_docstring(ast.parse((SRC / folder / "__init__.py").read_text())) or ""
    assert len(text.splitlines()) > 2, folder


def test_no_two_test_files_have_one_name() -> None:
    """Their folders are no packages: Python would take the first for both."""
    names = Counter(path.stem for path in Path(__file__).parents[1].rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_golden_files_are_few_enough_to_read() -> None:
    """A change rewrites a few of them: cut what tests of behaviour hold, before you raise this."""
    files = [path for path in (Path(__file__).parents[1] / "golden").rglob("*") if path.is_file()]
    assert len(files) <= 250
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 15_000
