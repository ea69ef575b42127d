"""A guard that is armed needs nothing any more: neither nettop's own files nor the journal."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import resolve_name
from pathlib import Path

import fake_ethtool
import fake_host
import pytest

import nettop
from nettop import settings
from nettop.changes import guard, plan
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal, since_boot
from nettop.changes.memory import Memory
from nettop.settings import Host, pause, privflag, ring

HANGS = 120.0  # seconds
SUPPORT = Path(fake_host.__file__).parent
MTU6 = "sysctl.net.ipv6.conf.eth0.mtu"
# each kind of setting that may cut the link, with another value
RISKY = {
    "link.mtu@eth0": "1400", "ring.rx@eth0": "4096", "pause.rx@eth0": "off",
    "privflag.odd@eth0": "on",
}  # fmt: skip


def test_every_kind_of_setting_that_may_cut_the_link_is_played() -> None:
    risks = {name: settings.kind(name).RISK for name in settings.kinds()}
    risky = {
        n for n, r in risks.items() if r == "link" or (isinstance(r, dict) and "link" in r.values())
    }
    assert {settings.parse(setting).kind for setting in RISKY} == risky


@pytest.fixture(autouse=True)
def _device(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device with rings, flow control and flags, whose IPv6 MTU goes down with its own."""
    monkeypatch.setattr(Host, "at", classmethod(lambda _cls, _root="/": host))
    file = tmp_path / "ethtool.json"
    file.write_text(json.dumps(fake_ethtool.DEVICE))
    fakes = fake_ethtool.functions(file)
    for module in (ring, pause, privflag):
        for name in ("values", "field", "put"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, fakes[name])
    monkeypatch.setattr("nettop.host.netlink.ethtool.strings", fakes["strings"])
    six = tmp_path / "host/proc/sys/net/ipv6/conf/eth0/mtu"
    six.parent.mkdir(parents=True)
    six.write_text("1500\n")
    write = settings.write

    def both(to: Host, address: settings.Address, value: str) -> None:
        write(to, address, value)
        if address.kind == "link":
            six.write_text(f"{value}\n")

    monkeypatch.setattr(settings, "write", both)


def make(
    host: Host, book: Journal, setting: str = "link.mtu@eth0",
    arm: Callable[[Journal, int, float], None] = lambda *_: None,
) -> str:  # fmt: skip
    """Make a risky change; the value before it."""
    changes = plan.plan([(setting, RISKY[setting])], host.source)
    (made,) = apply(changes, host, book, Terms(confirm=60, arm=arm))
    assert made.state == "pending", made
    return made.before


def shows(host: Host, setting: str = "link.mtu@eth0") -> str:
    return settings.read(host.source, settings.parse(setting))


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
    """`guard.arm` starts a guard from a copy of nettop, which may go."""
    shutil.copytree(Path(nettop.__file__).parent, tmp_path / "lib/nettop")
    (tmp_path / "clock").touch()
    stand_in = tmp_path / "python"
    stand_in.write_text(
        f'#!/bin/sh\nexec {sys.executable} {SUPPORT}/guard_alone.py {tmp_path} "$@"\n'
    )
    stand_in.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stand_in))
    monkeypatch.setattr(guard, "_SYSTEMD", str(tmp_path / "none"))
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


