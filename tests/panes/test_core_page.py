"""The page of a core: everything that happens on it, with what was sampled; the ways to it."""

from dataclasses import replace
from functools import cache

import pytest
from pane_text import words
from recorded_hosts import HERE, last
from scenes import big, lossy, several, storied

from nettop import panes
from nettop.collect import profiles
from nettop.frame.rates import Entry
from nettop.panes import corelist, page
from nettop.terms.text import line, text_of
from nettop.tui import keys, mouse
from nettop.views.ask import Ask, Pointer
from nettop.views.scene import Scene, SceneOrigin
from nettop.views.view import View


@cache
def host() -> Scene:
    """A recorded host with interrupts of disks and NICs, and a process that receives."""
    seen = last(HERE / "hosts/vm-vmxnet3-drops.host")
    origin = SceneOrigin("recording", "host")
    return Scene(facts=seen.facts, frame=seen.frame, origin=origin)


def told(scene: Scene, cpu: int, width: int = 120, height: int = 60) -> str:
    view = View(pane="cores").at(open=f"core:{cpu}")
    return " ".join(words(page.compose(scene, view, width, height)).replace("│", "").split())


def sampled(*rows: profiles.Row) -> Scene:
    """The recorded host with samples of its cores."""
    scene = host()
    assert scene.frame is not None
    tables = {**scene.frame.tables, "profiles": tuple(map(Entry, rows))}
    return replace(scene, frame=replace(scene.frame, tables=tables))


def test_every_source_of_interrupts_has_its_rate() -> None:
    scene = host()
    assert scene.frame is not None
    for cpu in (0, 1, 7):
        text = told(scene, cpu)
        for entry in scene.frame.tables["interrupts"]:
            rate = entry.per_s.by_cpu.get(cpu, 0.0) if entry.per_s is not None else 0.0
            assert (f"{entry.now.name} {entry.now.irq} " in text) == (rate >= 0.5), entry.now.name
        assert "softirq SCHED" in text


def test_its_queues_and_processes_are_those_of_the_facts() -> None:
    scene = host()
    assert scene.facts is not None
    for core in scene.facts.cores:
        text = told(scene, core.cpu)
        assert all(f"{one.nic}/{one.name}" in text
                   for one in scene.facts.queues if one.cpu == core.cpu)  # fmt: skip
        assert all(f"{one.name}[{one.pid}]" in text
                   for one in scene.facts.processes if one.cpu == core.cpu)  # fmt: skip
        assert all(name in text for name in core.processes)


def test_what_it_does_is_shown_by_class_function_and_thread() -> None:
    rows = (
        profiles.Row(3, 9, "netfilter", "nft_do_chain", 9, "iperf3", 60),
        profiles.Row(3, 9, "copy", "_copy_to_iter", 9, "iperf3", 30),
        profiles.Row(3, 0, "driver", "vmxnet3_poll", 0, "swapper", 10),
        profiles.Row(3, 0, "idle", "default_idle", 0, "swapper", 100),
        profiles.Row(2, 8, "copy", "elsewhere", 8, "other", 500),
    )
    text = told(sampled(*rows), 3)
    for part in ("100 samples", "netfilter", "60 %", "nft_do_chain netfilter", "30 %",
                 "by iperf3[9] 90 %, interrupts 10 %"):  # fmt: skip
        assert part in text
    assert "elsewhere" not in text
    few = told(sampled(replace(rows[0], samples=19)), 3)
    assert "too little while the cores were sampled" in few


def test_without_samples_it_says_why() -> None:
    scene = host()
    assert "This recording has no samples" in told(scene, 0)
    assert scene.facts is not None
    refused = replace(scene.facts, missing={"profiles": "it needs root"})
    assert "cannot be sampled: it needs root" in told(replace(scene, facts=refused), 0)
    assert "are being sampled" in told(replace(scene, origin=None), 0)


def test_a_core_that_went_offline_says_so() -> None:
    assert "core 99 is offline" in told(host(), 99)


