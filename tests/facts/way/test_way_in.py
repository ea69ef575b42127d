"""The way of packets that arrive: local delivery and forwarding, on tables that are made up."""

from typing import Any

import pytest
from way_tables import (
    FAR,
    NEAR,
    SOUND,
    answer,
    frame,
    link,
    listener,
    process,
    route,
    switches,
    went,
)

from nettop.collect import addresses, half_open, link_stats, sysctls
from nettop.collect.ways import Question
from nettop.facts.way import HIDDEN, PASSES, STOPS, SUSPECT, Flow, questions

ON = [switches("all", 1), switches("a0", 1), switches("b0", 1)]
BEYOND = "10.1.0.9"
NO_COOKIES = [sysctls.Row("net.ipv4.tcp_syncookies", "0"),
              sysctls.Row("net.ipv4.tcp_max_syn_backlog", "8")]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "saw", "change"),
    [
        ({"sockets_tcp": []}, "nothing listens at tcp port 80", "start the service"),
        (
            {"sockets_tcp": [listener("127.0.0.1", 80)]},
            "nothing listens at 10.0.0.1:80: app[7] listens at 127.0.0.1:80 only",
            "let the service listen at 10.0.0.1 or at every address",
        ),
        (
            {"processes": [process("T")]},
            "app[7], which listens at 10.0.0.1:80, is stopped by a signal",
            "kill -CONT 7",
        ),
        (
            {"sockets_tcp": [listener("0.0.0.0", 80, recv_q=129)]},
            "the accept queue of app[7] at 10.0.0.1:80 is full (129 of 128)",
            "app[7] must accept its connections",
        ),
        (
            {"half_open": [half_open.Row(NEAR, 80, 7)], "sysctls": NO_COOKIES},
            (
                "the SYN queue of app[7] at 10.0.0.1:80 is full (7 handshakes wait, "
                "net.ipv4.tcp_max_syn_backlog has room for 7), and net.ipv4.tcp_syncookies is 0: "
                "new ones are dropped"
            ),
            (
                "sysctl -w net.ipv4.tcp_syncookies=1 keeps the service reachable, without it raise "
                "net.ipv4.tcp_max_syn_backlog; limit clients that are not wanted before this host"
            ),
        ),
    ],
)
@pytest.mark.parametrize("origin", ["", FAR])
def test_a_listener_that_cannot_take_the_connection(
    origin: str, changed: dict[str, Any], saw: str, change: str
) -> None:
    decider = went(NEAR, frame(**changed), port=80, origin=origin).decider
    assert decider is not None
    assert (decider.place, decider.saw, decider.change) == ("listener", saw, change)


@pytest.mark.parametrize("changed", [
    {"half_open": [half_open.Row(NEAR, 80, 6)], "sysctls": NO_COOKIES},  # one place is left
    {"half_open": [half_open.Row(NEAR, 80, 400)]},  # cookies
    {"half_open": [half_open.Row(NEAR, 81, 400)], "sysctls": NO_COOKIES},
])  # fmt: skip
def test_a_syn_queue_with_room_stops_nothing(changed: dict[str, Any]) -> None:
    assert went(NEAR, frame(**changed), port=80, origin=FAR).decider is None


@pytest.mark.parametrize(("counted", "more", "doubt"), [
    ((40, 25), {"peer": 2}, True),
    ((40, 2), {"peer": 2}, False),
    ((900, 25), {"peer": 2}, False),  # of protocols that nobody wants
    ((40, 25), {}, False),  # the other end is here, and is read
    ((40, 25), {"peer": 2, "kind": "vlan"}, False),
])  # fmt: skip
def test_a_veth_that_drops_much_of_what_arrives(
    counted: tuple[int, int], more: dict[str, Any], *, doubt: bool
) -> None:
    links = [SOUND["links"][0], link("a0", 2, **{"mtu": 1400, **more}), SOUND["links"][2]]
    counts: dict[str, Any] = dict.fromkeys(link_stats.Row.__dataclass_fields__, 0)
    counts |= {"interface": "a0", "rx_packets": counted[0], "rx_dropped": counted[1]}
    seen = frame(links=links, interface_sysctls=ON, link_stats=[link_stats.Row(**counts)])
    way = went(BEYOND, seen, origin=FAR)
    assert (way.suspect is not None) is doubt
    if way.suspect is not None:
        assert way.suspect.saw.startswith("a0 took 40 frames and dropped 25: those above its MTU")


@pytest.mark.parametrize(("senders", "known", "outcome"), [
    (("02:00:00:00:00:02",), True, PASSES), (None, True, PASSES),
    (("02:00:00:00:00:09",), True, SUSPECT), (("02:00:00:00:00:09",), False, HIDDEN),
    ((), False, STOPS),
])  # fmt: skip
def test_a_macvlan_in_mode_source_takes_frames_of_listed_senders(
    senders: tuple[str, ...] | None, outcome: str, *, known: bool
) -> None:
    a0 = link("a0", 2, kind="macvlan", link="b0", senders=senders)
    more: dict[str, Any] = {} if known else {"neighbour_states": []}
    way = went(NEAR, frame(links=[SOUND["links"][0], a0, SOUND["links"][2]], **more), port=80,
               origin=FAR)  # fmt: skip
    found = [one for one in way.steps if "in mode source" in one.saw]
    assert [one.outcome for one in found] == [outcome] * (outcome != PASSES)
    for one in found:
        assert ("02:00:00:00:00:02" in one.change) is known


