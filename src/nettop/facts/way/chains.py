"""Base chains of nf_tables, their rules and policies, and how each ends for a packet.

net/netfilter/nf_tables_core.c, nft_do_chain(). A rule that depends on what is not known here (sets,
limits, connection marks …) is evaluated as "may": what it may do is not visible, never a stop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ...terms import units
from ...terms.dataclass import dataclass
from .packet import NEW, OVER, UNTRACKED, Packet

if TYPE_CHECKING:
    from ...collect.nft_hooks import Row as HookRow
    from ...collect.nft_rules import Row as RuleRow
    from .host import Host

_DEEPEST: Final = 16  # jumps: NFT_JUMP_STACK_SIZE
_DROP, _ACCEPT, _QUEUE, _JUMP, _GOTO, _RETURN = 0, 1, 3, -3, -4, -5
_NAT: Final = frozenset(("nat", "redir", "tproxy"))
NOTRACK: Final = "notrack"
MAY_NOTRACK: Final = "may notrack"
MASKS: Final = "may masquerade"  # or a target of iptables, which is not read
TRACKS: Final = -200  # priority at which connections are tracked: NF_IP_PRI_CONNTRACK


def named(rule: RuleRow, chain: HookRow) -> str:
    """A rule that is passed from this base chain, in words."""
    where = f"hook {chain.hook}, {chain.family} {chain.table}"
    spent = _quota(rule)
    used = f", whose quota of {units.size(spent)} is used up," if spent is not None else ""
    return f"rule of handle {rule.handle} in chain {rule.chain} ({where}){used}"


def cure(rule: RuleRow) -> str:
    """What ends the drops of a rule."""
    place = f"{rule.family} {rule.table} {rule.chain} handle {rule.handle}"
    again = f"nft reset rule {place} (nft 1.0.7 or newer), which begins its quota again, or "
    return f"{again * (_quota(rule) is not None)}nft delete rule {place}"


def _quota(rule: RuleRow) -> int | None:
    """The quota of a rule for what exceeds it, in bytes, once that is used up."""
    for name, *values in rule.does:
        match name, values:
            case "quota", [int(size), int(flags), int(used)] if flags & OVER and used >= size:
                return size
    return None


@dataclass(frozen=True, slots=True)
class End:
    """How a chain ends: drop, accept, nat or "" (its end was reached), for sure or perhaps."""

    verdict: str
    rule: RuleRow | None = None
    sure: bool = True

    def drops(self, chain: HookRow) -> str:
        """The rule or the policy that drops for sure; empty: neither."""
        where = f"chain {chain.chain} (hook {chain.hook}, {chain.family} {chain.table})"
        if self.verdict == "drop" and self.rule is not None:
            return named(self.rule, chain)
        return f"the policy of {where}" if not self.verdict and chain.drops and self.sure else ""


def passed(
    host: Host, hook: str, families: Sequence[str], packet: Packet,
    without: Collection[RuleRow] = (),
) -> Iterator[tuple[HookRow, End, list[tuple[RuleRow, str]]]]:  # fmt: skip
    """Each base chain of a hook, how it ends for the packet, and what its rules may do.

    Only the first packet of a flow passes chains of type nat (nf_nat_core.c). A rule that leaves
    the packet untracked for sure is among them; it counts before tracking only (nft_ct.c).
    `without`: rules that are deleted before.
    """
    rules: dict[tuple[str, str, str], list[RuleRow]] = {}
    for rule in host.frame.rows("nft_rules"):
        if rule not in without:
            rules.setdefault((rule.family, rule.table, rule.chain), []).append(rule)
    chains = [
        one for one in host.frame.rows("nft_hooks")
        if one.family in families and one.hook == hook
        and (one.kind != "nat" or packet.state == NEW)
    ]  # fmt: skip
    for chain in sorted(chains, key=lambda c: c.priority):
        doubts: list[tuple[RuleRow, str]] = []
        yield chain, _run(rules, (chain.family, chain.table, chain.chain), packet, doubts), doubts
        if untracking(chain, doubts) is not None:
            packet = replace(packet, state=UNTRACKED)


def untracking(chain: HookRow, does: Sequence[tuple[RuleRow, str]]) -> RuleRow | None:
    """The rule of a chain that leaves the packet untracked."""
    early = chain.hook in ("prerouting", "output") and chain.priority < TRACKS
    return next((rule for rule, what in does if early and what == NOTRACK), None)


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
        if any(words[0] == NOTRACK for words in rule.does):
            doubts.append((rule, NOTRACK if certain else MAY_NOTRACK))
        if verdict in ("jump", "goto") and depth < _DEEPEST:
            inner = _run(rules, (*place[:2], target), packet, doubts, depth + 1)
            verdict = inner.verdict or ("return" if verdict == "goto" else "")
            certain = certain and inner.sure
            if verdict in ("drop", "nat") and certain:
                return inner
        if verdict in ("drop", "accept", "return") and certain:
            return End("" if verdict == "return" else verdict, rule)
        if certain and (verdict == "masq" or (verdict == "nat" and _understood(rule))):
            return End("nat", rule)
        if verdict in ("drop", "nat", "queue"):
            doubts.append((rule, verdict))
        if verdict == "masq" or any(words[0] == "target" for words in rule.does):
            doubts.append((rule, MASKS))
        sure = sure and (matches is True or verdict in ("", "drop", "nat", "masq", "queue"))
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
        if name == "masq":
            return "masq", ""
        if name == "immediate" and len(values) > 1 and ":" in str(values[1]):
            code, _, target = str(values[1]).partition(":")
            known = {_DROP: "drop", _ACCEPT: "accept", _JUMP: "jump", _GOTO: "goto",
                     _RETURN: "return"}  # fmt: skip
            return known.get(int(code), ""), target
    return "", ""


def _understood(rule: RuleRow) -> bool:
    """Whether it is read to what a rule translates: a scrubbed recording does not have it."""
    return any(
        name in ("nat", "redir") and isinstance(next(iter(values), None), int)
        for name, *values in rule.does
    )
