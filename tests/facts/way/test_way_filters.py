"""The packet filter and IPsec on the way: each expression, verdict and policy."""

import sys
from typing import Any

import pytest
from folded import folded
from way_filters import ACCEPT, DROP, PORT80, ruled
from way_tables import FAR, NEAR, SOUND, frame, link, switches, went

from nettop.collect.drop_reasons import Row as Drop
from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nft_rules import Row as Rule
from nettop.collect.nftables import Row as Nftables
from nettop.collect.xfrm_policies import Row as Policy
from nettop.facts.way import HIDDEN

TO = (("payload", 1, 1, 16, 4), ("cmp", 1, 0, "0a000002"))
ESTABLISHED = (("ct", 0, 1), ("bitwise", 1, 1, "06000000", "00000000"), ("cmp", 1, 1, "00000000"))
TCP = (("meta", 16, 1), ("cmp", 1, 0, "06"))
OUT_A0 = (("meta", 7, 1), ("cmp", 1, 0, b"a0".hex() + "00" * 14))
ARRIVES_B0 = (("meta", 6, 1), ("cmp", 1, 0, b"b0".hex() + "00" * 14))
SET = (("payload", 1, 1, 16, 4), ("lookup",))


@folded(
    "rule",
    [
        (DROP,), (*PORT80, ("counter",), DROP), (*TO, ("reject",)), (*TCP, *PORT80, DROP),
        (*OUT_A0, DROP), (("log",), DROP),
    ],
)  # fmt: skip
def test_a_rule_that_matches_and_drops_stops_the_packets(rule: tuple[Any, ...]) -> None:
    decider = went(FAR, ruled(rule), port=80).decider
    assert decider is not None
    verb = "rejects" if ("reject",) in rule else "drops"
    assert decider.saw == f"rule of handle 2 in chain c (hook output, inet t) {verb} packets"
    assert decider.answers == (verb == "rejects")
    cure = "nft delete rule inet t c handle 2"
    if rule[-2:][0] in (DROP, ("log",)):  # it drops all: the others are to be dropped as before
        cure = "nft insert rule inet t c handle 2 ip daddr 10.0.0.2 tcp dport 80 accept"
    assert decider.change == cure


BY = "(hook output, inet t) drops the same packets: nft"


@pytest.mark.parametrize(("rules", "drops", "then"), [
    (((*PORT80, DROP), (*TCP, DROP)), False,
     f"; then rule of handle 3 in chain c {BY} delete rule inet t c handle 3"),
    (((*PORT80, DROP),), True,
     f"; then the policy of chain c {BY} add rule inet t c ip daddr 10.0.0.2 tcp dport 80 accept"),
    (((*PORT80, DROP), (ACCEPT,)), True, ""),
])  # fmt: skip
def test_what_drops_the_packets_once_a_rule_is_deleted_is_told(
    rules: tuple[Any, ...], drops: bool, then: str
) -> None:
    decider = went(FAR, ruled(*rules, drops=drops), port=80).decider
    assert decider is not None
    assert decider.change == f"nft delete rule inet t c handle 2{then}"


@pytest.mark.parametrize(
    "rule", [(*ESTABLISHED, DROP), (*ARRIVES_B0, DROP), (("counter",),), (ACCEPT,)]
)
def test_a_rule_that_does_not_match_or_does_not_drop_lets_them_pass(rule: tuple[Any, ...]) -> None:
    way = went(FAR, ruled(rule), port=80)
    assert (way.decider, way.of(HIDDEN)[1:]) == (None, ())
    assert went(FAR, ruled((*PORT80, DROP)), port=81).decider is None


SOURCE443 = (("payload", 1, 2, 0, 2), ("cmp", 1, 0, "01bb"))


@folded(("rule", "drops"), [
    ((*SOURCE443, DROP), True),
    ((*ESTABLISHED, DROP), True),
    ((*PORT80, DROP), False),
])  # fmt: skip
def test_a_connection_that_is_open_has_its_port_and_state(
    rule: tuple[Any, ...], *, drops: bool
) -> None:
    way = went(FAR, ruled(rule), port=40000, origin=NEAR, source_port=443)
    assert (way.decider is not None) is drops


