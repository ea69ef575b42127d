"""The rule and the route: net/ipv4/fib_rules.c, net/ipv4/route.c."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ....collect.fib import Row as FibRow
from ....collect.links import Row as LinkRow
from ....collect.routing_rules import Row as RuleRow
from ..flow import HIDDEN, PASSES, STOPS, SUSPECT, Step, address, inside
from ..legs import BRIDGED, IN, OUT, Leg
from ..lookup import LOCAL, MAIN, REFUSALS, dead, lookup, matches, selects
from .device import raised
from .discovery import unadvertised
from .neighbour import ABSENT

PLACE: Final = 20
SMALLEST: Final = 1280  # bytes: IPV6_MIN_MTU; an interface with a smaller MTU has no IPv6
_VERBS: Final = {
    "blackhole": "is a blackhole", "unreachable": "is unreachable", "prohibit": "is prohibit",
}  # fmt: skip


def look(leg: Leg) -> Iterator[Step]:
    """What the route says, and the rule that marks the packets for it.

    A route that refuses marked packets may be meant so, while the way for them is gone.
    """
    mark, by, cure = leg.marked
    for one in _said(leg):
        saw = f"{one.saw}; {by} {leg.what} the mark {mark:#x}" if mark else one.saw
        change = one.change
        if mark and one.outcome == STOPS:
            change = "bring back the way that this mark is for, such as a VPN; or, where packets "
            change += f"may go without it, {cure}, or {one.change}"
        yield replace(one, saw=saw, change=change)


def _said(leg: Leg) -> Iterator[Step]:
    hop = leg.hop
    if leg.role in (IN, BRIDGED):
        return  # `arrival` or `bridge` says it
    if hop.unasked:
        yield Step("route", HIDDEN, f"the kernel's route answer to {leg.question.to} "
                   f"({hop.unasked}): the tables are read instead")  # fmt: skip
        if why := leg.host.unread("routing_rules"):
            yield Step("rule", HIDDEN, f"the routing rules ({why}): the usual ones are assumed",
                       "ip rule")  # fmt: skip
        if leg.host.unread("fib") or hop.found.doubt:
            why = hop.found.doubt or f"routes: {leg.host.unread('fib')}"
            yield Step("route", HIDDEN, why, _get(leg))
            return
    if hop.goes:
        yield from _passed(leg)
        yield from _for_users(leg)
    elif hop.kind in REFUSALS:
        yield _refused(leg)
    else:
        yield _none(leg)


def _get(leg: Leg) -> str:
    """The command that asks the kernel the same."""
    one = leg.question
    words = ["ip", "-6"] if ":" in one.to else ["ip"]
    words += ["route", "get", one.to]
    words += ["from", one.source] if one.source else []
    words += ["iif", one.arrives] if one.arrives else []
    words += ["oif", one.leaves] if one.leaves else []
    words += ["mark", str(one.mark)] if one.mark else []
    words += ["ipproto", one.protocol, "dport", str(one.port)] if one.port else []
    return " ".join(words)


def _passed(leg: Leg) -> Iterator[Step]:
    hop = leg.hop
    via = f" via {hop.gateway}" if hop.gateway else ""
    table = f" of table {hop.table}" if hop.table not in (None, MAIN, LOCAL) else ""
    told = f" table {hop.table}" if table else ""
    kind = "" if hop.kind == "unicast" else f"{hop.kind} "
    network = hop.network or leg.question.to
    mtu = f", mtu {hop.mtu}" if hop.mtu else ""
    mtu += ", learnt from a router on the way" if hop.mtu and hop.learnt else ""
    if hop.redirected and hop.gateway:
        yield _redirected(leg)
        return
    if (bound := _bound(leg)) is not None:
        yield bound
        return
    yield Step("route", PASSES, f"{kind}route {network}{table}{via} dev {hop.interface}{mtu}",
               _get(leg))  # fmt: skip
    if hop.mtu and hop.locked and not hop.learnt:
        yield Step(
            "route", SUSPECT, f"route {network} locks the MTU at {hop.mtu}: what routers on the "
            "way say of a smaller one is not heard, and larger packets are lost there",
            f"ip route show {network}{told}",
            f"ip route change {network}{told}{via} dev {hop.interface}, with the rest of what "
            f"`ip route show {network}{told}` prints, without `mtu lock {hop.mtu}`",
        )  # fmt: skip
    programs = ", ".join(sorted({row.programs for row in hop.found.routes} - {""}))
    if leg.role == OUT and programs:
        yield Step(
            "route", SUSPECT, f"BPF program {programs} of route {network} (encap bpf) sees these "
            "packets, and may drop them", f"ip -d route show {network}{told}",
            "ask who has set the program, or let the route lead without encap",
        )  # fmt: skip
    hops = [row for row in hop.found.routes if row.to == hop.network] or list(hop.found.routes)
    lost = [row for row in hops if row.linkdown or _silent(leg, row)]
    if lost and len(hops) > 1:
        names = ", ".join(_hop(row) for row in lost)
        yield Step(
            "route", SUSPECT, f"{len(lost)} of {len(hops)} next hops of route {network} "
            f"{'is' if len(lost) == 1 else 'are'} dead ({names}): a part of the flows goes there",
            f"ip route show {network}",
            f"ip route replace {network} with the other next hops only, or bring up {names}",
            tuple(f"{row.gateway or row.to}@{row.interface}" for row in lost),
        )  # fmt: skip


def _bound(leg: Leg) -> Step | None:
    """A socket that is bound to an interface by which no route leads there.

    The kernel then takes the destination for a neighbour on it (ip_route_output_key_hash_rcu()).
    """
    to, name = leg.question.to, leg.question.leaves
    if not name or leg.hop.found.routes or leg.hop.found.doubt:
        return None
    by = lookup(leg.host, replace(leg.question, leaves="")).routes
    if not by or by[0].interface in (None, name):
        return None
    entry = leg.host.neighbours.get((name, to))
    silent = entry is not None and entry.state in ABSENT
    return Step(
        "route", STOPS if silent else SUSPECT, f"the socket is bound to {name} (SO_BINDTODEVICE), "
        f"and no route there leads to {to}: it is asked for as a neighbour on {name}"
        f"{', in vain' * silent}; the route to it leads by {by[0].interface}", _get(leg),
        f"let the program bind its socket to {by[0].interface}, or to none; or ip "
        f"{'-6 ' * (':' in to)}route add {to} via GATEWAY dev {name}",
        (leg.next_hop,) * silent,
    )  # fmt: skip


def _redirected(leg: Leg) -> Step:
    """A next hop that another router named, and that no table has (ip_rt_redirect())."""
    hop, to = leg.hop, leg.question.to
    six = ":" in to
    usual = next((row for row in hop.found.routes if row.gateway), None)
    table = f", where route {usual.to} has {usual.gateway}" if usual is not None else ""
    keys = [f"net.{'ipv6' if six else 'ipv4'}.conf.{one}.accept_redirects"
            for one in ("all", (hop.interface or "").replace(".", "/"))]  # fmt: skip
    return Step(
        "route", SUSPECT, f"packets to {to} go via {hop.gateway} dev {hop.interface} by an ICMP "
        f"redirect that this host accepted{table}", _get(leg),
        f"sysctl -w {' '.join(f'{key}=0' for key in keys)}; ip {'-6 ' * six}route flush cache; or "
        f"let {hop.gateway} forward what comes to {to}",
    )  # fmt: skip


def _for_users(leg: Leg) -> Iterator[Step]:
    """Rules that refuse what other users of this host send: a doubt where calls fail."""
    if leg.back or leg.role != OUT:
        return
    for rule in leg.host.rules:
        if rule.users is None or rule.action not in REFUSALS or rule.more:
            continue
        if rule.family == address(leg.question.to).version and matches(
            rule, replace(leg.question, user=rule.users[0])
        ):
            step = _by_rule(leg, rule)
            if leg.host.failed(leg.question.to, leg.flow.port):
                yield replace(step, outcome=SUSPECT)
            else:
                yield Step("rule", HIDDEN, f"whether such a user sends it (--user): {step.saw}",
                           step.command)  # fmt: skip


def _silent(leg: Leg, row: FibRow) -> bool:
    """Whether the next hop does not answer."""
    entry = leg.host.neighbours.get((row.interface or "", row.gateway or ""))
    return entry is not None and entry.state in ABSENT


def _hop(row: FibRow) -> str:
    return f"{row.gateway or row.to} dev {row.interface}"


def _refused(leg: Leg) -> Step:
    """A route or a rule that refuses by itself."""
    hop, found = leg.hop, leg.hop.found
    six = "-6 " if ":" in leg.question.to else ""
    verb = _VERBS[hop.kind]
    if found.rule is not None and found.kind == hop.kind:
        return _by_rule(leg, found.rule)
    if found.routes and found.kind == hop.kind:
        row = found.routes[0]
        table = f" of table {row.table}" if row.table != MAIN else ""
        told = f" table {row.table}" if row.table != MAIN else ""
        metric = f" metric {row.metric}" if row.metric else ""
        by = f", where {selects(found.by)} looks" if table and found.by is not None else ""
        if row.nexthop is not None:
            return Step(
                "route", STOPS,
                f"route {row.to}{table} leads to nexthop {row.nexthop}, which {verb}{by}",
                f"ip nexthop show id {row.nexthop}; ip {six}route show {row.to}{told}",
                f"ip nexthop replace id {row.nexthop} via GATEWAY dev INTERFACE",
            )  # fmt: skip
        return Step(
            "route", STOPS, f"route {row.to}{table} {verb}{by}",
            f"ip {six}route show table all type {hop.kind}",
            f"ip {six}route del {hop.kind} {row.to}{told}{metric}",
        )  # fmt: skip
    return _none(leg)


def _by_rule(leg: Leg, rule: RuleRow) -> Step:
    six = "-6 " if ":" in leg.question.to else ""
    return Step(
        "rule", STOPS, f"{selects(rule)} {_VERBS[rule.action]}",
        f"ip {six}rule", f"ip {six}rule del priority {rule.priority}",
    )  # fmt: skip


def _outside(leg: Leg) -> list[LinkRow]:
    """The interfaces by which this host reaches others, those with its IPv4 default route first."""
    host = leg.host
    first = [row.interface for row in host.fib if row.to == "0.0.0.0/0"]
    up = [one for one in host.links.values() if one.up and not one.loopback and not one.master]
    return sorted(up, key=lambda one: one.interface not in first)


def _without_six(leg: Leg) -> Step | None:
    """Why this host has no way by IPv6: it is off, or no router's advertisement is taken.

    net/ipv6/addrconf.c, addrconf_ifdown(), addrconf_notify(); include/net/ipv6.h, ipv6_accept_ra().
    """
    host, to = leg.host, leg.question.to
    if ":" not in to or any(row.to == "::/0" for row in host.fib):
        return None
    held = {row.interface for row in host.addresses if row.family == 6 and row.scope == "global"}
    links = [(one, host.switches[one.interface]) for one in _outside(leg)
             if one.interface in host.switches]  # fmt: skip
    for one, switch in () if held.intersection(one.interface for one, _ in links) else links:
        name, again = one.interface, "then its address and routes, which the kernel has removed: "
        again += f"ip -6 addr add ADDRESS/LENGTH dev {name}"
        key = f"net.ipv6.conf.{name.replace('.', '/')}.disable_ipv6"
        if switch.disabled6:
            return Step(
                "route", STOPS, f"no route leads to {to}: IPv6 is off on {name} ({key} is 1)",
                f"sysctl {key}", f"nettop set sysctl.{key} 0, {again}",
            )  # fmt: skip
        if switch.disabled6 is None and one.mtu and one.mtu < SMALLEST:
            return Step(
                "route", STOPS, f"no route leads to {to}: {name} has no IPv6, for its MTU "
                f"{one.mtu} is below {SMALLEST} (RFC 8200)", f"ip link show {name}",
                f"nettop set link.mtu@{name} 1500 ({SMALLEST} at least), {again}",
            )  # fmt: skip
    own = {row.interface for row in host.addresses if row.family == 6 and row.scope != "host"}
    for _, switch in links:
        name, ra, forwards = switch.interface, switch.accept_ra, bool(switch.forwarding6)
        if name not in own:
            continue
        by_hand = "if a router sends advertisements there; else ip -6 route add default via "
        by_hand += f"GATEWAY dev {name}"
        if ra in ((0, 1) if forwards else (0,)):
            why = "forwards, and so it ignores" if forwards and ra else "ignores"
            key = f"net.ipv6.conf.{name.replace('.', '/')}.accept_ra"
            return Step(
                "route", STOPS, f"no route leads to {to}: {name} {why} the advertisements of "
                f"routers (accept_ra {ra})", _get(leg),
                f"nettop set sysctl.{key} {1 + forwards}, {by_hand}",
            )  # fmt: skip
        if (dropped := unadvertised(host, name)) is not None:
            who, command, accept = dropped
            return Step(
                "route", STOPS, f"no route leads to {to}: {who} drops router advertisements on "
                f"{name}, by which a default route is learnt and kept", command,
                f"{accept}, {by_hand}",
            )  # fmt: skip
    return None


def _none(leg: Leg) -> Step:
    """No route, with the reason where it is seen."""
    to, host = leg.question.to, leg.host
    source = leg.question.source
    if source and not leg.question.arrives and not host.local(source):  # EINVAL, or ENETUNREACH
        return Step(
            "source", STOPS, f"{source} is not an address of this host", "ip -br addr",
            f"ip addr add {source} dev INTERFACE, or let the program open a new connection",
        )  # fmt: skip
    for row in dead(host, leg.question):
        if row.interface and (port := host.links.get(row.interface)) is not None:
            return Step(  # one that is up may be dead: ignore_routes_with_linkdown
                "route", STOPS, f"the next hop of route {row.to}, {_hop(row)}, is dead: "
                f"{row.interface} {'has no carrier' if port.up else 'is down'}",
                f"ip link show {row.interface}", raised(port),
            )  # fmt: skip
    for one in host.addresses:
        link = host.links.get(one.interface)
        down = link is not None and not link.up
        if down and inside(to, f"{one.address}/{one.prefix}"):
            return Step(
                "device", STOPS, f"no route leads to {to}: {one.interface}, with "
                f"{one.address}/{one.prefix}, is down", f"ip link show {one.interface}",
                f"ip link set {one.interface} up",
            )  # fmt: skip
    if address(to).is_loopback and (lo := host.links.get("lo")) is not None and not lo.up:
        return Step("device", STOPS, "the interface lo is down", "ip link show lo",
                    "ip link set lo up")  # fmt: skip
    error = f" ({leg.hop.error})" if leg.hop.error else ""
    if (step := _without_six(leg)) is not None:
        return step
    six = "-6 " if ":" in to else ""
    if leg.hop.kind in REFUSALS:
        return Step("route", STOPS, f"a route or rule for {to} {_VERBS[leg.hop.kind]}{error}",
                    f"ip {six}rule; ip {six}route show table all")  # fmt: skip
    if leg.hop.found.passed_over is not None:
        rule, row = leg.hop.found.passed_over
        return Step(
            "rule", STOPS, f"no route leads to {to}{error}: {selects(rule)} passes over route "
            f"{row.to} of table {row.table} (suppress_prefixlength {rule.suppress}), and no later "
            "rule finds one", f"ip {six}rule; ip {six}route show table {row.table}",
            f"ip {six}rule del priority {rule.priority}, or give a table that a later rule looks "
            f"up the route",
        )  # fmt: skip
    change = f"ip {six}route add {to} via GATEWAY, or a default route"
    own = [one.family for one in host.addresses if one.scope != "host"]
    if address(to).version not in own and not host.unread("addresses"):
        change = f"ip {six}addr add ADDRESS/LENGTH dev INTERFACE; then {change}"
    return Step("route", STOPS, f"no route leads to {to}{error}", _get(leg), change)
