"""A guard that ended or was stopped: nettop reverts what it can, and says what stays."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hang import until
from risky import make, shows

from nettop import cli
from nettop.changes import Result, arm, chain, guard, report, unguarded
from nettop.changes.apply import Terms
from nettop.changes.journal import Journal, since_boot
from nettop.changes.retract import retract
from nettop.settings import Host

pytestmark = pytest.mark.usefixtures("risky_device")
SLEEPS = "import time; time.sleep(600)"


@pytest.fixture
def stand_in(book: Journal) -> Iterator[subprocess.Popen[bytes]]:
    """A process with the command line of the guard of group 1, which reverts nothing."""
    words = [sys.executable, "-c", SLEEPS, unguarded.GUARD, book.folder, "1", "9.0"]
    with subprocess.Popen(words) as process:
        until(lambda: guards(book), "it does not run")
        yield process
        process.kill()


def guards(book: Journal) -> frozenset[str]:
    return unguarded.running(unguarded.GUARD, book.folder)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the time after now, in seconds."""

    def put(seconds: float) -> None:
        at = since_boot() + seconds
        for module in (guard, unguarded, report):
            monkeypatch.setattr(module, "since_boot", lambda: at)

    return put


def waits(book: Journal) -> Result:
    (entry,) = book.entries()
    return Result(entry.setting, "1500", "1400", "pending", entry.id, "1400")