MADE = addresses.Row("lo", "10.5.0.1", 24, 4, "global")


@pytest.mark.parametrize(("owner", "made", "change"), [
    ([MADE], ", of the address 10.5.0.1/24 dev lo,", "ip addr del 10.5.0.1/24 dev lo, if"),
    ([], "", "ip route del local 10.5.0.0/24 dev lo, if"),
])  # fmt: skip
@pytest.mark.parametrize("origin", ["", FAR])
def test_a_network_that_is_local_keeps_what_is_for_another_host(
    origin: str, owner: list[Any], made: str, change: str
) -> None:
    """Where a service of this host answers for the whole network, it is meant so."""
    local = route("10.5.0.0/24", "lo", table=255, kind="local")
    tables = {"addresses": [*SOUND["addresses"], *owner], "fib": [*SOUND["fib"], local]}
    way = went("10.5.0.7", frame(sockets_tcp=[], **tables), port=443, origin=origin)
    assert way.decider is not None
    assert way.decider.saw == (
        f"10.5.0.7 is no address of this host, and local route 10.5.0.0/24 dev lo{made} keeps its "
        "packets here, where nothing listens at tcp port 443"
    )
    assert way.decider.change.startswith(change)
    anywhere = went("10.5.0.7", frame(**tables), port=80, origin=origin)
    assert anywhere.decider is None
    assert any(one.place == "local" for one in anywhere.of(PASSES))
    unasked = went("10.5.0.7", frame(**tables), origin=origin)
    assert unasked.suspect is not None
    assert unasked.suspect.place == "local"


def test_a_listener_at_every_address_takes_it() -> None:
    for local in ("0.0.0.0", "::", NEAR, f"::ffff:{NEAR}"):
        sockets = [listener(local, 80)]
        assert went(NEAR, frame(sockets_tcp=sockets), port=80).decider is None
    hidden = went(NEAR, frame("sockets_tcp"), port=80).of(HIDDEN)
    assert any("the sockets: not permitted" in one.saw for one in hidden)


def test_packets_are_forwarded_where_the_switch_is_on() -> None:
    assert went(BEYOND, frame(interface_sysctls=ON), origin=FAR).decider is None
    decider = went(BEYOND, frame(), origin=FAR).decider
    assert decider is not None
    assert decider.saw == "this host does not forward ipv4 packets from a0"
    assert decider.change == "nettop set sysctl.net.ipv4.ip_forward 1"
    off = [switches("all", 1), switches("a0"), switches("b0", 1)]
    one = went(BEYOND, frame(interface_sysctls=off), origin=FAR).decider
    assert one is not None
    assert one.change == "nettop set sysctl.net.ipv4.conf.a0.forwarding 1"
    unread = went(BEYOND, frame("interface_sysctls"), origin=FAR)
    assert unread.decider is None
    assert any("whether ipv4 is forwarded" in step.saw for step in unread.of(HIDDEN))


@pytest.mark.parametrize("error", ["", "EXDEV", "EINVAL"])  # Linux 6.13 says EINVAL for both
def test_a_strict_reverse_path_filter(error: str) -> None:
    strict = [switches("all", 1, 1), switches("a0", 1), switches("b0", 1)]
    said = [answer(BEYOND, error, source=FAR, arrives="b0")] if error else []
    way = went(BEYOND, frame(interface_sysctls=strict, ways=said), origin=FAR, arrives="b0")
    assert way.decider is not None
    assert way.decider.saw == (
        "the reverse path filter of b0 drops packets from 10.0.0.2: the route back to 10.0.0.2 "
        "(10.0.0.0/24) leaves by a0"
    )
    assert "sysctl.net.ipv4.conf.all.rp_filter 2" in way.decider.change
    assert way.headline.startswith("10.1.0.9 from 10.0.0.2 on b0 cannot be reached")


def test_a_source_that_is_an_address_of_this_host() -> None:
    said = [answer(BEYOND, "EINVAL", source=NEAR, arrives="a0")]
    way = went(BEYOND, frame(interface_sysctls=ON, ways=said), origin=NEAR, arrives="a0")
    assert way.decider is not None
    assert "martian" in way.decider.saw


def test_the_way_of_the_answers_is_walked_too() -> None:
    routes = [*SOUND["fib"][:-1], route("10.3.0.0/24", None, kind="blackhole")]
    seen = frame(fib=routes, interface_sysctls=ON)
    way = went(NEAR, seen, port=80, origin="10.3.0.1", arrives="a0")
    assert way.decider is not None
    assert way.decider.saw == "route 10.3.0.0/24 is a blackhole"


def test_the_kernel_is_asked_for_both_directions() -> None:
    asked = questions(Flow(BEYOND, 80, FAR), frame())
    assert asked == (
        Question(FAR), Question(BEYOND, FAR, "a0", port=80), Question(FAR, BEYOND, "b0"),
    )  # fmt: skip
    assert questions(Flow(FAR, mark=3), frame()) == (
        Question(FAR, mark=3), Question(FAR, NEAR, mark=3), Question(NEAR, FAR, "a0"),
    )  # fmt: skip


def test_an_interface_alone_gets_a_source_behind_it() -> None:
    way = went(BEYOND, frame(interface_sysctls=ON), arrives="a0")
    assert way.decider is None
    assert way.headline.startswith("nothing visible here stops 10.1.0.9 from 10.0.0.2 on a0")
