"""Both ends write and neither reads: the connection is dead, and no buffer limits it."""

from __future__ import annotations

from typing import Any

from folded import folded
from limit_frames import flow, limits, moment

from nettop.collect import waits
from nettop.facts.limits.words import line


def asleep(call: str, kind: str, at: str = "socket:[101]") -> waits.Row:
    return waits.Row(7, 7, 5, "iperf3", "S", call, kind, at)


SENDS = asleep("sendto", "output")
DEAD = {"bytes_acked": 0, "bytes_received": 0, "rwnd_limited": 1_000_000}
BOTH = {"snd_wnd": 0, "recv_q": 60_000, "rmem_alloc": 128_000, "rcvbuf": 131_072, "unacked": 0}


@folded(("gauges", "rates", "ran", "waiting", "dead"), [
    ({}, {}, 0.0, SENDS, True),
    ({}, {}, 0.0, asleep("epoll_wait", "events", ""), True),  # until it may send
    ({"snd_wnd": 9000, "probes": 3}, {}, 0.0, SENDS, True),
    ({"recv_q": 0, "rmem_alloc": 0}, {}, 0.0, SENDS, False),  # only the other end does not read
    ({"recv_q": 18, "rmem_alloc": 2304}, {}, 0.0, SENDS, False),  # a ping of a client that pauses
    ({"snd_wnd": 90_000}, {}, 0.0, SENDS, False),  # lost on the way
    ({}, {"bytes_acked": 900}, 0.0, SENDS, False),
    ({}, {"bytes_received": 900}, 0.0, SENDS, False),
    ({}, {}, 0.9, SENDS, False),  # it computes, and reads after that
    ({}, {}, 0.0, asleep("nanosleep", "timer", ""), False),
    ({}, {}, 0.0, asleep("futex", "lock", ""), False),
])  # fmt: skip
def test_a_connection_whose_both_ends_only_send(
    gauges: dict[str, int], rates: dict[str, int], ran: float, waiting: waits.Row, *, dead: bool
) -> None:
    def at(s: float) -> Any:
        return moment(s, rates={**DEAD, **rates}, gauges={**BOTH, **gauges}, ran=ran,
                      more={"waits": [waiting]})  # fmt: skip

    found = flow(limits(at))
    assert (found.stage.stage == "deadlock") is dead, line(found)
    assert ("neither end reads" in found.stage.because) is dead


def test_without_the_calls_of_the_program_it_is_not_told() -> None:
    def at(s: float) -> Any:
        return moment(s, rates=DEAD, gauges=BOTH, ran=0.0)

    assert flow(limits(at)).stage.stage == "peer"
