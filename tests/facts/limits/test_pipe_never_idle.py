"""A reader on a crowded host: it waits for its core, and for a pipe whose program has no rest."""

from typing import Any

from asleep import asleep
from folded import folded
from limit_frames import AWAY, flow, limits, moment

from nettop.collect import threads

UNREAD = {**AWAY, "recv_q": 3_000_000, "rmem_alloc": 3_400_000, "rcvbuf": 3_600_000}


@folded(("ready", "stage"), [(1.0, "pipe-cpu"), (0.7, "thread")])
def test_a_wait_for_a_core_is_no_limit_before_a_program_that_never_rests(
    ready: float, stage: str
) -> None:
    def at(s: float) -> Any:
        pipe = {"call": "write", "kind": "output", "object": "pipe:[5]", "drains": (8,)}
        sleeps = {"state": "S", **pipe} if int(s) % 5 in (1, 3) else {"state": "R"}
        one = asleep(pid=7, tid=7, started=5, name="iperf3", **sleeps)
        other = asleep(pid=8, tid=8, started=5, name="xz", state="R")
        tables = moment(s, rates={"bytes_received": 4_700_000}, gauges=UNREAD, ran=0.6,
                        more={"waits": [one, other]})  # fmt: skip
        xz = threads.Row(8, 8, 5, "xz", "R", ready * s / 3, ready * s * 2 / 3)
        return {**tables, "threads": [*tables["threads"], xz]}

    assert flow(limits(at)).stage.stage == stage
