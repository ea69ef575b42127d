"""A guard whose journal is lost, or that meets errors: it reverts, and says what is so."""

import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from risky import MTU, MTU6, make, pauses, shows

from nettop import settings
from nettop.changes import guard, ready, unguarded
from nettop.changes.entry import JournaledChange
from nettop.changes.journal import Journal, since_boot
from nettop.changes.memory import Memory
from nettop.cli import main
from nettop.settings import Host

pytestmark = pytest.mark.usefixtures("risky_device")


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


def other_boot(journal: Path) -> None:
    """A change of another boot is gone, and nothing reverts it."""
    journal.write_text(re.sub(r'"boot": ?"[^"]*"', '"boot":"x"', journal.read_text()))


LOST["of another boot"] = other_boot
OURS.add("of another boot")


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
def test_a_journal_that_is_lost_confirms_nothing(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    before = make(host, book)
    memory = Memory(book)
    memory.entries()
    LOST[lost](Path(book.path))
    assert [e.state for e in memory.entries() if e.id == 1] == ["pending"]
    late = since_boot() + 61
    monkeypatch.setattr(guard, "since_boot", lambda: late)
    guard.wait(memory, 1)
    assert shows(host) == before
    assert shows(host, MTU6) == "1500"
    memory.record()
    if lost not in OURS:
        assert "reverted" in [e.state for e in book.entries() if e.setting == MTU]


def test_what_was_reverted_is_recorded_once_the_journal_can_be_written(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(host, book)
    memory = Memory(book)
    memory.entries()
    late = since_boot() + 61
    monkeypatch.setattr(guard, "since_boot", lambda: late)
    append = Journal.append

    def refused(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(Journal, "append", refused)
    guard.wait(memory, 1)
    assert shows(host) == "1500"
    monkeypatch.setattr(unguarded, "since_boot", lambda: late + 10)
    (told,) = unguarded.notices(book)
    assert "was reverted, and the journal could not record it" in told
    pauses: list[float] = []

    def writable(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            monkeypatch.setattr(Journal, "append", append)

    memory.record(writable)
    assert pauses == [1.0, 2.0]
    assert [e.state for e in book.entries()] == ["reverted"]
    assert unguarded.notices(book) == ()


def test_a_guard_whose_change_the_journal_lacks_is_told(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make(host, book)
    monkeypatch.setattr(unguarded, "running", lambda *_: {"1"})
    assert unguarded.lost(book, book.entries()) == ()
    Path(book.path).write_text("")
    (told,) = unguarded.notices(book)
    assert told.startswith("change 1 reverts by itself and cannot be confirmed: the journal lacks")
    monkeypatch.setenv("NETTOP_STATE", book.folder)
    assert main(["confirm"]) == 4
    assert told in " ".join(capsys.readouterr().err.split())


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

    def arm(journal: Journal, _entry: JournaledChange) -> None:
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
    pauses(monkeypatch, slept.append)
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

    lifted: list[bool] = []
    monkeypatch.setattr(settings, "write", written)
    monkeypatch.setattr(guard, "revert", reverted)
    monkeypatch.setattr(ready, "lift", lambda: lifted.append(True))
    guard.wait(Memory(book), 1)
    assert shows(host) == "1500"
    assert slept[:3] == [1.0, 2.0, 4.0]
    assert len(lifted) > len(slept)  # a limit may be what fails, also of memory
    assert [e.state for e in book.entries()] == ["reverted"]
    assert Path(book.path).read_text().count('"guard-failed"') == 1


@pytest.mark.parametrize("when", ["look", "write"])
def test_a_side_effect_that_cannot_be_put_back_hinders_nothing_and_is_told(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    make(host, book)
    slept: list[float] = []
    pauses(monkeypatch, slept.append)
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
    pauses(monkeypatch)
    late = since_boot() + 61
    monkeypatch.setattr(guard, "since_boot", lambda: late)
    away = target.Target(None, "eth0 is now in network namespace b: nettop --netns b undo 1")
    with monkeypatch.context() as patch:
        patch.setattr(target, "find", lambda *_, **__: away)
        guard.wait(Memory(book), 1)
        (entry,) = book.entries()
        assert (entry.state, entry.because) == ("conflict", away.because)
    assert unguarded.notices(book) == book.failures()
    assert [one.state for one in undo.undo(book, host, (1,))] == ["undone"]
    assert shows(host) == "1500"


def test_the_signals_that_end_a_guard_are_all_but_those_that_nobody_can_catch() -> None:
    ignored = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
    left = set(signal.valid_signals()) - set(guard.STOPS)
    assert left == ignored | {signal.SIGKILL, signal.SIGSTOP}


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGALRM, signal.SIGQUIT, signal.SIGXCPU])
def test_a_signal_reverts_at_once(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    make(host, book)
    monkeypatch.setattr(guard, "_signal", lambda _seconds: number)
    guard.wait(Memory(book), 1)
    assert shows(host) == "1500"
    assert [e.state for e in book.entries()] == ["reverted"]


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
