"""The tables of panes: rows, columns, sort order, filter."""

from dataclasses import replace

import pytest
from pane_text import bare, words
from scenes import big, lossy, storied

from nettop import panes
from nettop.panes import flows
from nettop.panes.parts import Cell, Column, telling
from nettop.terms.text import line, text_of
from nettop.terms.units import UNKNOWN
from nettop.views.view import Spot, View


def test_flows_sort_filter_and_open() -> None:
    flows = panes.pane("flows")
    scene = lossy()
    first = flows.items(scene, View(pane="flows"))[0]
    assert "40112" in first
    assert "sshd" in words(flows.lines(scene, View(pane="flows").at(filter="sshd"), 120, 20))
    assert "iperf3" not in words(flows.lines(scene, View(pane="flows").at(filter="sshd"), 120, 20))
    slow = flows.items(scene, View(pane="flows").at(sort=3))
    assert "51514" in slow[0]
    opened = words(flows.lines(storied(), View(pane="flows").at(open=first), 120, 38))
    assert "limited by the interrupt core" in opened
    assert "other node" in opened
    assert "has ended" in words(flows.lines(scene, View(pane="flows").at(open="gone"), 80, 20))


@pytest.mark.parametrize(
    ("spot", "text"),
    [
        (Spot(), "QUEUE "),
        (Spot(sort=1), "IRQ/s▼"),
        (Spot(sort=3, invert=True), "CORE▲"),
        (Spot(invert=True), "QUEUE▼"),
        (Spot(sort=4), "QUEUE▲"),
        (Spot(sort=5), " IRQ▲"),
    ],
)
def test_the_matrix_marks_the_column_it_is_sorted_by(spot: Spot, text: str) -> None:
    view = View(pane="cores", spots={"cores": spot})
    head = words(panes.pane("cores").lines(big(), view, 120, 40)[:4])
    assert text in head
    assert head.count("▼") + head.count("▲") == (text[-1] in "▼▲")


def test_the_matrix_itself_has_no_heading_for_the_core() -> None:
    view = View(pane="cores", fold_idle=False, spots={"cores": Spot(sort=3, invert=True)})
    head = words(panes.pane("cores").lines(big(), view, 120, 40)[:4])
    assert "by CORE ▲   126 queues × 256 cores" in head


def test_a_heading_of_the_table_of_cores_sorts_it_and_not_the_matrix() -> None:
    cores = panes.pane("cores")
    scene, view = storied(), View(pane="cores")
    titles = cores.orders(view)
    busy = view.at(sort=titles.index("BUSY"))
    rows = [text_of(row) for row in cores.lines(scene, busy, 120, 30)]
    at = next(place for place, row in enumerate(rows) if "BUSY▼" in row)
    loads = [float(row.split("%")[0].split()[-1]) for row in rows[at + 1 : at + 9]]
    assert loads == sorted(loads, reverse=True)
    queues = [[one for one in cores.items(scene, some) if not one.startswith("core:")]
              for some in (busy, view)]  # fmt: skip
    assert queues[0] == queues[1]
    for title in ("CORE", "NODE"):  # as wide as their columns
        narrow = view.at(sort=titles.index(title))
        text = words(cores.lines(scene, narrow, 120, 30))
        assert f"{title}▼" in text
        assert all(len(row) <= 120 for row in text.splitlines())
    known = [title for title in titles if title]
    assert len(set(known)) == len(known) > 12


def test_flows_say_how_many_there_are_and_that_only_the_busiest_are_known() -> None:
    flows = panes.pane("flows")
    scene = lossy()
    assert scene.facts is not None
    facts = scene.facts
    view = View(pane="flows")
    assert "3 of 3" in text_of(flows.lines(scene, view, 120, 20)[0])
    many = replace(facts, host=replace(facts.host, tcp_flows=10_000))
    scene = replace(scene, facts=many)
    assert "the busiest 3 of 10,001" in text_of(flows.lines(scene, view, 120, 20)[0])
    found = flows.lines(scene, view.at(filter="sshd"), 120, 20)
    assert "1 of the busiest 3 of 10,001" in text_of(found[0])


