"""One flow in full: its stages as a checklist, its threads, graphs that fill the page."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pane_text import words
from scenes import storied
from scenes.limits import LOSSY

from nettop.facts.flow_words import name
from nettop.facts.kinds.flow import Flow
from nettop.facts.limits import Limit, Reading
from nettop.panes import flowpage, flows
from nettop.terms.text import text_of
from nettop.terms.units import Units
from nettop.views.past import History, Trace
from nettop.views.scene import Scene
from nettop.views.timeline import traces
from nettop.views.view import View

FULL = Reading("sndbuf", "here", "send buffer", "measured", "64 KiB buffer full", 1.0, (1e7, 2e7))
CALM = Reading("wire", "here", "link", "computed", "carries 2 %", 0.02, (9e8, 9.4e8))
TOLD = Reading("tx-ring", "here", "transmit ring", "reported", "0 packets/s dropped")


def limited() -> Scene:
    scene = storied()
    assert scene.facts is not None
    flow = scene.facts.flows[0]
    limit = Limit("flow", name(flow), "tx", 1.7e7, stage=FULL, ladder=(FULL, CALM, TOLD))
    return replace(scene, facts=replace(scene.facts, limits=(limit,)))


def opened(scene: Scene, width: int, height: int) -> list[str]:
    assert scene.facts is not None
    return words(flowpage.lines(scene.facts.flows[0], scene, width, height)).splitlines()


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_stages_are_a_checklist_in_the_order_of_the_data(width: int) -> None:
    rows = [row.split() for row in opened(limited(), width, 40)]
    marks = [tuple(row[:2]) for row in rows if row[1:2] and row[1] in ("send", "link", "transmit")]
    assert marks == [("!", "send"), ("·", "transmit"), ("✓", "link")]


def test_threads_with_their_cores_and_the_cgroup_are_shown() -> None:
    scene = storied()
    assert scene.facts is not None
    pid = scene.facts.flows[0].pid

    def thread(tid: int, cpu: int, ran: float, waited: float) -> Any:
        row = SimpleNamespace(
            pid=pid, tid=tid, name=f"w{tid}", cpu=cpu, threads=2, cgroup="/system.slice/x.service"
        )
        return SimpleNamespace(now=row, rate={"ran": ran, "waited": waited}.get)

    frame = SimpleNamespace(tables={"threads": (thread(1, 2, 0.1, 0.0), thread(2, 5, 0.9, 0.2))})
    text = "\n".join(opened(replace(scene, frame=frame), 120, 36))  # type: ignore[arg-type]
    assert "2 threads   w2 core 5 90% waits 20%   w1 core 2 10%" in text
    assert "program on core 5" in text  # the same core in both lines: the busiest thread's
    assert "cgroup /system.slice/x.service" in text


def test_flows_are_grouped_by_process_and_opened_as_a_filter() -> None:
    scene = storied()
    view = flows.fold(View(pane="flows"))
    rows = flows.items(scene, view)
    assert rows[0] == "process.3391"
    text = words(flows.lines(scene, view, 120, 20))
    assert "FLOWS BY PROCESS" in text
    after, _ = flows.enter(view, scene, rows[0])
    assert (after.spot.filter, after.spot.mode) == ("pid:3391", 0)
    assert [f.pid for f in flows.rows_of(scene, after)] == [3391]


def test_a_filter_names_columns() -> None:
    scene = storied()
    view = View(pane="flows")

    def shown(text: str) -> list[str | None]:
        return [f.process for f in flows.rows_of(scene, view.at(filter=text))]

    assert shown("limit:core") == ["iperf3"]
    assert shown("LIMIT:application peer:198.51") == ["sshd"]
    assert shown("limit:core peer:198.51") == []
    assert shown("local:4789") == ["voip"]
    assert shown("limit: 40112") == ["iperf3"]  # a value that is not typed yet, and other text
    assert shown("fe80::1") == []
    text = words(flows.lines(scene, view.at(filter="limt:core"), 100, 20))
    assert "no flow matches: no column 'limt' (did you mean limit?)" in text


def test_a_step_without_a_sample_has_the_rate_of_the_next_one() -> None:
    def moment(at: float, rate: float) -> Any:
        return SimpleNamespace(at=at, flows={"f": Trace(rate, None, None, None)})

    past = History(fine=(moment(10.0, 1.0), moment(13.0, 4.0), moment(15.9, 7.0)))
    rates = [one and one.rate for one in traces(past, "f", 6, 1.0)]
    assert rates == [1.0, 4.0, 4.0, 4.0, 7.0, 7.0]


def test_the_graphs_of_a_young_run_are_wide_and_name_their_time() -> None:
    scene = storied()
    assert scene.facts is not None
    flow = scene.facts.flows[0]

    def dots(count: int) -> int:
        past = History(scene.past.fine[-count:])
        rows = flowpage.graphs(flow, past, (200, 40))
        assert " last " in text_of(rows[0])
        return max(sum(1 for char in text_of(row)[:100] if char > "⠀") for row in rows[1:])

    assert dots(12) > 60  # each sample has several cells
    assert dots(3) < dots(60)


def test_a_checklist_without_capacities_leaves_their_room_to_the_reasons() -> None:
    scene = limited()
    assert scene.facts is not None
    why = "1.08 KiB arrive in a round trip of 3.87 ms"
    told = replace(TOLD, because=why)
    limit = replace(scene.facts.limits[0], stage=told, ladder=(told,))
    scene = replace(scene, facts=replace(scene.facts, limits=(limit,)))
    assert any(why in row for row in opened(scene, 80, 24))


def test_the_reason_for_an_unknown_interrupt_core_is_whole() -> None:
    scene = storied()
    assert scene.facts is not None
    why = "the driver does not report how it distributes packets"
    flow = replace(scene.facts.flows[0], irq_cpu=None, queue_why=why)
    rows = words(flowpage.lines(flow, scene, 80, 24)).splitlines()
    assert f"interrupt core not known: {why}" in " ".join(row.strip() for row in rows)


def test_below_a_flow_that_has_ended_is_the_list() -> None:
    scene = storied()
    assert scene.facts is not None
    rows = words(flows.lines(scene, View(pane="flows").at(open="gone"), 80, 24)).splitlines()
    assert "this flow has ended" in rows[0] + rows[1]
    assert any(f"[{scene.facts.flows[0].pid}]" in row for row in rows)


# Flows of other network namespaces in the pane of flows: named, and never of an interface here.


POD = Flow("tcp:10.0.0.1:80-10.0.0.2:99@web", "tcp", "10.0.0.1", 80, "10.0.0.2", 99, 5, 8, "nginx",
           tx_per_s=1e6, limit="thread", namespace="web")  # fmt: skip
HERE = replace(POD, id="tcp:10.0.0.1:80-10.0.0.2:99", namespace=None, nic="eth0", inode=6)


def facts(*some: Flow) -> Any:
    return SimpleNamespace(flows=some, host=SimpleNamespace(tcp_flows=1), limits=())


def test_those_of_other_namespaces_are_counted_beside_those_of_this_one() -> None:
    assert flows.counted(2, facts(HERE, POD)) == "2 of 2"
    assert flows.counted(1, facts(POD)) == "the busiest 1 of 2"


def test_a_filter_may_name_the_namespace() -> None:
    assert [flows.FILTERS["namespace"](one) for one in (HERE, POD)] == [None, "web"]


def test_what_a_stage_is_is_wrapped_where_the_page_is_wide() -> None:
    (of_flow, *_) = LOSSY
    last = of_flow.ladder[-1]
    why = "the program sleeps by itself in 34% of the samples, and waits for a lock in the others"
    limit = replace(of_flow, ladder=(replace(last, stage="sndbuf", because=why),))
    rows = [text_of(row) for row in flowpage.checklist(limit, 66, Units(), whole=True)]
    told = " ".join(" ".join(rows).split())
    assert "see above" in told
    column = next(row.index("the program") for row in rows if "the program" in row)
    assert " ".join(row[column:].strip() for row in rows).count(why) == 1
    short = [text_of(row) for row in flowpage.checklist(limit, 66, Units())]
    assert len(short) == 2 < len(rows)
