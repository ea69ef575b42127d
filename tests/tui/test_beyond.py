"""Changes at the other end of the flows (--peer): made, undone and confirmed there by key."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hang import HANG
from scenes import lossy
from test_away import ENTRY, FILES, KEPT, PLANNED, SACK, There

from nettop.advice.rules.rule import Finding, Wanted
from nettop.panes import hints, listed
from nettop.panes.journal import command, exports
from nettop.panes.journal import lines as journal_lines
from nettop.terms.text import text_of
from nettop.tui.actions import Actions
from nettop.tui.beyond import Beyond
from nettop.tui.leaving import in_force, question
from nettop.views.ask import Ask
from nettop.views.both import named
from nettop.views.build import merge
from nettop.views.scene import JournalEntry, Peer, Pending, Scene, Step
from nettop.views.view import Spot, View

HOST = "web2"
OWN = JournalEntry("3", 5e8, SACK, "1", "0", "applied")


def finding(*, experiment: bool = False) -> Finding:
    wanted = (Wanted(SACK, "1", experiment=experiment),)
    known = Finding(
        "tcp-sack-off@host", "tcp-sack-off", "host", "warning", "SACK is off", "", 3.0, (), (), (),
        (), (), "",
    )  # fmt: skip
    known = replace(known, wanted=wanted)
    return named(known, HOST)


class Pair(There):
    """This machine with an own change, and another end with a nettop of prepared answers."""

    def __init__(self, folder: Path, *, connected: bool = True) -> None:
        super().__init__(folder)
        far = self.actions.source
        one = finding()
        peer = Peer(("web1", HOST), findings=(one,),
                    plans={one.id: (Step(SACK, "0", "1", "sysctl -w x"),)})  # fmt: skip
        self.peer = peer
        self.heard.scene = replace(lossy(), journal=(OWN,), peer=peer, origin=None)
        from nettop.host.source import Live

        self.actions = Actions(Live(), self.heard, lambda: None)
        peering: Any = SimpleNamespace(far=far if connected else None, shown=peer)
        self.actions.beyond = Beyond(
            peering, self.heard, self.actions.altered, self.actions.proving
        )


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def entry(**more: object) -> Mapping[str, object]:
    return {**ENTRY, "time": 2e9, "finding": "tcp-sack-off@host", **more}


def test_a_finding_of_the_other_end_is_applied_there_after_its_plan_was_shown(pair: Pair) -> None:
    pair.answers("plan", PLANNED)
    shown = pair.do("apply", finding().id).question
    assert shown is not None
    assert (shown.host, shown.title) == (HOST, f"Apply: {finding().title}")
    assert shown.changes == ((SACK, "0", "1"),)
    assert "written by the nettop at web2" in shown.warnings
    pair.log.write_text("")
    pair.answers("set", {**PLANNED, "id": 7, "state": "applied"})
    pair.answers("journal", entry())
    scene = pair.do("agree")
    assert pair.ran[:3] == ["set", SACK, "1"]
    assert "--finding=tcp-sack-off@host" in pair.ran
    assert [one.id for one in scene.journal if one.host] == ["peer/7"]
    assert [one.finding for one in scene.journal if one.host] == [finding().id]
    assert scene.notes[-1].text == f"web2: {SACK}: 0 → 1: applied"


def test_the_newest_change_is_undone_at_its_end(pair: Pair) -> None:
    theirs = JournalEntry("peer/7", 2e9, SACK, "0", "1", "applied", host=HOST)
    pair.heard.scene = replace(pair.heard.scene, journal=(OWN, theirs))
    shown = pair.do("undo").question
    assert shown is not None
    assert (shown.host, shown.entries) == (HOST, ("peer/7",))
    assert shown.title == "Undo 1 change at web2"
    pair.log.write_text("")
    pair.answers("undo", {**PLANNED, "id": 7, "state": "undone", "after": 0})
    pair.answers("journal")
    pair.do("agree")
    assert pair.ran[:2] == ["undo", "7"]


def test_a_newer_change_of_this_host_is_undone_here(pair: Pair) -> None:
    theirs = JournalEntry("peer/7", 1e8, SACK, "0", "1", "applied", host=HOST)
    pair.heard.scene = replace(pair.heard.scene, journal=(OWN, theirs))
    shown = pair.do("undo").question
    assert shown is not None
    assert (shown.host, shown.entries) == ("", ("3",))
    assert pair.ran == []


@pytest.mark.parametrize("under", ["", "finding"])
def test_confirm_confirms_there_what_waits_there(pair: Pair, under: str) -> None:
    waits = Pending("peer/7", SACK, 9e9)
    pair.heard.scene = replace(pair.heard.scene, pending=(waits,))
    pair.answers("confirm", {**PLANNED, "id": 7, "state": "applied"})
    pair.answers("journal", entry())
    scene = pair.do("confirm", finding().id if under else "")
    assert pair.ran[:2] == ["confirm", "7"]
    assert scene.pending == ()
    assert "applied" in scene.notes[-1].text


def test_a_change_that_waits_there_is_read_again_and_named_when_leaving(pair: Pair) -> None:
    pair.answers("plan", PLANNED)
    pair.do("apply", finding().id)
    pair.answers("set", {**PLANNED, "id": 7, "state": "pending", "deadline": 4e9})
    pair.answers("journal", entry(state="pending", deadline=4e9))
    scene = pair.do("agree")
    assert [one.id for one in scene.pending] == ["peer/7"]
    asked = question(scene)
    assert asked is not None
    text = "".join(text_of(row) for row in asked.sheets[0][1])
    assert f"{' '.join(pair.prefix)} nettop confirm 7" in text
    rows = in_force(pair.actions.changes_made(), 1e9)
    assert rows[0].endswith(f"{' '.join(pair.prefix)} nettop undo 7")
    assert rows[0].startswith("nettop: in force: web2: ")


def test_a_journal_that_cannot_be_read_keeps_what_was_read(pair: Pair) -> None:
    pair.answers("plan", PLANNED)
    pair.do("apply", finding().id)
    pair.answers("set", {**PLANNED, "id": 7, "state": "applied"})
    pair.answers("journal", entry())
    pair.do("agree")
    (pair.folder / "journal.json").unlink()
    pair.actions.reload()
    scene = pair.heard.scene
    assert [one.id for one in scene.journal if one.host] == ["peer/7"]
    assert scene.notes[-1].text.startswith("journal of web2: ")


def test_a_finding_and_a_change_of_the_other_end_persist_there(pair: Pair) -> None:
    theirs = JournalEntry("peer/7", 2e9, SACK, "0", "1", "applied", finding().id, host=HOST)
    pair.heard.scene = replace(pair.heard.scene, journal=(OWN, theirs))
    for target in (finding().id, "peer/7"):
        pair.answers("plan", {**PLANNED, "state": "unchanged"}, KEPT, files=FILES)
        shown = pair.do("persist", target).question
        assert shown is not None
        assert (shown.verb, shown.host) == ("keep", HOST)
        pair.log.write_text("")
        pair.answers("set", {**PLANNED, "id": 8, "state": "unchanged"})
        pair.answers("journal", entry())
        pair.do("agree")
        assert "--finding=tcp-sack-off@host" in pair.ran


def test_another_key_that_works_on_this_host_only_says_so(pair: Pair) -> None:
    scene = pair.do("spread", finding().id)
    assert scene.notes[-1].text.startswith("this is a finding of web2: spread works on this host")
    assert pair.ran == []


def test_a_finding_of_the_other_end_is_muted_and_unmuted_by_its_name_with_the_host(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    name = finding().id
    shown = pair.do("mute", name).question
    assert shown is not None
    assert (shown.verb, shown.host) == ("mute", "")
    scene = pair.do("agree")
    assert (tmp_path / "own/nettop/muted").read_text().splitlines() == [name]
    assert [(one.id, one.state) for one in listed.listed(scene) if one.id == name] == [
        (name, "muted")
    ]
    again = merge(scene, replace(lossy(), peer=pair.peer))
    assert [one.state for one in listed.listed(again) if one.id == name] == ["muted"]
    pair.do("mute", name)
    scene = pair.do("agree")
    assert [one.state for one in listed.listed(scene) if one.id == name] == [""]
    assert all(not one.host for one in scene.findings)
    assert pair.ran == []


def test_a_finding_of_the_other_end_that_ended_after_a_fix_is_done_and_undone_there(
    pair: Pair,
) -> None:
    scene, id_ = pair.heard.scene, finding().id
    fixed = merge(scene, replace(scene, peer=replace(pair.peer, findings=(), plans={})))
    made = JournalEntry("peer/7", fixed.wall, SACK, "0", "1", "applied", id_, host=HOST)
    pair.heard.scene = replace(fixed, journal=(OWN, made))
    (row,) = (one for one in listed.listed(pair.heard.scene) if one.id == id_)
    assert (row.state, [one.id for one in row.changes]) == ("done", ["peer/7"])
    assert [one.key for one in hints.of_row(pair.heard.scene, id_)] == ["u"]
    pair.actions.do(Ask("undo", id_), View(pane="advisor"), pair.heard.scene)
    assert pair.actions.wait(HANG)
    shown = pair.heard.scene.question
    assert shown is not None
    assert (shown.host, shown.entries) == (HOST, ("peer/7",))
    back = merge(replace(pair.heard.scene, question=None), replace(scene, peer=pair.peer))
    assert [one.state for one in listed.listed(back) if one.id == id_] == [""]


def test_the_journal_there_has_the_time_of_this_host(pair: Pair) -> None:
    beyond: Any = pair.actions.beyond
    beyond.peering.far.wall = lambda: time.time() - 3600.0
    pair.answers("plan", PLANNED)
    pair.do("apply", finding().id)
    pair.answers("set", {**PLANNED, "id": 7, "state": "pending", "deadline": 2e9 + 30})
    pair.answers("journal", entry(state="pending", deadline=2e9 + 30))
    scene = pair.do("agree")
    (made,) = (one for one in scene.journal if one.host)
    assert made.wall == pytest.approx(2e9 + 3600, abs=60)
    assert scene.pending[0].deadline - made.wall == pytest.approx(30)


def test_before_the_first_answer_nothing_is_done(tmp_path: Path) -> None:
    scene = Pair(tmp_path, connected=False).do("apply", finding().id)
    assert scene.notes[-1].text == "web2 is not connected yet: y copies the command"


def test_the_keys_of_a_finding_of_the_other_end(pair: Pair) -> None:
    scene, id_ = pair.heard.scene, finding().id
    known = hints.of_row(scene, id_)
    assert [one.key for one in known] == ["a", "p", "y"]
    only = replace(scene.peer or Peer(("", "")), findings=(finding(experiment=True),))
    assert [one.key for one in hints.of_row(replace(scene, peer=only), id_)] == ["p", "y"]
    row = next(one for one in listed.listed(scene) if one.id == id_)
    assert listed.planned(row.id, scene)


def test_the_journal_names_the_other_end_and_its_command() -> None:
    theirs = JournalEntry("peer/7", 2e9, SACK, "0", "1", "applied", host=HOST)
    scene = Scene(journal=(theirs,))
    view = View(pane="journal", spots={"journal": Spot(on="peer/7")})
    text = "\n".join(text_of(row) for row in journal_lines(scene, view, 120, 30))
    assert f"web2: {SACK}: 0 → 1" in text
    assert command("peer/7") == "nettop undo 7"
    assert exports(replace(scene, journal=(OWN, theirs))) == [OWN]
    assert [one.key for one in hints.of_row(scene, "peer/7")] == ["u", "s"]


def test_where_there_is_no_nettop_only_the_copy_of_a_command_is_offered(pair: Pair) -> None:
    scene = pair.heard.scene
    row = next(one for one in listed.listed(scene) if one.id == finding().id)
    assert {one.action for one in listed.offered(row, scene)} == {"apply", "prove"}
    pair.actions.follow(scene, View())  # a nettop answers there
    assert pair.actions.wait(HANG)
    assert pair.heard.scene.absent == frozenset()
    lacking = replace(scene, absent=frozenset({HOST}))
    assert listed.offered(row, lacking) == ()
    assert listed.keys_of(lacking, row) == "y copy "
    here = next(one for one in listed.listed(lacking) if not one.finding or not one.finding.host)
    assert listed.offered(here, lacking) != ()


def test_whether_there_is_a_nettop_is_asked_once(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop.changes.remote import AbsentError, Remote

    asked: list[str] = []

    def absent(self: Remote) -> None:
        asked.append(self.name)
        raise AbsentError("nettop is not installed")

    monkeypatch.setattr(Remote, "journal", absent)
    for _ in range(3):
        pair.actions.follow(pair.heard.scene, View())
        assert pair.actions.wait(HANG)
    assert len(asked) == 1
    assert pair.heard.scene.absent == {HOST}
