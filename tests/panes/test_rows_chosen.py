"""Which rows and columns a pane shows, in which order, at the bounds of its choices."""

from dataclasses import replace

import pytest
from pane_text import words
from scenes import lossy, storied

from nettop import panes
from nettop.facts import Facts
from nettop.panes import asking, flowgroups, flows, history, journal, options
from nettop.panes import graph as wide_graph
from nettop.terms.text import text_of
from nettop.views.past import History, moment
from nettop.views.scene import Scene, nic_of
from nettop.views.view import View


def facts_of(scene: Scene) -> Facts:
    assert scene.facts is not None
    return scene.facts


def test_cores_are_sorted_by_one_kind_of_time() -> None:
    cores = panes.pane("cores")
    view = View(pane="cores")
    by_kind = view.at(sort=list(cores.orders(view)).index("sy"))
    text = words(cores.lines(storied(), by_kind, 160, 40))
    assert "sy▼" in text


def test_a_group_of_flows_has_a_rate_when_one_direction_of_one_flow_is_known() -> None:
    scene = lossy()
    one = facts_of(scene).flows[0]
    group = flowgroups.grouped([replace(one, rx_per_s=5e6, tx_per_s=None)], View().spot)
    row = text_of(flowgroups.lines(group, scene, 120, View().spot)[1])
    assert scene.units.rate(5e6) in row
    other = replace(one, pid=7, rx_per_s=None, tx_per_s=None)
    both = flowgroups.grouped([replace(one, rx_per_s=5e6), other], View().spot)
    row = text_of(flowgroups.lines(both, scene, 120, View().spot)[2])
    assert scene.units.rate(None) in row
    assert scene.units.rate(0.0) not in row


def test_a_list_by_process_says_why_it_is_empty() -> None:
    scene, view = lossy(), View(pane="flows").at(filter="no such process")
    text = words(flows.by_process(scene, view, [], 100, 10))
    assert "0 flows of 0 processes" in text
    assert "no flow matches" in text


def test_the_longest_span_is_the_last() -> None:
    view = View()
    for _ in range(40):
        view, _ = history.zoomed(view, 1)
    assert history.span(view) == max(history.SPANS) == history.SPANS[-1]
    assert history.span(replace(view, span=99)) == history.SPANS[-1]
    for _ in range(40):
        view, _ = history.zoomed(view, -1)
    assert history.span(view) == history.SPANS[0]


def test_two_samples_are_enough_for_a_graph() -> None:
    scene = storied()
    nic = nic_of(scene, View())
    assert nic is not None
    fine = scene.past.fine
    two = replace(scene, past=History(fine[-2:]))
    one = replace(scene, past=History(fine[-1:]))
    assert wide_graph.lines(two, nic, 118, 10)
    assert not wide_graph.lines(one, nic, 118, 10)


def test_a_column_moves_to_both_ends_and_not_beyond() -> None:
    view = View(pane="options")
    shown = list(options.shown_columns(view, "flows"))
    column = shown[2]
    for _ in range(5):
        view = options.moved(view, f"columns.flows.{column}", column, -1)
    assert options.shown_columns(view, "flows")[0] == column
    for _ in range(len(shown) + 3):
        view = options.moved(view, f"columns.flows.{column}", column, 1)
    assert options.shown_columns(view, "flows")[-1] == column
    assert sorted(options.shown_columns(view, "flows")) == sorted(shown)


@pytest.mark.parametrize(
    ("room", "count"), [(1, 1), (2, 2), (3, 3), (5, 5), (6, 6), (0, 1), (99, 6)]
)
def test_a_question_is_cut_where_its_line_ends(room: int, count: int) -> None:
    assert asking._fitting("abcdef", room) == count


def test_what_another_host_or_a_file_keeps_is_not_exported() -> None:
    scene = storied()
    entry = replace(scene.journal[0], state="applied", host="", setting="link.mtu@eth0")
    rows = (
        entry,
        replace(entry, id="2", setting="kept.sysctl@net.core.rmem_max"),
        replace(entry, id="3", state="undone"),
        replace(entry, id="4", host="far"),
        replace(entry, id="5", state="undone", setting="kept.sysctl@net.core.rmem_max"),
    )
    assert journal.exports(replace(scene, journal=rows)) == [entry]


@pytest.mark.parametrize(("power", "shown"), [(-2.5, "-2.5 dBm received"), (None, "")])
def test_the_light_that_a_module_receives_is_shown(power: float | None, shown: str) -> None:
    scene = lossy()
    facts = facts_of(scene)
    nics = tuple(replace(nic, module_power=power) for nic in facts.nics)
    text = words(panes.pane("nic").lines(replace(scene, facts=replace(facts, nics=nics)),
                                         View(pane="nic", nic="eth0"), 160, 50))  # fmt: skip
    assert ("dBm received" in text) == bool(shown)
    assert shown in text


def test_of_many_flows_the_past_keeps_those_with_a_known_rate() -> None:
    facts = facts_of(lossy())
    one = replace(facts.flows[0], rx_per_s=None, tx_per_s=None)
    slow = replace(one, id="slow", rx_per_s=0.1, tx_per_s=0.1)
    crowd = tuple(replace(one, id=f"unknown {number}") for number in range(200))
    kept = moment(replace(facts, flows=(*crowd, slow)), 0.0)
    assert "slow" in kept.flows
    assert len(kept.flows) < 200


@pytest.mark.parametrize("name", ["flows", "cores"])
def test_a_chosen_interface_that_is_gone_hides_no_rows(name: str) -> None:
    scene = lossy()
    every = panes.pane(name).items(scene, View(pane=name))
    some = panes.pane(name).items(scene, View(pane=name, nic="eth1"))
    assert len(some) < len(every)
    gone = View(pane=name, nic="eth9")
    assert panes.pane(name).items(scene, gone) == every
    assert "eth9" not in words(panes.pane(name).lines(scene, gone, 120, 30))
