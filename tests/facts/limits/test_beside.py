"""A thread that waits for a core for the longer part, and for something else in the rest."""

from typing import Any

from flow_tables import Tables
from folded import folded
from limit_frames import AWAY, flow, limits, moment

from nettop.collect import threads, waits

ROOM = {**AWAY, "wmem_queued": 0}


def row(state: str, call: str = "", kind: str = "", pid: int = 7, **more: Any) -> waits.Row:
    name = "iperf3" if pid == 7 else f"p{pid}"
    return waits.Row(pid=pid, tid=pid, started=5, name=name, state=state, call=call, kind=kind,
                     **more)  # fmt: skip


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