@folded(("rows", "suspected"), [
    ([("NETFILTER_DROP", "here", "tcp", "80", 9)], True),
    ([("NETFILTER_DROP", "elsewhere", "tcp", "80", 9)], False),
    ([("NETFILTER_DROP", "here", "udp", "80", 9)], False),
    ([("NETFILTER_DROP", "here", "tcp", "81", 9)], False),
    ([("NO_SOCKET", "here", "tcp", "80", 9)], False),
])  # fmt: skip
def test_a_rule_that_may_drop_is_suspected_where_the_filter_did(
    rows: list[tuple[str, str, str, str, int]], *, suspected: bool
) -> None:
    """A quota, a limit or a set decides, which this walk does not know; the kernel counted it."""
    counted = [Drop(reason, "nft_do_chain", where, "", protocol, port, packets)
               for reason, where, protocol, port, packets in rows]  # fmt: skip
    way = went(FAR, ruled((*PORT80, ("quota",), DROP), drop_reasons=counted), port=80)
    assert way.decider is None
    assert (way.suspect is not None) is suspected
    if way.suspect is not None:
        assert "rule of handle 2 in chain c (hook output, inet t) may drop them" in way.suspect.saw


def test_the_set_of_a_rule_that_may_drop_is_asked_for_the_address() -> None:
    counted = [Drop("NETFILTER_DROP", "nft_do_chain", "here", "", "tcp", "80", 9)]
    tested = [Nftables("inet", "t", "c", "2", "output", tests="ip daddr @banned")]
    rules = ruled((*PORT80, ("lookup",), DROP), drop_reasons=counted, nftables=tested)
    way = went(FAR, rules, port=80)
    assert way.suspect is not None
    assert "may drop them (ip daddr @banned), and the packet filter" in way.suspect.saw
    assert way.suspect.command == f"nft get element inet t banned '{{ {FAR} }}'"


def test_a_rule_that_counts_and_has_dropped_nothing_is_not_the_one() -> None:
    counted = [Drop("NETFILTER_DROP", "nft_do_chain", "here", "", "tcp", "80", 9)]
    for packets, doubt in ((0, False), (9, True)):
        tested = [Nftables("inet", "t", "c", "2", "output", packets=packets, tests="string")]
        rules = ruled((*PORT80, ("lookup",), DROP), drop_reasons=counted, nftables=tested)
        way = went(FAR, rules, port=80)
        assert (way.suspect is not None and "may drop" in way.suspect.saw) is doubt


def test_what_a_rule_of_the_older_iptables_tests_is_told_though_it_is_not_read() -> None:
    counted = [Drop("NETFILTER_DROP", "nf_hook_slow", "here", "", "tcp", "80", 9)]
    tested = [Nftables("iptables", "filter", "INPUT", "1", "input", tests="in a set of ipset")]
    rule = Rule("ip", "filter", "INPUT", 1, (("match", "in a set of ipset"), DROP), old=True)
    hook = Hook("ip", "filter", "INPUT", "input", 0, "filter", drops=False, old=True)
    tables: dict[str, Any] = {"nft_hooks": [hook], "nft_rules": [rule], "drop_reasons": counted}
    way = went(NEAR, frame(**tables, nftables=tested), origin=FAR, port=80)
    assert way.suspect is not None
    assert "may drop them (in a set of ipset), and" in way.suspect.saw


LATE = "a SYN is sent again after 1, 3 and 7 s: such a connection opens late"


