"""Flows that two hosts see: joined by addresses and ports, never by chance."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from flow_tables import socket
from scenes import healthy

from nettop.facts.limits import Limit
from nettop.facts.pair.match import flows, parts, same_host, turned, unmatched
from nettop.facts.pair.model import clock_ahead
from nettop.facts.pair.words import short
from nettop.frame.rates import Close, Frame
from nettop.panes import headline
from nettop.terms.text import text_of
from nettop.views.both import names
from nettop.views.scene import SceneOrigin
from nettop.views.view import View


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


# How far the clock of the other host is ahead, from three readings in turn.


def close(before: float, there: float, after: float) -> Close:
    return Close(*(Frame(0.0, wall, {}) for wall in (before, there, after)))


@pytest.mark.parametrize(
    ("before", "there", "after", "ahead"),
    [
        (100.0, 100.0, 100.5, 0.0),
        (100.0, 100.5, 100.5, 0.0),
        (100.0, 100.2, 100.5, 0.0),
        (100.0, 105.0, 100.5, 4.5),
        (100.0, 95.0, 100.5, -5.0),
    ],
)
def test_only_what_the_time_of_the_reading_does_not_explain_is_a_difference(
    before: float, there: float, after: float, ahead: float
) -> None:
    assert clock_ahead(close(before, there, after)) == pytest.approx(ahead)


# The short name of a host: what is shown where its command prefix has no room.


LONG = "ssh -p 2222 -i /home/user/.ssh/a_key root@web1"


@pytest.mark.parametrize(
    ("prefix", "name"),
    [
        ("ssh web1", "web1"), ("ssh -p 2222 -i key root@web1", "root@web1"),
        ("ssh web1 sudo", "web1"), ("ssh web1 sudo -n", "web1"), ("ssh web1 env LANG=C", "web1"),
        ("sudo ip netns exec blue", "blue"), ("docker exec -i c1", "c1"),
        ("kubectl exec -i pod --", "pod"), ("web1", "web1"), ("sudo", "sudo"),
    ],
)  # fmt: skip
def test_it_is_the_last_word_that_may_be_a_name(prefix: str, name: str) -> None:
    assert short(prefix) == name


@pytest.mark.parametrize(
    ("prefix", "shown"),
    [("ssh web1", "via ssh web1"), ("ssh -p 2222 -i key root@web1 sudo", "via root@web1")],
)
def test_the_header_has_the_whole_prefix_or_the_name(prefix: str, shown: str) -> None:
    scene = replace(healthy(), origin=SceneOrigin("host", prefix))
    assert f" {shown} " in text_of(headline.header(scene, View(), 80))


@pytest.mark.parametrize(
    ("prefix", "name"),
    [("ssh web1", "ssh web1"), (LONG, "root@web1"), (LONG.replace("root@", ""), None)],
)
def test_hosts_of_one_name_are_told_apart(prefix: str, name: str | None) -> None:
    near, far = (SimpleNamespace(host="web1", batches=one) for one in (None, SimpleNamespace()))
    far.batches.name = prefix
    assert names(near, far) == ("web1", name or prefix)
    far.batches = None
    assert names(near, far) == ("web1", "peer")
