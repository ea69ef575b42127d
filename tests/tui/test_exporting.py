"""What `x` exports: the plan of the row under the cursor, else what is in force."""

from __future__ import annotations

from dataclasses import replace

from heard import Heard
from scenes import lossy

from nettop.host.source import Live
from nettop.terms.text import text_of
from nettop.tui.actions import Actions
from nettop.views.ask import Ask
from nettop.views.scene import JournalEntry, View


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
