"""Scrubbing of nf_tables: counters stay, names, addresses and targets of jumps go."""

from __future__ import annotations

import nft_bytes

from nettop.collect import nftables
from nettop.host.netlink.codec import attribute
from nettop.host.pseudonyms import Names
from nettop.host.scrub_netlink import scrubbed

KEY, PEER = b"k" * 32, bytes([10, 1, 2, 3])


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
