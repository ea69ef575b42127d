"""Chains of nf_tables with the number of their rules: NFT_MSG_GETCHAIN, NFT_MSG_GETRULE.

A packet that no rule of a chain takes is compared with each of them in turn
(net/netfilter/nf_tables_core.c, nft_do_chain()). Rules of iptables-nft are rules of nf_tables;
those of the older iptables are not seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import netfilter
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import nftables
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=10.0, optional=True)

LEAST: Final = 64  # rules: a shorter chain has no row


@dataclass(frozen=True, slots=True)
class Row:
    """One long chain."""

    family: str = label("inet ip ip6 bridge netdev arp")
    table: str = label("table")
    chain: str = label("chain")
    hook: str = gauge("hook of the chain; empty: another chain jumps to it", default="")
    rules: int = gauge("rules of the chain", "rules", default=0)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every chain of `LEAST` rules or more. OSError, also if nf_tables is not in use."""
    return parsed(memory, "nft_chains", netfilter.ruleset(source), lambda both: parse(*both))


def parse(chains: bytes, rules: bytes) -> list[Row]:
    """The rows of both answers, the longest first; ValueError if one is cut off."""
    many = Counter(
        (family, str(values.get("table", "")), str(values.get("chain", "")))
        for family, values in nftables.entries(rules, netfilter.NEWRULE, netfilter.RULE)
    )
    hooks = nftables.hooks(chains)
    return [
        Row(*place, hooks.get(place, ""), count)
        for place, count in many.most_common()
        if count >= LEAST
    ]
