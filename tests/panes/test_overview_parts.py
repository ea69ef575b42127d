"""The parts of Overview: findings with their figures, small graphs of flows, users of cores."""

from dataclasses import replace
from itertools import pairwise

import pytest
from pane_text import words
from scenes import RING, big, healthy, lossy, storied

from nettop.advice.rules.rule import Silent
from nettop.facts.kinds.nic import Counters
from nettop.panes import (
    corerow,
    cores,
    headline,
    interfaces,
    listed,
    loads,
    niccounters,
    overview,
    overviewrows,
    page,
    tests,
)
from nettop.terms.text import text_of
from nettop.views.past import History
from nettop.views.scene import Ended, JournalEntry, RunningTest, SceneOrigin
from nettop.views.view import View

RECORDING = SceneOrigin("recording", "web1")


def test_without_a_finding_the_rules_that_were_judged_and_those_that_were_not_are_counted() -> None:
    silent = (
        Silent("link-full", "eth0", "needs receive load > 95%; now 3%"),
        Silent("ring-small", "eth0", "not evaluated: receive ring size unknown (not reported)"),
        Silent("ring-small", "eth1", "needs receive ring size < 512; now 4,096"),
        Silent("no-data", "flow", "not evaluated: no data"),
        Silent("elsewhere", "eth0", "not evaluated: no data", applies=False),
    )
    scene = replace(lossy(), findings=(), ended=(), muted=(), mutes=(), silent=silent, journal=(),
                    frame=None)  # fmt: skip
    rows = listed.finding_lines(scene, View(), 100, 2, framed=False)
    said = "no finding about the receive ring; 2 checks passed, 1 not possible here (5: why)"
    assert said in text_of(rows[1])


def test_the_header_says_that_nettop_is_not_root() -> None:
    for ordinary in (False, True):
        row = text_of(headline.header(replace(lossy(), ordinary=ordinary), View(), 120))
        assert ("· not root" in row) is ordinary


def test_a_recording_offers_the_copy_of_a_command_and_no_change() -> None:
    scene = lossy()
    one = listed.standing(scene)[0]
    acts = "a apply: the link may drop for seconds  p prove "
    assert listed.keys_of(scene, one) == acts
    assert listed.keys_of(replace(scene, origin=RECORDING), one) == "y copy "
    away = replace(scene, origin=SceneOrigin("host", "ssh web1"))
    assert listed.keys_of(away, one) == acts


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize(("risk", "harm"), [("link", "link may drop"), ("queues", "a few packets")])
def test_what_a_change_may_do_stands_beside_its_key(
    size: tuple[int, int], risk: str, harm: str
) -> None:
    scene = lossy()
    steps = tuple(replace(one, risk=risk) for one in scene.steps(RING.id))
    scene = replace(scene, plans={**scene.plans, RING.id: steps})
    *rows, _ = map(text_of, page.compose(scene, View(size=size).at(on=RING.id), *size))
    acts = [at for at, row in enumerate(rows) if "a apply" in row or "a: " in row]
    assert acts
    for at in acts:  # above the commands it stands with each command
        below = 5 if "WHAT TO DO" in rows[at] else 1
        assert harm in " ".join(rows[at : at + below]), rows[at]


def test_a_change_without_a_risk_has_no_words_of_it() -> None:
    scene = lossy()
    steps = tuple(replace(one, risk="none") for one in scene.steps(RING.id))
    one = listed.standing(scene)[0]
    calm = replace(scene, plans={RING.id: steps})
    assert listed.keys_of(calm, one) == "a apply  p prove "
    assert listed.keys_of(calm, one, 60) == "a p "


def test_a_core_names_first_who_takes_its_time_and_an_interface_once() -> None:
    facts = big().facts
    assert facts is not None
    queues = ("eth0/rx-0", "eth0/tx-0", "eth1/rx-3")
    core = replace(facts.cores[0], idle=10.0, irq=0.0, steal=0.0, queues=queues,
                   processes=("iperf3[7]",))  # fmt: skip
    busy = replace(core, user=80.0, system=0.0, softirq=10.0)
    soft = replace(core, user=10.0, system=0.0, softirq=80.0)
    assert text_of(corerow.users_of(busy)) == "iperf3[7] eth0/rx-0 tx-0 eth1/rx-3"
    assert text_of(corerow.users_of(soft)) == "eth0/rx-0 tx-0 eth1/rx-3 iperf3[7]"


