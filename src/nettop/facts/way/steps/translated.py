"""What replaces an address: a rule of nf_tables, or an entry of connection tracking.

An entry outlives the rule that made it, and its packets follow it (nf_nat_core.c,
nf_nat_inet_fn()): datagrams that a client sends from one port never end it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from ....collect.nft_rules import Row as RuleRow
from ....collect.translated import Row
from ....collect.ways import Question
from ...flow_words import end
from ..chains import MASKS, numbered, passed, placed, shown, tabled
from ..flow import PASSES, STOPS, SUSPECT, Host, Step, inside, network
from ..legs import OUT, THROUGH, Leg, entries
from ..lookup import lookup
from ..packet import Packet, interfaces

PLACE: Final = 5
_NEAR: Final = ("", "bond", "bridge", "team", "veth", "vlan")  # kinds of links to a common network


def look(leg: Leg) -> Iterator[Step]:
    """Where the packets go instead, and whether the answers come back by this host."""
    if leg.by is None or leg.was is None:
        yield from _private(leg)
        return
    if leg.back:
        yield from _hairpin(leg)
        return
    goes = f"{leg.by.who} sends these packets to {end(leg.flow.to, leg.flow.port)}"
    if leg.role == OUT and leg.host.failed(leg.was.to, leg.was.port):
        yield Step("nat", SUSPECT, f"{goes}, and calls for them fail", leg.by.show, leg.by.change)
    else:
        yield Step("nat", PASSES, goes, leg.by.show)
    for row in entries(leg.host, leg.was):
        if row.sent_to != leg.flow.to or row.sent_port not in (leg.flow.port, 0):
            sent = end(row.sent_to, row.sent_port)
            yield Step(
                "nat", SUSPECT, f"an entry of connection tracking still sends those of "
                f"{end(row.origin, row.origin_port)} to {sent}, and not to "
                f"{end(leg.flow.to, leg.flow.port)}",
                f"conntrack -L -p {row.protocol} -d {row.to}",
                f"conntrack -D -p {row.protocol} -s {row.origin} -d {row.to} --dport {row.port}",
            )  # fmt: skip
            return


def _returned(row: Row) -> bool:
    """Whether the answers of an entry come back by this host."""
    return row.answered or row.returns_to != row.origin


def _hairpin(leg: Leg) -> Iterator[Step]:
    """A client and the new destination in one network: the answer passes this host by.

    The client asked another address, and so does not know the answer. With br_netfilter the bridge
    of this host sees it. `STOPS` where connection tracking has seen such packets and no answer.
    """
    hop, was, name = leg.hop, leg.was, leg.hop.interface or ""
    link, client = leg.host.links.get(name), leg.question.to
    near = hop.kind == "unicast" and hop.gateway is None and name == leg.question.arrives
    if was is None or leg.role != THROUGH or not near or link is None or link.noarp:
        return
    net, version = hop.network, "6" if ":" in client else ""
    if link.kind not in _NEAR or net is None or not inside(leg.flow.to, net):
        return
    calls = f"net.bridge.bridge-nf-call-ip{version}tables"
    rows = leg.host.frame.rows("sysctls")
    if link.kind == "bridge" and any(one.name == calls and one.value == "1" for one in rows):
        return
    seen = [one for one in entries(leg.host, was) if one.sent_to == leg.flow.to]
    masked = _sourced(leg)
    if masked or (masked is None and not seen) or any(_returned(one) for one in seen):
        return
    family = f"ip{version}"
    yield Step(
        "hairpin", STOPS if seen else SUSPECT,
        f"{leg.flow.to} answers {client} directly, for both are in {net} on {name}: the answer "
        f"does not come back by this host, and {client}, which asked {was.to}, ignores it",
        f"conntrack -L -p {was.protocol} -d {was.to}",
        f"translate the source too: nft add rule {family} TABLE CHAIN {family} saddr {net} "
        f"{family} daddr {leg.flow.to} oifname {name} masquerade, in a chain of type nat and hook "
        "postrouting; or give the clients there the address of the server itself (split DNS)",
    )  # fmt: skip


def _sourced(leg: Leg, leaves: str = "") -> RuleRow | bool | None:
    """The rule that replaces the source of a forwarded flow, whose answers the part is of, or not.

    None: whether one does depends on what is not known here. `leaves`: as if it left by another
    interface.
    """
    flow, asked = leg.flow, leg.question
    packet = Packet(
        flow.to, asked.to, flow.protocol, flow.port,
        arrives=leg.hop.interface or "", leaves=leaves or asked.arrives,
    )  # fmt: skip
    families = "ip6" if ":" in flow.to else "ip", "inet"
    ends = list(passed(leg.host, "postrouting", families, packet))
    for _, ended, _ in ends:
        if ended.verdict == "nat":
            return ended.rule or True
    return None if any(what in ("nat", MASKS) for *_, does in ends for _, what in does) else False


_PRIVATE: Final = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")  # RFC 1918
_OUT_INDEX, _OUT_NAME = 5, 7  # NFT_META_OIF, NFT_META_OIFNAME
_SOURCE: Final = 0  # NFT_NAT_SNAT


def _private(leg: Leg) -> Iterator[Step]:
    """A private address that goes out as it is, on a host with rules that translate others.

    A doubt: the router beyond may translate it. Who has a route for that network of its own may
    know a route back, so only what leaves by a default route counts.
    """
    host, client, to, name = leg.host, leg.question.to, leg.flow.to, leg.question.arrives
    if leg.back and leg.role == THROUGH and (renamed := _renamed(leg)):
        rule, before = renamed
        yield Step(
            "masked", SUSPECT, f"{numbered(rule)} ({tabled(rule)}) translates the source of what "
            f"leaves by {before}, which this host does not have; packets leave by {name} with "
            "their own source", shown(rule),
            f"correct {before} to {name} in that rule, or {_masks(rule, name)}",
        )  # fmt: skip
        return
    own = [f"{one.address}/{one.prefix}" for one in host.addresses]
    there = any(inside(to, net) for net in (*_PRIVATE, *own))
    if (
        not leg.back
        or leg.role != THROUGH
        or there
        or not any(inside(client, net) for net in _PRIVATE)
    ):
        return
    masks = [one for one in host.frame.rows("nft_rules") if any(
        words[0] == "masq" or words[:2] == ("nat", _SOURCE) for words in one.does)]  # fmt: skip
    out = lookup(host, Question(to, client, leg.hop.interface or "")).routes
    usual = bool(out) and not network(out[0].to).prefixlen
    if not masks or not usual or _sourced(leg) is not False:
        return
    rule = masks[0]
    by = _outward(host, rule)
    limit = f"what leaves by {by}" if by else "others"
    yield Step(
        "masked", SUSPECT, f"the private source address {client} leaves by {name} as it is: no "
        f"rule of this host translates it, and {numbered(rule)} ({tabled(rule)}) is for {limit}",
        shown(rule), _masks(rule, name),
    )  # fmt: skip


def _masks(rule: RuleRow, name: str) -> str:
    """The rule for another interface."""
    if rule.old:
        return f"iptables -t nat -A {rule.chain} -o {name} -j MASQUERADE"
    return f'nft add rule {placed(rule)} oifname "{name}" masquerade'


def _renamed(leg: Leg) -> tuple[RuleRow, str] | None:
    """The rule that would translate the source if the way out had the name of no interface here.

    The way out is that of a default route: others may know a way back to this network.
    """
    host, rules = leg.host, leg.host.frame.rows("nft_rules")
    usual = any(row.interface == leg.question.arrives and not network(row.to).prefixlen
                for row in host.fib)  # fmt: skip
    if not usual or _sourced(leg) is not False:
        return None
    names = {name for rule in rules for side, name in interfaces(rule.does) if side == "leaves"}
    for name in sorted(names.difference(host.links)):
        rule = _sourced(leg, name)
        if isinstance(rule, RuleRow):
            return rule, name
    return None


def _outward(host: Host, rule: RuleRow) -> str:
    """The interface to which a rule is limited, by which packets leave; empty: none."""
    key = 0
    for name, *words in rule.does:
        if name == "meta":
            key = int(words[0])
        elif name == "cmp" and key in (_OUT_INDEX, _OUT_NAME) and words[1] == 0:
            raw = bytes.fromhex(str(words[2]))
            number = str(int.from_bytes(raw, sys.byteorder))
            link = host.numbered.get(number)
            index = link.interface if link is not None else f"interface {number}"
            return index if key == _OUT_INDEX else raw.rstrip(b"\0").decode(errors="replace")
    return ""
