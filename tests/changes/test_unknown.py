"""What cannot be read may exist: no failed request ends a change as gone."""

import builtins
import errno
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from risky import make, pauses, shows

from nettop import settings
from nettop.changes import Result, chain, context, guard, namespaces, plan, report, target
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal, since_boot
from nettop.changes.memory import Memory
from nettop.changes.namespaces import Survey
from nettop.changes.plan import look
from nettop.changes.retract import retract
from nettop.changes.undo import undo
from nettop.settings import Host, _device

pytestmark = pytest.mark.usefixtures("risky_device")
ERRORS = (
    errno.ENOBUFS, errno.ENOMEM, errno.EAFNOSUPPORT, errno.EPERM, errno.EACCES, errno.EIO,
    errno.EMFILE, errno.ETIMEDOUT, errno.EAGAIN,
)  # fmt: skip
Fail = Callable[[], None]


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The deadline has passed; the seconds that the guard slept."""
    slept: list[float] = []
    pauses(monkeypatch, slept.append)
    after = since_boot() + 61
    monkeypatch.setattr(guard, "since_boot", lambda: after)
    return slept


def failing(error: OSError, times: int) -> Fail:
    """Raises the error so many times."""
    left = iter(range(times))

    def fail() -> None:
        if next(left, None) is not None:
            raise error

    return fail


def before(where: object, name: str, fail: Fail, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function fails first."""
    function = getattr(where, name)

    def first(*words: Any, **more: Any) -> Any:
        fail()
        return function(*words, **more)

    monkeypatch.setattr(where, name, first)