def test_interfaces_that_are_not_shown_are_counted_by_their_bridge() -> None:
    scene = lossy()
    assert scene.facts is not None
    one = scene.facts.nics[1]
    idle = replace(one, name="veth", master="br0", per_s=Counters(rx_bytes=0.0, tx_bytes=0.0))
    ports = tuple(replace(idle, name=f"veth{number}") for number in range(20))
    busy = [replace(one, name=name, per_s=Counters(rx_bytes=1e6)) for name in ("eth2", "eth3")]
    scene = replace(scene, facts=replace(scene.facts, nics=(*scene.facts.nics, *busy, *ports)))
    told = words(interfaces.lines(scene, View(), 90, 6))
    assert "21 more, 20 in br0: 9.84 kb/s together" in told


def test_the_chosen_interface_takes_the_last_row() -> None:
    scene = lossy()
    assert scene.facts is not None
    busy = [replace(scene.facts.nics[1], name=f"p{rate}", per_s=Counters(rx_bytes=rate * 1e6))
            for rate in (9, 8, 7, 6)]  # fmt: skip
    scene = replace(scene, facts=replace(scene.facts, nics=tuple(busy)))
    told = words(interfaces.lines(scene, View().at(on="nic:p6"), 90, 4))
    assert [one.name for one in busy if one.name in told] == ["p9", "p6"]


@pytest.mark.parametrize("carrying", range(4))
def test_interfaces_are_listed_where_three_carry_data(carrying: int) -> None:
    scene = lossy()
    assert scene.facts is not None
    one = replace(scene.facts.nics[1], per_s=Counters(rx_bytes=5.0, tx_bytes=5.0))
    nics = [replace(one, name=f"eth{number}") for number in range(5)]
    nics[:carrying] = [replace(nic, per_s=Counters(rx_bytes=1e6)) for nic in nics[:carrying]]
    scene = replace(scene, facts=replace(scene.facts, nics=tuple(nics)))
    told = words(overview.lines(scene, View(), 120, 38))
    assert ("INTERFACES" in told) == (carrying == 3)
    assert bool(interfaces.needs(scene, View())) == (carrying == 3)


def test_the_interface_begins_with_what_it_loses() -> None:
    scene = lossy()
    assert scene.facts is not None
    one = replace(scene.facts.nics[1], per_s=Counters(rx_dropped=3.0, ring_drops=1200.0))
    assert [text_of(row).strip() for row in niccounters.losses(one, 78)] == [
        "✗ ring_drops 1,200/s · rx_dropped 3.0/s"
    ]
    assert niccounters.losses(replace(one, per_s=Counters(rx_dropped=0.0)), 78) == []


def test_a_filter_for_settings_leaves_the_counters() -> None:
    def shown(text: str) -> str:
        return words(niccounters.counters(lossy(), View(pane="nic").at(filter=text), 60))

    assert shown("no such") == shown("")
    assert "ring_drops" in shown("drops")
    assert "rx_bytes" not in shown("drops")


def test_before_there_is_a_result_a_test_proposes_what_it_can_prove() -> None:
    scene = replace(lossy(), results=(), progress=None)
    assert "ring.rx@eth0: 256 → 512" in words(tests.side(scene, View(pane="tests"), "", 60, 20))
    assert len(tests.side(scene, View(pane="tests"), "", 60, 2)) == 2
    none = replace(scene, findings=(), ended=())
    assert "no finding has a change" in words(tests.side(none, View(pane="tests"), "", 60, 20))


def test_the_load_of_few_cores_has_several_rows_each_and_moves_every_second_sample() -> None:
    scene = storied()
    few = [replace(one, cpus=(0, 1), busy=bytes([90, 10]), kinds=(bytes(2),) * 5)
           for one in scene.past.fine]  # fmt: skip
    few[41:43] = [replace(one, busy=bytes([10, 90])) for one in few[41:43]]
    drawn = [loads.load(replace(scene, facts=None, past=History(tuple(few[:count]))), 60, 9)
             for count in range(40, 44)]  # fmt: skip
    assert len(drawn[0]) == 9
    assert text_of(drawn[0][1]).split()[:2] == ["core", "0"]
    assert "%" not in text_of(drawn[0][2])  # its load now has a row of its own
    rows = [[text_of(row) for row in one[1:]] for one in drawn]
    last = [one[0][-1] for one in rows]  # the top of core 0 now: as its load in figures
    assert last == [last[0], last[0], " ", " "] != [" "] * 4
    before = [[row[:-1] for row in one] for one in rows]
    assert sum(a == b for a, b in pairwise(before)) == 1  # only the last column was drawn again


def test_the_last_column_of_the_load_is_that_of_the_figures_between_two_moments() -> None:
    scene = storied()
    assert scene.facts is not None
    cores = tuple(replace(one, idle=100.0, softirq=0.0) for one in scene.facts.cores)
    for later, blank in ((0.0, False), (0.5, True)):
        facts = replace(scene.facts, at=scene.past.fine[-1].at + later, cores=cores)
        _, row, *_ = loads.load(replace(scene, facts=facts), 60, 5)
        assert (row[-1][1] == "idle") is blank


