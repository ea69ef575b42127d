"""Which rules, policies and options are told to drop, and what of it is no loss."""

from dataclasses import replace
from typing import Any

import pytest
from drops_told import seen, told
from way_tables import FAR, NEAR, SOUND, rule

from nettop.collect import conntrack, nft_hooks, nft_rules, nftables, translated
from nettop.frame.pairs import entries

TRACKED = nftables.Row("ip", "t", "c", "4", "input", packets=None, tests="ct state invalid")
POLICY = nftables.Row("ip", "t", "c", "policy", "input", packets=None)


def tracking(invalid: int, *, past: int) -> Any:
    rows = [conntrack.Row(9, invalid=one) for one in (past, invalid)]
    return {"conntrack": entries(rows[1:], entries(rows[:1], (), 0.0), 1.0)}


@pytest.mark.parametrize(("invalid", "named"), [(7, False), (9, True)])
def test_a_rule_for_what_is_invalid_is_not_it_while_nothing_is(invalid: int, named: bool) -> None:
    one = told(seen("NETFILTER_DROP", "nft_do_chain", to_port=443), nftables=[TRACKED, POLICY],
               entries_of=tracking(invalid, past=7))  # fmt: skip
    assert ("ip/t/c/4" in one.filters, "ip/t/c/policy" in one.filters) == (named, True)
    assert ("nf_conntrack_tcp_loose" in one.advice) is named


@pytest.mark.parametrize(("family", "tracked"), [("inet", True), ("bridge", False)])
def test_of_a_rule_for_frames_nothing_is_said_of_connections(family: str, *, tracked: bool) -> None:
    rule = replace(POLICY, family=family, rule="7", hook="forward")
    one = told(seen("NETFILTER_DROP", "nft_do_chain", to="10.9.0.7"), nftables=[rule])
    assert one.advice.startswith(f"`nft -a list chain {family} t c` shows it.")
    assert ("notrack" in one.advice) is tracked


@pytest.mark.parametrize(("more", "normal"), [
    ({"to_port": 23}, True),
    ({"to_port": 80}, False),  # a program listens
    ({"to_port": 40000}, False),  # a client may have had it
    ({"to_port": 23, "to": "10.9.0.7"}, False),  # forwarded
    ({"to_port": 0}, False),
])  # fmt: skip
def test_what_a_policy_drops_at_ports_without_a_listener_is_no_loss(
    more: dict[str, Any], normal: bool
) -> None:
    row = replace(seen("NETFILTER_DROP", "nft_do_chain", **more), protocol="tcp")
    one = told(row, nftables=[POLICY], sockets_udp=[])
    assert (one.kind == "normal") is normal
    assert ("to ports at which nothing listens (ip/t/c/policy)" in one.means) is normal
    rule = told(row, nftables=[replace(POLICY, rule="7")], sockets_udp=[])
    assert rule.kind == "turned away"


@pytest.mark.parametrize(("answered", "tests", "halved"), [
    (False, "ct state invalid", True), (True, "ct state invalid", False), (False, "", False),
])  # fmt: skip
def test_a_connection_of_which_one_direction_passes_is_told(
    answered: bool, tests: str, halved: bool
) -> None:
    row = replace(seen("NETFILTER_DROP", "nf_hook_slow", to="10.9.0.7", to_port=443),
                  protocol="tcp", port="443")  # fmt: skip
    half = translated.Row("tcp", "10.0.0.2", 40001, "10.9.0.7", 443, "10.9.0.7", 443, "10.0.0.2",
                          answered)  # fmt: skip
    rule = replace(TRACKED, family="iptables", chain="FORWARD", hook="forward", tests=tests)
    one = told(row, nftables=[rule], translated=[half])
    said = "The answers to 10.0.0.2 to 10.9.0.7:443 do not pass this host (asymmetric path)"
    assert one.means.startswith(said) is halved
    assert (one.kind == "loss") is halved
    assert ("`ip route get 10.0.0.2` on 10.9.0.7" in one.advice) is halved


def test_an_option_of_ipv6_that_demands_the_drop_is_no_frame_that_nothing_reads() -> None:
    one = told(seen("UNHANDLED_PROTO", "ip6_tlvopt_unknown"))
    assert (one.unread, one.kind) == (False, "refused")
    assert one.means.startswith("IPv6 packets have an unknown option")
    assert told(seen("UNHANDLED_PROTO", "__netif_receive_skb_core")).unread


def test_what_a_rule_marks_and_no_route_takes_is_told_with_the_rule() -> None:
    marks = (("match", "cgroup"), ("immediate", 1, "12000000"), ("meta", 3))
    tables: dict[str, Any] = {
        "nft_hooks": [
            nft_hooks.Row("ip", "mangle", "OUTPUT", "output", -150, "filter", drops=False, old=True)
        ],
        "nft_rules": [nft_rules.Row("ip", "mangle", "OUTPUT", 1, marks, old=True)],
        "routing_rules": [
            *SOUND["routing_rules"],
            rule(50, 0, mark=0x12, mask=0xFF, action="prohibit"),
        ],
    }
    row = replace(seen("NETFILTER_DROP", "nf_hook_slow", source=NEAR, to=FAR, to_port=443),
                  protocol="tcp", port="443")  # fmt: skip
    one = told(row, nftables=[], **tables)
    assert one.means.endswith("rule 50 from all fwmark 0x12 is prohibit; rule 1 in chain OUTPUT "
                              "(hook output, table mangle of the older iptables) may give packets "
                              "the mark 0x12")  # fmt: skip
    assert "iptables-legacy -t mangle -D OUTPUT 1" in one.advice
    sound = told(row, nftables=[], **{**tables, "routing_rules": SOUND["routing_rules"]})
    assert sound.means == "The packet filter dropped the packet"
    forwarded = told(replace(row, source="10.1.0.7"), nftables=[], **tables)
    assert forwarded.means == "The packet filter dropped the packet"