@folded(("rules", "drops", "said"), [
    ([(*PORT80, ("limit", 25, 1, 10, 0, 1), DROP)], False, ("rule of handle 2 in chain c (hook "
     "output, inet t) drops what exceeds its limit, 25/second burst 10 packets, and the packet")),
    ([(*PORT80, ("dynset",), ("limit", 9000, 60, 1, 1, 1), DROP)], False,
     "drops what exceeds its limit, 9000 bytes/minute burst 1 bytes, and"),
    ([(*PORT80, ("limit",), ACCEPT), (*PORT80, DROP)], False, ("rule of handle 3 in chain c (hook "
     "output, inet t) drops what exceeds the limit of rule of handle 2 in chain c, and the")),
    ([(*PORT80, ("limit", 5, 60, 1, 0, 0), ACCEPT)], True, ("the policy of chain c (hook output, "
     "inet t) drops what exceeds the limit of rule of handle 2 in chain c, 5/minute burst 1 pack")),
    ([(*PORT80, ("limit", 25, 1, 10, 0, 0), DROP)], False, "may drop them"),  # what is within it
])  # fmt: skip
def test_a_limit_of_a_rate_is_told_with_its_figures_and_that_attempts_are_late(
    rules: list[tuple[Any, ...]], said: str, *, drops: bool
) -> None:
    counted = [Drop("NETFILTER_DROP", "nft_do_chain", "here", "", "tcp", "80", 9)]
    step = went(FAR, ruled(*rules, drops=drops, drop_reasons=counted), port=80).suspect
    assert step is not None
    limited = "may drop" not in said
    assert (said in step.saw, step.picks == "rate", LATE in step.saw) == (True, limited, limited)
    assert step.change.startswith("raise that limit, or nft ") is limited


@pytest.mark.parametrize(("quota", "drops"), [
    ((50_000, 1, 50_000), True),  # over a quota that is used up
    ((50_000, 1, 900), False),
    ((50_000, 0, 900), True),  # until it is used up
    ((50_000, 0, 50_000), False),
])  # fmt: skip
def test_a_quota_matches_until_it_is_used_up_or_from_then_on(
    quota: tuple[int, int, int], *, drops: bool
) -> None:
    decider = went(FAR, ruled((*PORT80, ("quota", *quota), DROP)), port=80).decider
    assert (decider is not None) is drops
    if decider is not None and quota[1]:
        assert "(hook output, inet t), whose quota of 48.8 KiB is used up, drops" in decider.saw
        assert decider.change.startswith("nft reset rule inet t c handle 2 (nft 1.0.7")


def test_an_accept_ends_the_chain() -> None:
    assert went(FAR, ruled((*PORT80, ACCEPT), (DROP,)), port=80).decider is None
    assert went(FAR, ruled((*PORT80, ACCEPT), (DROP,)), port=81).decider is not None


def test_the_policy_drops_what_no_rule_accepts() -> None:
    decider = went(FAR, ruled((*ESTABLISHED, ACCEPT), drops=True), port=80).decider
    assert decider is not None
    assert decider.saw == "the policy of chain c (hook output, inet t) drops packets to 10.0.0.2:80"
    assert decider.change == "nft add rule inet t c ip daddr 10.0.0.2 tcp dport 80 accept"
    assert went(FAR, ruled((*PORT80, ACCEPT), drops=True), port=80).decider is None


def test_answers_are_of_an_established_connection() -> None:
    seen = ruled((*ESTABLISHED, ACCEPT), drops=True)
    assert went(NEAR, seen, port=80, origin=FAR).decider is None
    decider = went(NEAR, ruled(drops=True), port=80, origin=FAR).decider
    assert decider is not None
    assert "drops answers to 10.0.0.2" in decider.saw


@pytest.mark.parametrize("rule", [(*SET, DROP), (*PORT80, ("limit",), DROP), (("match",), DROP)])
def test_a_rule_that_cannot_be_evaluated_is_not_visible_and_no_stop(rule: tuple[Any, ...]) -> None:
    way = went(FAR, ruled(rule), port=80)
    assert way.decider is None
    assert any("whether rule of handle 2 in chain c" in one.saw for one in way.of(HIDDEN))
    perhaps = went(FAR, ruled((*SET, ACCEPT), (DROP,)), port=80)
    assert perhaps.decider is None
    assert any("whether rule of handle 3 in chain c" in one.saw for one in perhaps.of(HIDDEN))
    policy = went(FAR, ruled((*SET, ACCEPT), drops=True), port=80)
    assert policy.decider is None
    assert any("its policy is drop" in one.saw for one in policy.of(HIDDEN))


