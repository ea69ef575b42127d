"""A disk that hangs, perhaps behind the link that was cut: the guard reverts from its memory."""

import threading
from collections.abc import Iterator

import pytest
from hang import HANG, until
from risky import make, pauses, shows

from nettop.changes import guard, memory
from nettop.changes.journal import Journal, since_boot
from nettop.changes.memory import Aside, Memory
from nettop.settings import Host

pytestmark = pytest.mark.usefixtures("risky_device")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Nothing of the journal can be read or written while the event is not set."""
    answers = threading.Event()
    answers.set()
    ours = Journal.must_be_ours

    def waits(book: Journal) -> None:
        assert threading.current_thread() is not threading.main_thread() or answers.is_set()
        answers.wait(HANG)
        ours(book)

    monkeypatch.setattr(memory, "PATIENCE", 0.05)
    monkeypatch.setattr(memory, "DISK", Aside())
    monkeypatch.setattr(Journal, "must_be_ours", waits)
    yield answers
    answers.set()


@pytest.mark.parametrize("when", ["before the deadline", "at the lock", "at the note"])
def test_a_guard_reverts_while_the_disk_hangs(
    host: Host, book: Journal, disk: threading.Event, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    make(host, book)
    known = Memory(book)
    known.entries()
    late = since_boot() + 61
    monkeypatch.setattr(guard, "since_boot", lambda: late)
    pauses(monkeypatch)
    revert = guard._revert

    def hangs(*words: object, **more: object) -> object:
        disk.clear()
        return revert(*words, **more)  # type: ignore[arg-type]

    if when == "at the note":
        monkeypatch.setattr(guard, "_revert", hangs)
    elif when == "at the lock":
        monkeypatch.setattr("nettop.files.descriptors.lift", disk.clear)
    else:
        disk.clear()
    guard.wait(known, 1)
    assert shows(host) == "1500"
    threading.Timer(0.1, disk.set).start()
    known.record()
    assert [one.state for one in Journal(book.folder).entries()] == ["reverted"]
    with book.lock(0.0):  # nobody holds it any more
        pass


def test_what_hangs_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one, end, dropped = Aside(), threading.Event(), list[bool]()
    monkeypatch.setattr(memory, "PATIENCE", HANG)
    assert one(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        one(lambda: 1 / 0)
    monkeypatch.setattr(memory, "PATIENCE", 0.01)
    with pytest.raises(TimeoutError, match="does not answer"):
        one(lambda: end.wait(HANG), drop=dropped.append)
    begun: list[int] = []
    with pytest.raises(TimeoutError):
        one(lambda: begun.append(1))
    end.set()
    until(lambda: one.settled(1.0))
    monkeypatch.setattr(memory, "PATIENCE", HANG)
    assert one(lambda: 8) == 8
    assert (dropped, begun) == ([True], [])
