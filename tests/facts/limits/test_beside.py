"""A thread that waits for a core for the longer part, and for something else in the rest."""

from typing import Any

from asleep import asleep
from flow_tables import Tables, task
from folded import folded
from limit_frames import AWAY, every, flow, limits, moment

from nettop.collect import threads, waits
from nettop.facts.kinds.thread import Thread
from nettop.facts.limits.means import over

ROOM = {**AWAY, "wmem_queued": 0}


def row(state: str, call: str = "", kind: str = "", pid: int = 7, **more: Any) -> waits.Row:
    name = "iperf3" if pid == 7 else f"p{pid}"
    return asleep(pid=pid, started=5, name=name, state=state, call=call, kind=kind,
                     **{"tid": pid, **more})  # fmt: skip


READ = row("D", "sendfile", "input", object="/data/big", filesystem="ext4")
LOOP = row("R", "poll", "events", feeds=(8,))
BUSY = row("R", pid=8)


@folded(("rows", "waited", "told"), [
    ([READ], 0.6, "waits 35% of the time in sendfile() of /data/big (ext4)"),
    ([READ], 0.9, ""),
    ([LOOP, BUSY], 0.6, "waits 35% of the time; behind its pipe p8[8] ran 100% of the time"),
    ([LOOP], 0.6, ""),
])  # fmt: skip
def test_what_a_thread_waits_for_beside_its_core(
    rows: list[waits.Row], waited: float, told: str
) -> None:
    def at(s: float) -> Tables:
        tables = moment(s, rates={"busy_time": 50_000}, gauges=ROOM, ran=0.05, more={"waits": rows})
        own = threads.Row(7, 7, 5, "iperf3", "S", 0.05 * s, waited * s)
        behind = threads.Row(8, 8, 5, "p8", "R", s, 0.0)
        return {**tables, "threads": [own, behind]}

    found = flow(limits(at)).stage
    assert (found.stage, found.name) == ("thread", "iperf3[7]")
    assert told in found.because
    assert bool(told) is ("; waits" in found.because)


@folded(("own", "idle", "told"), [
    ({"allowed": (1,)}, 0.0, "core 1 only; there run also b[9] (52% of core 1), c[10] (17%)"),
    ({"allowed": (0, 1)}, 0.5, "it may run on cores 0-1 only"),  # they have time
    ({"allowed": (0, 1, 2, 3)}, 0.0, "beside it run b[9] (15% of 4 cores), c[10] (5"),
    ({"allowed": (0, 1, 2, 3)}, 0.5, ""),
    ({}, 0.0, "d[11] (3.0%) and 1 more"),
])  # fmt: skip
def test_the_programs_on_the_cores_for_which_a_thread_waits_are_named(
    own: dict[str, Any], idle: float, told: str
) -> None:
    def at(s: float) -> Tables:
        known = [task(7, "iperf3", 1, 0.3 * s, waited=0.6 * s, **own)]
        others = ((8, "a", 1, 0.05), (9, "b", 1, 0.6), (10, "c", 1, 0.2), (11, "d", 0, 0.12),
                  (12, "e", 0, 0.11))  # fmt: skip
        known += [task(pid, name, core, spent * s) for pid, name, core, spent in others]
        return moment(s, rates={"busy_time": 50_000}, gauges=ROOM, ran=0.3, waited=0.6,
                      idle=(idle,) * 4, more={"processes": known})  # fmt: skip

    why = flow(limits(at)).stage.because
    assert told in why
    assert bool(told) is ("cores)" in why or "only" in why)


def test_the_verdict_the_finding_and_the_core_name_the_same_programs_with_the_same_shares() -> None:
    """Of the whole window: in its last second, another program took most of the core."""

    def at(s: float) -> Tables:
        last = max(0.0, s - 5)
        known = [task(7, "iperf3", 1, 0.25 * s, waited=0.6 * s, allowed=(1,)),
                 task(9, "b", 1, 0.6 * s - 0.5 * last), task(10, "c", 1, 0.1 * s + 0.5 * last),
                 task(11, "d", 0 if s > 5 else 1, 0.02 * s)]  # fmt: skip
        return moment(s, rates={"busy_time": 50_000}, gauges=ROOM, ran=0.3, waited=0.6,
                      idle=(0.0,) * 4, more={"processes": known})  # fmt: skip

    facts = every(at)[-1]
    told = "it may run on core 1 only; there run also b[9] (52% of core 1), c[10] (18%)"
    assert flow(facts.limits).stage.because.endswith(told)
    (found,) = facts.more["thread"]
    assert isinstance(found, Thread)
    assert found.crowd == told
    for cores in (facts.cores, over(facts).cores):
        assert cores[1].processes == ("b[9]", "iperf3[7]", "c[10]")  # d is there no more


@folded(("word", "ran", "asleep", "told"), [
    (640, 0.4, False, True),
    (9000, 0.4, False, False),  # each waits for something else
    (640, 0.001, False, False),  # a parked thread of a pool
    (640, 0.4, True, False),  # now and then none of them has work
    (640, 0.8, False, False),  # together they use more than one core
])  # fmt: skip
def test_threads_that_wait_at_one_futex_and_run_in_turns_have_one_lock(
    word: int, ran: float, asleep: bool, told: bool
) -> None:
    """As those of an interpreter: the names of those that run meanwhile are told."""

    def at(s: float) -> Tables:
        turn = int(s) % 3
        rows = [row("S", "futex", "lock", tid=7, word=648)]
        for n, tid in enumerate((70, 71)):
            waits_now = turn == n or (asleep and turn == 2)
            rows.append(row("S", "futex", "lock", tid=tid, word=word) if waits_now
                        else row("R", tid=tid))  # fmt: skip
        known = [
            threads.Row(7, 7, 5, "iperf3", "S", 0.05 * s, 0.1 * s),
            *(threads.Row(7, tid, 5, f"parse{tid}", "S", ran * s, 0.0) for tid in (70, 71)),
        ]
        tables = moment(s, rates={"busy_time": 50_000}, gauges=ROOM, more={"waits": rows})
        return {**tables, "threads": known}

    found = flow(limits(at)).stage
    assert ((found.stage, found.how) == ("lock", "locked")) is told
    if told:
        assert found.because == (
            "iperf3[7] waits 85% of the time for a lock of its process (futex), for which "
            "parse70[70] (ran 40%) and parse71[71] (ran 40%) wait as well: one thread runs at a "
            "time, as with the lock of an interpreter"
        )