def test_the_flow_under_the_cursor_is_opened_below_the_list_where_there_is_room() -> None:
    scene = storied()
    second = flows.items(scene, View(pane="flows"))[1]
    view = View(pane="flows").at(on=second, index=1)
    assert "FLOW sshd[911]" in words(flows.lines(scene, view, 120, 40))
    assert "FLOW sshd[911]" in words(flows.lines(scene, view, 80, 22))
    assert "FLOW" not in words(flows.lines(scene, view, 80, 14)).replace("FLOWS", "")
    assert scene.facts is not None
    many = tuple(replace(scene.facts.flows[0], id=f"f{i}") for i in range(300))
    crowd = replace(scene, facts=replace(scene.facts, flows=many))
    told = words(flows.lines(crowd, View(pane="flows"), 120, 38))
    assert told.count("iperf3[3391]") == 38 - 3 - flows.BELOW + 1  # the frame takes a row
    told = words(flows.lines(crowd, View(pane="flows"), 80, 22))
    assert told.count("iperf3[3391]") == 22 - 2  # a list that fills the screen keeps it


@pytest.mark.parametrize("pane", ["flows", "cores", "nic"])
def test_the_columns_of_a_table_are_those_chosen_in_that_order(pane: str) -> None:
    known = panes.columns(pane)
    last, first = known[2], known[0]
    view = View(pane=pane, columns={pane: (last, first)})
    told = bare(panes.pane(pane).lines(storied(), view, 90, 40))
    heads = next(row for row in told.splitlines() if row.lower().split()[:2] == [last, first])
    others = {name for name in known if name not in (first, last)}
    assert not others & set(heads.split("│")[0].lower().replace("▼", "").split())


COLUMNS = (Column("A", 4), Column("B", 4), Column("C", 9))


def test_a_column_of_dashes_only_is_not_drawn() -> None:
    rows: list[tuple[Cell, ...]] = [("1", UNKNOWN, "– ← –"), ("2", (UNKNOWN, "dim"), "– / –")]
    assert telling(COLUMNS, rows) == ("a",)
    assert telling(COLUMNS, [*rows, ("3", line("x"), "2 ← –")]) == ("a", "b", "c")
    assert telling(COLUMNS, rows, ("b", "a")) == ("a",)
    assert telling(COLUMNS, []) == ("a", "b", "c")
    assert telling(COLUMNS, [("1", "", "")]) == ("a", "b", "c")  # blank where nothing is to say


@pytest.mark.parametrize("pane", ["overview", "flows"])
def test_flows_have_the_retransmissions_of_senders_where_one_of_them_sends(pane: str) -> None:
    scene = lossy()
    assert scene.facts is not None
    known = replace(scene.facts.flows[0], retransmits_per_s=None, drops_per_s=None)
    sends = replace(known, id="sends", tx_per_s=9e6, rx_per_s=0.0, retransmits_per_s=3.0,
                    retransmit_ratio=0.01)  # fmt: skip
    for told, several in ((False, (known,)), (True, (known, sends))):
        one = replace(scene, facts=replace(scene.facts, flows=several))
        assert ("RETR" in words(panes.pane(pane).lines(one, View(pane=pane), 120, 38))) == told


def test_columns_that_were_chosen_are_drawn_also_with_dashes() -> None:
    scene = lossy()
    assert scene.facts is not None
    none = replace(scene.facts.flows[0], cwnd=None)
    scene = replace(scene, facts=replace(scene.facts, flows=(none,)))
    view = View(pane="flows", columns={"flows": ("process", "cwnd")})
    head = words(flows.lines(scene, view, 120, 38)).splitlines()[1]
    assert head.strip("│ ").split() == ["PROCESS", "CWND"]
    assert "CWND" not in words(flows.lines(scene, View(pane="flows"), 200, 38)).splitlines()[1]
