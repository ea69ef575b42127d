"""Moments of a host with one flow between 10.0.0.1:5001 and 10.0.0.2, and what limits it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flow_tables
import pytest
from flow_tables import HOST, Tables, socket

from nettop.collect import classes, cpu, link_stats, qdiscs, socket_owners, threads, throttling
from nettop.facts import Facts
from nettop.facts.joined import Joiner
from nettop.facts.limits import Limit
from nettop.facts.memo import Memo

TARGET = "10.0.0.1:5001>10.0.0.2:40001"
TABLES = (flow_tables, classes, link_stats)  # what a test may build rows of

# per second: counters of a socket that sends 1 Gb/s and always has data in flight and unsent
SENDS = {"bytes_acked": 125_000_000, "bytes_received": 0, "segs_out": 86_000, "segs_in": 40_000,
         "total_retrans": 0, "dsack_dups": 0, "busy_time": 1_000_000, "rwnd_limited": 0,
         "sndbuf_limited": 0}  # fmt: skip
GAUGES = {"rtt": 200, "min_rtt": 100, "rttvar": 50, "mss": 1448, "cwnd": 400, "unacked": 20,
          "notsent": 500_000, "sndbuf": 4_000_000, "wmem_queued": 600_000, "wmem_alloc": 0,
          "rcvbuf": 6_000_000, "rmem_alloc": 0, "recv_q": 0, "snd_wnd": 3_000_000,
          "congestion": "cubic"}  # fmt: skip
RECEIVES = {"bytes_acked": 0, "bytes_received": 125_000_000, "busy_time": 0}
AWAY = {"notsent": 0, "unacked": 0, "wmem_queued": 0, "rtt": 100}

_joined = Memo()  # what is joined of tables that stay is joined once for all hosts of the tests


def moment(
    second: float, *, rates: Mapping[str, float] | None = None,
    gauges: Mapping[str, Any] | None = None, ran: float = 0.3, waited: float = 0.0,
    state: str = "S", group: str | None = None, throttled: float | None = None,
    idle: Sequence[float] = (1.0,) * 4, softirq: float = 0.0, queue: qdiscs.Row | None = None,
    more: Tables | None = None, runs: float | None = 1000.0,
) -> Tables:  # fmt: skip
    """The tables at a second; rates and `ran` are per second, and steady."""
    counts = {name: int(rate * second) for name, rate in {**SENDS, **(rates or {})}.items()}
    thread = threads.Row(7, 7, 5, "iperf3", state, ran * second, waited * second, 0, group,
                         runs=None if runs is None else int(runs * second))  # fmt: skip
    tables = {
        **HOST,
        "socket_owners": [socket_owners.Row(101, 7, "iperf3")],
        "sockets_tcp": [socket(**{**GAUGES, **counts, **(gauges or {})})],
        "threads": [thread],
        "cpu": [
            cpu.Row(
                n, 0.0, 0.0, (1 - part) * (1 - softirq) * second, part * second,
                softirq=(1 - part) * softirq * second,
            )
            for n, part in enumerate(idle)
        ],
        **({"qdiscs": [queue]} if queue is not None else {}),
        **(more or {}),
    }  # fmt: skip
    if group is not None and throttled is not None:
        periods = int(10 * second)
        tables["throttling"] = [throttling.Row(group, 0.2, periods, int(throttled * periods))]
    return tables


def limits(at: Callable[[float], Tables], seconds: int = 6) -> tuple[Limit, ...]:
    """The limits after so many seconds."""
    return history(at, seconds)[-1]


def history(at: Callable[[float], Tables], seconds: int) -> list[tuple[Limit, ...]]:
    """The limits after each second."""
    return [facts.limits for facts in every(at, seconds)]


def every(at: Callable[[float], Tables], seconds: int = 6, *, kinds: bool = True) -> list[Facts]:
    """The facts after each second; those of kinds only where the limits rest on them."""
    joiner = Joiner(memo=_joined)
    frames = flow_tables.frames(*(at(float(second)) for second in range(seconds + 1)))
    with pytest.MonkeyPatch.context() as patch:
        if not kinds:
            patch.setattr("nettop.facts.joined.built", lambda *_: {})
        return [joiner.build(frame) for frame in frames]


def flow(found: Sequence[Limit]) -> Limit:
    """The limit of the flow."""
    return next(one for one in found if one.over == "flow")
