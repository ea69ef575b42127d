"""What `x` exports: the plan of the row under the cursor, else what is in force."""

from dataclasses import replace

import pytest
from heard import Heard
from scenes import SACK, lossy

from nettop.changes import persist
from nettop.host.source import Live
from nettop.terms.text import text_of
from nettop.tui.actions import Actions
from nettop.views.ask import Ask
from nettop.views.kept import exportable
from nettop.views.scene import JournalEntry
from nettop.views.view import View


def test_an_export_without_a_plan_has_what_is_in_force() -> None:
    made = JournalEntry("1", 5.0, "sysctl.net.ipv4.tcp_sack", "0", "1", "applied")
    heard = Heard(replace(lossy(), journal=(made,)))
    planning = Actions(Live(), heard, lambda: None).planning
    planning.do_export(Ask("export", "nothing@all"), View(pane="nic"), heard.scene)
    question = heard.scene.question
    assert question is not None
    assert "sysctl -w net.ipv4.tcp_sack=1" in "\n".join(map(text_of, question.sheets[0][1]))
    none = Heard(lossy())
    planning = Actions(Live(), none, lambda: None).planning
    planning.do_export(Ask("export", "nothing@all"), View(pane="nic"), none.scene)
    assert none.last == "nothing to export: no change is in force or under the cursor"


def test_several_changes_of_a_setting_are_exported_as_one() -> None:
    def change(number: str, setting: str, before: str, after: str) -> JournalEntry:
        return JournalEntry(number, 5.0, setting, before, after, "applied")

    mtu, sack = "link.mtu@eth0", "sysctl.net.ipv4.tcp_sack"
    found = exportable([change("1", mtu, "1500", "9000"), change("2", sack, "0", "1"),
                        change("3", mtu, "9000", "1400")])  # fmt: skip
    assert [(e.setting, e.before, e.after) for e in found] == [
        (sack, "0", "1"), (mtu, "1500", "1400"),
    ]  # fmt: skip
    assert not exportable([change("1", mtu, "1500", "1400"), change("2", mtu, "1400", "1500")])


def test_what_cannot_be_persisted_at_all_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    why = "these files are read for the host, not for a network namespace"
    monkeypatch.setattr(persist, "doubts", lambda pairs, _source: (why,) * bool(pairs))
    heard = Heard(lossy())
    Actions(Live(), heard, lambda: None).planning.do_persist(
        Ask("persist", SACK.id), View(pane="advisor"), heard.scene
    )
    assert heard.scene.question is None
    assert heard.last == why
