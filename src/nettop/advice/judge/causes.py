"""Which finding explains which: a cause comes before its symptoms, with the severity of the worst.

A rule names in `after` the rules that explain it. The cause must be reported itself, on the same
target, on the same interface or a port below it, or about the same process, neighbour, address,
port or rule of the packet filter. A program explains those that wait for it, the way of packets
what it names. Findings about packets that the kernel drops and about the counter that these raise
need no `after`: the one that knows more explains the other.
A shaper explains flows of its direction, and a rule for packets that leave explains flows that send
no more again than it drops. A finding about the host explains other findings about the host, and
findings about a flow between two hosts (`pair`). A finding about a counter of the host may have its
cause on any target. What the kernel says of a drop or of a failed call follows the rule that its
words name, unless that one follows this rule. A chain of the packet filter, which every packet
passes, explains findings about any target.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import log
from typing import Final

from ...collect import drop_reasons
from ...facts.kinds import kinds
from ...facts.kinds.attempt import Attempt, Request
from ...facts.kinds.bridge import Bridge
from ...facts.kinds.call import Call
from ...facts.kinds.destination import Destination
from ...facts.kinds.drop import Drop, Failure
from ...facts.kinds.firewall import LEAVING, Firewall, Xfrm
from ...facts.kinds.flow import Flow
from ...facts.kinds.listener import Listener
from ...facts.kinds.neighbours import Absent, Rival
from ...facts.kinds.nic import Nic
from ...facts.kinds.process import Process
from ...facts.kinds.program import Program
from ...facts.kinds.qdisc import Qdisc
from ...facts.kinds.quota import Memcg, Quota, TaskLimit
from ...facts.kinds.resolver import Astray, Resolver
from ...facts.kinds.thread import Thread
from ...facts.kinds.tunnel import Tunnel
from ...facts.kinds.volume import Volume
from ...facts.kinds.way import WayFact
from ...facts.limits.following import Prediction
from ...facts.peers import leaving, service
from ...terms.dataclass import dataclass
from ..language.expression import Expression
from ..rules.rule import Finding, Rule
from ..rules.severity import SEVERITIES
from .yielding import nics_of

Below = Mapping[str, Collection[str]]  # the ports below a bridge, bond, VLAN or macvlan
Rank = tuple[int, bool, float, bool, bool, float, str]
DOUBLE: Final = 2.0  # times the rate of now
REST: Final = "failure"  # counters of failures without a rule of their own
HOST: Final = "host"  # the target of findings about its counters
NO_PORT: Final = "EADDRNOTAVAIL"  # of connect(): no local port is left for that end
PLACES: Final = ("drop.of", "drop.whose", "drop.nics")  # where packets were dropped
_IF: Final = re.compile(r"\bIF\b")  # stands for the name of an interface in an advice
# reasons of segments that found no memory, and of those that are sent again for that
SHORT: Final = ("PROTO_MEM", "TCP_INVALID_SEQUENCE", "TCP_OFO_QUEUE_PRUNE", "TCP_OVERWINDOW",
                "TCP_ZEROWINDOW")  # fmt: skip
MOST: Final = 0.5  # of what a counter counts: packets that are fewer do not explain it
NEVER_IDLE: Final = 98.0  # % of the time a thread runs or waits for a core: it has no rest
AGAIN: Final = 0.5  # of the segments that a flow sends again: a rule that drops fewer is no cause


@dataclass(frozen=True, slots=True)
class Found:
    """A finding with its rule and the fact that it is about."""

    rule: Rule
    fact: object
    finding: Finding


def ordered(found: Sequence[Found], below: Below) -> tuple[Finding, ...]:
    """The findings, the most valuable first, each symptom after its cause; one for one cause."""
    facts = {one.finding.id: one.fact for one in found}
    return _folded(_shown(_placed(found, below), facts), facts)


def _shown(findings: Sequence[Finding], facts: Mapping[str, object]) -> list[Finding]:
    """The findings; one about a counter of the host shows what the kernel tells of its drops.

    These are the interfaces and ports of most packets, and the interface is that of its commands.
    """
    drops: dict[str, tuple[Drop, Finding]] = {}
    for one in findings:
        fact = facts[one.id]
        if isinstance(fact, Drop):
            follow = (other.id for other in findings if other.cause == one.id)
            for name in {one.cause, f"{fact.rule}@{HOST}", *follow}:  # its cause may have its own
                if name not in drops or fact.packets > drops[name][0].packets:
                    drops[name] = fact, one
    shown = []
    for one in findings:
        if one.target == HOST and one.id in drops:
            drop, told = drops[one.id]
            more = tuple(row for row in told.evidence if row["field"] in PLACES and row["value"])
            advice = tuple(_IF.sub(drop.nic or "IF", text) for text in one.advice)
            shown.append(replace(one, evidence=one.evidence + more, advice=advice))
        else:
            shown.append(one)
    return shown


def _folded(findings: Iterable[Finding], facts: Mapping[str, object]) -> tuple[Finding, ...]:
    """One finding for all flows of one program between the same two addresses.

    Sockets that their program has closed belong to the first of these.
    """
    groups: dict[object, list[Finding]] = {}
    first_of: dict[object, object] = {}
    for finding in findings:
        fact, key = facts[finding.id], object()
        if isinstance(fact, Flow) and fact.remote:
            ends = finding.rule, fact.local, fact.remote
            own = (*ends, fact.process)
            key = own if fact.process else first_of.get(ends, own)
            first_of.setdefault(ends, key)
        groups.setdefault(key, []).append(finding)
    if all(len(group) == 1 for group in groups.values()):
        return tuple(first for (first,) in groups.values())
    kept = {one.id: first.id for first, *rest in groups.values() for one in (first, *rest)}
    return tuple(
        replace(
            first,
            title=f"{first.title} (and {len(rest)} more)" if rest else first.title,
            also=tuple(one.target for one in rest),
            cause=kept.get(first.cause, first.cause),
        )
        for first, *rest in groups.values()
    )


def _placed(found: Sequence[Found], below: Below) -> Sequence[Finding]:
    """Each finding with its cause, in order; a change that its cause has is the cause's alone."""
    known = ((one.finding.id, _cause(one, found, below)) for one in found)
    causes = {name: cause for name, cause in known if cause is not None}
    loudest = {one.finding.id: _rank(one) for one in found}
    severe = {one.finding.id: SEVERITIES.index(one.finding.severity) for one in found}
    seen = {one.finding.id for one in found if one.finding.seen}
    for one in found:
        for cause in _chain(one.finding.id, causes):
            loudest[cause] = min(loudest[cause], (*loudest[one.finding.id][:-1], cause))
            severe[cause] = min(severe[cause], severe[one.finding.id])
            seen |= {cause} if one.finding.seen else set()
    placed = []
    wants = {one.finding.id: one.finding.wanted for one in found}
    for one in found:
        name = one.finding.id
        chain = _chain(name, causes)
        severity = SEVERITIES[severe[name]]
        made = {(each.setting, each.value) for cause in chain for each in wants[cause]}
        own = tuple(each for each in wants[name] if (each.setting, each.value) not in made)
        finding = replace(
            one.finding, severity=severity, seen=name in seen, cause=causes.get(name, ""),
            wanted=own,
        )  # fmt: skip
        first = chain[-1] if chain else name
        placed.append((loudest[first], len(chain), loudest[name], finding))
    placed.sort(key=lambda item: item[:3])
    return [finding for *_, finding in placed]


