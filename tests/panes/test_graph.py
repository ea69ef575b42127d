"""The wide graph: scale, rows of each direction, losses, marks."""

from dataclasses import astuple, replace

from folded import folded
from pane_text import words
from scenes import lately, lossy, storied

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


@folded("width", [60, 78, 118, 198])
@folded("height", [5, 6, 17, 50])
def test_it_fills_its_place(width: int, height: int) -> None:
    assert drawn(storied(), width, height)


def test_there_is_none_before_two_samples_or_without_room() -> None:
    assert drawn(lossy()) == []
    assert drawn(storied(), 118, 4) == []
    assert drawn(storied(), 30, 10) == []


def test_both_directions_stand_on_one_axis_with_one_scale() -> None:
    rows = drawn(storied())
    up = next(at for at, row in enumerate(rows) if "rx ▲" in row)
    assert "tx ▼" in rows[up + 1]
    assert rows[0].split()[:2] == ["1", "Gb/s"]
    assert up == 6  # the larger direction has more rows
    assert set(rows[up + 1].split()[-1]) == {"⠉"}  # a little, at the axis


def test_the_top_of_the_larger_direction_is_round() -> None:
    scene = lately()
    moments = []
    for moment in scene.past.fine:
        port = replace(moment.ports["eth0"], rx=5e5, tx=25e6)
        moments.append(replace(moment, ports=moment.ports.then({"eth0": astuple(port)})))
    rows = drawn(replace(scene, past=History(tuple(moments))), height=14)
    assert "rx ▲" in rows[0]
    assert rows[11].split()[:2] == ["200", "Mb/s"]


@folded("height", range(11, 24))
def test_the_middle_of_a_scale_is_half_its_top(height: int) -> None:
    rows = drawn(storied(), height=height)
    labels = [row.split()[:2] for row in rows if "b/s" in row]
    assert labels == [["1", "Gb/s"], ["500", "Mb/s"]][: len(labels)]
    assert len(labels) == (2 if next(n for n, row in enumerate(rows) if "rx ▲" in row) > 4 else 1)


def test_losses_stand_under_the_rate_of_their_time() -> None:
    rows = drawn(storied())
    lost, axis = rows[-2], rows[-1]
    assert lost.startswith(" peak 1.2k/s ███")
    change = axis.index("◆")
    assert lost[change - 2] == "█"
    assert set(lost[change + 2 :].strip()) == {"·"}  # none since the change
    assert "◆ ring.rx@eth0" in axis
    assert axis.rstrip().endswith("now")
    assert "┴2 m" in axis


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
    tops = {1.0: 1.0, 941.5e6: 1e9, 9.4e9: 10e9, 23.5e9: 25e9, 94.1e9: 100e9, 1234.0: 1500.0,
            745e6: 800e6}  # fmt: skip
    assert {value: graph.rounded(value) for value in tops} == tops
    assert graph.rounded(0.0) > 0


def test_each_direction_has_at_least_a_row() -> None:
    assert graph.split(10, 1e9, 0.0) == 9
    assert graph.split(10, 0.0, 1e9) == 1
    assert graph.split(10, 5.0, 5.0) == 5
    assert graph.split(3, 0.0, 0.0) == 2


def test_marks_that_are_close_lose_their_names_but_not_their_place() -> None:
    scene = storied()
    entry = scene.journal[0]
    close = tuple(replace(entry, id=str(n), wall=entry.wall + 4 * n) for n in range(3))
    axis = drawn(replace(scene, journal=close))[-1]
    assert axis.count("◆") == 3
    assert axis.count("ring.rx@eth0") == 1


@folded("ago", range(12))
def test_a_mark_at_the_present_and_now_are_both_whole(ago: int) -> None:
    scene = storied()
    entry = replace(scene.journal[0], wall=scene.past.fine[-1].wall - ago)
    one, two = (drawn(replace(scene, journal=known))[-1] for known in ((), (entry,)))
    assert one.rstrip().endswith("now")
    assert two.count("now") == two.count("◆") == 1
    assert (two[-1] != "w") == (two[-3:].find("◆") >= 0)


def test_the_title_has_the_rates_now_and_their_share() -> None:
    nic = nic_of(lossy(), View())
    assert nic is not None
    assert (
        graph.title(lossy(), nic)
        == "last 1 s: rx 616.4 Mb/s (65%) · tx 12.1 Mb/s (1.3%) · 1,204 dropped/s"
    )
    assert "peak" in words([*graph.lines(storied(), nic, 118, 10)])


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


def test_a_curve_has_as_many_rows_as_it_has_something_to_say_in() -> None:
    assert graph.telling([0.0, None], 1.0) == 1
    assert graph.telling([0.1, 0.05], 1.0) == 3
    assert graph.telling([0.9, 0.9], 1.0) == 4  # level, however high
    assert graph.telling([0.9, 0.7], 1.0) == 8
    assert graph.telling([0.0, 1.0], 1.0) == 16
