"""Addresses for which others ask again and again: the way of their packets is walked."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from way_tables import FAR, NEAR, SOUND, frame, link, listener, route, switches

from nettop.collect import link_stats
from nettop.collect.addresses import Row as Address
from nettop.collect.arp_requests import Row as Request
from nettop.collect.failures import Row as Failures
from nettop.collect.fdb import Row as Entry
from nettop.collect.neighbour_states import Row as Neighbour
from nettop.facts.kinds.way import WayFact, build
from nettop.facts.way.trouble import asked
from nettop.frame.pairs import entries
from nettop.frame.rates import Entry as Pair
from nettop.frame.rates import Frame

SEEN: Any = SimpleNamespace(more={}, flows=())
NO_COUNTS: Any = dict.fromkeys(link_stats.Row.__dataclass_fields__)
VIRTUAL, OTHER = "10.0.0.100", "10.7.0.12"
ASKER, MACS = "10.7.0.11", ("02:00:00:00:00:0b", "02:00:00:00:00:0c")


def heard(target: str, interface: str = "a0", source: str = FAR, requests: int = 6) -> Request:
    return Request(interface, source, MACS[0], target, requests, 6.0)


def facts(*requests: Request, **tables: Any) -> tuple[WayFact, ...]:
    return build(frame(arp_requests=requests, **tables), SEEN)


def virtual(mode: int) -> dict[str, Any]:
    return {
        "addresses": [*SOUND["addresses"], Address("lo", VIRTUAL, 32, 4, "global")],
        "interface_sysctls": [switches("all"), switches("a0", arp_ignore=mode)],
    }


def test_an_address_of_this_host_for_which_it_answers_no_arp() -> None:
    (one,) = facts(heard(VIRTUAL), **virtual(1))
    assert one.stops
    assert (one.meant, one.share) == (False, 1.0)  # nor does a load balancer answer
    assert one.change.startswith("if no load balancer is to answer for it: nettop set")
    served = listener(VIRTUAL, 80, state="established", remote="10.9.0.7")
    (through,) = facts(heard(VIRTUAL), sockets_tcp=[served], **virtual(1))
    assert (through.meant, through.share) == (True, None)  # it stands behind a load balancer
    assert one.decider.startswith(f"a0 answers no ARP for {VIRTUAL}")
    assert one.what == f"{FAR} asked 6 times for {VIRTUAL} by ARP, and asks on"
    assert (one.packets, one.per_s) == (6, 1.0)


def test_an_interface_that_only_receives_is_told_by_who_asks() -> None:
    now: Any = link_stats.Row(**{**NO_COUNTS, "interface": "a0", "rx_packets": 14, "tx_packets": 9})
    seen = frame(arp_requests=[heard(VIRTUAL)], **virtual(1))
    card = Pair(now, before=replace(now, rx_packets=9), seconds=1.0)
    (one,) = build(replace(seen, tables={**seen.tables, "link_stats": (card,)}), SEEN)
    assert one.what == f"{FAR} asked 6 times for {VIRTUAL} by ARP, and asks on"


@pytest.mark.parametrize(("rises", "to", "sent", "share"), [
    (True, "10.9.0.0/24", 0, 1.0), (True, "10.9.0.0/24", 5, None), (False, "10.9.0.0/24", 0, None),
    (True, "10.8.0.0/24", 0, None),  # the route to who asks leads back there
])  # fmt: skip
def test_the_route_by_which_arp_filter_gives_no_answer(
    rises: bool, to: str, sent: int, share: float | None
) -> None:
    def moving(row: Any, **now: int) -> list[Any]:
        return list(entries([replace(row, **now)], entries([row], (), 0.0), 1.0))

    counted = Failures("ArpFilter", "", "", "", "", "", 5.0, 9)
    card: Any = link_stats.Row(**{**NO_COUNTS, "interface": "a0", "rx_packets": 9, "tx_packets": 9})
    seen = frame(arp_requests=[heard(NEAR, source="10.9.0.7")],
                 fib=[*SOUND["fib"], route(to, "b0", "10.1.0.254")])  # fmt: skip
    tables = {**seen.tables, "failures": moving(counted, events=9 + 5 * rises),
              "link_stats": moving(card, rx_packets=14, tx_packets=9 + sent)}  # fmt: skip
    (one,) = build(Frame(9.0, 9.0, tables, {}, {}), SEEN)
    assert one.stops is (rises and to == "10.9.0.0/24")
    if one.stops:
        assert one.decider == (
            "a0 answers no ARP of 10.9.0.7: arp_filter is 1, and route 10.9.0.0/24 to it leads by "
            "b0"
        )
        assert (one.share, one.meant) == (share, share is None)


@pytest.mark.parametrize(
    ("request_", "mode", "found"),
    [
        (heard(VIRTUAL), 0, [False]),
        (heard(VIRTUAL, requests=2), 1, []),
        (heard("10.0.0.77"), 1, []),  # nobody here knows whether it is there
        (heard(VIRTUAL, source=NEAR), 1, []),
        (heard(VIRTUAL, "gone0"), 1, []),
    ],
)
def test_questions_that_tell_nothing(request_: Request, mode: int, found: list[bool]) -> None:
    assert [one.stops for one in facts(request_, **virtual(mode))] == found


def bridged(*, isolated: bool = True, state: str = "reachable", third: bool = False) -> Any:
    usual = {"master": "br0", "slave_kind": "bridge", "port_state": "forwarding"}
    ports = [link(name, n, isolated=isolated, **usual) for n, name in enumerate(("va", "vb"), 10)]
    ports += [link("up0", 12, isolated=False, **usual)] if third else []
    return {
        "links": [*SOUND["links"], link("br0", 9, kind="bridge"), *ports],
        "addresses": [*SOUND["addresses"], Address("br0", "10.7.0.1", 24, 4, "global")],
        "neighbour_states": [Neighbour("br0", OTHER, 4, state, MACS[1])],
        "fdb": [Entry(name, mac, "", 0, master="br0")
                for name, mac in zip(("va", "vb"), MACS, strict=True)],
    }  # fmt: skip


@pytest.mark.parametrize("third", [False, True])
def test_two_isolated_ports_of_a_bridge(*, third: bool) -> None:
    """The port of the host that is asked for decides, whatever other ports the bridge has."""
    (one,) = facts(heard(OTHER, "br0", ASKER), **bridged(third=third))
    assert one.decider == (
        "the ports va and vb of the bridge br0 are isolated: no frame passes between them"
    )
    assert (one.meant, one.asks) == (True, f"{OTHER} --from {ASKER}%va")


def test_ports_that_are_not_isolated_and_hosts_that_are_not_there() -> None:
    ask = heard(OTHER, "br0", ASKER)
    assert [one.stops for one in facts(ask, **bridged(isolated=False))] == [False]
    assert facts(ask, **bridged(isolated=False, state="failed")) == ()


def test_of_whom_a_host_asks_behind_an_isolated_port_nothing_can_be_known() -> None:
    tables = bridged(state="failed", third=True) | {"neighbour_states": []}
    (one,) = facts(heard(OTHER, "br0", ASKER), **tables)
    assert (one.stops, one.meant) == (True, True)
    assert one.decider.endswith("br0 are isolated: no frame passes between them")


def test_the_tables_of_a_bridge_are_read_once_a_question_is_repeated() -> None:
    seen = frame(arp_requests=[heard(OTHER, "br0", ASKER)])
    assert [one.to for one in asked(seen, SEEN)] == [OTHER]
    seen = frame(arp_requests=[heard(OTHER, "br0", ASKER, requests=1)])
    assert asked(seen, SEEN) == ()
