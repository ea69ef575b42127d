"""The other ends that facts of several kinds name alike."""

from dataclasses import replace
from typing import Any

import pytest
from way_tables import FAR, NEAR, frame

from nettop.collect import routes
from nettop.collect.drop_reasons import Row
from nettop.facts.peers import called, dropped, through
from nettop.facts.way.flow import Host


def row(reason: str, source: tuple[str, int], to: tuple[str, int], packets: int = 3) -> Row:
    return Row(reason, "f", "here", "2", "tcp", "", packets, 3.0, *source, *to)


CLIENT, SERVER = (NEAR, 40_000), (FAR, 443)


@pytest.mark.parametrize(("one", "ends"), [
    (row("QDISC_DROP", CLIENT, SERVER), {"tcp 10.0.0.2:443"}),
    (row("NETFILTER_DROP", SERVER, CLIENT), {"tcp 10.0.0.2:443", "tcp :40000"}),
    (row("TCP_OFO_DROP", SERVER, CLIENT), set()),  # of what arrives after the connection ended
    (replace(row("NOT_SPECIFIED", SERVER, CLIENT), by="guard@xdp/a0/7"),  # a BPF program drops it
     {"tcp 10.0.0.2:443", "tcp :40000"}),
    (row("QDISC_DROP", CLIENT, SERVER, 2), set()),  # too few to decide anything
    (row("QDISC_DROP", CLIENT, (NEAR, 443)), {"tcp :443"}),  # a service of this host
    (Row("QDISC_DROP", "f", "here", "2", "icmp", "", 9, 3.0, NEAR, 0, FAR, 0), set()),
])  # fmt: skip
def test_the_ends_whose_packets_are_dropped(one: Row, ends: set[str]) -> None:
    assert set(dropped(Host.of(frame()), [one])) == ends


WAY: Any = routes.Row("10.0.0.0/24", "a0", 0, 254)


@pytest.mark.parametrize(("call", "error", "ends"), [
    ("connection", "GIVEN_UP", ["tcp 10.0.0.2:443", "through a0"]),
    ("connection", "ECONNREFUSED", ["tcp 10.0.0.2:443"]),  # who answers is not stopped on the way
    ("connect", "EPERM", ["tcp 10.0.0.2:443", "udp 10.0.0.2:443"]),
    ("recvfrom", "ETIMEDOUT", ["tcp 10.0.0.2:443", "udp 10.0.0.2:443", "through a0"]),
    ("sendto", "EFAULT", []), ("bind", "EINVAL", []),
])  # fmt: skip
def test_the_ends_of_a_call_that_the_way_fails(call: str, error: str, ends: list[str]) -> None:
    host = Host.of(frame(routes=[WAY]))
    assert list(called(host, call, error, [(FAR, "443"), ("unix", ""), ("", "443")])) == ends


def test_no_way_out_is_known_without_routes() -> None:
    assert through(frame(routes=[WAY]), ["192.0.2.7", ""]) == ()
    assert through(frame(), [""]) == ()
