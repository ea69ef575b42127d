"""The hooks of the packet filter on the way: what each base chain of nf_tables does, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ....collect.nft_hooks import Row as HookRow
from ....collect.nft_rules import Row as RuleRow
from ....collect.nftables import limit
from ...flow_words import end
from ..chains import (
    MASKS,
    MAY_NOTRACK,
    NOTRACK,
    End,
    accepting,
    cure,
    hooked,
    named,
    numbered,
    passed,
    place,
    placed,
    shown,
    untracking,
)
from ..flow import FILTERED, HIDDEN, PASSES, RENAMED, STOPS, SUSPECT, Step, address
from ..legs import BRIDGED, IN, OUT, THROUGH, Leg
from ..packet import ESTABLISHED, INVALID, MARKS, MAY_MARK, NEW, UNTRACKED, Packet, interfaces
from ..rule_tests import listed, picks, spares, tested
from ..rule_text import written

PLACE: Final = 80
_OVER: Final = 1  # NFT_LIMIT_F_INV: what exceeds the limit
BYPASS: Final = 1  # NFT_QUEUE_FLAG_BYPASS
LEAST: Final = 2  # tests of a rule: with one alone it is for all at that interface
MOST: Final = 3  # rules in turn that would drop the same packets
_HOOKS: Final = {  # ingress and egress are of the interface, in the families netdev and inet
    OUT: ("output", "postrouting", "egress"), IN: ("ingress", "prerouting", "input"),
    THROUGH: ("ingress", "prerouting", "forward", "postrouting", "egress"),
    BRIDGED: ("ingress", "prerouting", "forward", "postrouting", "egress"),
}  # fmt: skip
_COMES: Final = ("ingress", "prerouting", "output")  # before an address is replaced
_LEAVES: Final = ("output", "forward", "postrouting", "egress")


def look(leg: Leg) -> Iterator[Step]:
    """Each base chain that the packets meet, in order."""
    if not leg.hop.goes:
        return
    for table in ("nft_hooks", "nft_rules"):
        if why := leg.host.unread(table):
            if leg.role == OUT or leg.question.arrives:
                yield Step(
                    "hooks", HIDDEN, f"the rules of the packet filter: {why}", "nft list ruleset"
                )
            return
    family = "ip6" if address(leg.question.to).version == 6 else "ip"
    families = _bridge_families(leg, family) if leg.role == BRIDGED else (family, "inet")
    families = *families, "netdev"
    state, by = _state(leg, families)
    for hook in _HOOKS[leg.role]:  # connections are tracked behind ingress
        packet = replace(_packet(leg, hook), state=INVALID if hook == "ingress" else state)
        for chain, ended, doubts in passed(leg.host, hook, families, packet):
            if (rule := untracking(chain, doubts)) is not None:
                state, by = UNTRACKED, named(rule, chain)
            moot = (NOTRACK, MARKS, MAY_MARK, *((MAY_NOTRACK,) if by else ()))
            told = [one for one in doubts if not one[1].startswith(moot)]
            then = _then(leg, hook, families, packet, ended, by) if ended.drops(chain) else ""
            yield from _told(leg, chain, ended, told, by, then, packet)
    yield from _beside(leg)


def _state(leg: Leg, families: tuple[str, ...]) -> tuple[int, str]:
    """The state of connection tracking, and the rule that left the first packet untracked.

    An answer to such a packet fits no connection: it is the first one, or invalid (tcp_new()).
    """
    flow = leg.flow
    if not leg.back:
        return ESTABLISHED if flow.source_port else NEW, ""
    ours = leg.role == IN  # this host has sent what is answered
    asked = Packet(
        flow.to, leg.question.to, flow.protocol, flow.port, flow.source_port,
        arrives="" if ours else leg.hop.interface or "",
        leaves=leg.question.arrives if ours else "",
    )  # fmt: skip
    for chain, _, doubts in passed(leg.host, "output" if ours else "prerouting", families, asked):
        if (rule := untracking(chain, doubts)) is not None:
            return INVALID if flow.protocol == "tcp" else NEW, named(rule, chain)
    return ESTABLISHED, ""


def _bridge_families(leg: Leg, family: str) -> tuple[str, ...]:
    """Whose rules bridged frames meet: with br_netfilter those of IP as well."""
    name = _calls(leg.question.to)
    rows = leg.host.frame.rows("sysctls")
    calls = any(row.name == name and row.value == "1" for row in rows)
    return ("bridge", family, "inet") if calls else ("bridge",)


def _packet(leg: Leg, hook: str) -> Packet:
    flow, asked, to = leg.flow, leg.question, leg.question.to
    if leg.was is not None and hook in _COMES:  # before it was replaced
        flow, to = leg.was, leg.was.to
    loops = leg.role == IN and leg.hop.interface == "lo" and not asked.arrives
    arrives = leg.hop.interface if leg.role == BRIDGED else asked.arrives
    return Packet(
        to, asked.source or leg.hop.address or "", flow.protocol,
        port=flow.source_port if leg.back else flow.port,
        source_port=flow.port if leg.back else flow.source_port,
        arrives="lo" if loops else arrives or "",
        leaves=(leg.hop.interface or "") if hook in _LEAVES else "",
        mark=asked.mark or None, user=asked.user or None,
        chosen=leg.host.chosen if _sends(leg) and flow.port and not flow.source_port else range(0),
    )  # fmt: skip


def _sends(leg: Leg) -> bool:
    """Whether this host sends first, so that its kernel chose a port for the connection."""
    return leg.role == (IN if leg.back else OUT)


def _then(
    leg: Leg, hook: str, families: tuple[str, ...], packet: Packet, ended: End, left: str
) -> str:  # fmt: skip
    """What drops the packets at this hook once the rule is deleted, and what ends that; or empty.

    Each rule that would drop them then is deleted too, up to a policy. One that drops all stays.
    """
    gone: list[RuleRow] = []
    told = ""
    while ended.rule is not None and not _drops_all(ended.rule) and len(gone) < MOST:
        gone.append(ended.rule)
        ends = passed(leg.host, hook, families, packet, gone)
        found = next(((one, end) for one, end, _ in ends if end.drops(one)), None)
        if found is None:
            break
        chain, ended = found
        change = _ends(leg, chain, ended.rule, left)
        told += f"; then {ended.drops(chain)} drops the same packets: {change}"
    return told


def _drops_all(rule: RuleRow) -> bool:
    """Whether a rule drops each packet that comes to it, as a policy does."""
    return {words[0] for words in rule.does} <= {"counter", "log", "immediate", "reject"}


def _ends(leg: Leg, chain: HookRow, by: RuleRow | None, left: str) -> str:
    """What lets the packets pass where a rule, or the policy, drops them."""
    if by is not None and not (_drops_all(by) and (leg.flow.port or leg.back)):
        return cure(by)
    return _accepts(leg, chain, left, by)


def _renamed(leg: Leg, chain: HookRow, packet: Packet) -> tuple[str, str, bool]:
    """A rule of the chain that accepts the packets at an interface which this host does not have.

    In words, what cures it, and whether no rule names the interface which they pass instead.
    """
    links, rules = leg.host.links, leg.host.frame.rows("nft_rules")
    known = {one for rule in rules for one in interfaces(rule.does)}
    for side, name in sorted(known) if links else ():
        real, way = getattr(packet, side), "come" if side == "arrives" else "leave"
        other = replace(packet, **{side: name})  # type: ignore[arg-type]
        ends = passed(leg.host, chain.hook, (chain.family,), other)
        rule = next((end.rule for one, end, _ in ends if one is chain and end.verdict == "accept"),
                    None)  # fmt: skip
        tests = sum(words[0] in ("cmp", "range", "lookup") for words in rule.does) if rule else 0
        if rule is not None and real and name not in links and tests >= LEAST:
            told = f"; {numbered(rule)} accepts them on {name}, which this host does not have"
            return (f"{told} (they {way} by {real})", f"correct {name} in that rule, or ",
                    all(real != one for _, one in known))  # fmt: skip
    return "", "", False


def _accepts(leg: Leg, chain: HookRow, left: str, by: RuleRow | None = None) -> str:
    """The rule that lets the packets pass a chain whose policy, or whose last rule, drops them."""
    first, flow, at = by or False, leg.flow, by or chain
    port = f"{flow.protocol} {{}} {flow.port}" if flow.port else ""
    if leg.role == IN and leg.hop.interface == "lo" and not leg.question.arrives:
        side = "leaves" if chain.hook == "output" else "arrives"
        return accepting(at, first=first, **{side: "lo"})
    if leg.back and left:  # no answer of the flow is established
        return accepting(at, port.format("sport"), first=first)
    if leg.back:
        return accepting(at, state="established,related", first=first)
    through = leg.role == THROUGH and bool(port)
    return accepting(
        at, port.format("dport"), first=first,
        to=leg.question.to if port and leg.role in (OUT, THROUGH) else "",
        arrives=leg.question.arrives if chain.hook != "postrouting" else "",
        leaves=(leg.hop.interface or "") if through and chain.hook == "forward" else "",
    )  # fmt: skip


def _told(
    leg: Leg, chain: HookRow, ended: End, doubts: list[tuple[RuleRow, str]], left: str, then: str,
    packet: Packet,
) -> Iterator[Step]:  # fmt: skip
    """The end of one base chain in words.

    `left`: the rule that left the flow untracked. `then`: what else a rule's deletion needs.
    """
    show = shown(ended.rule or chain)
    spared = [one for one in doubts if one[1] == "drop" and spares(leg.host, one[0])
              and _dropped(leg)]  # fmt: skip
    for rule, what in (one for one in doubts if one[1] != MASKS and one not in spared):
        does = {"drop": "drops these packets", "queue": "hands these packets to a program",
                "nat": "changes the addresses of these packets",
                MAY_NOTRACK: "leaves these packets untracked"}  # fmt: skip
        if what == "drop" and (packets := _dropped(leg)):
            tests, element = tested(leg, rule)
            if rate := _limiting(leg, rule, packet):
                yield _rated(leg, f"{named(rule, chain)} drops", rate, show, cure(rule))
                continue
            yield Step(
                "hooks", SUSPECT, f"{named(rule, chain)} may drop them{tests}, and the packet "
                f"filter dropped {packets} of this protocol and port", element or show, "correct "
                f"it, or {cure(rule)}", picks=picks(leg, rule), rule=written(rule, leg.host),
            )  # fmt: skip
            continue
        yield Step("hooks", HIDDEN, f"whether {named(rule, chain)} {does[what]}", show)
    why = f": {left} leaves this flow untracked (notrack)" if left else ""
    who, by = ended.drops(chain), ended.rule
    saw, first, sure = "", "", False
    if who and not leg.back and (by is None or _drops_all(by)):
        saw, first, sure = _renamed(leg, chain, packet)
    if who and leg.role == BRIDGED and chain.family != "bridge":
        yield _called(leg, who, chain, by)
        return
    if who and by is not None:
        answers = any(words[0] == "reject" for words in by.does)
        verb = "rejects" if answers else "drops"
        has, change = listed(leg, by)
        yield Step(
            "hooks", STOPS, f"{who} {verb} {leg.what}{has}{why}{saw}", show,
            first + (change or _ends(leg, chain, by, left)) + then, answers=answers,
            picks=RENAMED if sure else picks(leg, by, change), rule=written(by, leg.host),
        )  # fmt: skip
    elif who:
        to, port = leg.question.to, 0 if leg.back else leg.flow.port
        yield Step(
            "hooks", STOPS, f"{who} drops {leg.what} to {end(to, port) if port else to}{why}{saw}",
            show, first + _accepts(leg, chain, left) + (", or delete the rules with notrack for "
            "this flow (nft -a list ruleset | grep notrack)" if left else ""),
            picks=RENAMED if sure else "",
        )  # fmt: skip
    elif ended.verdict == "queue" and by is not None:
        yield _handed(leg, chain, by, show)
    elif (
        not ended.verdict
        and chain.drops
        and _dropped(leg)
        and (rate := _limiting(leg, chain, packet))
    ):
        yield _rated(leg, f"the policy of chain {chain.chain} ({hooked(chain)}) drops", rate, show,
                     _accepts(leg, chain, left))  # fmt: skip
    elif not ended.verdict and chain.drops:
        yield Step("hooks", HIDDEN, f"whether a rule of chain {chain.chain} (hook {chain.hook}) "
                   "accepts these packets: its policy is drop", show)  # fmt: skip
    elif chain.kind == "filter" and not any(what == "drop" for _, what in doubts):
        old = f"{chain.chain} ({hooked(chain)})"
        name = old if chain.old else f"{placed(chain)} (hook {chain.hook})"
        yield Step("hooks", PASSES, f"chain {name} lets {leg.what} pass", show)


def _limiting(leg: Leg, at: RuleRow | HookRow, packet: Packet) -> str:
    """The limit of a rate that such packets meet in a chain, up to this rule, and who has it.

    In words; empty: none. A rule that drops what is within its limit has no such one.
    """
    rules = [rule for rule in leg.host.frame.rows("nft_rules") if place(rule) == place(at)]
    for rule in rules[: rules.index(at) + 1] if isinstance(at, RuleRow) else rules:
        words = next((one for one in rule.does if one[0] == "limit"), None)
        over = words is not None and bool(words[5:] and int(words[5]) & _OVER)
        if words is None or packet.matches(rule.does).said is False or (rule is at and not over):
            continue
        figures = [int(one) for one in words[1:5]]
        rate = limit(*figures) if len(figures) == len(("rate", "unit", "burst", "kind")) else ""
        of = "its limit" if rule is at else f"the limit of {numbered(rule)}"
        return f"{of}, {rate}" if rate else of
    return ""


def _rated(leg: Leg, who: str, rate: str, show: str, change: str) -> Step:
    """A limit of a rate. A SYN that is dropped is sent again (net/ipv4/tcp_timer.c): it is late."""
    late = leg.flow.protocol == "tcp" and not leg.back and not leg.flow.source_port
    again = " (a SYN is sent again after 1, 3 and 7 s: such a connection opens late)" * late
    return Step(
        "hooks", SUSPECT, f"{who} what exceeds {rate}, and the packet filter dropped "
        f"{_dropped(leg)} of this protocol and port{again}", show, f"raise that limit, or {change}",
        picks="rate",
    )  # fmt: skip


def _handed(leg: Leg, chain: HookRow, by: RuleRow, show: str) -> Step:
    """A rule that hands the packets to a program: without one they are dropped.

    Except with NFT_QUEUE_FLAG_BYPASS (net/netfilter/nf_queue.c, __nf_queue()).
    """
    words = next(words for words in by.does if words[0] == "queue")
    number, many, flags = [*(one for one in words if isinstance(one, int)), -1, 1, 0][:3]
    queues = range(number, number + many)
    rows = leg.host.frame.rows("program_queues")
    read = any(row.type == "nfqueue" and row.number in queues for row in rows)
    name = f"NFQUEUE {number}" + (f" to {queues[-1]}" if len(queues) > 1 else "")
    hands = f"{named(by, chain)} hands {leg.what} to {name}"
    if read or number < 0 or flags & BYPASS or leg.host.unread("program_queues"):
        return Step("hooks", HIDDEN, f"whether the program behind it lets {leg.what} pass: {hands}",
                    show)  # fmt: skip
    return Step(
        "handed", STOPS, f"{hands}, which no program reads, so they are dropped",
        f"cat /proc/net/netfilter/nfnetlink_queue; {show}",
        f"start the program that reads {name}, or {cure(by)}", rule=written(by, leg.host),
    )  # fmt: skip


def _called(leg: Leg, who: str, chain: HookRow, by: RuleRow | None) -> Step:
    """A rule or a policy of IP that bridged frames meet: br_netfilter hands them over.

    Who writes a policy for what this host routes seldom means what its bridge forwards.
    """
    name = _calls(leg.question.to)
    rule = accepting(chain, f"{leg.flow.protocol} dport {leg.flow.port}", first=True)
    rule += f"; {accepting(chain, state='established,related', first=True)}"
    if by is not None:
        rule = cure(by)
    return Step(
        "hooks" if by is not None else "bridged", STOPS, f"{who} drops frames that "
        f"{leg.hop.interface} bridges: {name} is 1, so they meet the rules for routed packets",
        f"sysctl {name}; {shown(chain)}", f"nettop set sysctl.{name} 0, or {rule}",
        rule="" if by is None else written(by, leg.host),
    )  # fmt: skip


def _calls(to: str) -> str:
    """The switch by which bridged frames to an address meet the rules of IP."""
    return f"net.bridge.bridge-nf-call-{'ip6tables' if ':' in to else 'iptables'}"


def _dropped(leg: Leg) -> int:
    """How many packets of the protocol and a port of the flow the filter dropped meanwhile."""
    ports = {str(leg.flow.port), str(leg.flow.source_port)} - {"0"}
    protocol = leg.flow.protocol
    return leg.host.dropped(FILTERED, lambda row: row.protocol == protocol and row.port in ports)


def _beside(leg: Leg) -> Iterator[Step]:
    """Filters that this walk does not evaluate: of a bridge, and of interfaces below this one."""
    host = leg.host
    own = {name for name in (leg.hop.interface, leg.question.arrives) if name in host.links}
    below = {one.interface for one in host.links.values() if one.master in own}
    below |= {one.link or "" for one in host.links.values() if one.interface in own}
    bridged = any(host.links[name or ""].kind == "bridge" for name in own)
    for row in host.frame.rows("nft_hooks"):
        hidden = row.family == "bridge" and leg.role != BRIDGED and bridged
        if hidden or below.intersection(row.devices):
            yield Step("hooks", HIDDEN, f"chain {row.chain} of family {row.family} ({row.table})",
                       f"nft list chain {row.family} {row.table} {row.chain}")  # fmt: skip
    for row in host.frame.rows("nft_rules"):
        if any(words[0] == "flow_offload" for words in row.does):
            yield Step("hooks", HIDDEN, f"the flowtable of table {row.table}: its packets pass no "
                       "hook", f"nft list flowtables {row.family}")  # fmt: skip
