"""A graph on the whole screen, and back."""

from __future__ import annotations

from folded import folded
from scenes import storied

from nettop import panes
from nettop.panes import page
from nettop.terms.text import text_of
from nettop.tui.keys import press
from nettop.views.view import View


@folded(("width", "height"), [(80, 24), (120, 40), (200, 60)])
@folded("name", panes.names())
def test_the_graph_of_a_pane_fills_the_screen(name: str, width: int, height: int) -> None:
    scene = storied()
    view, _ = press("f", "f", View(pane=name), scene)
    rows = [text_of(row) for row in page.compose(scene, view, width, height)]
    assert sum(not row.strip() for row in rows) <= 6  # of losses there are few
    assert "needs two samples" not in "".join(rows)
    assert any("now" in row for row in rows)
    for key in ("f", "escape"):
        assert not press(key, None, view, scene)[0].full


def test_the_graphs_of_flows_are_those_of_the_flow_under_the_cursor() -> None:
    scene = storied()
    rows = page.compose(scene, View(pane="flows", full=True), 120, 40)
    assert any("RTT" in text_of(row).upper() for row in rows)


def test_the_graphs_of_the_cores_are_their_loads() -> None:
    rows = [text_of(row) for row in page.compose(storied(), View(pane="cores", full=True), 120, 40)]
    assert rows[1].startswith("╭─ LOAD ")
    assert sum("core " in row for row in rows) == 8
    assert not any("rx ▲" in row for row in rows)