def test_a_guard_is_seen_until_it_is_stopped_or_ends(
    book: Journal, stand_in: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(book.folder)
    assert unguarded.running(unguarded.GUARD, str(tmp_path / "link")) == {"1"}
    assert guards(Journal(str(tmp_path / "other"))) == set()
    os.makedirs(book.folder, exist_ok=True)
    assert guards(book) == {"1"}
    shutil.move(book.folder, tmp_path / "moved")
    assert guards(book) == {"1"}
    shutil.move(tmp_path / "moved", book.folder)
    stand_in.send_signal(signal.SIGSTOP)
    until(lambda: not guards(book))
    stand_in.send_signal(signal.SIGCONT)
    until(lambda: guards(book))
    stand_in.kill()
    until(lambda: not guards(book), "a process that ended and was not waited for")


@pytest.mark.needs("root")
@pytest.mark.needs("busybox")
@pytest.mark.parametrize(("root", "found"), [("container", set()), ("", {"1"})])
def test_the_guard_of_a_container_is_not_that_of_the_same_path_here(
    book: Journal, tmp_path: Path, root: str, found: set[str]
) -> None:
    inside = tmp_path / "container"
    inside.mkdir()
    shutil.copy(shutil.which("busybox") or "", inside)
    place = [str(inside), "/busybox"] if root else ["/", f"{inside}/busybox"]
    words = ["chroot", *place, "sh", "-c", "read", unguarded.GUARD, book.folder, "1", "9.0"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        line = Path(f"/proc/{process.pid}/cmdline")
        until(lambda: line.read_bytes().startswith(os.fsencode(place[1])))
        assert guards(book) == found
        process.kill()


def test_processes_that_cannot_be_listed_do_not_count_as_ended(
    book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(5, "odd")

    monkeypatch.setattr(os, "listdir", fails)
    with pytest.raises(OSError, match="odd"):
        guards(book)


# -- the front that asks ---------------------------------------------------------------------------


@pytest.mark.parametrize("killed", [True, False])
def test_a_front_reverts_what_its_guard_does_not(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, clock: Callable[[float], None],
    stand_in: subprocess.Popen[bytes], *, killed: bool,
) -> None:  # fmt: skip
    make(host, book)
    if killed:
        stand_in.kill()
        until(lambda: not guards(book))
    monkeypatch.setattr(report, "possible", lambda: True)
    monkeypatch.setattr(report, "enter", lambda *_: clock(60 if killed else 64))
    results = report.await_enter(book, [waits(book)])
    assert shows(host) == "1500"
    assert [r.state for r in results] == ["reverted"]
    assert report.code(results) == 5


def test_a_front_lets_a_guard_that_runs_do_it(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, clock: Callable[[float], None],
    stand_in: subprocess.Popen[bytes],
) -> None:  # fmt: skip
    make(host, book)
    clock(61)
    slept = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            book.note(1, "reverted")

    monkeypatch.setattr(time, "sleep", sleep)
    assert guard.finish(book, 1) == ()
    assert shows(host) == "1400"
    assert stand_in.poll() is None


@pytest.mark.parametrize("way", ["deadline", "Ctrl-C", "late Enter"])
def test_a_change_that_stays_is_no_success(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, clock: Callable[[float], None],
    way: str,
) -> None:  # fmt: skip
    make(host, book)

    def fails(*_: object) -> None:
        raise OSError(16, "Device or resource busy")

    def answer(*_: object) -> bool:
        if way == "Ctrl-C":
            raise KeyboardInterrupt
        clock(61)
        return way == "late Enter"

    monkeypatch.setattr("nettop.settings.write", fails)
    monkeypatch.setattr(report, "possible", lambda: True)
    monkeypatch.setattr(report, "enter", answer)
    results = report.await_enter(book, [waits(book)])
    assert shows(host) == "1400"
    assert [(r.state, r.because) for r in results] == [
        ("conflict", "Device or resource busy: nettop undo 1")
    ]
    assert report.code(results) == 4


# -- later nettops ---------------------------------------------------------------------------------


def test_a_late_confirmation_without_a_guard_keeps_nothing(
    host: Host, book: Journal, clock: Callable[[float], None]
) -> None:
    make(host, book)
    clock(61)
    for numbers in ((), (1,)):
        (told,) = guard.confirm(book, numbers)
        assert (told.state, report.code([told])) == ("refused", 4)
        assert "not reverted because its guard has ended" in told.because
        assert "nettop undo 1" in told.because
    assert [e.state for e in book.entries()] == ["pending"]
    (back,) = retract(book, host, (1,), terms=Terms(confirm=60))
    assert (back.state, shows(host)) == ("undone", "1500")


def test_without_a_guard_a_change_can_be_confirmed_in_time(host: Host, book: Journal) -> None:
    make(host, book)
    assert [r.state for r in guard.confirm(book)] == ["applied"]


def test_a_late_confirmation_stops_a_guard_that_cannot_revert(
    host: Host, book: Journal, clock: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    make(host, book)
    monkeypatch.setattr(unguarded, "running", lambda *_: {"1"})
    clock(61)
    assert [r.state for r in guard.confirm(book)] == ["applied"]


def test_the_guard_of_a_newer_change_reverts_an_older_one(host: Host, book: Journal) -> None:
    make(host, book)
    make(host, book, "ring.rx@eth0")
    first, second = book.entries()
    assert {e.id for e in chain.of_group(book.entries(), first.group)} == {first.id, second.id}
    assert unguarded.unguarded(book, book.entries()) == {1, 2}
    words = [sys.executable, "-c", SLEEPS, unguarded.GUARD, book.folder, "2", "9.0"]
    with subprocess.Popen(words) as process:
        until(lambda: not unguarded.unguarded(book, book.entries()))
        process.kill()


def test_the_journal_says_at_once_that_a_guard_has_ended(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make(host, book)
    monkeypatch.setenv("NETTOP_STATE", book.folder)
    assert cli.main(["journal", "--json"]) == 0
    document: Any = json.loads(capsys.readouterr().out)
    (told,) = document["notices"]
    assert "its guard has ended or is stopped: nettop undo 1, or nettop confirm 1" in told


# -- process 1 -------------------------------------------------------------------------------------


def test_process_1_stays_until_its_change_is_settled(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, clock: Callable[[float], None],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    make(host, book)
    clock(61)
    before = signal.getsignal(signal.SIGINT)
    try:
        arm._outlast(book, 1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert shows(host) == "1500"
    assert "nettop stays until the change is confirmed or reverted" in capsys.readouterr().err
    arm._outlast(book, 1)
    assert capsys.readouterr().err == ""


FROZEN = {
    "freezer of version 1": ("4:freezer:/a\n3:cpu:/b\n", "freezer/a/freezer.state", "FROZEN\n"),
    "version 2": ("0::/a/b\n", "a/b/cgroup.events", "populated 1\nfrozen 1\n"),
}  # fmt: skip


@pytest.mark.parametrize("thawed", [False, True])
@pytest.mark.parametrize("form", FROZEN)
def test_a_frozen_guard_reverts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, thawed: bool
) -> None:
    groups, name, state = FROZEN[form]
    file = tmp_path / "sys/fs/cgroup" / name
    file.parent.mkdir(parents=True)
    file.write_text(state.replace("FROZEN", "THAWED").replace("n 1", "n 0") if thawed else state)
    monkeypatch.setattr(unguarded, "_ROOTS", (str(tmp_path / "none"), str(tmp_path)))
    data = unguarded._data
    words = [sys.executable, "-c", SLEEPS, unguarded.GUARD, str(tmp_path), "2", "9.0"]
    with subprocess.Popen(words) as process:
        mine = f"/proc/{process.pid}/cgroup"
        monkeypatch.setattr(
            unguarded, "_data", lambda path: groups.encode() if path == mine else data(path)
        )
        try:
            until(lambda: b"9.0" in data(f"/proc/{process.pid}/cmdline"))
            found = unguarded.running(unguarded.GUARD, str(tmp_path))
        finally:
            process.kill()
    assert found == ({"2"} if thawed else frozenset())
