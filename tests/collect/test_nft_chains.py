"""Long chains of nf_tables from raw messages."""

from __future__ import annotations

import pytest
from nft_bytes import ACCEPT, chain, counter, rule

from nettop.collect import nft_chains

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


def test_a_cut_answer_is_an_error() -> None:
    from netlink_bytes import message

    with pytest.raises(ValueError, match="cut off"):
        nft_chains.parse(b"", message(0xA06, b"\1"))
