"""A small receive window on a short path, which its reader empties each time that it runs."""

from typing import Any

import pytest
from asleep import asleep
from flow_tables import frames, socket
from folded import folded
from limit_frames import AWAY, RECEIVES, flow, limits, moment

from nettop.collect import socket_owners, waits
from nettop.facts.joined import Joiner
from nettop.facts.limits import Limit
from nettop.facts.limits.words import line

# all of a small window is unread on a path of 10 us
CLOSED = {**AWAY, "rcvbuf": 32_768, "rmem_alloc": 29_000, "recv_q": 28_000, "rcv_ssthresh": 28_100,
          "rcv_rtt": 10}  # fmt: skip
CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "a short path whose window is full until its reader runs": (
        {"ran": 0.3, "waited": 0.3, "gauges": CLOSED}, "rcvbuf", "here"),
    "the same with a core that others use": (
        {"ran": 0.3, "waited": 0.6, "gauges": CLOSED}, "rcvbuf", "here"),
    "the same with a reader that never sleeps": (
        {"ran": 0.6, "waited": 0.4, "runs": 300.0, "gauges": CLOSED}, "thread", "here"),
    "the same with a reader that sleeps elsewhere": (
        {"ran": 0.05, "gauges": CLOSED}, "application", "here"),
    "the same with room in the window": (
        {"ran": 0.3, "waited": 0.3, "gauges": {**CLOSED, "rcv_ssthresh": 64_000}}, "thread",
        "here"),
    "the same with a large buffer": (
        {"ran": 0.3, "waited": 0.6, "gauges": {**CLOSED, "rcvbuf": 6_000_000,
                                               "rmem_alloc": 5_000_000}}, "thread", "here"),
}  # fmt: skip


@folded(("case", "stage", "end"), CASES.values(), ids=CASES)
def test_what_limits_it(case: dict[str, Any], stage: str, end: str) -> None:
    found = flow(limits(lambda second: moment(second, rates=RECEIVES, **case)))
    assert (found.direction, found.stage.stage, found.stage.end) == ("rx", stage, end), line(found)


FAR = {**AWAY, "rtt": 9_000, "min_rtt": 8_800, "rcv_rtt": 9_400, "rcvbuf": 131_072, "recv_q": 0,
       "rmem_alloc": 0}  # fmt: skip


@pytest.mark.parametrize(("offered", "stage"), [(6_600, "rcvbuf"), (9_000, "rcvbuf"),
                                                (20_000, "peer"), (65_536, "peer")])  # fmt: skip
def test_a_window_that_does_not_grow_out_of_its_buffer_limits_if_it_is_full(
    offered: int, stage: str
) -> None:
    rates = {**RECEIVES, "bytes_received": 650_000}
    gauges = {**FAR, "rcv_ssthresh": offered}
    found = flow(limits(lambda second: moment(second, rates=rates, gauges=gauges)))
    assert (found.direction, found.stage.stage) == ("rx", stage), line(found)


# Both ends write and neither reads: the connection is dead, and no buffer limits it.


def sleeper(call: str, kind: str, at: str = "socket:[101]") -> waits.Row:
    return asleep(7, 7, 5, "iperf3", "S", call, kind, at)


SENDS = sleeper("sendto", "output")
DEAD = {"bytes_acked": 0, "bytes_received": 0, "rwnd_limited": 1_000_000}
BOTH = {"snd_wnd": 0, "recv_q": 60_000, "rmem_alloc": 128_000, "rcvbuf": 131_072, "unacked": 0}


@folded(("gauges", "rates", "ran", "waiting", "dead"), [
    ({}, {}, 0.0, SENDS, True),
    ({}, {}, 0.0, sleeper("epoll_wait", "events", ""), True),  # until it may send
    ({"snd_wnd": 9000, "probes": 3}, {}, 0.0, SENDS, True),
    ({"recv_q": 0, "rmem_alloc": 0}, {}, 0.0, SENDS, False),  # only the other end does not read
    ({"recv_q": 18, "rmem_alloc": 2304}, {}, 0.0, SENDS, False),  # a ping of a client that pauses
    ({"snd_wnd": 90_000}, {}, 0.0, SENDS, False),  # lost on the way
    ({}, {"bytes_acked": 900}, 0.0, SENDS, False),
    ({}, {"bytes_received": 900}, 0.0, SENDS, False),
    ({}, {}, 0.9, SENDS, False),  # it computes, and reads after that
    ({}, {}, 0.0, sleeper("nanosleep", "timer", ""), False),
    ({}, {}, 0.0, sleeper("futex", "lock", ""), False),
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


# A connection that no program has accepted waits at this end.


def limit(*more: Any, **known: Any) -> Limit:
    plain: dict[str, Any] = {
        "rcvbuf": 131072, "recv_q": 9000, "bytes_received": 9000, "bytes_acked": 0,
        "segs_in": 9, "segs_out": 9,
    }  # fmt: skip
    tables = {
        "sockets_tcp": [socket(1, **{**plain, **known}), *more],
        "socket_owners": [socket_owners.Row(77, 7, "web"), socket_owners.Row(78, 8, "old")],
    }
    moments = [tables for _ in range(5)]
    joiner = Joiner()
    facts = [joiner.build(frame) for frame in frames(*moments)][-1]
    return next(one for one in facts.limits if one.over == "flow" and one.direction == "rx")


@pytest.mark.parametrize(("known", "waits"), [({"inode": 0}, True), ({"inode": 5}, False)])
def test_the_accept_queue_is_at_this_end(known: Any, waits: bool) -> None:
    found = limit(**known)
    assert ("waits in the accept queue" in str(found)) is waits


@pytest.mark.parametrize(("local", "name"), [
    ("10.0.0.1", "web[7]"), ("0.0.0.0", "web[7]"), ("127.0.0.1", "the program that listens"),
])  # fmt: skip
def test_who_does_not_accept_is_named(local: str, name: str) -> None:
    door = socket(2, state="listen", local=local, inode=77, remote="0.0.0.0", remote_port=0)
    assert limit(door, inode=0).stage.name == name


@pytest.mark.parametrize(("queues", "name"), [((0, 3), "old[8]"), ((3, 0), "web[7]")])
def test_of_two_that_listen_at_a_port_the_one_whose_connections_wait_is_named(
    queues: tuple[int, int], name: str
) -> None:
    doors = [socket(3 + n, state="listen", inode=77 + n, remote="0.0.0.0", remote_port=0,
                    recv_q=queue, send_q=64) for n, queue in enumerate(queues)]  # fmt: skip
    assert limit(*doors, inode=0).stage.name == name
