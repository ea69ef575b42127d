"""Why a program waits for a CPU: its class, its nice value, and what runs there meanwhile."""

from types import SimpleNamespace
from typing import Any

import pytest

from nettop.collect import program_states, threads
from nettop.facts.kinds.program import build
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
    hog = SimpleNamespace(pid=8, name="reindex", cpu=1, user=99.0, system=0.0, udp_unread=0)
    full, idle = SimpleNamespace(cpu=1, idle=0.0), SimpleNamespace(cpu=0, idle=90.0)
    known: Any = SimpleNamespace(more={}, processes=(hog,), flows=(), cores=(idle, full))
    (found,) = build(frame, known)
    also = "it waits on core 1; there runs also reindex[8] (99% of a core)"
    assert found.does == f"waits for a CPU 100% of the time ({told}{also})"
    assert found.cure.startswith(cure)
