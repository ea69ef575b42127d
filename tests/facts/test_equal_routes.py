"""Routes with several equal next hops, and the pair of addresses that sends most by them."""

from typing import Any

import pytest
from flow_tables import HOST, joined, socket

from nettop.advice.judge.inline_facts import facts
from nettop.collect import routes
from nettop.collect.addresses import Row
from nettop.facts.kinds import neighbours
from nettop.facts.kinds.metric import Multipath
from nettop.frame.rates import Entry, Frame


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


# Two interfaces in one network: the one that sends less is paired with the one that sends most.


def port(name: str, sent: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "per_s": {"rx_packets": 900, "tx_packets": sent}, **more}


def twins(nics: list[dict[str, Any]], *rows: tuple[str, str, int]) -> list[tuple[str, str, str]]:
    told = [Row(name, address, prefix, 6 if ":" in address else 4, "global")
            for name, address, prefix in rows]  # fmt: skip
    frame = Frame(1.0, 1.0, {"addresses": [Entry(row) for row in told]})
    found = neighbours.twins(frame, facts({"nics": nics}, "server", 1.0))
    assert all((one.rx_packets, one.other_tx) == (900, 800) for one in found)
    return [(one.nic, one.other, one.network) for one in found]


PORTS = [port("eth0", 800), port("eth1", 2), port("eth2", 0)]


def test_the_port_that_sends_less_is_paired_with_the_one_that_sends_most() -> None:
    rows = ("eth1", "10.0.0.7", 24), ("eth0", "10.0.0.5", 24), ("eth2", "10.0.1.5", 24)
    assert twins(PORTS, *rows) == [("eth1", "eth0", "10.0.0.0/24")]


def test_addresses_of_ipv6_of_hosts_and_of_one_port_are_no_pair() -> None:
    assert twins(PORTS, ("eth0", "fd00::1", 64), ("eth1", "fd00::2", 64)) == []
    assert twins(PORTS, ("eth0", "10.0.0.5", 32), ("eth1", "10.0.0.5", 32)) == []
    assert twins(PORTS, ("eth0", "10.0.0.5", 24), ("eth0", "10.0.0.6", 24)) == []


def test_ports_of_a_bond_bridges_and_macvlans_are_no_pair() -> None:
    for other in (port("b", 2, master="bond0"), port("b", 2, kind="bridge"),
                  port("b", 2, kind="other")):  # fmt: skip
        nics = [port("eth0", 800), other]
        assert twins(nics, ("eth0", "10.0.0.5", 24), ("b", "10.0.0.6", 24)) == []
