"""Flows that two hosts see: joined by addresses and ports, never by chance."""

from __future__ import annotations

import pytest
from flow_tables import socket

from nettop.facts.limits import Limit
from nettop.facts.pair.match import flows, parts, same_host, turned, unmatched


def test_the_other_end_has_the_addresses_turned_round() -> None:
    here = flows([socket(1)])
    there = flows([socket(7, local="10.0.0.2", local_port=40001, remote="10.0.0.1",
                          remote_port=5001)])  # fmt: skip
    (name,) = here
    assert name == ("10.0.0.1", 5001, "10.0.0.2", 40001)
    assert turned(name) in there


def test_an_ipv4_address_in_an_ipv6_socket_is_the_same_address() -> None:
    (name,) = flows([socket(1, local="::ffff:10.0.0.2", remote="::ffff:10.0.0.1")])
    assert name == ("10.0.0.2", 5001, "10.0.0.1", 40001)
    assert parts("[::ffff:10.0.0.2]:5001>[::ffff:10.0.0.1]:40001") == name


@pytest.mark.parametrize("addresses", [("127.0.0.1", "127.0.0.1"), ("::1", "::1"),
                                       ("10.0.0.1", "10.0.0.1")])  # fmt: skip
def test_a_flow_inside_a_host_matches_nothing(addresses: tuple[str, str]) -> None:
    assert not flows([socket(1, local=addresses[0], remote=addresses[1])])


def test_a_listening_socket_is_no_flow() -> None:
    assert not flows([socket(1, state="listen")])


def test_one_host_seen_twice_is_noticed() -> None:
    assert same_host([socket(1)], [socket(1)])
    assert not same_host([socket(1)], [socket(2)])


def limit(target: str, direction: str, rate: float) -> Limit:
    return Limit("flow", target, direction, rate)


def test_translated_addresses_are_a_hint_and_never_joined() -> None:
    own = limit("192.168.1.5:50000>203.0.113.9:5201", "tx", 1e8)
    behind = limit("10.9.9.9:5201>198.51.100.1:1234", "rx", 0.9e8)
    other = limit("10.9.9.9:443>198.51.100.1:999", "rx", 1e8)
    slow = limit("10.9.9.9:5201>198.51.100.1:77", "rx", 1e6)
    (one,) = unmatched([own], {}, [behind, other, slow])
    assert (one.target, one.candidates) == (own.target, (behind.target,))
    assert unmatched([own], {parts(own.target): 1}, [behind]) == ()
