"""Stages between the socket and the wire: byte queue limits, kernel threads that carry packets."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flow_tables import Tables, task
from limit_frames import flow, limits, moment

from nettop.collect import bql, processes, qdiscs
from nettop.facts.limits import Limit, Reading


def step(limit: Limit, stage: str, name: str = "") -> Reading:
    return next(one for one in limit.ladder if one.stage == stage and name in one.name)


def device(second: float, inflight: int, backlog: int, most: int = 1_000_000) -> Tables:
    queue = qdiscs.Row("eth0", "root", "0:", "fq_codel", True, backlog, 9)
    limit = bql.Row("eth0", "tx-3", inflight, 66_000, most)
    return moment(second, queue=queue, more={"bql": [limit]})


def test_a_byte_queue_limit_that_is_reached_while_packets_wait() -> None:
    found = flow(limits(lambda s: device(s, 66_500, 90_000)))
    assert (found.stage.stage, found.stage.end) == ("tx-ring", "here")
    assert found.stage.name == "transmit ring of eth0, tx-3"
    assert found.stage.because == (
        "its byte queue limit, 64.5 KiB, is reached in 100% of the samples; packets wait before "
        "it in 100%"
    )


def test_the_largest_byte_queue_limit_is_named() -> None:
    found = flow(limits(lambda s: device(s, 66_500, 90_000, most=66_000)))
    assert found.stage.name == "transmit ring of eth0, tx-3, BQL limit_max"


@pytest.mark.parametrize(("inflight", "backlog"), [(66_500, 0), (20_000, 90_000)])
def test_a_byte_queue_limit_does_not_limit_alone(inflight: int, backlog: int) -> None:
    found = flow(limits(lambda s: device(s, inflight, backlog)))
    assert found.stage.stage != "tx-ring"
    assert step(found, "tx-ring").held == 0.0


def kernel(name: str, ran: float, on: int = 2) -> Callable[[float], Tables]:
    """A kernel thread that ran that share of the time."""

    def tables(second: float) -> Tables:
        row = task(50, name, on, 0.0, system=ran * second, kernel=True)
        return moment(second, more={"processes": [row]})

    return tables


def test_a_thread_that_polls_the_interface_limits() -> None:
    found = flow(limits(kernel("napi/eth0-12", 0.97)))
    assert (found.stage.stage, found.stage.name) == ("thread", "napi/eth0-12[50]")
    assert found.stage.because == "the kernel thread ran 97% of the time"
    assert found.stage.capacity is not None


@pytest.mark.parametrize("name", ["napi/eth1-12", "vhost-77", "kworker/2:1"])
def test_a_kernel_thread_that_carries_other_packets_does_not(name: str) -> None:
    found = flow(limits(kernel(name, 0.97)))
    assert found.stage.name != f"{name}[50]"


def test_a_process_that_is_called_like_one_does_not() -> None:
    def at(second: float) -> Tables:
        row: processes.Row = task(50, "napi/eth0-12", 2, 0.97 * second)
        return moment(second, more={"processes": [row]})

    assert flow(limits(at)).stage.name != "napi/eth0-12[50]"
