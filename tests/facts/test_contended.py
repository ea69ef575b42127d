"""Why a program waits for a CPU: its class, its nice value, and what runs there meanwhile."""

from types import SimpleNamespace
from typing import Any

import pytest

from nettop.collect import program_states, threads, throttling
from nettop.facts.kinds import thread
from nettop.facts.kinds.program import build as program_build
from nettop.facts.means import Means
from nettop.frame.rates import Entry, Frame


@pytest.mark.parametrize(("lowly", "told", "cure"), [
    ("SCHED_IDLE", "it has SCHED_IDLE, so others go first; ", "`chrt -a -o -p 0 9` lets it run"),
    ("nice 19", "it has nice 19, so others go first; ", "`renice -n 0 9` lets it run"),
    ("", "", "Give it one"),
])  # fmt: skip
def test_who_waits_for_a_cpu_is_told_its_class_and_what_runs_there(
    lowly: str, told: str, cure: str
) -> None:
    times: dict[str, Any] = {"pid": 9, "tid": 9, "started": 1, "name": "app", "state": "R"}
    now = threads.Row(**times, ran=0.01, waited=1.45, cpu=1, lowly=lowly)
    frame = Frame(0.0, 0.0, {
        "program_states": (Entry(program_states.Row(9, "app", thaw="")),),
        "threads": (Entry(now, before=threads.Row(**times, ran=0.0, waited=0.0), seconds=1.0),),
    })  # fmt: skip
    means = Means(taken={1: {"reindex[8]": 99.0}})
    full, idle = SimpleNamespace(cpu=1, idle=0.0), SimpleNamespace(cpu=0, idle=90.0)
    known: Any = SimpleNamespace(more={}, processes=(), flows=(), cores=(idle, full), means=means)
    (found,) = program_build(frame, known)
    also = "it waits on core 1; there runs also reindex[8] (99% of core 1)"
    assert found.does == f"waits for a CPU 100% of the time ({told}{also})"
    assert found.cure.startswith(cure)


@pytest.mark.parametrize(("throttled", "state", "blames"), [
    (10, "throttled", False),  # the quota makes all of the wait
    (2, "starved", True),  # a fifth of it at most
])  # fmt: skip
def test_a_quota_that_makes_the_wait_is_told_in_place_of_the_other_programs(
    throttled: int, state: str, blames: bool
) -> None:
    times: dict[str, Any] = {"pid": 9, "tid": 9, "started": 1, "name": "app", "state": "R"}
    times |= {"cgroup": "cpu:/pod", "cpu": 1}
    now, was = threads.Row(**times, ran=0.08, waited=0.9), threads.Row(**times, ran=0.0, waited=0.0)
    group = throttling.Row("cpu:/pod", 0.08, 10, throttled), throttling.Row("cpu:/pod", 0.08, 0, 0)
    frame = Frame(0.0, 0.0, {
        "program_states": (Entry(program_states.Row(9, "app", thaw="")),),
        "threads": (Entry(now, before=was, seconds=1.0),),
        "throttling": (Entry(group[0], before=group[1], seconds=1.0),),
    })  # fmt: skip
    known: Any = SimpleNamespace(more={}, processes=(), flows=(),
                                 means=Means(taken={1: {"reindex[8]": 99.0}}),
                                 cores=(SimpleNamespace(cpu=1, idle=0.0),))  # fmt: skip
    (program,), (row,) = program_build(frame, known), thread.build(frame, known)
    assert (program.state, "reindex" in program.does + program.cure) == (state, blames)
    assert ("/sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us" in program.cure) is not blames
    assert row.throttled == (None if blames else 100.0)
