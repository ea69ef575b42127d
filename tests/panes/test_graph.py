"""The wide graph: scale, rows of each direction, losses, marks."""

from dataclasses import astuple, replace

from folded import folded
from scenes import lately, storied

from nettop import panes
from nettop.panes import graph, page
from nettop.terms.text import line_cells, text_of
from nettop.tui.keys import press
from nettop.views.past import History
from nettop.views.scene import Scene, nic_of
from nettop.views.view import View


def drawn(scene: Scene, width: int = 118, height: int = 10) -> list[str]:
    nic = nic_of(scene, View())
    assert nic is not None
    rows = graph.lines(scene, nic, width, height)
    assert not rows or {line_cells(row) for row in rows} == {width - 1}
    assert not rows or len(rows) == height
    return [text_of(row) for row in rows]


def test_the_top_of_the_larger_direction_is_round() -> None:
    scene = lately()
    moments = []
    for moment in scene.past.fine:
        port = replace(moment.ports["eth0"], rx=5e5, tx=25e6)
        moments.append(replace(moment, ports=moment.ports.then({"eth0": astuple(port)})))
    rows = drawn(replace(scene, past=History(tuple(moments))), height=14)
    assert "rx ▲" in rows[0]
    assert rows[11].split()[:2] == ["200", "Mb/s"]


def test_an_unknown_loss_is_not_called_none() -> None:
    scene = lately()
    moments = []
    for moment in scene.past.fine:
        port = replace(moment.ports["eth0"], lost=None)
        moments.append(replace(moment, ports=moment.ports.then({"eth0": astuple(port)})))
    assert "not counted" in drawn(replace(scene, past=History(tuple(moments))))[-2]


def test_an_idle_link_draws_a_low_graph_that_does_not_change() -> None:
    scene = lately()
    moments = []
    for number, moment in enumerate(scene.past.fine):
        noise = replace(moment.ports["eth0"], rx=300.0 + number % 7, tx=90.0, lost=0.0)
        moments.append(replace(moment, ports=moment.ports.then({"eth0": astuple(noise)})))
    pasts = [History(tuple(moments[:count])) for count in range(len(moments) - 20, len(moments))]
    graphs = {"\n".join(drawn(replace(scene, past=past, findings=()))) for past in pasts}
    assert len(graphs) == 1


def test_a_scale_has_a_round_top_that_holds_the_value() -> None:
    tops = {1.0: 1.0, 941.5e6: 1e9, 9.4e9: 10e9, 23.5e9: 25e9, 94.1e9: 100e9, 1234.0: 1500.0}
    assert {value: graph.rounded(value) for value in tops} == tops
    assert graph.rounded(0.0) > 0


def test_each_direction_has_at_least_a_row() -> None:
    assert graph.split(10, 1e9, 0.0) == 9
    assert graph.split(10, 0.0, 1e9) == 1
    assert graph.split(10, 5.0, 5.0) == 5
    assert graph.split(3, 0.0, 0.0) == 2


# A graph on the whole screen, and back.


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