def _cause(one: Found, found: Sequence[Found], below: Below) -> str | None:
    """The id of the finding that explains this one; of several, the one named first.

    What is known of packets that an interface drops beyond their reason, and no rule explains,
    comes before what a rule names of the counter that they raise.
    """
    exact = (
        other for other in (found if isinstance(one.fact, Nic) else ())
        if isinstance(other.fact, Drop) and other.fact.exact and not other.fact.rule
        and _counts(other, one)
    )  # fmt: skip
    if (known := next(exact, None)) is not None:
        return known.finding.id
    told = (one.fact.rule,) if isinstance(one.fact, Drop | Call) else ()
    if isinstance(one.fact, Program):  # it may wait for another one
        told = (one.rule.id,)
    for name in (*one.rule.after, *told):
        for other in found:
            if other.rule.id == name and name in told and one.rule.id in other.rule.after:
                continue  # it names what the kernel only calls a drop
            if other.rule.id == name and _meets(other, one, below):
                return other.finding.id
    return next((other.finding.id for other in found
                 if one.rule.id not in other.rule.after and _counts(other, one)), None)  # fmt: skip


def _counts(cause: Found, one: Found) -> bool:
    """Whether one is about a counter and the other about the packets that raise it.

    The packets explain the counter if more is known of them than the reason, else it explains them.
    A counter of a finding that holds may rest just now.
    """
    for drop, counter in ((cause.fact, one), (one.fact, cause)):
        if not isinstance(drop, Drop | Call) or not drop.raises:
            continue
        known = (isinstance(drop, Call) or drop.exact) and drop.rule != counter.rule.id
        if known == (drop is cause.fact) and (known or not drop.rule):
            rates = map(_counters(counter, drop).get, drop.raises)
            return any(rate is not None and (drop.per_s or 0.0) >= MOST * rate
                       and (rate > 0 or known) for rate in rates)  # fmt: skip
    return False


