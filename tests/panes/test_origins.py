"""Enter on a figure shows its source, and Esc leads back to where one was."""

import pytest
from scenes import lossy
from scenes.found import RING

from nettop import panes
from nettop.panes import cursor, page
from nettop.terms.text import Line, text_of
from nettop.tui import mouse
from nettop.tui.keys import press
from nettop.views.stages import foremost
from nettop.views.view import View


def pressed(keys: str, view: View) -> View:
    """The view after some keys, each painted first."""
    scene = lossy()
    for key in keys.split():
        view = cursor.bound(view, scene)
        view, ask = press(key, key if len(key) == 1 else None, view, scene)
        assert ask is None
    return cursor.bound(view, scene)


def selected(view: View) -> list[Line]:
    """The painted rows with something under the cursor."""
    rows = page.compose(lossy(), view, 120, 40)
    return [row for row in rows if any(role.startswith("select") for _, role in row[:-1])]


def test_the_cursor_of_the_overview_begins_at_the_findings() -> None:
    view = pressed("", View())
    assert view.spot.on == RING.id
    assert pressed("j", View()).spot.on == "app-on-other-node@3391"


def test_up_from_the_findings_are_the_stages_and_enter_opens_their_rows() -> None:
    scene, view = lossy(), View()
    limit = foremost(scene, view)
    assert limit is not None
    names = [one.removeprefix("stage:") for one in panes.pane("overview").items(scene, view)
             if one.startswith("stage:")]  # fmt: skip
    assert "ring" in names
    up = " ".join(["k"] * (len(names) - names.index("ring")))
    on_ring = pressed(up, view)
    assert on_ring.spot.on == "stage:ring"
    assert any("RING" in "".join(text for text, role in row if role.startswith("select"))
               for row in selected(on_ring))  # fmt: skip
    there = pressed(f"{up} enter", view)
    assert (there.pane, there.spot.on, there.nic) == ("nic", "ring.rx@eth0", "eth0")
    back = pressed("escape", there)
    assert (back.pane, back.spot.on, back.nic, back.back) == ("overview", "stage:ring", "", ())


@pytest.mark.parametrize("stage", ["core", "thread", "rcvbuf", "backlog", "wire", "unknown"])
def test_every_stage_leads_to_a_row_that_is_there(stage: str) -> None:
    scene = lossy()
    limit = foremost(scene, View())
    assert limit is not None
    assert scene.facts is not None
    to = cursor.of_stage(scene.facts, limit, stage)
    view = cursor.jump(View(), to)
    rows = panes.pane(to.pane).items(scene, view.at(open=""))
    assert to.row in rows


def test_a_flow_of_the_overview_opens_and_escape_returns() -> None:
    scene = lossy()
    assert scene.facts is not None
    view = View().at(on=f"flow:{scene.facts.flows[0].id}")
    there = pressed("enter", view)
    assert (there.pane, there.spot.open) == ("flows", scene.facts.flows[0].id)
    assert pressed("escape", there).pane == "overview"


def test_a_figure_of_evidence_leads_to_its_row_and_back_to_the_open_finding() -> None:
    opened = pressed("enter", View(pane="advisor"))
    assert opened.spot.open == RING.id
    assert "Enter: NIC" in "".join(text_of(row) for row in selected(opened))
    there = pressed("j enter", opened)
    assert (there.pane, there.spot.on) == ("nic", "ring.rx@eth0")
    back = pressed("escape", there)
    assert (back.pane, back.spot.open, back.spot.mode) == ("advisor", RING.id, 1)
    assert pressed("escape", back).spot.open == ""


def test_a_finding_of_a_process_leads_to_its_flow() -> None:
    view = pressed("enter enter", View(pane="advisor").at(on="app-on-other-node@3391"))
    assert view.pane == "flows"
    assert view.spot.open


def test_two_jumps_return_in_turn_and_another_pane_forgets_them() -> None:
    twice = pressed("enter enter enter", View())  # finding, its page, its figure
    assert [left.pane for left in twice.back] == ["overview", "advisor"]
    assert pressed("escape escape", twice).pane == "advisor"
    assert pressed("escape escape escape", twice).pane == "overview"
    assert pressed("4", twice).back == ()


def test_next_and_previous_in_a_detail() -> None:
    first = pressed("enter", View(pane="advisor"))
    second = pressed("n", first)
    assert second.spot.open == "app-on-other-node@3391"
    assert pressed("N", second).spot.open == first.spot.open


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60)])
def test_a_click_on_a_stage_or_on_the_verdict_opens_it(width: int, height: int) -> None:
    scene = lossy()
    view = cursor.bound(View(), scene)
    rows = page.compose(scene, view, width, height)
    names = next(y for y, row in enumerate(rows) if "RING" in text_of(row))
    column = text_of(rows[names]).index("RING")
    for y in range(names, names + 3):
        there, _ = mouse.clicked((column, y), rows, view, scene)
        assert (there.pane, there.spot.on) == ("nic", "ring.rx@eth0")
    there, _ = mouse.clicked((5, 2), rows, view, scene)
    assert (there.pane, there.spot.on) == ("advisor", RING.id)
