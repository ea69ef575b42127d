"""The source of what is forwarded: a private one that stays, or one without a way back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from ....collect.nft_rules import Row as RuleRow
from ....collect.ways import Question
from ....terms.units import many
from ..chains import numbered, placed, shown, tabled
from ..flow import HIDDEN, SUSPECT, Host, Step, address, inside, network
from ..legs import THROUGH, Leg
from ..lookup import lookup
from ..packet import interfaces
from .translated import sourced

PLACE: Final = 6

_PRIVATE: Final = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")  # RFC 1918
_OUT_INDEX, _OUT_NAME = 5, 7  # NFT_META_OIF, NFT_META_OIFNAME
_SOURCE: Final = 0  # NFT_NAT_SNAT
SYN_SENT: Final = "syn-sent"


def look(leg: Leg) -> Iterator[Step]:
    """Whether the answers to what is forwarded have a way back."""
    if not leg.back or leg.role != THROUGH:
        return
    rule = sourced(leg)
    if isinstance(rule, RuleRow):
        yield from _lent(leg, rule)
    elif leg.by is None:
        yield from _private(leg)


def _lent(leg: Leg, rule: RuleRow) -> Iterator[Step]:
    """A source that is no address of this host.

    In a network of the outgoing interface others ask for it by ARP, and this host does not answer,
    unless it is a proxy for it. Of another network a router there may have a route to this host.
    """
    host, name = leg.host, leg.question.arrives or ""
    size = 2 * len(address(leg.question.to).packed)
    given = {words[1]: str(words[2]) for words in rule.does
             if words[0] == "immediate" and len(words) > 2}  # fmt: skip
    at = next(
        (words[2] for words in rule.does if words[:2] == ("nat", _SOURCE) and words[2:]), None
    )
    raw = given.get(at, "") if at is not None else ""
    if len(raw) != size or host.local(source := str(ip_address(bytes.fromhex(raw)))):
        return
    nets = [f"{one.address}/{one.prefix}" for one in host.addresses if one.interface == name]
    near = any(inside(source, net) for net in nets)
    known = f"{numbered(rule)} ({tabled(rule)})"
    saw = f"{known} gives the packets the source {source}, which no interface of this host has"
    if not near and not _silent(leg):
        yield Step("masked", HIDDEN, f"whether a router beyond {name} has a route for {source} to "
                   f"this host: {saw}", shown(rule))  # fmt: skip
        return
    mask = 8 * len(address(source).packed)
    yield Step(
        "masked", SUSPECT, f"{saw}: answers to it do not come here, unless "
        f"{'this host answers for it as a proxy' if near else 'a router there sends them here'}",
        shown(rule), f"correct the address in that rule, or ip addr add {source}/{mask} dev {name}",
    )  # fmt: skip


def _silent(leg: Leg) -> int:
    """The connections of this client to there that get no answer; 0 if one there has an answer.

    Or, beyond a router, one to anywhere else. By connection tracking, and by the sockets of other
    namespaces of this machine.
    """
    host, client, to = leg.host, leg.question.to, leg.flow.to
    own = [f"{one.address}/{one.prefix}" for one in host.addresses]
    near = any(inside(to, net) for net in own)
    tracked = [(one.to, one.port, one.answered) for one in host.frame.rows("translated")
               if one.origin == client and not one.moved]  # fmt: skip
    sockets: list[tuple[str, int, bool]] = [
        (one.remote.removeprefix("::ffff:"), one.remote_port, one.state != SYN_SENT)
        for one in host.frame.rows("netns_tcp") if one.local.removeprefix("::ffff:") == client
        and one.state in (SYN_SENT, "established")
    ]  # fmt: skip
    every = {(there, answered) for there, _, answered in (*tracked, *sockets)}
    if (to, True) in every or (not near and any(
        answered and not any(inside(there, net) for net in own) for there, answered in every
    )):  # fmt: skip
        return 0
    wait = (to, leg.flow.port, False)
    return max(tracked.count(wait), sockets.count(wait))


def _private(leg: Leg) -> Iterator[Step]:
    """A private address that goes out as it is.

    A doubt: the router beyond may translate it. Who has a route for that network of its own may
    know a route back, so only what leaves by a default route counts, on a host with rules that
    translate others; or what gets no answer there, or from a host beside this one.
    """
    host, client, to, name = leg.host, leg.question.to, leg.flow.to, leg.question.arrives or ""
    if renamed := _renamed(leg):
        rule, before = renamed
        yield Step(
            "masked", SUSPECT, f"{numbered(rule)} ({tabled(rule)}) translates the source of what "
            f"leaves by {before}, which this host does not have; packets leave by {name} with "
            "their own source", shown(rule),
            f"correct {before} to {name} in that rule, or {_masks(rule, name)}",
        )  # fmt: skip
        return
    if not any(inside(client, net) for net in _PRIVATE) or sourced(leg) is not False:
        return
    own = [f"{one.address}/{one.prefix}" for one in host.addresses]
    near = any(inside(to, net) for net in own)
    out = lookup(host, Question(to, client, leg.hop.interface or "")).routes
    usual = bool(out) and not network(out[0].to).prefixlen
    masks = [one for one in host.frame.rows("nft_rules") if any(
        words[0] == "masq" or words[:2] == ("nat", _SOURCE) for words in one.does)]  # fmt: skip
    abroad = usual and not near and not any(inside(to, net) for net in _PRIVATE)
    saw = f"the private source address {client} leaves by {name} as it is: no rule of this host "
    saw += "translates it"
    if masks and abroad:
        rule = masks[0]
        by = _outward(host, rule)
        limit = f"what leaves by {by}" if by else "others"
        yield Step("masked", SUSPECT, f"{saw}, and {numbered(rule)} ({tabled(rule)}) is for "
                   f"{limit}", shown(rule), _masks(rule, name))  # fmt: skip
    elif (near or usual) and leg.hop.gateway is None:
        net, silent = leg.hop.network or client, _silent(leg)
        gets = (
            f", and {many(silent, 'connections')} of it to {to} get no answer: who is asked there "
        )
        yield Step(
            "masked", SUSPECT if silent else HIDDEN, f"{saw}{gets}may have no route back to {net}, "
            "or drop private sources" if silent else f"whether {to} has a way back to {net}: {saw}",
            f"tcpdump -ni {name} host {client}", f"iptables -t nat -A POSTROUTING -s {net} -o "
            f"{name} -j MASQUERADE; or, there: ip route add {net} via this host",
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
    if not usual or sourced(leg) is not False:
        return None
    names = {name for rule in rules for side, name in interfaces(rule.does) if side == "leaves"}
    for name in sorted(names.difference(host.links)):
        rule = sourced(leg, name)
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
