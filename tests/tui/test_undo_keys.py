"""`u` undoes what was made for a finding; what waits for its confirmation is not changed again."""

from dataclasses import replace
from pathlib import Path

import pytest
from scenes import RING, SACK, lossy
from test_choosing import painted, told, with_findings

from nettop import panes
from nettop.advice.rules.rule import Wanted
from nettop.changes.entry import JournaledChange
from nettop.changes.journal import Journal
from nettop.changes.namespaces import Survey
from nettop.cli import main
from nettop.host.source import Live
from nettop.settings import Host
from nettop.terms.text import text_of
from nettop.tui.keys import Ask
from nettop.tui.planning import Planning, to_undo
from nettop.views.kept import journal
from nettop.views.scene import JournalEntry, Pending, Scene
from nettop.views.view import View


def test_u_takes_back_all_settings_of_a_finding_that_still_holds(tmp_path: Path) -> None:
    names = ("a", "b", "c")
    made = [JournalEntry(str(n), 5.0 + n, name, "0", "1", "applied", RING.id)
            for n, name in enumerate(names)]  # fmt: skip
    older = JournalEntry("9", 1.0, "z", "0", "1", "applied", SACK.id)
    scene = replace(with_findings(RING, SACK), journal=(*made, older))
    wanted = made[::-1]  # the newest first
    for pane in ("overview", "advisor"):
        view = painted(View(pane=pane).at(on=RING.id), scene)
        assert to_undo(RING.id, view, scene) == wanted
    assert to_undo("flow:x", View(), scene) == wanted  # the last change, with those made with it
    assert to_undo(SACK.id, View(), scene) == [older]
    said: list[Scene] = []
    planning = Planning(Live(str(tmp_path)), lambda update: said.append(update(scene)))
    planning.do_undo(Ask("undo", RING.id), View(), scene)
    question = said[-1].question
    assert question is not None
    assert question.entries == ("2", "1", "0")
    body = "\n".join(text_of(row) for row in question.sheets[0][1])
    assert all(f" {name}: 1 → 0" in body for name in names)
    shown = panes.hints.hints(scene, painted(View(), scene).at(on=RING.id))
    assert "undo" in {hint.action for hint in shown}


def test_at_another_host_an_undo_may_cut_its_session(tmp_path: Path) -> None:
    def warned(setting: str) -> tuple[str, ...]:
        planning = Planning(Live(str(tmp_path)), lambda _: None)
        return planning.undoing([JournalEntry("1", 5.0, setting, "on", "off", "applied")])

    within = "reverts after 30 s unless confirmed with c"
    assert warned("ring.rx@eth0") == (within,)
    assert warned("feature.gro@eth0") == (f"{within} if eth0 carries the session there",)
    assert warned("sysctl.net.ipv4.tcp_sack") == ()


@pytest.mark.parametrize("verb", ["apply", "set"])
def test_a_setting_that_waits_for_its_confirmation_is_not_changed_again(
    verb: str, tmp_path: Path
) -> None:
    finding = replace(RING, wanted=(Wanted("ring.rx@eth0", "512"),))
    target_ = {"apply": finding.id, "set": "ring.rx@eth0"}[verb]
    scene = with_findings(finding)
    said: list[Scene] = []

    def asked(pending: Pending) -> Scene:
        shown = replace(scene, pending=(pending,))
        planning = Planning(Live(str(tmp_path)), lambda update: said.append(update(shown)))
        planning.away = lambda *_: said.append(replace(shown, notes=()))
        getattr(planning, f"do_{verb}")(Ask(verb, target_, "512"), View(), shown)
        return said[-1]

    told = asked(Pending("1", "ring.rx@eth0", scene.wall + 21)).notes[-1].text
    assert told == (
        "ring.rx@eth0 waits to be confirmed (21 s left): first c keeps it, or u undoes it"
    )
    assert asked(Pending("1", "ring.tx@eth0", scene.wall + 21)).notes == ()
    assert asked(Pending("peer/1", "ring.rx@eth0", scene.wall + 21)).notes == ()


def test_c_says_that_it_keeps_both_changes() -> None:
    one, two = (Pending(name, f"ring.{name}@eth0", lossy().wall + 21) for name in ("rx", "tx"))
    alone = told(replace(lossy(), pending=(one,)), View())
    both = told(replace(lossy(), pending=(one, two)), View())
    assert "ring.rx@eth0 reverts unless confirmed: c keep, u undo now" in alone
    assert both.count("reverts unless confirmed: c keep both, u undo now") == 2


class Nowhere(Survey):
    """Every namespace was entered; none is the one that is looked for."""

    found = ()
    complete = True
    settled = True


def test_a_change_whose_namespace_is_gone_is_closed_on_screen_and_in_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("nettop.changes.namespaces.Survey", Nowhere)
    made = JournaledChange(
        1, 1e9, "sysctl.net.ipv4.tcp_sack", "1", "0", netns="1", netns_name="lost"
    )
    Journal().begin(made)
    Journal().note(1, "end", after="0")
    gone = "network namespace lost is gone, and the change with it"
    assert main(["journal"]) == 0
    told = capsys.readouterr().out
    assert ("closed  " in told, f"closed ({gone})" in told) == (True, True), told
    changes, _ = journal(Host(source=Live(str(tmp_path))))
    assert [(one.state, one.because, one.in_force) for one in changes] == [("void", gone, False)]
    scene = replace(with_findings(RING), journal=changes)
    shown = "\n".join(map(text_of, panes.pane("journal").lines(scene, View(), 120, 30)))
    assert ("· closed" in shown, gone in shown, "0 in force" in shown) == (True, True, True)
    said: list[Scene] = []
    planning = Planning(Live(str(tmp_path)), lambda update: said.append(update(scene)))
    for pane in ("overview", "journal"):
        planning.do_undo(Ask("undo", "1"), View(pane=pane), scene)
        assert said[-1].notes[-1].text == "nothing to undo in this namespace"
        assert said[-1].question is None


def test_a_change_in_another_namespace_is_undone_there(tmp_path: Path) -> None:
    way = "made in network namespace b: nettop --netns b undo 1"
    there = JournalEntry("1", 5.0, "sysctl.x", "0", "1", "applied", since=way, space="b")
    scene = replace(with_findings(RING), journal=(there,))
    assert to_undo("", View(), scene) == []
    said: list[Scene] = []
    planning = Planning(Live(str(tmp_path)), lambda update: said.append(update(scene)))
    view = View(pane="journal").at(on="1")
    planning.do_undo(Ask("undo", "1"), view, scene)
    assert (said[-1].notes[-1].text, said[-1].question) == (way, None)
    shown = "\n".join(map(text_of, panes.pane("journal").lines(scene, view, 120, 30)))
    assert ("● applied" in shown, "changed since" in shown) == (True, False)
    assert "undo" not in {hint.action for hint in panes.hints.hints(scene, view)}