def test_a_chain_that_is_jumped_to_is_passed() -> None:
    jump = (*PORT80, ("immediate", 0, "-3:d"))
    inner = [Rule("inet", "t", "d", 9, (*TO, DROP))]
    decider = went(FAR, ruled(jump, more=inner), port=80).decider
    assert decider is not None
    assert "rule of handle 9 in chain d" in decider.saw
    back = [Rule("inet", "t", "d", 8, (("immediate", 0, "-5:"),)), *inner]
    assert went(FAR, ruled(jump, more=back), port=80).decider is None
    assert went(FAR, ruled(jump, more=inner), port=81).decider is None


@folded(
    ("hook", "to", "origin"),
    [("input", NEAR, FAR), ("input", NEAR, ""), ("forward", "10.1.0.9", FAR),
     ("prerouting", "10.1.0.9", FAR), ("postrouting", FAR, "")],
)  # fmt: skip
def test_each_hook_is_that_of_its_way(hook: str, to: str, origin: str) -> None:
    decider = went(to, ruled((DROP,), hook=hook), port=80, origin=origin).decider
    assert decider is not None
    assert f"(hook {hook}, inet t)" in decider.saw
    assert went(FAR, ruled((DROP,), hook="forward"), port=80).decider is None


@pytest.mark.parametrize(
    ("name", "says"), [("queue", "hands"), ("tproxy", "changes the addresses")]
)
def test_a_queue_and_a_translation_are_not_visible(name: str, says: str) -> None:
    way = went(FAR, ruled(((name,),)))
    assert way.decider is None
    assert any(says in one.saw for one in way.of(HIDDEN))


def test_what_passes_the_hooks_by_is_not_visible() -> None:
    hooks = [Hook("netdev", "t", "i", "ingress", 0, "filter", drops=False, devices=("p0",))]
    below = [*SOUND["links"], link("p0", 9, master="a0")]
    offload = [Rule("inet", "t", "f", 2, (("flow_offload",),))]
    said = [
        one.saw
        for one in went(FAR, frame(nft_hooks=hooks, nft_rules=offload, links=below)).of(HIDDEN)
    ]
    assert any("family netdev" in one for one in said)
    assert any("flowtable" in one for one in said)
    assert any("not permitted" in one.saw for one in went(FAR, frame("nft_rules")).of(HIDDEN))


def policy(direction: str = "out", to: str = "10.0.0.0/24", **more: Any) -> Policy:
    usual = {"priority": 0, "peer": FAR, "states": 0}
    return Policy(direction, 1, to, "0.0.0.0/0", **{**usual, **more})


def test_a_policy_without_state_stops_the_packets() -> None:
    decider = went(FAR, frame(xfrm_policies=[policy()])).decider
    assert decider is not None
    assert decider.saw == (
        "the IPsec policy 0.0.0.0/0 to 10.0.0.0/24 dir out wants IPsec with 10.0.0.2, and this "
        "host has no IPsec state"
    )
    shut = policy(blocks=True, peer=None, protocol=6, port=80)
    blocks = went(FAR, frame(xfrm_policies=[shut]), port=80).decider
    assert blocks is not None
    assert blocks.saw.endswith(" dir out for tcp port 80 blocks packets")
    assert blocks.change == "ip xfrm policy del dir out index 1"
    taken = went(NEAR, frame(xfrm_policies=[policy("in", NEAR + "/32")]), origin=FAR).decider
    assert taken is not None


def test_without_a_policy_its_other_direction_goes_too() -> None:
    """That one drops the answers, which come unprotected."""
    back = Policy("in", 8, "0.0.0.0/0", "10.0.0.0/24", priority=0, peer=NEAR, states=0)
    decider = went(FAR, frame(xfrm_policies=[policy(), back])).decider
    assert decider is not None
    assert decider.change == (
        "start the key exchange (IKE), or, if the packets may go unencrypted, ip xfrm policy del "
        "dir out index 1 and ip xfrm policy del dir in index 8"
    )


