"""A change at a host without nettop: a question to install it; nothing is sent before."""

import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hang import HANG
from test_away import ENTRY, PLANNED, SACK, There
from test_beyond import finding

from nettop.changes import remote
from nettop.host import once
from nettop.host.once import File
from nettop.host.source import HostLostError
from nettop.terms.text import text_of
from nettop.views.ask import Ask
from nettop.views.scene import Scene
from nettop.views.view import View

PROVED = "tcp-sack-off@host"
ELF = struct.pack("<4sBB12xH", b"\x7fELF", 2, 1, 62)


class Bare(There):
    """The same host without nettop, and the one file here."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.program = folder / "nettop"
        self.aside = self.program.rename(folder / "aside")
        (folder / "one").write_bytes(ELF)
        assert self.actions.away is not None
        self.actions.away.binary = str(folder / "one")
        self.sent: list[File] = []

    def put(self, words: Sequence[str], one: File) -> tuple[str, ...]:
        assert tuple(words) == self.prefix
        self.sent.append(one)
        self.aside.rename(self.program)
        return ("/opt/nettop/nettop",)

    def agree(self) -> Scene:
        """The scene after the question was answered with yes."""
        self.do("agree")
        question = self.heard.scene.question
        if question is not None and question.verb == "install":
            self.heard(lambda scene: replace(scene, question=None))
        return self.heard.scene


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bare:
    found = Bare(tmp_path)
    monkeypatch.setattr(once, "install", found.put)
    monkeypatch.setattr(remote, "ROOTS", str(tmp_path / "opt/nettop"))
    return found


def asked(scene: Scene) -> str:
    """What the question says that is open."""
    assert scene.question is not None
    assert scene.question.verb == "install"
    return "\n".join(text_of(row) for row in scene.question.sheets[0][1])


def test_the_question_names_file_place_and_the_way_back(bare: Bare) -> None:
    bare.answers("plan", PLANNED)
    told = asked(bare.do("set", SACK, "1"))
    parts = f"nettop is not installed at|{bare.folder}/one|x86_64, sha256 |/opt/nettop|--forget"
    assert [part for part in parts.split("|") if part not in told] == []
    assert bare.sent == []
    assert bare.ran == []


def test_after_yes_the_change_is_proposed(bare: Bare) -> None:
    bare.answers("plan", PLANNED)
    bare.do("set", SACK, "1")
    question = bare.agree().question
    assert [one.path for one in bare.sent] == [f"{bare.folder}/one"]
    assert question is not None
    assert question.changes == ((SACK, "0", "1"),)


@pytest.mark.parametrize(("verb", "target"), [("undo", ""), ("persist", SACK), ("prove", PROVED)])
def test_each_key_that_needs_a_nettop_asks(bare: Bare, verb: str, target: str) -> None:
    known = replace(finding(), host="", id=PROVED)
    bare.heard.scene = replace(bare.heard.scene, findings=(known,))
    bare.actions.do(Ask(verb, target), View(form={"to": "192.0.2.9"}), bare.heard.scene)
    assert bare.actions.wait(HANG)
    asked(bare.heard.scene)
    assert bare.sent == []


def test_a_refusal_is_said_and_nothing_is_proposed(
    bare: Bare, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> tuple[str, ...]:
        raise HostLostError("web1: cannot write to /opt/nettop: No space left on device")

    monkeypatch.setattr(once, "install", full)
    bare.do("set", SACK, "1")
    assert bare.agree().question is None
    assert "No space left" in bare.heard.last


def test_a_file_that_is_gone_or_another_is_said(bare: Bare) -> None:
    (bare.folder / "one").write_text("#!/bin/sh")
    assert bare.do("set", SACK, "1").question is None
    assert "not the one file" in bare.heard.last
    (bare.folder / "one").unlink()
    assert bare.do("set", SACK, "1").question is None
    assert "No such file" in bare.heard.last


def test_another_version_by_install_is_replaced_after_a_question(bare: Bare) -> None:
    there = bare.folder / "opt/nettop"
    there.parent.mkdir()
    there.write_text("#!/bin/sh\necho '{\"schema\": 0}'\n")
    there.chmod(0o755)
    assert "another version of nettop is installed" in asked(bare.do("set", SACK, "1"))


def test_the_file_of_install_is_used_where_no_other_is(bare: Bare) -> None:
    bare.answers("plan", PLANNED)
    there = bare.folder / "opt/nettop"
    there.parent.mkdir()
    bare.aside.rename(there)
    question = bare.do("set", SACK, "1").question
    assert question is not None
    assert question.changes == ((SACK, "0", "1"),)
    bare.answers("set", {**PLANNED, "state": "applied", "id": 7})
    bare.answers("journal", ENTRY)
    bare.do("agree")
    assert bare.ran.count("--dry-run") == 1
    assert SACK in bare.heard.last
    assert bare.heard.scene.journal[0].way.endswith(" " + str(bare.folder / "opt/nettop"))