def test_enter_opens_a_core_and_that_of_a_queue_n_the_next_and_esc_leads_back() -> None:
    scene = lossy()
    view = View(pane="cores").at(on="core:5")
    opened, ask = keys.press("enter", None, view, scene)
    assert (opened.spot.open, ask) == ("core:5", None)
    following, _ = keys.press("n", "n", opened, scene)
    assert following.spot.open == "core:6"
    _, ask = keys.press("y", "y", following, scene)
    assert ask == Ask("copy", "core:6", "nettop profile 6")
    assert keys.press("escape", None, following, scene)[0].spot.open == ""
    queue, _ = keys.press("enter", None, View(pane="cores").at(on="eth0/rx-0"), scene)
    assert queue.spot.open == "core:6"


def test_the_overview_leads_to_cores_interfaces_and_flows_and_back() -> None:
    scene = several()
    assert scene.facts is not None
    flow = scene.facts.flows[0].id
    here = View(size=(120, 40))
    for row, pane, opened, nic in (
        ("core:6", "cores", "core:6", ""), ("nic:eth1", "nic", "", "eth1"),
        (f"flow:{flow}", "flows", flow, ""),
    ):  # fmt: skip
        view, _ = keys.press("enter", None, here.at(on=row), scene)
        assert (view.pane, view.spot.open, view.nic) == (pane, opened, nic)
        back, _ = keys.press("escape", None, view, scene)
        assert (back.pane, back.spot.on) == ("overview", row)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_tab_leads_to_each_part_then_to_the_next_pane(size: tuple[int, int]) -> None:
    scene = several()
    view = page.painted(scene, View(), *size)
    seen = []
    while view.pane == "overview":
        seen.append(view.spot.on.partition(":")[0])
        rows = page.compose(scene, view, *size)
        assert any(role.startswith("select") for row in rows[1:-1] for _, role in row), seen
        view, _ = keys.press("tab", None, view, scene)
    nics = ["nic"] * (size != (80, 24))  # where there is room for the table
    assert seen[1:] == [*nics, "core", "flow"]
    assert view.pane == "cores"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_a_click_opens_the_core_the_interface_or_the_flow_under_it(size: tuple[int, int]) -> None:
    scene = several()
    view = page.painted(scene, View(), *size)
    rows = page.compose(scene, view, *size)
    found = set()
    for y in range(size[1] - 1):
        for x in range(0, size[0], 3):
            after, _ = mouse.clicked((x, y), rows, view, scene)
            if after.pane in ("cores", "flows") and after.spot.open:
                found.add(after.spot.open)
            elif after.pane == "nic" and after.nic == "eth1":
                found.add(after.nic)
    assert "core:6" in found
    assert any(one.startswith("tcp") for one in found)
    assert ("eth1" in found) == (size != (80, 24))


def test_a_click_on_any_row_of_the_cores_opens_the_core_of_that_row() -> None:
    scene, view = big(), View(pane="cores")
    view = page.painted(scene, view, 120, 40)
    rows = page.compose(scene, view, 120, 40)
    head = next(y for y, row in enumerate(rows) if " NIC IRQ/s " in text_of(row))
    for y in range(head + 1, 38):
        number = text_of(rows[y]).strip("│ ").split()[0]
        after, _ = mouse.clicked((60, y), rows, view, scene)
        assert after.spot.open == f"core:{number}"
    queue, _ = mouse.clicked((10, 5), rows, view, scene)
    assert queue.spot.open.startswith("core:")


def test_a_number_in_the_filter_is_that_of_a_core_and_a_word_of_a_process() -> None:
    scene = storied()
    pane = panes.pane("cores")

    def cores(text: str) -> list[str]:
        rows = pane.items(scene, View(pane="cores").at(filter=text))
        return [row for row in rows if row.startswith("core:")]

    assert cores("6") == ["core:6"]
    assert cores("iperf3") == ["core:2"]
    assert cores("node 1") == ["core:4", "core:5", "core:6", "core:7"]
    assert cores("nothing") == []
    assert len(cores("")) == 8


def test_beside_the_rows_of_cores_no_core_is_under_the_mouse() -> None:
    row = line((" 6 ", "head"), "rest")
    assert corelist.at(Pointer(1, 0, 80, 24, row, "CORES")) == 6
    assert corelist.at(Pointer(1, 0, 80, 24, row, "FINDINGS 3")) is None
    assert corelist.at(Pointer(1, 0, 80, 24, line((" 6 ", "")), "CORES")) is None