def test_queues_of_containers_at_rest_are_behind_those_that_move() -> None:
    scene = lossy()
    assert scene.facts is not None
    one = scene.facts.queues[0]
    rest = tuple(replace(one, nic=f"c{n}", irq=None, irq_per_s=None) for n in range(300))
    scene = replace(scene, facts=replace(scene.facts, queues=(*rest, *scene.facts.queues)))
    folded = [name for name, _ in cores.rows_of(scene, View(pane="cores"))]
    assert not any(name.startswith("c") for name in folded)
    shown = words(cores.lines(scene, View(pane="cores"), 120, 30))
    assert "300 queues at rest not shown (z)" in shown
    names = [name for name, _ in cores.rows_of(scene, View(pane="cores", fold_idle=False))]
    assert names[-300:] == [f"c{n}/rx-0" for n in range(300)]


def test_flows_without_a_known_rate_have_no_sum() -> None:
    scene = lossy()
    facts = scene.facts
    assert facts is not None
    unknown = tuple(
        replace(flow, rx_per_s=None, tx_per_s=None, drops_per_s=29_361.4) for flow in facts.flows
    )
    blind = replace(scene, facts=replace(facts, flows=unknown))
    for name in ("overview", "flows"):
        assert "b/s payload" in words(page.compose(scene, View(pane=name), 120, 40))
        text = words(page.compose(blind, View(pane=name), 120, 40))
        assert "rates unknown" in text
        assert "b/s payload" not in text
    assert " 29.4k " in words(page.compose(blind, View(), 120, 40))  # no part of a number


def test_what_is_over_is_counted_and_takes_no_row_from_what_holds() -> None:
    scene = lossy()
    (first, *others) = scene.findings
    ended = tuple(Ended(one, (), scene.wall) for one in others)
    scene = replace(scene, findings=(first,), ended=ended, journal=())
    rows = [text_of(row) for row in listed.finding_lines(scene, View(), 100, 1, framed=True)]
    assert first.title[:40] in rows[1]
    assert f"{len(ended)} ended" in rows[0]
    assert all(one.id not in overviewrows.items(scene, View()) for one in others)
    calm = replace(scene, findings=())
    assert f"; {len(ended)} ended" in words(
        listed.finding_lines(calm, View(), 100, 2, framed=False)
    )


def test_a_finding_that_is_over_is_told_in_the_past() -> None:
    scene = lossy()
    ended = replace(scene, findings=(), ended=(Ended(RING, (), scene.wall),), journal=())
    made = JournalEntry("1", scene.wall, "ring.rx@eth0", "256", "512", "applied", RING.id)
    done = replace(ended, journal=(made,))
    view = View(pane="advisor", fold_idle=False).at(on=RING.id)
    for one, over in ((scene, False), (ended, True), (done, True)):
        told = [text_of(row) for row in page.compose(one, view, 120, 60)]
        assert any(f"was: {RING.title[:12]}" in row for row in told) is over
        assert any("WAS SEEN HERE" in row for row in told) is over
        assert any("WHAT TO DO" in row for row in told) is not over
    assert "was: " in "\n".join(map(text_of, page.compose(done, View(), 120, 40)))


def test_while_the_first_test_runs_the_results_say_so() -> None:
    now = RunningTest("prove ring.rx@eth0", 3.0, 60.0)
    scene = replace(lossy(), results=(), progress=now)
    shown = "\n".join(map(text_of, page.compose(scene, View(pane="tests"), 120, 40)))
    assert "none yet: prove ring.rx@eth0 is being measured" in shown


def test_an_idle_host_says_at_80_columns_what_is_watched_and_what_to_try() -> None:
    scene = replace(storied(), findings=(), ended=(), journal=(), pending=(), notes=(),
                    progress=None)  # fmt: skip
    assert scene.facts is not None
    calm = replace(scene, facts=replace(scene.facts, limits=(), flows=()))
    told = words(page.compose(calm, View(), 80, 24))
    assert "watched: 2 interfaces, 8 cores" in told
    assert "`nettop --demo` shows a busy host" in " ".join(told.split())


@pytest.mark.parametrize("size", [(80, 24), (100, 40), (120, 40), (200, 60)])
def test_a_host_at_rest_says_at_every_size_what_to_try(size: tuple[int, int]) -> None:
    scene = replace(healthy(), findings=(), ended=(), journal=(), pending=(), notes=())
    assert scene.facts is not None
    scene = replace(scene, facts=replace(scene.facts, limits=(), flows=()))
    rows = " ".join(words(page.compose(scene, View(), *size)).split())
    assert "watched: 1 interface" in rows
    assert "6 Tests measures this host" in rows
