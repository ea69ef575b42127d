"""Chains with many rules, or with one that sets the MSS: NFT_MSG_GETCHAIN, _GETRULE, iptables.

A packet that no rule of a chain takes is compared with each of them in turn
(net/netfilter/nf_tables_core.c, nft_do_chain()). Rules of iptables-nft are rules of nf_tables;
those of the older iptables have tables of their own (`_iptables`). The MSS of a SYN is set by an
exthdr expression that writes an option of TCP (net/netfilter/nft_exthdr.c,
nft_exthdr_tcp_set_eval()), or by TCPMSS.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import codec, netfilter
from ..host.netlink.codec import Attributes, Field, decode
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _iptables, nftables
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=10.0, optional=True)

LEAST: Final = 64  # rules: a shorter chain has no row, unless it sets the MSS
_MAXSEG: Final = 2  # TCPOPT_MSS
# NFTA_EXTHDR_TYPE and _SREG: an option that is read has no source register; NFTA_TARGET_NAME
_SETS: Final[dict[str, codec.Table]] = {
    "exthdr": {2: Field("type", "raw"), 7: Field("register", "raw")},
    "target": {1: Field("name", "text")},
}


@dataclass(frozen=True, slots=True)
class Row:
    """One chain that is long or sets the MSS."""

    family: str = label("inet ip ip6 bridge netdev arp, iptables or ip6tables for the older ones")
    table: str = label("table")
    chain: str = label("chain")
    hook: str = gauge("hook of the chain; empty: another chain jumps to it", default="")
    rules: int = gauge("rules of the chain", "rules", default=0)
    clamps: bool = gauge("a rule sets the MSS of TCP connections", default=False)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every chain of `LEAST` rules or more, and those that set the MSS.

    OSError, also if no packet filter is in use.
    """
    given = _iptables.required(source)
    return parsed(memory, "nft_chains", given, lambda it: [*parse(*it[:2]), *old(it[2])])


def old(tables: _iptables.Tables) -> list[Row]:
    """The chains of the older iptables."""
    chains: dict[tuple[str, str, str, str], list[_iptables.Rule]] = {}
    for one in _iptables.rules(tables):
        place = f"{one.family}tables", one.table, one.chain, one.hook
        chains.setdefault(place, []).append(one)
    found = (Row(*place, len(rules), any(("tcpmss",) in one.does for one in rules))
             for place, rules in chains.items())  # fmt: skip
    return [row for row in found if row.rules >= LEAST or row.clamps]


def parse(chains: bytes, rules: bytes) -> list[Row]:
    """The rows of both answers, the longest first; ValueError if one is cut off."""
    many = Counter[tuple[str, str, str]]()
    clamps = set()
    for family, values in nftables.entries(rules, netfilter.NEWRULE, netfilter.RULE):
        place = family, str(values.get("table", "")), str(values.get("chain", ""))
        many[place] += 1
        if any(map(_clamps, values.get("expressions", {}).get("list", ()))):
            clamps.add(place)
    hooks = nftables.hooks(chains)
    return [
        Row(*place, hooks.get(place, ""), count, place in clamps)
        for place, count in many.most_common()
        if count >= LEAST or place in clamps
    ]


def _clamps(expression: Attributes) -> bool:
    """Whether it sets the MSS of a SYN; one that a recording has as zeros may do so."""
    known, data = _SETS.get(expression.get("name", "")), expression.get("data", b"")
    if known is None:
        return False
    try:
        values = decode(data, 0, len(data), known)
    except ValueError:
        return True
    if "register" in values:
        return int.from_bytes(values.get("type", b""), "big") == _MAXSEG
    return bool(values.get("name") == "TCPMSS")
