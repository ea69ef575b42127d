"""The bound of the journal: it is made smaller in time, and whatever is full, all can be undone."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from nettop import settings
from nettop.changes import entry, guard, journal, plan, undo, unguarded
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal
from nettop.changes.retract import retract
from nettop.cli import main
from nettop.files import bounds
from nettop.settings import Host

MOST = 100_000  # bytes: the real bound would make the tests slow
MTU, LENGTH = "link.mtu@eth0", "link.txqueuelen@eth0"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, host: Host, book: Journal) -> None:
    """A journal of 100 kB."""
    bound = replace(bounds.BOUNDS["journal"], most=MOST)
    monkeypatch.setattr(bounds, "BOUNDS", {**bounds.BOUNDS, "journal": bound})
    for name, value in {"_MOST": MOST, "NEARLY": MOST * 4 // 5, "_SPARE": MOST // 10,
                        "_SPARE_OF_UNDO": 4_000, "_READABLE": 16 * MOST}.items():  # fmt: skip
        monkeypatch.setattr(journal, name, value)
    monkeypatch.setattr(unguarded, "NEARLY", MOST * 4 // 5)
    monkeypatch.setattr(Host, "at", classmethod(lambda _cls, _root="/": host))
    monkeypatch.setenv("NETTOP_STATE", book.folder)


def make(host: Host, book: Journal, value: str, setting: str = LENGTH) -> str:
    terms = Terms(confirm=60, arm=lambda *_: None)
    (made,) = apply(plan.plan([(setting, value)], host.source), host, book, terms)
    return made.because if made.state == "refused" else made.state


def shows(host: Host, setting: str = LENGTH) -> str:
    return settings.read(host.source, settings.parse(setting))


def fill(book: Journal, size: int) -> None:
    """Add lines that tell nothing, up to this size."""
    row = json.dumps({"event": "note", "id": 1, "at": 1.0, "text": "x" * 900}) + "\n"
    with Path(book.path).open("a") as file:
        while (left := size - os.stat(book.path).st_size) > 0:
            file.write(row[:-3] + '"}\n' if left > len(row) else " " * (left - 1) + "\n")
            file.flush()


def test_what_a_smaller_journal_tells_is_the_same(host: Host, book: Journal) -> None:
    make(host, book, "1400", MTU)
    guard.confirm(book)
    make(host, book, "1300", MTU)
    guard.revert(book, 2)
    for value in ("2000", "3000"):
        make(host, book, value)
    undo.undo(book, host, (4,))
    book.note(1, "guard-failed", because="busy")
    before, size = book.entries(), os.stat(book.path).st_size
    with book.lock():
        book._compact()
    assert book.entries() == before
    assert book.failures() == ("guard of change 1: busy",)
    assert os.stat(book.path).st_size < size
    assert os.stat(book.path).st_mode & 0o777 == 0o600
    assert Path(book.path + ".old").stat().st_size == size
    assert len(Path(book.path).read_text().splitlines()) == len(before) + 1
    retract(book, host, everything=True, terms=Terms(confirm=0))
    assert (shows(host, MTU), shows(host)) == ("1500", "1000")


def test_a_journal_that_fills_up_is_made_smaller_by_itself(host: Host, book: Journal) -> None:
    for at in range(300):
        assert make(host, book, str(2000 + at)) == "applied"
        if at % 2:
            undo.undo(book, host, (at + 1,))
        assert os.stat(book.path).st_size < MOST * 0.9
    entries = book.entries()
    assert {e.id for e in entries if e.open} == set(range(1, 300, 2))
    assert entries[-1].id == 300, "the next number is not used again"
    undone = undo.undo(book, host, everything=True)
    assert {one.state for one in undone} <= {"undone", "conflict"}
    assert shows(host) == "1000"


@pytest.mark.parametrize("room", [50, 303, 5_000, MOST // 10 - 1])
def test_at_the_bound_a_change_is_refused_and_all_others_can_be_undone(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    room: int,
) -> None:  # fmt: skip
    assert make(host, book, "1400", MTU) == "pending"
    guard.confirm(book)
    monkeypatch.setattr(Journal, "_compact", lambda _self: None)  # all of it is needed
    fill(book, MOST - room)
    because = make(host, book, "2000")
    assert because.startswith("nothing was changed: the journal is full: close changes with nettop")
    assert shows(host) == "1000"
    (told,) = [one for one in unguarded.notices(book) if "the journal has" in one]
    assert "nettop undo ID" in told
    if room < 4_000:
        (back,) = undo.undo(book, host, (1,))
    else:
        terms = Terms(confirm=60, arm=lambda *_: None)
        (back,) = retract(book, host, (1,), terms=terms)
        assert back.state == "pending"
        (back,) = guard.confirm(book)
    assert (back.state, shows(host, MTU)) == ("undone", "1500")
    assert os.stat(book.path).st_size <= MOST + room


@pytest.mark.parametrize("more", [1, MOST, 14 * MOST])
@pytest.mark.parametrize("words", [["undo", "1"], ["undo", "--all"], ["confirm"], ["journal"]])
def test_a_journal_beyond_its_bound_is_made_smaller_by_every_command(
    host: Host, book: Journal, capsys: pytest.CaptureFixture[str], words: list[str], more: int
) -> None:
    make(host, book, "2000")
    fill(book, MOST + more)
    with pytest.raises(OSError, match="the bound of the journal"):
        book.entries()
    code, told = main(words), capsys.readouterr()
    assert code in ((0, 4) if words[0] == "undo" else (0,))  # undo finds another eth0 here, or none
    assert "the bound of the journal" not in told.out + told.err
    assert [e.setting for e in book.entries()] == [LENGTH]
    assert os.stat(book.path).st_size < MOST // 10
    assert make(host, book, "3000") == "applied"


def test_rows_are_read_one_by_one(tmp_path: Path) -> None:
    longest = entry.LONGEST
    rows = [b'{"a":1}\n', b"x" * longest + b"\n", b"y" * (longest + 1) + b'{"b":1}\n', b'{"c":1}']
    (tmp_path / "rows").write_bytes(b"".join(rows))
    with open(tmp_path / "rows", "rb") as file:
        found = list(entry.rows(file))
    assert [row[:1] for row in found] == [b"{", b"x", b"y", b"{"]
    assert found[1] == rows[1]
    assert [entry.long(row) for row in found] == [False, False, True, False]


def test_half_of_a_smaller_journal_is_never_seen(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(host, book, "2000")
    before = Path(book.path).read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nettop.files.draft.write", full)
    with pytest.raises(OSError, match="No space left"), book.lock():
        book._compact()
    assert Path(book.path).read_bytes() == before
