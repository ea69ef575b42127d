"""Long chains of nf_tables from raw messages."""

import pytest
from nft_bytes import ACCEPT, be32, chain, counter, expression, nest, rule, text

from nettop.collect import nft_chains
from nettop.host.netlink.codec import attribute

CHAINS = chain("in", hook=1, policy=ACCEPT) + chain("bad")


def rules(name: str, count: int) -> bytes:
    return b"".join(rule(name, handle, counter()) for handle in range(1, count + 1))


def test_long_chains_are_listed_with_their_hook_the_longest_first() -> None:
    found = nft_chains.parse(CHAINS, rules("in", 70) + rules("bad", 300))
    assert [(row.chain, row.hook, row.rules) for row in found] == [
        ("bad", "", 300), ("in", "input", 70),
    ]  # fmt: skip
    assert {row.family for row in found} == {"inet"}


def test_a_short_chain_has_no_row() -> None:
    assert nft_chains.parse(CHAINS, rules("in", nft_chains.LEAST - 1)) == []


@pytest.mark.parametrize(("set_or_read", "clamps"), [
    (expression("exthdr", attribute(2, b"\2"), be32(6, 1), be32(7, 8)), True),
    (expression("exthdr", be32(1, 8), attribute(2, b"\2"), be32(6, 1)), False),  # it is read
    (expression("exthdr", attribute(2, b"\10"), be32(6, 1), be32(7, 8)), False),  # timestamps
    (expression("target", text(1, "TCPMSS"), attribute(3, bytes(4))), True),
    (expression("target", text(1, "REDIRECT"), attribute(3, bytes(4))), False),
    (nest(1, text(1, "target"), attribute(2, bytes(16))), True),  # zeros may be any target
])  # fmt: skip
def test_a_chain_with_a_rule_that_sets_the_mss_is_listed(set_or_read: bytes, clamps: bool) -> None:
    found = nft_chains.parse(CHAINS, rules("in", 2) + rule("in", 3, set_or_read))
    assert [(row.chain, row.rules, row.clamps) for row in found] == [("in", 3, True)] * clamps


def test_a_cut_answer_is_an_error() -> None:
    from netlink_bytes import message

    with pytest.raises(ValueError, match="cut off"):
        nft_chains.parse(b"", message(0xA06, b"\1"))
