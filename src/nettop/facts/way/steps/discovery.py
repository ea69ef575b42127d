"""The question for a hardware address and its answer, where the packet filter drops them.

ARP (family arp) and neighbour discovery (RFC 4861): without them no host finds the other, whatever
the filter accepts besides. Connection tracking leaves them out (nf_conntrack_proto_icmpv6.c).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ....collect.nft_hooks import Row as HookRow
from ..chains import accepting, cure, passed, shown
from ..flow import STOPS, SUSPECT, Host, Step, address
from ..legs import IN, OUT, THROUGH, Leg
from ..packet import ARP, UNTRACKED, Packet
from .neighbour import ABSENT, ETHERNET

PLACE: Final = 35
ASKS, ANSWERS = 0, 1
_KINDS: Final = {4: (1, 2), 6: (135, 136)}  # operations of ARP; NDISC_NEIGHBOUR_*
_WORDS: Final = {
    4: ("ARP requests", "ARP replies"), 6: ("neighbour solicitations", "neighbour advertisements"),
}  # fmt: skip
_RULES: Final = {
    4: "arp operation { request, reply } accept",
    6: "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert } accept",
}  # fmt: skip
_HOOKS: Final = {IN: ("prerouting", "input"), OUT: ("output", "postrouting")}


def look(leg: Leg) -> Iterator[Step]:
    """What the filter drops of it: others ask for us where packets arrive, else we ask."""
    name = leg.question.arrives if leg.role == IN else leg.hop.interface
    link = leg.host.links.get(name or "")
    if leg.role not in (IN, OUT, THROUGH) or not leg.hop.goes or link is None:
        return
    if leg.role == IN and leg.back:  # the other host has learned the address from the question
        return
    if link.noarp or link.type != ETHERNET or leg.host.unread("nft_rules"):
        return
    to = leg.question.to if leg.role == IN else leg.hop.gateway or leg.question.to
    other = (
        leg.question.source
        if leg.role == IN
        else leg.hop.address or leg.host.first(link.interface, address(to).version)
    )
    entry = leg.host.neighbours.get((link.interface, to))
    if leg.role != IN and (leg.hop.kind != "unicast" or (entry and entry.state not in ABSENT)):
        return
    if not other:
        return
    asks, answers = (IN, OUT) if leg.role == IN else (OUT, IN)
    for what, way in ((ASKS, asks), (ANSWERS, answers)):
        step = _dropped(leg, link.interface, what, way, (to, other))
        if step is not None:
            yield step
            return


def _of_one(leg: Leg, hook: str, chain: HookRow, packet: Packet) -> str:
    """Who asks, if the chain drops the question of this host and not that of its neighbour."""
    other = replace(packet, source=_next_to(packet.source))
    for one, ended, _ in passed(leg.host, hook, (chain.family,), other):
        if one is chain:
            return "" if ended.drops(chain) else packet.source
    return ""


def _next_to(host: str) -> str:
    one = address(host)
    return str(type(one)(int(one) ^ 1))


def _dropped(leg: Leg, name: str, what: int, way: str, ends: tuple[str, str]) -> Step | None:
    """The chain that drops the question, or the answer, as it comes in or goes out."""
    to, other = ends
    version = address(to).version
    families = (ARP,) if version == 4 else ("ip6", "inet")
    target, source = ends if what == ASKS else (other, to)
    if version == 6 and what == ASKS:  # the group of the address, RFC 4291 section 2.7.1
        target = f"ff02::1:ff{address(to).packed[-3:].hex(':', 2)}"
    packet = Packet(
        target, source, ARP if version == 4 else "icmp6", state=UNTRACKED,
        arrives=name if way == IN else "", leaves=name if way == OUT else "",
        kind=_KINDS[version][what],
    )  # fmt: skip
    for hook in _HOOKS[way]:
        for chain, ended, _ in passed(leg.host, hook, families, packet):
            if who := ended.drops(chain):
                if leg.role == IN and what == ASKS and (one := _of_one(leg, hook, chain, packet)):
                    said = f"{who} drops {_WORDS[version][what]} of {one}: it does not find {to}"
                    return Step(
                        "discovery", SUSPECT, f"{said} on {name}",
                        f"nft -a list chain {chain.family} {chain.table} {chain.chain}",
                        cure(ended.rule) if ended.rule is not None else "", picks="sender",
                    )  # fmt: skip
                place = f"{chain.family} {chain.table} {chain.chain}"
                found = f"no host finds {to}" if leg.role == IN else f"{to} is not found"
                return Step(
                    "discovery", STOPS, f"{who} drops {_WORDS[version][what]}: {found} on {name}",
                    f"nft -a list chain {place}", f"nft insert rule {place} {_RULES[version]}",
                )  # fmt: skip
    return None


_ADVERTISED: Final = 134  # NDISC_ROUTER_ADVERTISEMENT, from a link-local address to all nodes


def unadvertised(host: Host, name: str) -> tuple[str, str, str] | None:
    """The rule or policy that drops router advertisements on an interface.

    With the command that shows its chain, and that for a rule that accepts them.
    """
    packet = Packet("ff02::1", "fe80::1", "icmp6", state=UNTRACKED, arrives=name, kind=_ADVERTISED)
    for hook in () if host.unread("nft_rules") else _HOOKS[IN]:
        for chain, ended, _ in passed(host, hook, ("ip6", "inet"), packet):
            if who := ended.drops(chain):
                old = "icmpv6 icmpv6-type router-advertisement"
                ends = old if chain.old else "icmpv6 type nd-router-advert"
                return who, shown(chain), accepting(chain, ends, first=True)
    return None
