"""The process that reverts the changes of a test whose nettop is killed, stopped or silent."""

import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nettop import settings
from nettop.changes import guard, status, unguarded
from nettop.changes.chain import READY
from nettop.changes.journal import Busy, Journal
from nettop.changes.namespaces import Survey
from nettop.changes.plan import CARRIER
from nettop.changes.undo import put_back
from nettop.settings import Host
from nettop.trials import lever

SACK = "sysctl.net.ipv4.tcp_sack"


@pytest.fixture
def sack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a setting of a directory that stands in for the host."""
    place = tmp_path / "host/proc/sys/net/ipv4"
    place.mkdir(parents=True)
    (place / "tcp_sack").write_text("0\n")
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    host = Host.at(str(tmp_path / "host"))
    monkeypatch.setattr(Host, "at", classmethod(lambda _cls, _root="/": host))
    return place / "tcp_sack"


@pytest.fixture
def keep(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the keeper with these words; returns how long it waited for each."""
    monkeypatch.setattr(lever, "ready", lambda: None)
    monkeypatch.setattr(lever, "lift", lambda: None)
    monkeypatch.setattr(signal, "pthread_sigmask", lambda *_: None)
    monkeypatch.setattr(time, "sleep", lambda _: None)

    def run(switch: lever.Switch, words: str, *silence: str) -> list[float | None]:
        waited: list[float | None] = []
        queue = [word.encode() for word in words] + [b""]

        def word(patience: float | None) -> bytes:
            waited.append(patience)
            return queue.pop(0)

        with monkeypatch.context() as patch:
            patch.setattr(lever, "_word", word)
            lever.watch(Journal().folder, switch.tag, *silence)
        return waited

    return run


def made() -> lever.Switch:
    switch = lever.Switch([[(SACK, "1")]], "sack-off@host")
    switch.put(1)
    return switch


def test_a_keeper_limits_the_silence_of_its_nettop(sack: Path, keep: Any) -> None:
    switch = made()
    assert keep(switch, "sshs", "3.0") == [READY + 3, CARRIER + 3, CARRIER + 3, 3, CARRIER + 3]
    assert sack.read_text().strip() == "0"


def test_without_a_limit_a_keeper_waits_for_the_end(sack: Path, keep: Any) -> None:
    switch = made()
    assert keep(switch, "sse") == [None] * 3
    assert sack.read_text().strip() == "1"
    assert keep(switch, "ss") == [None] * 3
    assert sack.read_text().strip() == "0"


def test_a_keeper_takes_silence_and_an_error_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "select", lambda *_: ([], [], []))
    assert lever._word(1.0) == b""
    monkeypatch.setattr(select, "select", lambda *_: ([0], [], []))

    def fails(*_: object) -> None:
        raise OSError(5, "odd")

    monkeypatch.setattr(os, "read", fails)
    assert lever._word(1.0) == b""


def test_a_keeper_tries_again_whatever_fails(
    sack: Path, keep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = made()
    failures = iter(range(20))

    def fails(*words: Any, **more: Any) -> Any:
        if next(failures, None) is not None:
            raise OSError(5, "odd")
        return put_back(*words, **more)

    monkeypatch.setattr(lever, "put_back", fails)
    keep(switch, "s")
    assert sack.read_text().strip() == "0"


def test_a_keeper_does_not_wait_for_a_stopped_nettop_that_holds_the_lock(
    sack: Path, keep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What that nettop writes after it was reverted is reverted too, once the lock is free."""
    switch = made()
    lock = Journal.lock
    tried: list[float] = []

    @contextmanager
    def held(self: Journal, seconds: float = 10.0, **more: Any) -> Iterator[None]:
        tried.append(seconds)
        if len(tried) == 1:
            raise Busy(16, "another nettop is changing this host")
        if len(tried) == 2:
            assert sack.read_text().strip() == "0"
            sack.write_text("1\n")
        with lock(self, seconds, **more):
            yield

    monkeypatch.setattr(Journal, "lock", held)
    keep(switch, "ss", "3.0")
    assert tried[:2] == [guard.PATIENCE, guard._HELD]
    assert sack.read_text().strip() == "0"


def test_a_keeper_knows_a_change_before_it_is_made(sack: Path) -> None:
    """A journal that is removed right after the write keeps nothing in place."""
    seen: list[str] = []
    switch = lever.Switch([[(SACK, "1")]], "sack-off@host")
    monkeypatch = pytest.MonkeyPatch()
    with monkeypatch.context() as patch:
        patch.setattr(switch, "_tell", lambda _word: seen.append(sack.read_text().strip()))
        switch.put(1)
    assert seen == ["0", "1"]


def test_a_change_that_its_keeper_would_not_revert_is_not_made(
    sack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(_word: bytes) -> None:
        raise lever.LeverError("the keeper has ended")

    switch = lever.Switch([[(SACK, "1")]], "sack-off@host")
    monkeypatch.setattr(switch, "_tell", ended)
    with pytest.raises(lever.LeverError):
        switch.put(1)
    assert sack.read_text().strip() == "0"
    assert [e.state for e in Journal().entries()] == ["refused"]


@pytest.mark.parametrize(
    ("during", "why"),
    [("removed", "the journal was removed"), ("reverted", "nettop was stopped for too long")],
)
def test_a_change_that_is_not_in_the_journal_any_more_is_taken_back(
    sack: Path, monkeypatch: pytest.MonkeyPatch, during: str, why: str
) -> None:
    """A nettop that was stopped in the write goes on after its keeper had nothing to revert."""
    write = settings.write
    switch = lever.Switch([[(SACK, "1")]], "sack-off@host")

    def stopped(host: Host, address: settings.Address, value: str) -> None:
        monkeypatch.setattr(settings, "write", write)
        if during == "removed":
            shutil.rmtree(Journal().folder)
        else:
            Journal().note(1, "undone")
        write(host, address, value)

    monkeypatch.setattr(settings, "write", stopped)
    with pytest.raises(lever.LeverError, match=why):
        switch.put(1)
    assert sack.read_text().strip() == "0"


def test_a_change_of_a_test_is_held_and_not_kept(
    sack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch, book = made(), Journal()
    (entry,) = book.entries()
    assert (entry.state, entry.finding, entry.keeper) == ("held", "sack-off@host", switch.tag)
    (told,) = unguarded.notices(book)
    assert "was made for a test, and not reverted" in told
    assert told.endswith("nettop undo 1")
    monkeypatch.setattr(unguarded, "running", lambda *_: {switch.tag})
    assert unguarded.notices(book) == ()
    told_late = status.confirmed(entry, (entry,), Host.at(), Survey(), kept=False)
    assert told_late.state == "refused"
    switch.restore()
    assert sack.read_text().strip() == "0"
    switch.keep(1)
    assert [e.state for e in book.entries()] == ["undone", "applied"]
