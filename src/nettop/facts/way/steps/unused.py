"""A way by which no answer comes, while another one to the same place stands unused.

A rule of policy routing takes these packets and not those of others, or of several routes to one
network the kernel prefers this one: by its metric, or by the preference that a router advertises of
itself (RFC 4191; net/ipv6/route.c, rt6_score_route()). Or they leave with an address of another
interface, as one of lo that a routing protocol spreads: who answers may have no way back to it.
This host cannot see whether the gateway forwards, nor what is known there. So it is a doubt, and
none where any connection by the same gateway, or from the same address there, is answered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from ....collect import failed_calls
from ....collect.fib import Row as FibRow
from ....collect.routing_rules import Row as RuleRow
from ....collect.ways import Question
from ....terms.units import many
from ..flow import SILENT, SUSPECT, Step, address
from ..legs import OUT, Leg
from ..lookup import LOCAL, MAIN, Senders, lookup, matches, selects, without
from .source import elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable


Exit: TypeAlias = tuple[str | None, str | None]  # interface and gateway
Tried: TypeAlias = Mapping[Exit, set[str]]  # with the addresses that are known

PLACE: Final = 100  # after what this host decides itself
MOST: Final = 64  # connections whose way is looked up
_USUAL: Final = (None, MAIN, LOCAL, 253)  # tables of packets for which no rule is special


def look(leg: Leg) -> Iterator[Step]:
    """A rule, or a preferred route, that leads to a gateway that is silent; or a strange source."""
    hop = leg.hop
    if leg.role != OUT or leg.back or hop.kind != "unicast" or hop.redirected:
        return
    own = hop.interface, hop.gateway
    rule = _rule(leg)
    free = without(leg.host, leg.question, hop.table) if rule else _beside(leg)
    others = [one for one in free if _exit(one) != own]
    answered, silent = _tried(leg)
    if own not in answered and own in silent and others and (rule or hop.gateway):
        other = others[0]
        more = ", by which others are answered" if _exit(other) in answered else ""
        yield _by_route(leg, other, more) if rule is None else _by_rule(leg, rule, other, more)
        return
    chosen, known = leg.question.source or hop.address or "", answered.get(own, set())
    for source in sorted({one or chosen for one in silent.get(own, ())}):
        if not known.intersection(("", source)) and (step := elsewhere(leg, source)) is not None:
            yield step


def _by_rule(leg: Leg, rule: RuleRow, other: FibRow, more: str) -> Step:
    hop, six = leg.hop, "-6 " * (":" in leg.question.to)
    way = _way(hop.gateway, hop.interface)
    return Step(
        "rule", SUSPECT, f"{selects(rule)} leads these packets to table {hop.table}, {way}, by "
        f"which no answer comes; without it they go {_way(other.gateway, other.interface)}{more}",
        f"ip {six}rule; ip {six}route show table {hop.table}",
        f"see how far they come (`traceroute -n {leg.question.to}`, as that sender): "
        f"{hop.gateway or 'what is behind ' + str(hop.interface)} must forward them and lead the "
        f"answers back; or, if they need not go there, ip {six}rule del priority {rule.priority}",
    )  # fmt: skip


def _by_route(leg: Leg, other: FibRow, more: str) -> Step:
    hop, six = leg.hop, "-6 " * (":" in leg.question.to)
    name = "default" if hop.network in ("0.0.0.0/0", "::/0") else hop.network
    own = next((one for one in _same(leg) if _exit(one) == (hop.interface, hop.gateway)), None)
    remove = f"ip {six}route del {name} {_way(hop.gateway, hop.interface)}"
    see = f"see how far they come (`traceroute -n {leg.question.to}`): "
    change = f"{see}{hop.gateway} must forward them and lead the answers back, or else {remove}"
    if own is not None and own.advertised:
        key = f"net.ipv6.conf.{(hop.interface or '').replace('.', '/')}.accept_ra_rtr_pref"
        change = (
            f"{see}if {hop.gateway} is no router of this network, end its advertisements there "
            f"(`ip neigh show {hop.gateway}` has its hardware address); until then {remove}, and "
            f"sysctl -w {key}=0 for no preference of that kind"
        )
    return Step(
        "route", SUSPECT, f"the route {name} {_way(hop.gateway, hop.interface)}{_from(own)} is "
        f"taken, by which no answer comes; the one {_way(other.gateway, other.interface)}"
        f"{_from(other)} is not used{more}", f"ip {six}route show {name}", change,
    )  # fmt: skip


def _from(row: FibRow | None) -> str:
    """Where a route comes from, and why it is preferred or not."""
    if row is None:
        return ""
    if row.advertised:
        lasts = f", for {many(row.lasts, 'more seconds')}" if row.lasts else ""
        return f" (by a router advertisement{lasts}, preference {row.preference or 'medium'})"
    return f" (metric {row.metric})" if row.metric else ""


def _way(gateway: str | None, interface: str | None) -> str:
    return f"via {gateway} dev {interface}" if gateway else f"dev {interface}"


def _exit(row: FibRow) -> Exit:
    return row.interface, row.gateway


def _rule(leg: Leg) -> RuleRow | None:
    """The rule for these packets that leads to the table of their route, if others do not."""
    if leg.hop.table in _USUAL:
        return None
    rules = (one for one in leg.host.rules if one.table == leg.hop.table
             and one.family == address(leg.question.to).version)  # fmt: skip
    known = (one for one in rules if one.more or matches(one, leg.question))
    return next((one for one in known if not selects(one).endswith(" from all")), None)


def _same(leg: Leg) -> list[FibRow]:
    """The routes to the same network in the same table."""
    return [row for row in leg.host.fib if row.table == leg.hop.table
            and row.to == leg.hop.network and row.kind == "unicast"]  # fmt: skip


def _beside(leg: Leg) -> list[FibRow]:
    """Routes to the same network that are not taken; hops of one route share the flows."""
    rows = _same(leg)
    own = next((one for one in rows if _exit(one) == (leg.hop.interface, leg.hop.gateway)), None)
    several = [one for one in rows if one.hop]
    if own is None or any(one.metric == own.metric for one in several):
        return []
    return [one for one in rows if not one.dead and not one.linkdown]


def _tried(leg: Leg) -> tuple[Tried, Tried]:
    """The ways of connections that are answered, and of those that are not."""
    host = leg.host
    who, way = Senders.of(host.frame), _ways(leg)
    answered, silent = defaultdict[Exit, set[str]](set), defaultdict[Exit, set[str]](set)
    for call in islice(host.frame.rows("failed_calls"), MOST):
        if call.where != "here" or call.call != "connection" or not call.address[:1].isalnum():
            continue
        found = answered if call.error == failed_calls.OPENED else silent
        if call.error in (*SILENT, failed_calls.OPENED):
            place = str(address(call.address)), int(call.port or 0)
            found[way(place, "", who.user(place, call.pid), "")].add("")
    rows = [one for one in host.frame.rows("sockets_tcp") if one.state != "listen"]
    for one in islice((one for one in rows if not host.local(one.remote)), MOST):
        to, local = (str(address(one.remote)), one.remote_port), str(address(one.local))
        if one.state == "syn-sent" and one.total_retrans:
            silent[way(to, local, one.uid, one.interface or "")].add(local)
        elif one.state == "established" and not one.backoff:
            answered[way(to, local, one.uid, one.interface or "")].add(local)
    return answered, silent


def _ways(leg: Leg) -> Callable[[tuple[str, int], str, int, str], Exit]:
    """The way of a connection by the tables; to this very place, and of equal routes, `leg`'s.

    Rules that only the kernel evaluates are not among the tables.
    """
    own, asked = (leg.hop.interface, leg.hop.gateway), leg.question

    def way(place: tuple[str, int], local: str, user: int, leaves: str) -> Exit:
        if (*place, user) == (asked.to, asked.port, asked.user) and local in ("", asked.source):
            return own
        to, port = place
        asks = Question(to, local, leaves=leaves, port=port, user=user)
        routes = lookup(leg.host, asks).routes
        found = [_exit(one) for one in routes] or [(None, None)]
        return own if own in found else found[0]

    return way