def _counters(one: Found, drop: Drop | Call) -> Mapping[str, float | None]:
    """The rates of the counters that decide a finding: of the host, or where it drops."""
    if isinstance(one.fact, Xfrm):
        return {one.fact.reason: one.fact.drops}
    if isinstance(one.fact, Failure):
        return {one.fact.name: one.fact.events}
    here = isinstance(one.fact, Nic) and isinstance(drop, Drop) and one.fact.name == drop.nic
    if one.rule.over != HOST and not here:
        return {}
    of = getattr(one.fact, "per_s", one.fact)
    return {name: getattr(of, name, None) for name in _fields(one.rule.when)}


@cache
def _fields(condition: Expression) -> tuple[str, ...]:
    """The fields that a condition reads: worked out once, since each frame asks."""
    every = ast.walk(condition.tree)
    return tuple(dict.fromkeys(node.attr for node in every if isinstance(node, ast.Attribute)))


def _meets(cause: Found, one: Found, below: Below) -> bool:
    target = cause.finding.target
    if isinstance(cause.fact, Program) and isinstance(one.fact, Program):  # who waits for whom
        return cause.fact.pid == one.fact.behind and cause.fact.behind != one.fact.pid
    if cause.rule.over == one.rule.over:
        return target == one.finding.target
    if isinstance(cause.fact, WayFact) and one.rule.over == "host":
        told = one.rule.id in drop_reasons.rules()  # a counter of packets that have a reason
        return not told or one.rule.id in cause.fact.explains
    if one.rule.over == "host" or (cause.rule.over, one.rule.over) == ("host", "pair"):
        return True
    if isinstance(cause.fact, WayFact):  # it names what it explains
        return getattr(one.fact, "id", "") in cause.fact.explains
    told = isinstance(one.fact, Drop | Call) and one.fact.rule == cause.rule.id
    if told or cause.rule.over == "chain":  # every packet passes the packet filter
        return True
    if isinstance(cause.fact, Firewall) and isinstance(one.fact, Flow):
        again = one.fact.retransmits_per_s or 0.0
        return cause.fact.hook in LEAVING and (cause.fact.drops or 0.0) >= AGAIN * again > 0
    if isinstance(cause.fact, Thread) and one.rule.over == "process" and _never_idle(cause.fact):
        return False  # whether it kept up with a core of its own is not known
    if isinstance(cause.fact, Qdisc) and isinstance(one.fact, Flow):
        receives = one.fact.direction == "receive"
        if receives or cause.fact.received:  # a shaper holds back one direction
            return receives and cause.fact.received
    own = set(nics_of(one.rule.over, one.fact))
    own |= {port for name in own for port in below.get(name, ())}
    if not own.isdisjoint(nics_of(cause.rule.over, cause.fact)):
        return True
    same = _parties(one.rule.over, one.fact) & _parties(cause.rule.over, cause.fact)
    return bool(same or _ends(one.fact) & _ends(cause.fact))


