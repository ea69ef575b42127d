"""Routes with several equal next hops, and the pair of addresses that sends most by them."""

from __future__ import annotations

from typing import Any

import pytest
from flow_tables import HOST, joined, socket

from nettop.collect import routes
from nettop.facts.kinds.multipath import Multipath


def way(to: str, interface: str, gateway: str | None, metric: int = 0) -> Any:
    return routes.Row(to, interface, metric, 254, gateway=gateway)


TWO = [way("10.9.0.0/16", "eth0", "10.0.0.1"), way("10.9.0.0/16", "eth1", "10.1.0.1")]


def sends(cookie: int, remote: str, acked: int) -> Any:
    return socket(cookie, local="10.0.0.5", remote=remote, remote_port=80, bytes_acked=acked,
                  bytes_sent=acked, notsent=90_000, unacked=10)  # fmt: skip


def found(ways: list[Any], *rates: tuple[str, int]) -> tuple[Any, ...]:
    moments = [
        {**HOST, "routes": ways,
         "sockets_tcp": [sends(n, remote, rate * at) for n, (remote, rate) in enumerate(rates, 1)]}
        for at in (1, 2)
    ]  # fmt: skip
    return tuple(joined(*moments).more["multipath"])


def test_the_pair_that_sends_most_is_named() -> None:
    rates = [*[("10.9.0.2", 30_000_000)] * 4, ("10.9.0.3", 40_000_000)]
    (one,) = found(TWO, *rates)
    assert one == Multipath("10.9.0.0/16", 2, 5, "10.0.0.5-10.9.0.2", 4, 0.75)


@pytest.mark.parametrize(
    "ways",
    [
        TWO[:1],  # one hop
        [TWO[0], way("10.9.0.0/16", "eth1", "10.1.0.1", metric=100)],  # a spare one
        [way("10.9.0.0/16", "eth0", None), way("10.9.0.0/16", "eth1", None)],  # connected twice
        [*TWO, way("10.9.0.2/32", "eth0", "10.0.0.1")],  # a more specific route
    ],
)
def test_a_route_with_one_hop_is_not_listed(ways: list[Any]) -> None:
    assert found(ways, ("10.9.0.2", 30_000_000)) == ()


def test_a_route_by_which_nothing_is_sent_is_not_listed() -> None:
    assert found(TWO, ("192.0.2.7", 30_000_000)) == ()
