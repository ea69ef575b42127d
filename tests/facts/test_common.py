"""Connections to different networks that lose alike by one interface."""

from typing import Any

import pytest
from flow_tables import HOST, Tables, joined, socket

from nettop.collect import routes
from nettop.facts.kinds.common import Common

ROUTES = [*HOST["routes"], routes.Row("0.0.0.0/0", "eth0", 0, 254, "10.0.0.254")]


def common(*flows: tuple[str, int, int]) -> tuple[Common, ...]:
    """Of flows with an other end, the segments that they send in a second, and those lost."""

    def at(step: int) -> Tables:
        rows: list[Any] = [
            socket(
                number, remote=remote, notsent=90_000, mss=1448, rtt=400, min_rtt=300,
                bytes_acked=1000 * step, bytes_received=0, busy_time=1_000_000 * step,
                segs_out=sent * step, data_segs_out=sent * step, total_retrans=lost * step,
            )
            for number, (remote, sent, lost) in enumerate(flows)
        ]  # fmt: skip
        return {**HOST, "routes": ROUTES, "sockets_tcp": rows}

    return joined(at(1), at(2)).more["common"]


NEAR, NEXT, FAR, OTHER = "10.0.0.2", "10.0.0.3", "198.51.100.7", "203.0.113.9"


def test_they_share_the_interface_and_nothing_behind_it() -> None:
    (one,) = common((NEAR, 30, 20), (NEXT, 30, 21), (FAR, 12, 9))
    assert (one.nic, one.flows, one.networks, one.near) == ("eth0", 3, 2, 2)
    assert (one.least, one.most) == pytest.approx((0.667, 0.75), abs=0.001)
    assert one.to == (NEAR, NEXT, FAR)


@pytest.mark.parametrize("flows", [
    [(FAR, 30, 20)],  # one alone
    [(NEAR, 30, 20), (NEXT, 30, 20)],  # one network
    [("198.51.100.8", 30, 20), (FAR, 30, 20)],
    [(NEAR, 30, 0), (FAR, 30, 20), (OTHER, 30, 20)],  # one passes the card whole
    [(NEAR, 3000, 3), (FAR, 30, 20)],
    [(FAR, 300, 3), (OTHER, 300, 90)],
    [(NEAR, 30, 0), (FAR, 30, 0)],  # none loses
])  # fmt: skip
def test_a_path_alone_or_losses_that_differ_are_no_common_cause(
    flows: list[tuple[str, int, int]],
) -> None:
    assert common(*flows) == ()


def test_a_flow_that_sends_hardly_anything_says_nothing() -> None:
    (one,) = common((NEAR, 300, 30), (FAR, 300, 24), (OTHER, 2, 0))
    assert (one.flows, one.networks) == (2, 2)
