"""A line of the journal is parsed once, and what others do to the file is seen all the same."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from risky import make, shows

from nettop.changes import entry, guard
from nettop.changes.journal import Journal
from nettop.changes.memory import Memory
from nettop.changes.unguarded import notices
from nettop.settings import Host

pytestmark = pytest.mark.usefixtures("risky_device")


def closed(host: Host, book: Journal, number: int) -> None:
    """A journal with so many reverted changes."""
    make(host, book)
    guard.revert(book, 1)
    (one,) = book.entries()
    for other in range(2, number + 1):
        book.put(replace(one, id=other, group=other))


def reads(host: Host, folder: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many lines are parsed to make a change, to list it, and to revert it."""
    raws: list[bytes] = []

    def parsed(raw: bytes) -> object:
        raws.append(raw)
        return original(raw)

    original = entry.parsed
    with monkeypatch.context() as patch:
        patch.setattr(entry, "parsed", parsed)
        book = Journal(folder)
        make(host, book)
        assert len(notices(book)) == 1, "no guard runs here"
        assert (book.failures(), book.odd()) == ((), ())
        assert guard.revert(Memory(book), book.entries()[-1].group)
    assert shows(host) == "1500"
    return len(raws)


def test_what_is_closed_is_parsed_once(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = []
    for number in (10, 400):
        book = Journal(str(tmp_path / str(number)))
        closed(host, book, number)
        rows = len(Path(book.path).read_text().splitlines())
        more.append(reads(host, book.folder, monkeypatch) - rows)
    assert more[0] == more[1]


def test_what_was_parsed_holds_only_while_it_is_there(host: Host, tmp_path: Path) -> None:
    book = Journal(str(tmp_path / "book"))
    assert book.entries() == ()
    closed(host, book, 3)
    file = Path(book.path)
    rows = file.read_bytes().splitlines(keepends=True)

    def told() -> tuple[list[int], list[str], int]:
        fresh = Journal(book.folder)
        assert (book.entries(), book.failures(), book.odd()) == (
            fresh.entries(), fresh.failures(), fresh.odd(),
        )  # fmt: skip
        known = book.entries()
        return [e.id for e in known], [e.before for e in known], len(book.odd())

    assert told() == ([1, 2, 3], ["1500"] * 3, 0)
    file.write_bytes(b"".join(rows).replace(b'"before":"1500"', b'"before":"1501"'))
    assert told() == ([1, 2, 3], ["1501"] * 3, 0)
    Journal(book.folder).note(3, "guard-failed", because="odd")
    file.write_bytes(file.read_bytes() + b"x" * 100_000 + b"\n" + b"no\n")
    assert told() == ([1, 2, 3], ["1501"] * 3, 2)
    file.write_bytes(b"".join(rows[:-1]) + rows[-1][:-2])  # cut off in the last line
    assert told() == ([1, 2], ["1500"] * 2, 0)
    file.write_bytes(b"".join(rows)[:-1])  # only its end is missing
    assert told() == ([1, 2, 3], ["1500"] * 3, 0)
    with file.open("ab") as more:
        more.write(b"\n" + rows[-1].replace(b'"id":3', b'"id":4'))
    assert told() == ([1, 2, 3, 4], ["1500"] * 4, 0)
    file.unlink()
    assert told() == ([], [], 0)


def test_a_failure_of_a_guard_is_told_until_its_change_is_closed(host: Host, book: Journal) -> None:
    make(host, book)
    book.note(1, "guard-failed", because="it is now in network namespace web")
    assert book.failures() == ("guard of change 1: it is now in network namespace web",)
    book.note(1, "reverted", because="")
    assert book.failures() == ()
    book.put(replace(book.entries()[0], id=2, state="pending", ended=None))
    for event in ("guard-failed", "conflict"):
        book.note(2, event, because="it shows '9000'")
    assert book.failures() == ("guard of change 2: it shows '9000'",), "this is why"
    assert json.loads(Path(book.path).read_text().splitlines()[-1])["event"] == "conflict"