@folded(
    "other",
    [{"direction": "fwd"}, {"to": "10.9.0.0/24"}, {"protocol": 17}, {"port": 443}, {"peer": None}],
)
def test_a_policy_of_other_packets_does_not_matter(other: dict[str, Any]) -> None:
    assert went(FAR, frame(xfrm_policies=[policy(**other)]), port=80).decider is None


def test_with_states_it_is_not_visible_whether_one_fits() -> None:
    way = went(FAR, frame(xfrm_policies=[policy(states=2)]))
    assert way.decider is None
    assert any("IPsec state" in one.saw for one in way.of(HIDDEN))
    assert any("IPsec" in one.saw for one in went(FAR, frame("xfrm_policies")).of(HIDDEN))


def untracked(*, hook: str, priority: int = -300, rule: Any = (("notrack",),), **more: Any) -> Any:
    """A rule with notrack at one hook, and a chain that accepts what is established."""
    early = Hook("ip", "raw", "early", hook, priority, "filter", drops=False)
    late = Hook("ip", "fw", "late", more.pop("at", "input"), 0, "filter", drops=True)
    does = [
        Rule("ip", "raw", "early", 5, rule),
        Rule("ip", "fw", "late", 6, (*ESTABLISHED, ACCEPT)),
    ]
    on = [switches("all", 1), switches("a0", 1), switches("b0", 1)]
    return frame(nft_hooks=[late, early], nft_rules=does, interface_sysctls=on, **more)


@folded(("hook", "protocol"), [("output", "udp"), ("prerouting", "udp"), ("output", "tcp")])
def test_answers_of_what_is_not_tracked_are_not_established(hook: str, protocol: str) -> None:
    decider = went(FAR, untracked(hook=hook), port=53, protocol=protocol).decider
    assert decider is not None
    assert decider.saw == (
        "the policy of chain late (hook input, ip fw) drops answers to 10.0.0.1: rule of "
        f"handle 5 in chain early (hook {hook}, ip raw) leaves this flow untracked (notrack)"
    )
    assert decider.change.startswith(f"nft add rule ip fw late {protocol} sport 53 accept, or")


@folded(
    "more",
    [{"priority": -150}, {"rule": (*PORT80, ("notrack",))}, {"hook": "postrouting"},
     {"hook": "forward"}],
)  # fmt: skip
def test_a_rule_of_other_packets_or_after_tracking_leaves_them_tracked(
    more: dict[str, Any],
) -> None:
    assert (
        went(FAR, untracked(**{"hook": "output", **more}), port=53, protocol="udp").decider is None
    )


def test_what_is_forwarded_and_not_tracked_has_answers_that_are_first_packets() -> None:
    seen = untracked(hook="prerouting", rule=(*PORT80, ("notrack",)), at="postrouting")
    decider = went("10.1.0.9", seen, port=80, origin=FAR).decider
    assert decider is not None
    assert "leaves this flow untracked" in decider.saw


def test_a_set_may_leave_them_untracked() -> None:
    hidden = went(FAR, untracked(hook="output", rule=(*SET, ("notrack",))), port=53).of(HIDDEN)
    assert any("whether rule of handle 5 in chain early (hook output, ip raw) leaves" in one.saw
               for one in hidden)  # fmt: skip


@pytest.mark.parametrize(("kind", "sure"), [(1, True), (2, False), (4, False), (5, False)])
def test_an_object_that_a_rule_tests_is_not_known(kind: int, *, sure: bool) -> None:
    decider = went(FAR, ruled((("objref", kind, "tenant7"), DROP)), port=80).decider
    assert (decider is not None) is sure


@pytest.mark.parametrize(("kind", "stops"), [(1, True), (2, False)])
def test_a_rule_tests_whether_the_destination_is_of_this_host(kind: int, stops: bool) -> None:
    of = ("fib", 1, 3, 2), ("cmp", 1, 0, kind.to_bytes(4, sys.byteorder).hex())  # RTN_*
    way = went(FAR, ruled((*of, DROP)), port=80)
    assert (way.decider is not None) is stops
