"""The hooks of the packet filter: base chains of nf_tables, their rules and policies.

net/netfilter/nf_tables_core.c, nft_do_chain(). A rule that depends on what is not known here (sets,
limits, connection marks …) is evaluated as "may": what it may do is not visible, never a stop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ....terms.dataclass import dataclass
from ...flow_words import end
from ..flow import HIDDEN, PASSES, STOPS, Step
from ..host import address
from ..legs import BRIDGED, IN, OUT, THROUGH, Leg
from ..packet import ESTABLISHED, NEW, Packet

if TYPE_CHECKING:
    from ....collect.nft_hooks import Row as HookRow
    from ....collect.nft_rules import Row as RuleRow
    from ..host import Host

PLACE: Final = 80
_HOOKS: Final = {
    OUT: ("output", "postrouting"), IN: ("prerouting", "input"),
    THROUGH: ("prerouting", "forward", "postrouting"),
    BRIDGED: ("prerouting", "forward", "postrouting"),
}  # fmt: skip
_DEEPEST: Final = 16  # jumps: NFT_JUMP_STACK_SIZE
_DROP, _ACCEPT, _QUEUE, _JUMP, _GOTO, _RETURN = 0, 1, 3, -3, -4, -5
_NAT: Final = frozenset(("nat", "masq", "redir", "tproxy"))
_BYPASS: Final = 1  # NFT_QUEUE_FLAG_BYPASS


@dataclass(frozen=True, slots=True)
class End:
    """How a chain ends: drop, accept or "" (its end was reached), for sure or perhaps."""

    verdict: str
    rule: RuleRow | None = None
    sure: bool = True

    def drops(self, chain: HookRow) -> str:
        """The rule or the policy that drops for sure; empty: neither."""
        where = f"chain {chain.chain} (hook {chain.hook}, {chain.family} {chain.table})"
        if self.verdict == "drop" and self.rule is not None:
            return (
                f"rule {self.rule.handle} of chain {self.rule.chain} (hook {chain.hook}, "
                f"{chain.family} {chain.table})"
            )
        return f"the policy of {where}" if not self.verdict and chain.drops and self.sure else ""


def look(leg: Leg) -> Iterator[Step]:
    """Each base chain that the packets meet, in order."""
    if not leg.hop.goes:
        return
    for table in ("nft_hooks", "nft_rules"):
        if why := leg.host.unread(table):
            if leg.role == OUT or leg.question.arrives:
                yield Step("hooks", HIDDEN, f"the rules of nf_tables: {why}", "nft list ruleset")
            return
    family = "ip6" if address(leg.question.to).version == 6 else "ip"
    families = _bridge_families(leg, family) if leg.role == BRIDGED else (family, "inet")
    for hook in _HOOKS[leg.role]:
        for chain, ended, doubts in passed(leg.host, hook, families, _packet(leg, hook)):
            yield from _told(leg, chain, ended, doubts)
    yield from _beside(leg)


def passed(
    host: Host, hook: str, families: Sequence[str], packet: Packet
) -> Iterator[tuple[HookRow, End, list[tuple[RuleRow, str]]]]:
    """Each base chain of a hook, how it ends for the packet, and what its rules may do."""
    rules: dict[tuple[str, str, str], list[RuleRow]] = {}
    for rule in host.frame.rows("nft_rules"):
        rules.setdefault((rule.family, rule.table, rule.chain), []).append(rule)
    chains = [c for c in host.frame.rows("nft_hooks") if c.family in families and c.hook == hook]
    for chain in sorted(chains, key=lambda c: c.priority):
        doubts: list[tuple[RuleRow, str]] = []
        yield chain, _run(rules, (chain.family, chain.table, chain.chain), packet, doubts), doubts


def _bridge_families(leg: Leg, family: str) -> tuple[str, ...]:
    """Whose rules bridged frames meet: with br_netfilter those of IP as well."""
    name = f"net.bridge.bridge-nf-call-{'ip6tables' if family == 'ip6' else 'iptables'}"
    rows = leg.host.frame.rows("sysctls")
    calls = any(row.name == name and row.value == "1" for row in rows)
    return ("bridge", family, "inet") if calls else ("bridge",)


def _packet(leg: Leg, hook: str) -> Packet:
    flow, asked = leg.flow, leg.question
    loops = leg.role == IN and leg.hop.interface == "lo" and not asked.arrives
    arrives = leg.hop.interface if leg.role == BRIDGED else asked.arrives
    return Packet(
        asked.to, asked.source or leg.hop.address or "", flow.protocol,
        port=0 if leg.back else flow.port, source_port=flow.port if leg.back else 0,
        arrives="lo" if loops else arrives or "",
        leaves=(leg.hop.interface or "") if hook in ("output", "forward", "postrouting") else "",
        mark=asked.mark or None, state=ESTABLISHED if leg.back else NEW,
    )  # fmt: skip


def _run(
    rules: dict[tuple[str, str, str], list[RuleRow]], place: tuple[str, str, str], packet: Packet,
    doubts: list[tuple[RuleRow, str]], depth: int = 0,
) -> End:  # fmt: skip
    """Pass a chain; what rules may do is added to `doubts`."""
    sure = True
    for rule in rules.get(place, ()):
        matches = packet.matches(rule.does)
        if matches is False:
            continue
        verdict, target = _verdict(rule)
        certain = sure and matches is True
        if verdict in ("jump", "goto") and depth < _DEEPEST:
            inner = _run(rules, (*place[:2], target), packet, doubts, depth + 1)
            verdict = inner.verdict or ("return" if verdict == "goto" else "")
            certain = certain and inner.sure
            if verdict == "drop" and certain:
                return inner
        if verdict in ("drop", "accept", "return") and certain:
            return End("" if verdict == "return" else verdict, rule)
        if verdict in ("drop", "nat", "queue"):
            doubts.append((rule, verdict))
        sure = sure and (matches is True or verdict in ("", "drop", "nat", "queue"))
    return End("", sure=sure)


def _verdict(rule: RuleRow) -> tuple[str, str]:
    """What a rule that matches does: drop accept return jump goto queue nat, or nothing."""
    for name, *values in rule.does:
        if name == "reject":
            return "drop", ""
        if name == "queue":
            return "queue", ""
        if name in _NAT:
            return "nat", ""
        if name == "immediate" and len(values) > 1 and ":" in str(values[1]):
            code, _, target = str(values[1]).partition(":")
            known = {_DROP: "drop", _ACCEPT: "accept", _JUMP: "jump", _GOTO: "goto",
                     _RETURN: "return"}  # fmt: skip
            return known.get(int(code), ""), target
    return "", ""


def _told(
    leg: Leg, chain: HookRow, ended: End, doubts: list[tuple[RuleRow, str]]
) -> Iterator[Step]:
    """The end of one base chain in words."""
    place = f"{chain.family} {chain.table} {chain.chain}"
    show = f"nft -a list chain {place}"
    for rule, what in doubts:
        does = {"drop": "drops", "nat": "changes the addresses of", "queue": "hands to a program"}
        yield Step("hooks", HIDDEN, f"whether rule {rule.handle} of chain {rule.chain} (hook "
                   f"{chain.hook}, {chain.family} {chain.table}) {does[what]} these packets",
                   show)  # fmt: skip
    who, by = ended.drops(chain), ended.rule
    if who and by is not None:
        yield Step(
            "hooks", STOPS, f"{who} drops {leg.what}", show,
            f"nft delete rule {by.family} {by.table} {by.chain} handle {by.handle}",
        )  # fmt: skip
    elif who:
        to, port = leg.question.to, 0 if leg.back else leg.flow.port
        only = f"{leg.flow.protocol} dport {port} " if port else ""
        only = "ct state established,related " if leg.back else only
        if leg.role == IN and leg.hop.interface == "lo" and not leg.question.arrives:
            only = 'iifname "lo" ' if chain.hook != "output" else 'oifname "lo" '
        yield Step(
            "hooks", STOPS, f"{who} drops {leg.what} to {end(to, port) if port else to}", show,
            f"nft add rule {place} {only}accept",
        )  # fmt: skip
    elif not ended.verdict and chain.drops:
        yield Step("hooks", HIDDEN, f"whether a rule of chain {chain.chain} (hook {chain.hook}) "
                   "accepts these packets: its policy is drop", show)  # fmt: skip
    elif chain.kind == "filter":
        yield Step("hooks", PASSES, f"chain {place} (hook {chain.hook}) lets {leg.what} pass", show)


def _beside(leg: Leg) -> Iterator[Step]:
    """Filters that this walk does not evaluate."""
    for row in leg.host.frame.rows("nft_hooks"):
        if row.family in ("netdev", "bridge"):
            yield Step("hooks", HIDDEN, f"chain {row.chain} of family {row.family} ({row.table})",
                       f"nft list chain {row.family} {row.table} {row.chain}")  # fmt: skip
    for row in leg.host.frame.rows("nft_rules"):
        if any(words[0] == "flow_offload" for words in row.does):
            yield Step("hooks", HIDDEN, f"the flowtable of table {row.table}: its packets pass no "
                       "hook", f"nft list flowtables {row.family}")  # fmt: skip
