"""Scrubbing of nf_tables and of IPsec: counters stay, names, addresses and targets of jumps go."""

import struct

import nft_bytes
from netlink_bytes import message

from nettop.collect import nft_chains, nftables, routing_rules, xfrm_policies
from nettop.host.netlink import route, xfrm
from nettop.host.netlink.codec import attribute
from nettop.host.pseudonyms import Names
from nettop.host.scrub import scrubbed

KEY, PEER, OTHER = b"k" * 32, bytes([10, 1, 2, 3]), bytes([10, 9, 0, 77])


def test_rules_of_a_firewall_keep_counters_and_verdicts_only() -> None:
    address = nft_bytes.expression(
        "cmp", nft_bytes.be32(1, 1), nft_bytes.nest(3, attribute(1, PEER))
    )
    nat = nft_bytes.expression("immediate", nft_bytes.nest(2, attribute(1, PEER)))
    jump = nft_bytes.verdict(-3, "secret")
    drops = [nft_bytes.counter(9), nft_bytes.verdict(nft_bytes.DROP)]
    chain = nft_bytes.chain("customer", 1, nft_bytes.DROP, 5)
    rules = nft_bytes.rule("customer", 3, address, *drops)
    rules += nft_bytes.rule("customer", 4, nat, jump) + nft_bytes.rule("x", 5, *drops)
    clean = [
        scrubbed(f"netlink/netfilter/{name}", raw, Names(KEY))
        for name, raw in (("chains", chain), ("rules", rules))
    ]
    assert [len(raw) for raw in clean] == [len(chain), len(rules)]
    for word in (PEER, b"customer", b"secret"):
        assert word in chain + rules
        assert word not in b"".join(clean)
    before, after = nftables.parse(chain, rules), nftables.parse(*clean)
    assert [(row.rule, row.hook, row.packets) for row in after] == [
        (row.rule, row.hook, row.packets) for row in before
    ]
    assert {row.chain for row in after[:2]} == {after[0].chain}


def test_what_sets_the_mss_stays_and_the_data_of_a_target_goes() -> None:
    sets = nft_bytes.expression("exthdr", attribute(2, b"\2"), nft_bytes.be32(7, 8))
    target = nft_bytes.expression("target", nft_bytes.text(1, "TCPMSS"), attribute(3, PEER))
    for one in (sets, target):
        clean = scrubbed("netlink/netfilter/rules", nft_bytes.rule("x", 1, one), Names(KEY))
        assert PEER not in clean
        assert [row.clamps for row in nft_chains.parse(b"", clean)] == [True]


def test_ipsec_policies_keep_no_address() -> None:
    selector = struct.pack("=16s16s8xHBBB11x", PEER, OTHER, 2, 32, 24, 0)
    head = (selector + bytes(96) + struct.pack("=IIBB", 7, 9, 1, 0)).ljust(xfrm.POLICY_SIZE, b"\0")
    template = struct.pack("=16s8xH2x16s20x", PEER, 2, OTHER)
    raw = message(xfrm.NEWPOLICY, head + attribute(5, template))
    clean = scrubbed("netlink/xfrm/policies", raw, Names(KEY))
    for word in (PEER, OTHER):
        assert word in raw
        assert word not in clean
    (before,), (after,) = xfrm_policies.parse(raw, b""), xfrm_policies.parse(clean, b"")
    assert (before.to, before.source, before.peer) == ("10.1.2.3/32", "10.9.0.77/24", "10.1.2.3")
    assert (before.direction, before.priority) == (after.direction, after.priority) == ("out", 7)
    assert after.to == f"{after.peer}/32"  # one replacement of one address
    head = head.replace(struct.pack("=IIBB", 7, 9, 1, 0), struct.pack("=IIBB", 7, 9, 0, 0))
    (comes,) = xfrm_policies.parse(message(xfrm.NEWPOLICY, head + attribute(5, template)), b"")
    assert (comes.direction, comes.peer) == ("in", "10.9.0.77")  # who sends


def test_rules_keep_no_address() -> None:
    rule = route.RTMSG.pack(2, 32, 0, 0, 254, 0, 0, 1, 0) + attribute(1, PEER)
    raw = message(route.NEWRULE, rule)
    clean = scrubbed("netlink/route/rules4", raw, Names(KEY))
    assert PEER in raw
    assert PEER not in clean
    assert [row.table for row in routing_rules.parse(clean)] == [254]


def test_a_rule_is_read_with_its_protocol_and_ports() -> None:
    head = route.RTMSG.pack(2, 0, 0, 0, 77, 0, 0, 1, 0)
    ends = attribute(22, b"\x06"), attribute(24, struct.pack("=HH", 5432, 5440))
    (row,) = routing_rules.parse(message(route.NEWRULE, head + b"".join(ends)))
    assert (row.protocol, row.ports, row.more) == ("tcp", (5432, 5440), False)
    (row,) = routing_rules.parse(
        message(route.NEWRULE, head + attribute(23, struct.pack("=HH", 80, 80)))
    )
    assert row.more  # source ports: only the kernel knows them