@pytest.mark.parametrize("goes", GOES)
@pytest.mark.parametrize("setting", RISKY)
def test_a_guard_reverts_without_the_package_and_the_journal(
    host: Host, book: Journal, alone: Path, setting: str, goes: str
) -> None:
    before = make(host, book, setting, guard.arm)
    (process,) = guards(book.folder)
    GOES[goes](alone / "lib/nettop")
    GOES[goes](Path(book.folder))
    assert shows(host, setting) == RISKY[setting]
    os.truncate(alone / "clock", 3600)
    end = time.monotonic() + HANGS
    while process.exists():
        assert time.monotonic() < end, "the guard did not end"
        time.sleep(0.02)
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
        "{before}\nready._lock_memory(); x = bytearray(1 << 24)\n"
        "print(re.search(r'VmLck:\\s*(\\d+)', open('/proc/self/status').read())[1])"
    )
    for before in ("", "resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))"):
        words = [sys.executable, "-c", program.format(before=before)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        allowed = os.geteuid() == 0 and "VmLck" in Path("/proc/self/status").read_text()
        assert int(done.stdout) > (0 if allowed else -1)


# -- without the journal ---------------------------------------------------------------------------


def replaced(journal: Path) -> None:
    """Another journal with the same numbers, and nothing that waits."""
    rows = [json.loads(row) for row in journal.read_text().splitlines()]
    begin = rows[0] | {"at": 1.0, "setting": "sysctl.net.core.rmem_max"}
    del begin["due"], begin["deadline"]
    journal.write_text(json.dumps(begin) + "\n")


def folder_instead(journal: Path) -> None:
    journal.unlink()
    journal.mkdir()


def file_instead(journal: Path) -> None:
    shutil.rmtree(journal.parent)
    journal.parent.write_text("no folder")


def lines_added(journal: Path) -> None:
    with journal.open("a") as file:
        file.write(("x" * 1023 + "\n") * (65 << 10))


LOST: dict[str, Callable[[Path], object]] = {
    "folder removed": lambda one: shutil.rmtree(one.parent),
    "removed": Path.unlink,
    "emptied": lambda one: one.write_text(""),
    "rotated": lambda one: one.rename(one.with_suffix(".1")),
    "cut": lambda one: os.truncate(one, 100),
    "replaced": replaced,
    "a folder": folder_instead,
    "a file for the folder": file_instead,
    "too large": lambda one: os.truncate(one, 65 << 20),
    "65 MiB of lines": lines_added,
    "garbage": lambda one: one.write_bytes(b"\0\xff" * 999),
    "open to all": lambda one: one.parent.chmod(0o777),
    "file open to all": lambda one: one.chmod(0o666),
}  # fmt: skip
OURS = {"open to all", "file open to all", "a folder", "a file for the folder"}  # no record


def confirmed_by_another(journal: Path) -> None:
    """A user who got the folder confirms."""
    with journal.open("a") as file:
        file.write('{"event":"confirmed","id":1,"at":1}\n')
    os.chown(journal.parent, 65534, 65534)


if os.geteuid() == 0:
    LOST |= {
        "given to a user": lambda one: os.chown(one.parent, 65534, 65534),
        "file given to a user": lambda one: os.chown(one, 65534, 65534),
        "confirmed by another": confirmed_by_another,
    }  # fmt: skip
    OURS |= {"given to a user", "file given to a user", "confirmed by another"}


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("setting", RISKY)
def test_a_journal_that_is_lost_confirms_nothing(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, setting: str, lost: str
) -> None:
    before = make(host, book, setting)
    memory = Memory(book)
    memory.entries()
    LOST[lost](Path(book.path))
    assert [e.state for e in memory.entries() if e.id == 1] == ["pending"]
    late = since_boot() + 61
    monkeypatch.setattr(guard, "since_boot", lambda: late)
    guard.wait(memory, 1)
    assert shows(host, setting) == before
    assert shows(host, MTU6) == "1500"
    memory.record()
    if lost not in OURS:
        assert "reverted" in [e.state for e in book.entries() if e.setting == setting]


def test_a_confirmation_that_was_read_holds_without_the_journal(host: Host, book: Journal) -> None:
    make(host, book)
    memory = Memory(book)
    memory.entries()
    guard.confirm(book)
    assert [e.state for e in memory.entries()] == ["applied"]
    shutil.rmtree(book.folder)
    guard.wait(memory, 1)
    assert shows(host) == "1400"


def test_a_journal_that_comes_back_can_confirm(host: Host, book: Journal) -> None:
    make(host, book)
    memory = Memory(book)
    memory.entries()
    away = Path(book.folder + ".away")
    Path(book.folder).rename(away)
    assert [e.state for e in memory.entries()] == ["pending"]
    away.rename(book.folder)
    guard.confirm(book)
    guard.wait(memory, 1)
    assert shows(host) == "1400"


def test_without_the_line_that_starts_the_time_it_is_counted_from_the_guard(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard read the journal before nettop wrote `armed`, and then it was removed."""
    memories: list[Memory] = []

    def arm(journal: Journal, _group: int, _due: float) -> None:
        memories.append(Memory(journal))
        memories[0].entries()

    make(host, book, arm=arm)
    shutil.rmtree(book.folder)
    late = since_boot() + 61
    monkeypatch.setattr(guard, "since_boot", lambda: late)
    guard.wait(memories[0], 1)
    assert shows(host) == "1500"


# -- whatever fails --------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ImportError("no module"), RuntimeError("odd"), MemoryError()])
def test_any_error_is_told_and_tried_again(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    make(host, book)
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    late = since_boot() + 61
    monkeypatch.setattr(guard, "since_boot", lambda: late)
    write, revert, failures = settings.write, guard.revert, iter("xxxxx")

    def fails(*words: object, **more: object) -> None:
        if next(failures, ""):
            raise error

    def written(to: Host, address: settings.Address, value: str) -> None:
        fails()
        write(to, address, value)

    def reverted(*words: object, **more: object) -> object:
        if len(slept) == 0:
            raise error
        return revert(*words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(settings, "write", written)
    monkeypatch.setattr(guard, "revert", reverted)
    guard.wait(Memory(book), 1)
    assert shows(host) == "1500"
    assert slept[:3] == [1.0, 2.0, 4.0]
    assert [e.state for e in book.entries()] == ["reverted"]
    assert len(book.failures()) == 1


@pytest.mark.parametrize("when", ["look", "write"])
def test_a_side_effect_that_cannot_be_put_back_hinders_nothing_and_is_told(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    make(host, book)
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    late = since_boot() + 61
    monkeypatch.setattr(guard, "since_boot", lambda: late)
    write, kind = settings.write, settings.kind

    def refuses(to: Host, address: settings.Address, value: str) -> None:
        if address.kind == "sysctl" and when == "write":
            raise OSError(22, "Invalid argument")
        (write if address.kind != "link" else settings.kind("link").write)(to, address, value)

    def absent(name: str) -> object:
        if name == "sysctl" and when == "look":
            raise ModuleNotFoundError("No module named 'nettop.settings.sysctl'")
        return kind(name)

    monkeypatch.setattr(settings, "write", refuses)
    settings.parse.cache_clear()
    monkeypatch.setattr(settings, "kind", absent)
    guard.wait(Memory(book), 1)
    monkeypatch.setattr(settings, "kind", kind)
    assert shows(host) == "1500"
    (entry,) = book.entries()
    assert entry.state == "reverted"
    assert {"look": "nettop.settings.sysctl", "write": "Invalid argument"}[when] in entry.because
    assert len(slept) == guard._TRIES - 1


def test_a_device_in_another_namespace_ends_the_waiting_with_the_place(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop.changes import target, undo

    make(host, book)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    late = since_boot() + 61
    monkeypatch.setattr(guard, "since_boot", lambda: late)
    away = target.Target(None, "eth0 is now in network namespace b: nettop --netns b undo 1")
    with monkeypatch.context() as patch:
        patch.setattr(target, "find", lambda *_, **__: away)
        guard.wait(Memory(book), 1)
        (entry,) = book.entries()
        assert (entry.state, entry.because) == ("conflict", away.because)
    assert guard.notices(book) == book.failures()
    assert [one.state for one in undo.undo(book, host, (1,))] == ["undone"]
    assert shows(host) == "1500"


@pytest.mark.parametrize("number", guard.STOPS)
def test_every_signal_that_can_be_caught_reverts(host: Host, book: Journal, number: int) -> None:
    make(host, book)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, guard.STOPS)
    try:
        signal.pthread_kill(threading.get_ident(), number)
        guard.wait(Memory(book), 1)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    assert shows(host) == "1500"


def test_the_signals_that_end_a_guard_are_all_but_those_that_nobody_can_catch() -> None:
    ignored = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
    left = set(signal.valid_signals()) - set(guard.STOPS)
    assert left == ignored | {signal.SIGKILL, signal.SIGSTOP}


# -- what is said ----------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["folder removed", "removed", "emptied", "rotated", "garbage"])
def test_a_journal_that_is_lost_is_not_said_to_be_of_a_host_without_changes(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], lost: str,
) -> None:  # fmt: skip
    from nettop.cli import main

    make(host, book)
    LOST[lost](Path(book.path))
    monkeypatch.setenv("NETTOP_STATE", book.folder)
    assert main(["journal"]) == 0
    shown = capsys.readouterr().out
    assert "has changed nothing" not in shown
    assert f"No change is recorded in {book.path}." in shown
    assert "removed or emptied" in shown
