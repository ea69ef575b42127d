"""What arrives in vain: listeners of another family, address or interface, and discovery."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from way_tables import FAR, NEAR, SOUND, frame, link, listener, qdisc, route, went

from nettop.collect import link_stats, sysctls
from nettop.collect.addresses import Row as Address
from nettop.collect.drop_reasons import Row as Drop
from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nft_rules import Row as Rule
from nettop.facts.kinds.way import WayFact, build
from nettop.frame.pairs import entries
from nettop.frame.rates import Entry

SIX = "fd00:9::1"
OWN = [*SOUND["addresses"], Address("a0", SIX, 64, 6, "global")]
ROUTES = [
    *SOUND["fib"], route(f"{SIX}/128", "a0", table=255, kind="local"), route("fd00:9::/64", "a0"),
]  # fmt: skip
RULES = [*SOUND["routing_rules"], *(replace(one, family=6) for one in SOUND["routing_rules"])]
V6ONLY = listener("::", 80, family=6, v6only=True)
DROP, ACCEPT = ("immediate", 0, "0:"), ("immediate", 0, "1:")


def dropped(protocol: str = "tcp", port: str = "80", place: str = "tcp_v4_rcv") -> Drop:
    reason = "NO_SOCKET" if port else "NETFILTER_DROP"
    return Drop(reason, place, "here", "2", protocol, port, 9)


def facts(*drops: Drop, **tables: Any) -> tuple[WayFact, ...]:
    seen: Any = SimpleNamespace(more={}, flows=())
    usual = {"addresses": OWN, "fib": ROUTES, "routing_rules": RULES, **tables}
    return build(frame(drop_reasons=drops, **usual), seen)


@pytest.mark.parametrize(
    ("socket", "to", "says"),
    [
        (V6ONLY, NEAR, "app[7] listens at [::]:80 for IPv6 only (IPV6_V6ONLY)"),
        (listener("0.0.0.0", 80), SIX, "app[7] listens at 0.0.0.0:80 for IPv4 only"),
        (listener("0.0.0.0", 80, interface="b0"), NEAR, "app[7] listens at 0.0.0.0:80 on b0 only"),
        (listener("127.0.0.1", 80), NEAR, "app[7] listens at 127.0.0.1:80 only"),
    ],
)
def test_a_socket_that_does_not_take_what_arrives(socket: Any, to: str, says: str) -> None:
    place = "tcp_v6_rcv" if to == SIX else "tcp_v4_rcv"
    (one,) = facts(dropped(place=place), sockets_tcp=[socket])
    assert one.stops
    assert one.decider.endswith(says)
    assert one.what == "9 packets to tcp port 80 on a0 find no socket"
    assert one.asks.endswith("--from a0")
    assert one.nic == "a0"
    assert one.explains[0] == f"NO_SOCKET/{place}"


def test_the_setting_that_makes_a_socket_of_ipv6_alone_is_named() -> None:
    set_ = [sysctls.Row("net.ipv6.bindv6only", "1")]
    (one,) = facts(dropped(), sockets_tcp=[V6ONLY], sysctls=set_)
    assert one.decider.endswith("(IPV6_V6ONLY, the default by net.ipv6.bindv6only 1)")
    assert one.change.endswith("nettop set sysctl.net.ipv6.bindv6only 0, then restart it")


@pytest.mark.parametrize(
    "sockets",
    [
        [],  # what strangers try
        [listener("0.0.0.0", 80)],  # segments of connections that are gone
        [V6ONLY, listener("0.0.0.0", 80)],
        [listener("::", 80, family=6, v6only=False)],
        [listener("0.0.0.0", 80, interface="a0")],
        [listener("10.1.0.1", 80), listener("10.1.0.1", 80, state="established")],
    ],
)
def test_sockets_that_may_take_it_are_no_trouble(sockets: list[Any]) -> None:
    assert facts(dropped(), sockets_tcp=sockets) == ()


def filtered(family: str, *does: tuple[Any, ...], hook: str = "input", drops: bool = False) -> Any:
    rules = [Rule(family, "t", "c", number, one) for number, one in enumerate(does, 2)]
    return {"nft_hooks": [Hook(family, "t", "c", hook, 0, "filter", drops)], "nft_rules": rules}


SOLICITS = (("payload", 1, 2, 0, 1), ("cmp", 1, 0, "87"))
TCP = (("meta", 16, 1), ("cmp", 1, 0, "06"))
STATED = (("ct", 0, 1), ("bitwise", 1, 1, "06000000", "00000000"), ("cmp", 1, 1, "00000000"))
REQUEST = (("payload", 1, 1, 6, 2), ("cmp", 1, 0, "0001"))


@pytest.mark.parametrize(
    ("tables", "protocol", "says"),
    [
        (filtered("inet", (*TCP, ACCEPT), (*STATED, ACCEPT), drops=True), "icmp6",
         "the policy of chain c (hook input, inet t) drops neighbour solicitations"),
        (filtered("ip6", (*SOLICITS, DROP)), "icmp6",
         "rule of handle 2 in chain c (hook input, ip6 t) drops neighbour solicitations"),
        (filtered("ip6", hook="output", drops=True), "icmp6",
         "the policy of chain c (hook output, ip6 t) drops neighbour advertisements"),
        (filtered("arp", (*REQUEST, DROP)), "arp",
         "rule of handle 2 in chain c (hook input, arp t) drops ARP requests"),
    ],
)  # fmt: skip
def test_a_filter_that_drops_the_questions_for_an_address(
    tables: Any, protocol: str, says: str
) -> None:
    (one,) = facts(dropped(protocol, "", "nft_do_chain"), **tables)
    to = SIX if protocol == "icmp6" else NEAR
    assert one.decider == f"{says}: no host finds {to} on a0"
    assert one.change.startswith("nft insert rule ")
    assert one.change.endswith("} accept")


@pytest.mark.parametrize(
    "tables",
    [
        filtered("inet", (*SOLICITS, ACCEPT), (*SOLICITS[:1], ("cmp", 1, 0, "88"), ACCEPT),
                 drops=True),
        filtered("inet", (("lookup",), ACCEPT), drops=True),  # a set that may have them
        filtered("arp", (*REQUEST, DROP)),
    ],
)  # fmt: skip
def test_a_filter_that_lets_them_pass_or_may(tables: Any) -> None:
    (one,) = facts(dropped("icmp6", "", "nft_do_chain"), **tables)
    assert not one.stops


def test_the_answer_to_our_own_question_is_dropped() -> None:
    gone: Any = {"neighbour_states": []}
    replies = filtered("arp", (("payload", 1, 1, 6, 2), ("cmp", 1, 0, "0002"), DROP))
    decider = went(FAR, frame(**gone, **replies)).decider
    assert decider is not None
    assert decider.saw == (
        f"rule of handle 2 in chain c (hook input, arp t) drops ARP replies: "
        f"{FAR} is not found on a0"
    )
    assert went(FAR, frame(**replies)).decider is None  # its entry is there
    tunnel = {"links": [SOUND["links"][0], link("a0", 2, noarp=True, kind="dummy")]}
    assert went(FAR, frame(**gone, **replies, **tunnel)).decider is None


def received(rx: int, tx: int, before: int = 0) -> Any:
    """The counters of a0 now, and a second before."""
    none: dict[str, Any] = dict.fromkeys(link_stats.Row.__dataclass_fields__, 0)
    now, past = (
        link_stats.Row(**{**none, "interface": "a0", "rx_packets": n, "tx_packets": m})
        for n, m in ((rx, tx), (rx - 1, before))
    )  # fmt: skip
    return Entry(now, before=past, seconds=1.0)


LO = Address("lo", FAR, 32, 4, "global")


@pytest.mark.parametrize(("entry", "tables", "says"), [
    (received(9, 2, 2), {"links": [SOUND["links"][0], link("a0", 2, noarp=True)]}, "NOARP"),
    (received(9, 2, 2), {"addresses": [*OWN, LO]}, f"{FAR}, an address of lo, is in the network"),
    (received(9, 2, 1), {"addresses": [*OWN, LO]}, None),  # it answers
    (received(9, 40, 40), {"addresses": [*OWN, LO]}, None),  # it has answered others
    (received(9, 2, 2), {}, None),  # nothing may decide it
    (received(9, 2, 2), {"addresses": [*OWN, replace(LO, address="10.77.0.9")]}, ""),
])  # fmt: skip
def test_an_interface_that_only_receives(entry: Any, tables: Any, says: str | None) -> None:
    usual = {"addresses": OWN, "fib": ROUTES, "routing_rules": RULES, **tables}
    seen = frame(**usual)
    known: Any = SimpleNamespace(more={}, flows=())
    found = build(replace(seen, tables={**seen.tables, "link_stats": (entry,)}), known)
    assert all((says or "") in one.decider and one.stops is bool(says) for one in found)
    assert bool(found) is (says is not None)


@pytest.mark.parametrize(("reason", "index", "suspected"), [
    ("XDP", "2", True), ("XDP", "3", False), ("NO_SOCKET", "2", False),
])  # fmt: skip
def test_an_xdp_program_that_drops_is_suspected(reason: str, index: str, suspected: bool) -> None:
    links = [SOUND["links"][0], link("a0", 2, xdp=True), *SOUND["links"][2:]]
    drops = [Drop(reason, "do_xdp_generic", "here", index, "tcp", "8443", 9)]
    suspect = went(NEAR, frame(links=links, drop_reasons=drops), origin=FAR, arrives="a0").suspect
    assert (suspect is not None) is suspected
    assert suspect is None or suspect.saw == "the XDP program of a0 dropped 9 packets"


MOST = "the filters of ingress on a0 drop most of what it receives"


OUT = "the filters of clsact on a0 dropped 9 packets to tcp port 443"


@pytest.mark.parametrize(("drops", "ifb", "reason", "saw"), [
    (90, False, "", MOST), (90, True, "", f"{MOST} (ifb0, an ifb, is down)"), (20, True, "", None),
    (90, False, "TC_EGRESS", OUT), (20, False, "TC_EGRESS", None),
    (90, False, "TC_INGRESS", MOST.replace("ingress", "clsact")),
])  # fmt: skip
def test_filters_that_drop_most_of_what_passes_are_suspected(
    drops: int, ifb: bool, reason: str, saw: str | None
) -> None:
    """`reason`: why the kernel says that it drops packets; clsact has one counter for both ways."""
    links = [*SOUND["links"], *([link("ifb0", 9, kind="ifb", up=False)] if ifb else [])]
    seen = frame(links=links)

    def counted(rows: Any) -> Any:
        before, now = rows
        return entries([now], entries([before], (), 0.0), 1.0)

    none: dict[str, Any] = dict.fromkeys(link_stats.Row.__dataclass_fields__, 0)
    ports = [link_stats.Row(**{**none, "interface": "a0", "rx_packets": n,
                               "tx_packets": n // 2}) for n in (0, 100)]  # fmt: skip
    kind = "clsact" if reason else "ingress"
    queues = [qdisc("a0", kind, root=False, drops=count) for count in (0, drops)]
    tables = {**seen.tables, "link_stats": counted(ports), "qdiscs": counted(queues)}
    if reason:
        row = Drop(reason, "__dev_queue_xmit", "here", "2", "tcp", "4000", 9, to=FAR, to_port=443)
        tables["drop_reasons"] = entries([row], (), 0.0)
        found = went(FAR, replace(seen, tables=tables), port=443)
    else:
        found = went(NEAR, replace(seen, tables=tables), origin=FAR, arrives="a0")
    suspect = found.suspect
    assert (None if suspect is None else suspect.saw) == saw
    hook = "egress" if reason == "TC_EGRESS" else "ingress"
    assert suspect is None or suspect.command == f"tc -s filter show dev a0 {hook}"


@pytest.mark.parametrize(("sender", "operator", "of_one"), [
    ("0a000002", 0, True),  # that host alone
    ("0a000009", 1, False),  # all but another one
])  # fmt: skip
def test_a_rule_of_arp_for_one_sender_cuts_that_one_off_alone(
    sender: str, operator: int, of_one: bool
) -> None:
    only = ("payload", 1, 1, 14, 4), ("cmp", 1, operator, sender)
    row = Drop("NETFILTER_DROP", "nft_do_chain", "here", "2", "arp", "", 9, 3.0)
    (one,) = facts(row, **filtered("arp", (*only, DROP)))
    assert one.meant is of_one
    assert one.share == (None if of_one else 1.0)
    if of_one:
        assert one.decider.endswith(
            "drops ARP requests of 10.0.0.2: it does not find 10.0.0.1 on a0"
        )
        assert one.change == "if it is not meant so: nft delete rule arp t c handle 2"
    else:
        assert "no host finds 10.0.0.1" in one.decider
