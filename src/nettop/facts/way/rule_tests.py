"""What single rules of the packet filter test, in which set they look, how few ports they give."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from ...collect.nft_rules import Row as RuleRow
from ...frame.rates import Frame
from ...terms import units
from .chains import named, place
from .flow import Host, address
from .legs import IN, Leg

_SET: Final = re.compile(r"ip6? ([sd])addr (?:!= )?@([^ ,]+)")  # of what a rule tests
# base, offset and length of an address in IPv4 and IPv6
_SIDES: Final[Mapping[tuple[str | int, ...], str]] = {
    (1, 12, 4): "source", (1, 16, 4): "to", (1, 8, 16): "source", (1, 24, 16): "to",
}  # fmt: skip
_PORT: Final = 4  # hexadecimal digits
_SOURCE: Final = 0  # NFT_NAT_SNAT


def tested(leg: Leg, rule: RuleRow) -> tuple[str, str]:
    """What a rule tests, in words, and how to ask whether its set has the address; or nothing."""
    family, handle = f"{rule.family}{'tables' * rule.old}", str(rule.handle)
    where = family, rule.table, rule.chain
    rows = (one for one in leg.host.frame.rows("nftables")
            if (one.family, one.table, one.chain, one.rule) == (*where, handle))  # fmt: skip
    tests = next((one.tests for one in rows), "")
    looked = _SET.search(tests)
    one = leg.question.source if looked and looked[1] == "s" else leg.question.to
    element = ""
    if looked and one:
        element = f"nft get element {rule.family} {rule.table} {looked[2]} '{{ {one} }}'"
    return f" ({tests})" if tests else "", element


def picks(leg: Leg, rule: RuleRow, element: str = "") -> str:
    """Whether a rule decides by who sends what arrives here, as a recording may not tell."""
    if leg.role != IN or leg.back:
        return ""
    if element.endswith(f"{{ {leg.question.source} }}'"):
        return "element"
    read = (one for one in rule.does if one[0] == "payload")
    return "sender" if any("?" in one or _SIDES.get(one[2:]) == "source" for one in read) else ""


def listed(leg: Leg, rule: RuleRow) -> tuple[str, str]:
    """The set by which a rule drops these packets, and what takes this very address out of it.

    The rule stays for the other addresses. Part of a range cannot be deleted.
    """
    for loaded, looked in pairwise(rule.does):
        side = _SIDES.get(loaded[2:]) if loaded[0] == "payload" else None
        one = {"source": leg.question.source, "to": leg.question.to}.get(side or "")
        if not one or looked[0] != "lookup" or looked[3:] != (0,):
            continue
        key, where = address(one).packed.hex(), (rule.family, rule.table, looked[1])
        for row in leg.host.frame.rows("nft_sets"):
            alone = any((first, last) == (key, key) for first, last, _ in row.elements)
            if alone and (row.family, row.table, row.set) == where:
                has = f"{rule.family} {rule.table} {row.set} '{{ {one} }}'"
                return f": its set {row.set} has {one}", f"nft delete element {has}"
    return "", ""


def spares(host: Host, rule: RuleRow) -> bool:
    """Whether the rule counts what it drops, and has dropped nothing."""
    where = f"{rule.family}{'tables' * rule.old}", rule.table, rule.chain, str(rule.handle)
    return any((one.family, one.table, one.chain, one.rule) == where and one.packets == 0
               for one in host.frame.rows("nftables"))  # fmt: skip


def few_ports(frame: Frame) -> str | None:
    """A rule that gives connections a source port of a range that they may use up; None: none is.

    As many connections are tracked as it has ports; it gives each port once to one destination
    (net/netfilter/nf_nat_core.c, nf_nat_l4proto_unique_tuple()).
    """
    tracked = sum(row.count for row in frame.rows("conntrack"))
    chains = {place(row): row for row in frame.rows("nft_hooks")}
    for rule in frame.rows("nft_rules"):
        chain = chains.get(place(rule))
        ports = [int(raw, 16) for raw in map(str, (words[-1] for words in rule.does
                 if words[0] == "immediate")) if len(raw) == _PORT]  # fmt: skip
        gives = any(words[0] == "masq" or words[:2] == ("nat", _SOURCE) for words in rule.does)
        if chain is not None and gives and ports and 0 <= ports[-1] - ports[0] < tracked:
            many = ports[-1] - ports[0] + 1
            return (
                f"{named(rule, chain)} gives {units.many(many, 'ports')} ({ports[0]}-{ports[-1]})"
            )
    return None