@pytest.mark.parametrize("number", ERRORS)
def test_a_device_that_cannot_be_identified_is_not_gone(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    make(host, book)
    terms = Terms(confirm=60)
    ways: tuple[Callable[[], tuple[Result, ...]], ...] = (
        lambda: undo(book, host, (1,)), lambda: retract(book, host, (1,), terms=terms),
    )  # fmt: skip
    for take_back in ways:
        with monkeypatch.context() as patch:
            before(_device, "identity", failing(OSError(number, "odd"), 99), patch)
            results = take_back()
        assert [(r.state, r.because) for r in results] == [("conflict", "odd")]
        assert report.code(results) == 4
        assert [e.state for e in book.entries()] == ["pending"]
    assert [r.state for r in undo(book, host, (1,))] == ["undone"]
    assert shows(host) == "1500"


@pytest.mark.parametrize("number", ERRORS)
@pytest.mark.parametrize("times", [1, 6])
def test_a_guard_tries_again_where_the_device_cannot_be_identified(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, late: list[float], number: int,
    times: int,
) -> None:  # fmt: skip
    make(host, book)
    before(_device, "identity", failing(OSError(number, "odd"), times), monkeypatch)
    guard.wait(Memory(book), 1)
    assert shows(host) == "1500"
    assert [e.state for e in book.entries()] == ["reverted"]
    assert late
    rows = [json.loads(row) for row in Path(book.path).read_text().splitlines()]
    assert [row["because"] for row in rows if row["event"] == "guard-failed"] == ["odd"]
    assert book.failures() == (), "it holds no longer"


@pytest.mark.parametrize("number", [errno.ENODEV, errno.ENOENT])
def test_a_device_that_is_not_there_is_gone(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    make(host, book)
    before(_device, "identity", failing(OSError(number, "none"), 99), monkeypatch)
    assert [r.state for r in undo(book, host, (1,))] == ["void"]


@pytest.mark.parametrize("where", ["/sys/class/net/eth0/ifindex", "/sys/class/net/eth0/device"])
@pytest.mark.parametrize("number", ERRORS)
def test_no_part_of_an_identity_is_left_out_for_an_error(
    host: Host, monkeypatch: pytest.MonkeyPatch, number: int, where: str
) -> None:
    for name in ("text", "link"):
        function = getattr(host.source, name)

        def asked(path: str, function: Callable[[str], str] = function) -> str:
            if path == where:
                raise OSError(number, "odd")
            return function(path)

        monkeypatch.setattr(host.source, name, asked)
    with pytest.raises(OSError, match="odd"):
        settings.identity(host.source, settings.parse("link.mtu@eth0"))


def test_a_renamed_device_is_not_gone_while_the_names_cannot_be_read(
    host: Host, book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(host, book)
    net = tmp_path / "host/sys/class/net"
    (net / "eth0").rename(net / "lan0")
    with monkeypatch.context() as patch:
        before(host.source, "listing", failing(OSError(errno.EIO, "odd"), 99), patch)
        assert [r.state for r in undo(book, host, (1,))] == ["conflict"]
    assert [r.state for r in undo(book, host, (1,))] == ["undone"]


def test_neither_boot_nor_namespace_is_another_one_while_it_cannot_be_read(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(host, book)
    (entry,) = book.entries()
    for name in ("boot", "netns"):
        with monkeypatch.context() as patch:
            context.boot.cache_clear()
            before(os, "stat", failing(OSError(errno.EIO, "odd"), 99), patch)
            before(builtins, "open", failing(OSError(errno.EIO, "odd"), 99), patch)
            with pytest.raises(OSError, match="odd"):
                getattr(context, name)()
    context.boot.cache_clear()
    assert target.find(entry, host).address is not None


# -- other namespaces ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["listdir", "readlink", "stat"])
def test_a_survey_that_could_not_look_everywhere_is_not_complete(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    function = getattr(os, name)

    def odd(path: Any, *words: Any, **more: Any) -> Any:
        if str(path).startswith(f"/proc/{os.getpid()}/") or path == context.NAMESPACES:
            raise OSError(errno.EIO, "odd")
        return function(path, *words, **more)

    there = {"cookie": "7", "devices": dict[str, str]()}
    mine = f"/proc/{os.getpid()}/"
    monkeypatch.setattr(
        namespaces, "_contents", lambda paths: {p: there for p in paths if not p.startswith(mine)}
    )
    monkeypatch.setattr(namespaces, "_all_processes", lambda: True)
    assert Survey().complete
    monkeypatch.setattr(os, name, odd)
    assert not Survey().complete


def test_a_namespace_with_a_device_that_cannot_be_identified_is_not_entered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before(_device, "identity", failing(OSError(errno.ENOBUFS, "odd"), 1), monkeypatch)
    with pytest.raises(OSError, match="odd"):
        namespaces._devices()


# -- the loop of the guard -------------------------------------------------------------------------

STEPS = {
    "wait": (signal, "sigtimedwait"), "read": (chain, "of_group"), "lock": (guard, "revert"),
    "late": (guard, "once_more"),
}  # fmt: skip


@pytest.mark.parametrize("times", [1, 7])
@pytest.mark.parametrize("step", ["wait", "read", "lock", "late"])
def test_a_guard_outlives_an_error_of_each_step(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, step: str, times: int
) -> None:
    make(host, book)
    (entry,) = book.entries()
    clock: Iterator[float] = iter([0.0] * 12)  # before the deadline, and then after it
    monkeypatch.setattr(guard, "since_boot", lambda: next(clock, entry.due) or 0.0)
    monkeypatch.setattr(signal, "sigtimedwait", lambda *_: None)
    before(
        guard, "revert", failing(OSError(errno.EIO, "busy"), 1), monkeypatch
    )  # so that it sleeps
    before(*STEPS[step], failing(OSError(errno.EIO, "odd"), times), monkeypatch)
    guard.wait(Memory(book), 1)
    assert shows(host) == "1500"
    assert [e.state for e in book.entries()] == ["reverted"]


def test_what_was_written_late_is_taken_back_though_it_cannot_be_read_at_first(
    host: Host, book: Journal, late: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    make(host, book)
    mtu = settings.parse("link.mtu@eth0")
    once_more = guard.once_more

    def written_late(journal: Any, numbers: Any) -> Any:
        monkeypatch.setattr(guard, "once_more", once_more)
        settings.write(host, mtu, "1400")
        before(settings, "read", failing(OSError(errno.EIO, "odd"), 1), monkeypatch)
        return once_more(journal, numbers)

    monkeypatch.setattr(guard, "once_more", written_late)
    guard.wait(Memory(book), 1)
    assert look(host, mtu) == "1500"
    assert late


# -- the write -------------------------------------------------------------------------------------


def unreadable_after_the_write(monkeypatch: pytest.MonkeyPatch) -> None:
    write = settings.write

    def fails(*_: object) -> None:
        raise OSError(errno.EIO, "odd")

    def written(to: Host, address: settings.Address, value: str) -> None:
        write(to, address, value)
        monkeypatch.setattr(Journal, "entries", fails)

    monkeypatch.setattr(settings, "write", written)


def test_what_was_written_is_not_said_to_be_unchanged(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        unreadable_after_the_write(patch)
        make(host, book)  # it is pending
    assert shows(host) == "1400"
    assert [e.state for e in book.entries()] == ["pending"]


def test_what_was_written_too_late_and_stays_is_not_said_to_be_reverted(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = settings.write

    def once(to: Host, address: settings.Address, value: str) -> None:
        if value == "1500":
            raise OSError(errno.EBUSY, "busy")
        book.note(1, "reverted")
        write(to, address, value)

    monkeypatch.setattr(settings, "write", once)
    changes = plan.plan([("link.mtu@eth0", "1400")], host.source)
    (made,) = apply(changes, host, book, Terms(confirm=60, arm=lambda *_: None))
    assert (made.state, made.after) == ("conflict", "1400")
    assert "what reverts it tries again" in made.because
