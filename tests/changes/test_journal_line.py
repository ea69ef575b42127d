"""A line that readers would leave out is never written: the change would be lost."""

import time
from pathlib import Path

import pytest

from nettop import settings
from nettop.changes import plan, undo
from nettop.changes.apply import Terms, apply
from nettop.changes.entry import LONGEST, JournaledChange
from nettop.changes.journal import Journal
from nettop.settings import Host

LENGTH = "link.txqueuelen@eth0"
TERMS = Terms(arm=lambda *_: None)


@pytest.fixture
def host_of_threads(host: Host, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """With the queue length change as many values of threads as the list has names."""
    names: list[str] = []
    values = {"now": "0-255"}
    read, write = settings.read, settings.write

    def shown(source: object, address: settings.Address) -> str:
        return values["now"] if address.kind == "thread" else read(source, address)  # type: ignore[arg-type]

    def written(to: Host, address: settings.Address, value: str) -> None:
        if address.kind != "thread":
            write(to, address, value)
        values["now"] = "0-127" if address.kind != "thread" else value

    monkeypatch.setattr(settings, "read", shown)
    monkeypatch.setattr(settings, "write", written)
    monkeypatch.setattr(settings, "side_effects", lambda *_: tuple(names))
    return names


def test_a_process_of_many_threads_has_its_entry(
    host: Host, book: Journal, host_of_threads: list[str]
) -> None:
    host_of_threads += [f"thread.affinity@3391/{tid}" for tid in range(10_000, 15_000)]
    (made,) = apply(plan.plan([(LENGTH, "2000")], host.source), host, book, TERMS)
    assert made.state == "applied"
    assert len(made.because) < 1000
    assert made.because.endswith(" and 4,992 more")
    (entry,) = Journal(book.folder).entries()
    assert (entry.state, len(entry.side_effects)) == ("applied", 5000)
    assert book.odd() == ()
    with book.lock():
        book._compact()
    assert len(Journal(book.folder).entries()[0].side_effects) == 5000
    assert [one.state for one in undo.undo(book, host, (1,))] == ["undone"]


def test_more_than_a_line_holds_is_refused_before_the_write(
    host: Host, book: Journal, host_of_threads: list[str]
) -> None:
    host_of_threads += [f"thread.affinity@3391/{tid}" for tid in range(10_000, 30_000)]
    (made,) = apply(plan.plan([(LENGTH, "2000")], host.source), host, book, TERMS)
    assert made.state == "refused"
    assert made.because == "nothing was changed: too many other settings change with this one"
    assert settings.read(host.source, settings.parse(LENGTH)) == "1000"
    assert Journal(book.folder).entries() == ()


def test_no_line_is_written_that_is_not_read(book: Journal) -> None:
    book.begin(JournaledChange(0, time.time(), LENGTH, "1000", "2000"))
    before = Path(book.path).read_bytes()
    for values in ({"because": "x" * LONGEST}, {"after": 7}, {"due": float("nan")}):
        with pytest.raises(OSError, match="would be left out"):
            book.note(1, "end", **values)
    assert Path(book.path).read_bytes() == before
