"""The route by the tables: rules in their order, in each table the longest prefix.

net/core/fib_rules.c, fib_rules_lookup(); net/ipv4/fib_trie.c, fib_table_lookup(). The kernel's own
answer is better (`routed` takes it); this names the route or rule behind its refusal, and answers
where it cannot be asked.

Rules of routing may look at who sends (ip-rule(8)), and rules of the packet filter. sock_diag tells
the user of each socket (net/ipv4/inet_diag.c, inet_diag_msg_attrs_fill()). A call that failed tells
its process; its user is that of any socket of the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

from ...collect.failed_calls import OPENED
from ...collect.failed_calls import Row as Call
from ...collect.fib import Row as FibRow
from ...collect.routes import Row as RouteRow
from ...collect.routing_rules import Row as RuleRow
from ...collect.ways import UNASKED, Question
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .flow import Flow, Host, address, inside, network
from .packet import by_user

REFUSALS: Final = ("blackhole", "unreachable", "prohibit")
LOCAL, MAIN = 255, 254
TABLES: Final = (LOCAL, MAIN, 253)  # tables local, main and default


@dataclass(frozen=True, slots=True)
class Found:
    """What the tables say; `kind` is empty where no route matches."""

    kind: str = ""
    routes: tuple[FibRow, ...] = ()  # the next hops of the route, those not used included
    rule: RuleRow | None = None  # that refuses by itself
    doubt: str = ""  # why the kernel may decide otherwise
    by: RuleRow | None = None  # that led to the table of the routes
    passed_over: tuple[RuleRow, FibRow] | None = None  # of no route: the first, and the rule
    empty: RuleRow | None = None  # the first for some packets alone whose table has no route at all


def lookup(host: Host, question: Question) -> Found:
    """The route to a destination by rules and tables."""
    doubt, passed_over, empty = "", None, None
    for rule, table in _tables(host, question):
        portless = not question.port and rule is not None and (rule.protocol or rule.ports)
        if rule is not None and (rule.more or portless):
            doubt = f"rule {rule.priority} has conditions that only the kernel evaluates"
            continue
        if rule is not None and rule.action in REFUSALS:
            return Found(rule.action, (), rule, doubt)
        routes = best(host, question, table)
        if rule is not None and rule.suppress is not None:
            long = tuple(r for r in routes if network(r.to).prefixlen > rule.suppress)
            passed_over = passed_over or (rule, routes[0]) if routes and not long else passed_over
            routes = long
        if routes and routes[0].kind != "throw":
            return Found(routes[0].kind, routes, None, doubt, rule, empty=empty)
        if rule is not None and empty is None and not selects(rule).endswith(" from all"):
            empty = None if _filled(host, rule) else rule
    return Found(doubt=doubt, passed_over=passed_over, empty=empty)


def _filled(host: Host, rule: RuleRow) -> bool:
    """Whether the table of a rule has a route, or may have one: it was not read."""
    if host.unread("fib"):
        return True
    return any(row.table == rule.table and row.family == rule.family for row in host.fib)


def _tables(host: Host, question: Question) -> Iterator[tuple[RuleRow | None, int]]:
    """The tables in which is looked, each with its rule; the usual ones if rules are not known."""
    family = address(question.to).version
    rules = [rule for rule in host.rules if rule.family == family]
    if not rules:
        for table in TABLES:
            yield None, table
    for rule in sorted(rules, key=lambda one: (one.priority, one.number)):
        if rule.action in ("lookup", *REFUSALS) and matches(rule, question):
            yield rule, rule.table


def matches(rule: RuleRow, question: Question) -> bool:
    """Whether a rule is for these packets, as far as it is not `more`."""
    if rule.users is not None and not rule.users[0] <= question.user <= rule.users[1]:
        return False
    if rule.source is not None and not (question.source and inside(question.source, rule.source)):
        return False
    if rule.arrives is not None and rule.arrives != (question.arrives or "lo"):
        return False
    if rule.leaves is not None and rule.leaves != question.leaves:
        return False
    if question.port and rule.protocol not in ("", question.protocol):
        return False
    if question.port and rule.ports and not rule.ports[0] <= question.port <= rule.ports[1]:
        return False
    return inside(question.to, rule.to) and question.mark & rule.mask == rule.mark & rule.mask


def selects(rule: RuleRow) -> str:
    """A rule and the packets that it is for, in the words of ip-rule(8)."""
    span = "-".join(str(one) for one in dict.fromkeys(rule.ports or ()))
    words = (
        f" to {rule.to}" * bool(rule.to), f" iif {rule.arrives}" * bool(rule.arrives),
        f" oif {rule.leaves}" * bool(rule.leaves), f" fwmark {rule.mark:#x}" * bool(rule.mark),
        " users {}-{}".format(*rule.users) if rule.users else "",
        f" ipproto {rule.protocol}" * bool(rule.protocol), f" dport {span}" * bool(span),
        ", for some of its packets," * rule.more,
    )  # fmt: skip
    return f"rule {rule.priority} from {rule.source or 'all'}{''.join(words)}"


def without(host: Host, question: Question, table: int | None) -> tuple[FibRow, ...]:
    """The route of the packets if no rule led to that table."""
    rules = tuple(one for one in host.rules if one.table != table)
    return lookup(replace(host, rules=rules), question).routes


def best(host: Host, question: Question, table: int) -> tuple[FibRow, ...]:
    """The hops of the most specific route of a table, of equal ones the lowest metric.

    A route with dead hops only is passed over (nexthop_is_dead).
    """
    wanted = address(question.to)
    groups: dict[tuple[int, int, str], list[FibRow]] = {}
    for row in host.fib:
        if question.leaves and row.interface not in (None, question.leaves):
            continue  # fib_lookup_good_nhc()
        if row.table == table and row.family == wanted.version and inside(question.to, row.to):
            key = -network(row.to).prefixlen, row.metric, row.kind
            groups.setdefault(key, []).append(row)
    for key in sorted(groups):
        hops = groups[key]
        if not all(row.dead for row in hops):
            return tuple(hops)
    return ()


def dead(host: Host, question: Question) -> tuple[FibRow, ...]:
    """The hops that would lead there if their interfaces were up and had a carrier."""
    version = address(question.to).version
    return tuple(
        row for row in host.fib
        if (row.dead or row.linkdown) and row.family == version and inside(question.to, row.to)
    )  # fmt: skip


def options(route: RouteRow | FibRow) -> str:
    """What a command that replaces the route repeats, so that it stays; next hops come last."""
    known = {
        "metric": route.metric, "table": route.table not in TABLES and route.table,
        "src": route.source,
        **{name: getattr(route, name, None) for name in ("mtu", "initcwnd", "initrwnd", "advmss")},
        "congctl": getattr(route, "congestion", None),
    }  # fmt: skip
    return "".join(f" {name} {value}" for name, value in known.items() if value)


REFUSED: Final = {
    "EINVAL": "blackhole", "EHOSTUNREACH": "unreachable", "EACCES": "prohibit", "ENETUNREACH": "",
}  # fmt: skip
SENT: Final = ("unicast", "local", "broadcast", "multicast", "anycast")


@dataclass(frozen=True, slots=True)
class Hop:
    """The next step of a packet. `kind` as of routes; empty: no route."""

    kind: str = ""
    network: str | None = None
    table: int | None = None
    interface: str | None = None
    gateway: str | None = None
    address: str | None = None  # source address
    mtu: int | None = None
    locked: bool = False  # path MTU discovery does not change the MTU
    redirected: bool = False  # the next hop was learnt by an ICMP redirect
    learnt: bool = False  # the MTU was, from a router on the way
    error: str = ""  # errno of the kernel's refusal
    unasked: str = ""  # why the kernel was not asked; empty: it answered
    found: Found = Found()

    @property
    def goes(self) -> bool:
        """Whether there is a route that carries packets."""
        return self.kind in SENT


def routed(host: Host, question: Question) -> Hop:
    """The next hop of a packet."""
    found = lookup(host, question)
    answer = host.answer(question)
    if answer is not None and not answer.error:
        return Hop(answer.kind, answer.network, answer.table, answer.interface, answer.gateway,
                   answer.address, answer.mtu, answer.locked, answer.redirected, answer.learnt,
                   found=found)  # fmt: skip
    if answer is not None and answer.error != UNASKED:
        kind = found.kind if found.kind in REFUSALS else REFUSED.get(answer.error, "")
        return Hop(kind, error=answer.error, found=found)
    why = "not asked yet" if answer is None else answer.why
    if not found.routes:
        if question.leaves and not found.kind and ":" not in question.to:  # as a neighbour there
            own = host.first(question.leaves, 4)
            return Hop("unicast", None, None, question.leaves, None, own, unasked=why, found=found)
        return Hop(found.kind, unasked=why, found=found)
    first = next((row for row in found.routes if not row.dead), found.routes[0])
    interface = "lo" if first.kind == "local" else first.interface
    source = first.source or host.first(first.interface, first.family)
    return Hop(first.kind, first.to, first.table, interface, first.gateway, source, unasked=why,
               found=found)  # fmt: skip


MARKS: Final = 4


def by_marks(flow: Flow, frame: Frame) -> Iterator[Flow]:
    """The flow with each mark that rules of routing look at."""
    marks = dict.fromkeys(row.mark for row in frame.rows("routing_rules") if row.mark)
    return (replace(flow, mark=mark) for mark in islice(marks, MARKS))


@dataclass(frozen=True, slots=True)
class Senders:
    """Users by the place to which a socket waits for its first answer, and by process."""

    places: Mapping[tuple[str, int], int]
    processes: Mapping[int, int]
    sources: Mapping[tuple[str, int], str]  # the address of the socket that waits

    @classmethod
    def of(cls, frame: Frame) -> Senders:
        """Those of a frame, as far as a rule looks at them: else the question is the same."""
        rules = frame.rows("routing_rules")
        rows = [one for table in ("sockets_tcp", "sockets_udp") for one in frame.rows(table)]
        waits = {(one.remote.removeprefix("::ffff:"), one.remote_port): one for one in rows
                 if getattr(one, "state", "") == "syn-sent"}  # fmt: skip
        sources = {place: one.local.removeprefix("::ffff:") for place, one in waits.items()
                   if any(row.source for row in rules)}  # fmt: skip
        filters = any(by_user(row.does) for row in frame.rows("nft_rules"))
        if not filters and not any(row.users for row in rules):
            return cls({}, {}, sources)
        users = {one.inode: one.uid for one in rows if one.inode}
        processes = {
            call.pid: waits[place].uid for call in frame.rows("failed_calls")
            if call.error != OPENED and (place := _place(call)) in waits
        }  # fmt: skip
        processes |= {one.pid: users[one.inode] for one in frame.rows("socket_owners")
                      if one.pid is not None and one.inode in users}  # fmt: skip
        return cls({place: one.uid for place, one in waits.items()}, processes, sources)

    def user(self, place: tuple[str, int], pid: int | None = None) -> int:
        """Who sends there; 0 where it is not known, or is root."""
        return self.places.get(place, 0) if pid is None else self.processes.get(pid, 0)


def _place(call: Call) -> tuple[str, int]:
    return call.address.removeprefix("::ffff:"), int(call.port) if call.port.isdecimal() else 0
