"""A guard that is armed needs nothing any more: neither nettop's own files nor the journal."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import resolve_name
from pathlib import Path

import fake_host
import pytest
from hang import until
from risky import MTU6, RISKY, make, shows

import nettop
from nettop import settings
from nettop.changes import arm
from nettop.changes.journal import Journal
from nettop.settings import Host

SUPPORT = Path(fake_host.__file__).parent
pytestmark = pytest.mark.usefixtures("risky_device")


def test_every_kind_of_setting_that_may_cut_the_link_is_played() -> None:
    risks = {name: settings.kind(name).RISK for name in settings.kinds()}
    risky = {
        n for n, r in risks.items() if r == "link" or (isinstance(r, dict) and "link" in r.values())
    }
    assert {settings.parse(setting).kind for setting in RISKY} == risky


# -- without nettop's files ------------------------------------------------------------------------


def emptied(folder: Path) -> None:
    for one in folder.iterdir():
        shutil.rmtree(one) if one.is_dir() else one.unlink()


GOES: dict[str, Callable[[Path], object]] = {
    "removed": shutil.rmtree, "emptied": emptied,
    "renamed": lambda folder: folder.rename(folder.with_name("elsewhere")),
}  # fmt: skip


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`arm.arm` starts a guard from a copy of nettop, which may go."""
    shutil.copytree(Path(nettop.__file__).parent, tmp_path / "lib/nettop")
    (tmp_path / "clock").touch()
    stand_in = tmp_path / "python"
    stand_in.write_text(
        f'#!/bin/sh\nexec {sys.executable} {SUPPORT}/guard_alone.py {tmp_path} "$@"\n'
    )
    stand_in.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stand_in))
    monkeypatch.setattr(arm, "_SYSTEMD", str(tmp_path / "none"))
    return tmp_path


def guards(folder: str) -> list[Path]:
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            words = (one / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"nettop.changes.guard" in words and folder.encode() in words:
            found.append(one)
    return found


@pytest.mark.parametrize(
    ("setting", "goes"),
    [*zip(RISKY, GOES, strict=False), *((one, "removed") for one in [*RISKY][1:])],
)
def test_a_guard_reverts_without_the_package_and_the_journal(
    host: Host, book: Journal, alone: Path, setting: str, goes: str
) -> None:
    before = make(host, book, setting, arm.arm)
    (process,) = guards(book.folder)
    GOES[goes](alone / "lib/nettop")
    GOES[goes](Path(book.folder))
    assert shows(host, setting) == RISKY[setting]
    os.truncate(alone / "clock", 3600)
    until(lambda: not process.exists(), "the guard did not end")
    assert shows(host, setting) == before
    assert shows(host, MTU6) == "1500"
    assert json.loads((alone / "trace").read_text()) == [], "modules were opened after it was armed"
    assert [e.state for e in Journal(book.folder).entries()] == ["reverted"]


def test_what_functions_import_is_imported_before() -> None:
    """In a process of its own: this one has imported much else."""
    program = (
        "import sys; from nettop.changes import guard, ready; ready._lock_memory = lambda: None\n"
        "ready.ready(); import json, nettop.changes.memory; print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = set(json.loads(done.stdout))
    absent = {
        (name, wanted)
        for name in loaded
        if name.startswith(("nettop.changes", "nettop.settings", "nettop.terms.", "nettop.files."))
        for wanted in imports(name)
        if wanted not in loaded
    }
    others = {"nettop.config", "tomllib"}  # of the journal's place, and of configuration
    assert {wanted for _, wanted in absent} <= others, absent


def imports(name: str) -> Iterator[str]:
    """The modules that the functions of a module import."""
    module = sys.modules.get(name) or __import__(name, fromlist=["x"])
    path = module.__file__
    package = name if path is not None and path.endswith("__init__.py") else name.rpartition(".")[0]
    for function in ast.walk(ast.parse(Path(path or "").read_text())):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                yield from (one.name for one in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield resolve_name("." * node.level + (node.module or ""), package)


def test_the_memory_is_locked_where_that_is_allowed() -> None:
    program = (
        "import re, resource; from nettop.changes import ready\n"
        "{before}\nready.lift(); ready._lock_memory(); x = bytearray(1 << 24)\n"
        "print(re.search(r'VmLck:\\s*(\\d+)', open('/proc/self/status').read())[1])"
    )
    for before in ("", "resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))"):
        words = [sys.executable, "-c", program.format(before=before)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        allowed = os.geteuid() == 0 and "VmLck" in Path("/proc/self/status").read_text()
        assert int(done.stdout) > (0 if allowed else -1)


def test_no_limit_of_the_shell_ends_a_guard(tmp_path: Path) -> None:
    program = f"""
import resource
for limit in ('AS', 'CPU', 'DATA', 'FSIZE'):
    limit = getattr(resource, 'RLIMIT_' + limit)
    hard = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (min(hard % 2**64, 1 << 33), hard))
from nettop.changes import ready
ready._OOM = "{tmp_path}/oom"
ready.lift()
limits = [resource.getrlimit(one) for one in ready._LIMITS]
print(len(limits), {{soft == hard for soft, hard in limits}})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == [b"7", b"{True}"]
    assert (tmp_path / "oom").read_text() == "-1000"