def _never_idle(thread: Thread) -> bool:
    return (thread.waited or 0.0) + (thread.ran or 0.0) >= NEVER_IDLE


def _parties(over: str, fact: object) -> set[int | str]:
    """What a fact is about beside its interface.

    Processes by number; a neighbour, its address and its @interface; the addresses that calls are
    for; the local port of packets (`tcp port 80`) and the rules of the packet filter that drop.
    """
    match fact:
        case Quota() | TaskLimit():
            return set(fact.pids)
        case Memcg():
            return {*fact.pids, *(f"memory of tcp port {port}" for port in fact.ports)}
        case Process():
            return {fact.pid}
        case Absent():
            return {fact.id, f"@{fact.id.rpartition('@')[2]}"}
        case Rival():
            return {fact.address}
        case Call():
            failed = (f"{address} {fact.error}" for address in fact.addresses)
            readers = (int(one) for one in fact.by if one.isdecimal())
            return {*fact.addresses, *failed, *fact.by, *readers}
        case Destination():
            return {f"{fact.id.rpartition(':')[0]} {NO_PORT}"}
        case Firewall() | Tunnel():
            return {kinds()[over].target(fact)}
        case Drop():
            short = fact.ports if fact.reason in SHORT else ()
            memory = (f"memory of {port}" for port in short)
            return {*fact.rules, *fact.ports, *memory}
        case Bridge():
            return {f"@{fact.name}"}
        case Attempt():
            near = {fact.neighbour} if fact.neighbour is not None else set()
            return {fact.id.rpartition(":")[0], fact.leaves or "", *near}
    process = kinds()[over].parents.get("process")
    pid = process(fact) if process is not None else None
    port = {f"{fact.protocol} port {fact.local_port}"} if isinstance(fact, Flow) else set()
    return {pid, *port} if isinstance(pid, int) else {*port}


def _ends(fact: object) -> set[str]:
    """The other ends and the way out, as `facts.peers` names them."""
    match fact:
        case Call() | Attempt() | Request() | Drop() | Resolver() | Astray() | Volume():
            return {*fact.peers}
        case Listener():
            return {service("tcp", fact.port)}
        case Program():
            doors = {service("tcp", port) for port in fact.ports}
            return doors | ({leaving(fact.nic)} if fact.nic else set())
        case Nic():
            return {leaving(fact.name)}
    return set()


def _chain(name: str, causes: dict[str, str]) -> list[str]:
    """The causes of a finding, the nearest first."""
    chain: list[str] = []
    while name in causes and causes[name] not in chain:
        name = causes[name]
        chain.append(name)
    return chain


def _doubles(predicted: Prediction | None) -> bool:
    """Whether the stage that is next is known to carry twice the rate of now."""
    if predicted is None or predicted.next is None:
        return False
    return predicted.expected >= DOUBLE * predicted.rate[0] > 0


def _rank(one: Found) -> Rank:
    """By severity, then by the predicted gain, then a measured loss before a setting alone.

    Of one severity, a counter that no rule has of its own comes after what a rule explains, so does
    a flow whose program sleeps by itself after one that something holds back, and a proposal that
    only a test can judge after what is known to limit. Gains are compared in steps of a quarter, so
    that small differences do not change the order.
    Advice that doubles the rate up to a known stage is listed among the warnings: it acts on what
    limits now.
    """
    finding = one.finding
    gain = 0.0 if finding.predicted is None else finding.predicted.gain
    gain = float(round(log(gain, 1.25))) if gain > 1.0 else 0.0
    severity = SEVERITIES.index(finding.severity)
    if finding.severity == "advice" and _doubles(finding.predicted):
        severity = SEVERITIES.index("warning")
    tried = bool(finding.wanted) and all(wanted.experiment for wanted in finding.wanted)
    rests = one.rule.over == REST or (isinstance(one.fact, Flow) and one.fact.limit == "timer")
    return (
        severity, rests, -gain, tried, not finding.seen, -finding.gain, finding.id,
    )  # fmt: skip
