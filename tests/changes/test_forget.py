"""--forget: what of the journal there decides whether the file may go, and what stays."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from warm import Warm

from nettop.changes.remote import forget
from nettop.host import once
from nettop.host.once import Installed
from nettop.terms.errors import Refused


class There:
    """A host whose nettop prints a journal with these states; `gone`: whether it was removed."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, known: Installed) -> None:
        self.program = folder / "nettop"
        self.prefix = ("env", f"PATH={folder}:{os.environ['PATH']}")
        self.kept: list[bool] = []
        self.stays = ""
        monkeypatch.setattr("nettop.changes.remote.ROOTS", str(folder / "none"))
        monkeypatch.setattr(once, "look", lambda *_, **__: known)
        monkeypatch.setattr(once, "forget", self.removed)

    def journal(self, *states: str, schema: int = 1) -> None:
        document = {"schema": schema, "changes": [{"state": one} for one in states]}
        self.program.write_text(f"#!/bin/sh\necho '{json.dumps(document)}'\n")
        self.program.chmod(0o755)

    def removed(self, words: Sequence[str], known: Installed, *, keep: bool, asks: bool) -> str:
        assert tuple(words) == self.prefix
        assert known.root or known.user
        assert not asks
        self.kept.append(keep)
        return "/var/lib/nettop" if keep else self.stays


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> There:
    return There(tmp_path, monkeypatch, Installed("direct", root=True, user=False))


def test_without_a_change_in_force_all_goes(there: There) -> None:
    there.journal("undone", "reverted", "void")
    assert forget(there.prefix).endswith("results of tests, muted findings, the journal")
    assert there.kept == [False]


def test_the_journal_of_what_is_in_force_stays(there: There) -> None:
    there.journal("undone", "applied", "rounded")
    told = forget(there.prefix)
    assert told.endswith(
        "but the journal in /var/lib/nettop, which undoes the 2 changes in force once nettop is "
        "installed again"
    )
    assert there.kept == [True]


def test_a_journal_of_before_stays(there: There) -> None:
    there.journal()
    there.stays = "/var/lib/nettop"
    assert forget(there.prefix).endswith("in /var/lib/nettop, which was there before")


@pytest.mark.parametrize("state", ["pending", "held", "begun"])
def test_what_a_process_there_may_revert_keeps_the_file(there: There, state: str) -> None:
    there.journal("applied", state)
    with pytest.raises(Refused, match=r"nothing was removed: a change at .* is unconfirmed"):
        forget(there.prefix)
    assert there.kept == []


def test_a_journal_that_cannot_be_read_keeps_the_file(there: There) -> None:
    there.program.write_text("#!/bin/sh\necho 'nettop: the journal is damaged' >&2; exit 3\n")
    there.program.chmod(0o755)
    with pytest.raises(Refused, match=r"nothing was removed: .*the journal is damaged"):
        forget(there.prefix)
    there.program.unlink()
    with pytest.raises(Refused, match=r"is not installed .*; --install it, then --forget"):
        forget(there.prefix)
    assert there.kept == []


def test_where_nothing_is_nothing_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = There(tmp_path, monkeypatch, Installed("direct", root=False, user=False))
    assert forget(there.prefix).endswith("--install has put nothing there")
    assert there.kept == []


# A relative NETTOP_STATE is refused: guard and command may run in different folders.


@pytest.mark.parametrize("words", [["journal"], ["undo", "1"], ["confirm"], ["incidents"]])
def test_the_refusal_says_that_the_path_must_be_absolute(
    words: list[str], tmp_path: Path, warm: Warm
) -> None:
    done = warm.run(words, {**os.environ, "NETTOP_STATE": "here/state"}, str(tmp_path))
    assert done.returncode == 3
    assert b"NETTOP_STATE must be an absolute path: here/state" in done.stderr
    assert not any(tmp_path.iterdir())
