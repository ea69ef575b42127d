"""A symbolic link to the folder of the journal is followed once; one to the file is refused."""

import os
from pathlib import Path

import pytest
from risky import MTU, make, pauses, shows

from nettop.changes import guard, plan, undo
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal, since_boot
from nettop.changes.memory import Memory
from nettop.cli import main
from nettop.settings import Host

pytestmark = pytest.mark.usefixtures("risky_device")
SAID = "a symbolic link is no journal: put the file itself there"


def test_a_linked_folder_is_the_real_one_for_writer_guard_and_reader(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, other, link = tmp_path / "real", tmp_path / "other", tmp_path / "link"
    real.mkdir(mode=0o700)
    other.mkdir(mode=0o700)
    link.symlink_to(real)
    folders: list[str] = []
    make(host, Journal(str(link)), arm=lambda journal, *_: folders.append(journal.folder))
    assert folders == [str(real)]
    monkeypatch.setenv("NETTOP_STATE", str(link))
    assert main(["journal"]) == 0
    assert "link.mtu@eth0" in capsys.readouterr().out
    memory = Memory(Journal(folders[0]))
    link.unlink()
    link.symlink_to(other)
    late = since_boot() + 61
    monkeypatch.setattr(guard, "since_boot", lambda: late)
    guard.wait(memory, 1)
    assert [e.state for e in Journal(str(real)).entries()] == ["reverted"]
    assert not any(other.iterdir())


@pytest.mark.parametrize("there", [True, False])
def test_a_linked_file_is_refused_by_all_in_the_same_words(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    there: bool,
) -> None:  # fmt: skip
    make(host, book)
    away = Path(book.folder) / "j2"
    os.rename(book.path, away)
    os.symlink(away if there else "/nowhere/at/all", book.path)
    before = away.read_bytes()
    (refused,) = apply(plan.plan([(MTU, "9000")], host.source), host, book, Terms(confirm=60))
    assert (refused.state, SAID in refused.because) == ("refused", True)
    for reads in (lambda: undo.undo(book, host, (1,)), lambda: guard.confirm(book), book.entries):
        with pytest.raises(OSError, match=SAID):
            reads()
    monkeypatch.setenv("NETTOP_STATE", book.folder)
    assert main(["journal"]) != 0
    assert SAID in capsys.readouterr().err
    assert (shows(host), away.read_bytes()) == ("1400", before)


def test_a_guard_reverts_though_its_journal_became_a_link(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(host, book)
    memory = Memory(book)
    memory.entries()
    away = Path(book.folder) / "j2"
    os.rename(book.path, away)
    os.symlink(away, book.path)
    late = since_boot() + 61
    monkeypatch.setattr(guard, "since_boot", lambda: late)
    pauses(monkeypatch)
    guard.wait(memory, 1)
    memory.record()
    assert shows(host) == "1500"
    os.rename(away, book.path)
    assert [one.state for one in undo.undo(book, host, (1,))] == ["undone"]
    assert [e.state for e in book.entries()] == ["undone"]
