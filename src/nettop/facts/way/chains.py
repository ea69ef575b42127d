"""Base chains of nf_tables, their rules and policies, and how each ends for a packet.

net/netfilter/nf_tables_core.c, nft_do_chain(). A rule that depends on what is not known here
(limits, connection marks …) is evaluated as "may": what it may do is not visible, never a stop.

The rules and policies of the packet filter that may have dropped packets that were seen.

The kernel says at which place it dropped them, and of each kind one packet is known. A rule that
this packet does not match, or that is at a hook it does not pass, did not drop it; nor did a policy
that it does not reach.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from ...collect.drop_reasons import Row as DropReasonRow
from ...collect.nft_hooks import Row as HookRow
from ...collect.nft_rules import Row as RuleRow
from ...collect.nft_rules import Words
from ...collect.nft_sets import Row as SetRow
from ...collect.nftables import Row as NftablesRow
from ...terms import units
from ...terms.dataclass import dataclass
from ...terms.text import version
from .flow import Host, address
from .packet import MAY_DROP, NEW, NO_SETS, OVER, PROTOCOLS, UNTRACKED, Packet, marks

_DEEPEST: Final = 16  # jumps: NFT_JUMP_STACK_SIZE
_DROP, _ACCEPT, _JUMP, _GOTO, _RETURN = 0, 1, -3, -4, -5
_NAT: Final = frozenset(("nat", "redir", "tproxy"))
NOTRACK: Final = "notrack"
MAY_NOTRACK: Final = "may notrack"
_OF_AN_INTERFACE: Final = ("ingress", "egress")  # hooks that each interface has
MASKS: Final = "may masquerade"  # or a target of iptables that is not understood
TRACKS: Final = -200  # priority at which connections are tracked: NF_IP_PRI_CONNTRACK


Place = tuple[bool, str, str, str]
"""A chain: whether it is of the older iptables, family, table and name."""


def place(one: RuleRow | HookRow) -> Place:
    """The chain, or that of a rule."""
    return one.old, one.family, one.table, one.chain


def named(rule: RuleRow, chain: HookRow) -> str:
    """A rule that is passed from this base chain, in words."""
    spent = _quota(rule)
    used = f", whose quota of {units.size(spent)} is used up," if spent is not None else ""
    return f"{numbered(rule)} ({hooked(chain)}){used}"


def numbered(rule: RuleRow) -> str:
    """A rule and its chain, in words."""
    return f"{'rule' if rule.old else 'rule of handle'} {rule.handle} in chain {rule.chain}"


def hooked(chain: HookRow) -> str:
    """Hook and table of a base chain, in words."""
    return f"hook {chain.hook}, {tabled(chain)}"


def tabled(one: RuleRow | HookRow) -> str:
    """The table, in words."""
    old = f"table {one.table} of the older iptables"
    return old if one.old else f"{one.family} {one.table}"


def placed(one: RuleRow | HookRow) -> str:
    """A chain of nf_tables as the arguments of nft."""
    return f"{one.family} {one.table} {one.chain}"


def shown(one: RuleRow | HookRow) -> str:
    """The command that shows a chain."""
    if one.old:
        return f"{_command(one)} -t {one.table} -nvL {one.chain} --line-numbers"
    return f"nft -a list chain {placed(one)}"


def _command(one: RuleRow | HookRow) -> str:
    """That of the older iptables, which before version 1.8 had the name without the last word."""
    return f"{one.family}tables-legacy"


def cure(rule: RuleRow) -> str:
    """What ends the drops of a rule."""
    if rule.old:
        return f"{_command(rule)} -t {rule.table} -D {rule.chain} {rule.handle}"
    what = f"{placed(rule)} handle {rule.handle}"
    again = f"nft reset rule {what} (nft 1.0.7 or newer), which begins its quota again, or "
    return f"{again * (_quota(rule) is not None)}nft delete rule {what}"


def accepting(
    chain: HookRow | RuleRow, ends: str = "", *, to: str = "", state: str = "", arrives: str = "",
    leaves: str = "", first: RuleRow | bool = False,
) -> str:  # fmt: skip
    """The command for a rule that accepts such packets, behind the others, before them or a rule.

    `ends`: protocol, side and port, as `tcp dport 80`; `to`: the destination address.
    """
    old, at = chain.old, f" {first.handle}" if isinstance(first, RuleRow) else ""
    words = [f"nft {'insert' if first else 'add'} rule {placed(chain)}{at and f' handle{at}'}"]
    if old:
        flag = "-I" if first else "-A"
        words = [f"{_command(chain)} -t {chain.table} {flag} {chain.chain}{at}"]
    for value, before, now in (
        (arrives, "-i {}", 'iifname "{}"'), (leaves, "-o {}", 'oifname "{}"'),
        (to, "-d {}", f"{'ip6' if ':' in to else 'ip'} daddr {{}}"),
        (ends, "-p {} --{} {}", "{} {} {}"),
        (state.upper() if old else state, "-m conntrack --ctstate {}", "ct state {}"),
    ):  # fmt: skip
        words += [(before if old else now).format(*value.split())] if value else []
    return " ".join([*words, "-j ACCEPT" if old else "accept"])


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
    data: str = ""  # of a map that a translation looks up, hexadecimal

    def drops(self, chain: HookRow) -> str:
        """The rule or the policy that drops for sure; empty: neither."""
        where = f"chain {chain.chain} ({hooked(chain)})"
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
    if not (host.unread("addresses") or address(packet.to).is_multicast):
        packet = replace(packet, local=host.local(packet.to))
    packet = replace(packet, numbers=(host.number(packet.arrives), host.number(packet.leaves)))
    rules: dict[Place, list[RuleRow]] = {}
    for rule in host.frame.rows("nft_rules"):
        if rule not in without:
            rules.setdefault(place(rule), []).append(rule)
    sets: dict[tuple[str, str], dict[str, SetRow]] = {}
    for row in host.frame.rows("nft_sets"):
        sets.setdefault((row.family, row.table), {})[row.set] = row
    chains = [
        one for one in host.frame.rows("nft_hooks")
        if one.family in families and one.hook == hook
        and (one.kind != "nat" or packet.state == NEW)
        and (hook not in _OF_AN_INTERFACE or {packet.arrives, packet.leaves} & {*one.devices})
    ]  # fmt: skip
    for chain in sorted(chains, key=lambda c: c.priority):
        doubts: list[tuple[RuleRow, str]] = []
        seen = _Seen(rules, sets.get((chain.family, chain.table), NO_SETS), packet, doubts)
        yield chain, _run(seen, place(chain)), doubts
        if untracking(chain, doubts) is not None:
            packet = replace(packet, state=UNTRACKED)


def untracking(chain: HookRow, does: Sequence[tuple[RuleRow, str]]) -> RuleRow | None:
    """The rule of a chain that leaves the packet untracked."""
    early = chain.hook in ("prerouting", "output") and chain.priority < TRACKS
    return next((rule for rule, what in does if early and what == NOTRACK), None)


class _Seen(NamedTuple):
    """What a packet meets."""

    rules: Mapping[Place, Sequence[RuleRow]]
    sets: Mapping[str, SetRow]
    packet: Packet
    doubts: list[tuple[RuleRow, str]]  # what rules may do


def _run(seen: _Seen, at: Place, depth: int = 0) -> End:
    """Pass a chain; what rules may do is added to the doubts."""
    sure, doubts = True, seen.doubts
    for rule in seen.rules.get(at, ()):
        matches, mapped, data, mark = seen.packet.matches(rule.does, seen.sets)
        if matches is False:
            continue
        verdict, target = _coded(mapped) if mapped else _verdict(rule)
        certain = sure and matches is True
        if any(words[0] == NOTRACK for words in rule.does):
            doubts.append((rule, NOTRACK if certain else MAY_NOTRACK))
        doubts += [(rule, what) for what in marks(rule.does, mark, sure=certain)]
        if verdict in ("jump", "goto") and depth < _DEEPEST:
            inner = _run(seen, (*at[:3], target), depth + 1)
            verdict = inner.verdict or ("return" if verdict == "goto" else "")
            certain = certain and inner.sure
            if verdict in ("drop", "nat", "queue") and certain:
                return inner
        if verdict in ("drop", "accept", "return") and certain:
            return End("" if verdict == "return" else verdict, rule)
        if certain and (verdict == "masq" or (verdict == "nat" and _understood(rule))):
            return End("nat", rule, data=data)
        if certain and verdict == "queue":
            return End(verdict, rule)
        if verdict in ("drop", "nat", "queue"):
            doubts.append((rule, verdict))
        if mapped == MAY_DROP:
            doubts.append((rule, "drop"))
        if verdict == "masq" or any(words[0] == "target" for words in rule.does):
            doubts.append((rule, MASKS))
        passes = verdict in ("", "drop", "nat", "masq", "queue") and not mapped
        sure = sure and (matches is True or passes)
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
            return _coded(str(values[1]))
    return "", ""


def _coded(text: str) -> tuple[str, str]:
    """A verdict as CODE:CHAIN in words."""
    code, _, target = text.partition(":")
    known = {_DROP: "drop", _ACCEPT: "accept", _JUMP: "jump", _GOTO: "goto", _RETURN: "return"}
    return known.get(int(code), "") if code.lstrip("-").isdigit() else "", target


def _understood(rule: RuleRow) -> bool:
    """Whether it is read to what a rule translates: a scrubbed recording does not have it."""
    return any(
        name in ("nat", "redir") and isinstance(next(iter(values), None), int)
        for name, *values in rule.does
    )


OLD: Final = ("iptables", "ip6tables")
# from this kernel on nft_do_chain() drops itself, and not the hook that called it: NF_DROP_REASON()
NAMED: Final = (6, 7)
_OF_HOOK, _OF_RULES = "nf_hook_slow", "nft_do_chain"
_COMING: Final = ("ingress", "prerouting", "input")  # before a packet is judged to be wrong
_HOPS: Final = (8, 7)  # place of the TTL in the header of IPv4, and of the hop limit in IPv6
_ARRIVING: Final = ("prerouting", "input", "forward")
_SIX: Final = {"ip": 4, "iptables": 4, "ip6": 6, "ip6tables": 6}  # others: both


def filtered(host: Host, dropped: Sequence[DropReasonRow]) -> list[NftablesRow]:
    """Those whose counter rises most; without any, those that do not count and may be it.

    Those first that may have dropped most. Connections repeat their segments in bursts: where no
    counter rises just now, one that rose before in this look.
    """
    every = host.frame.tables.get("nftables", ())
    rules = {(place(one), str(one.handle)): one for one in host.frame.rows("nft_rules")}
    for some in (
        [one for one in every if one.rate("packets")],
        [one for one in every if one.past and one.now.packets != one.past.packets],
        [one for one in every if one.now.packets is None],
    ):
        fits = [
            (one.rate("packets") or 0.0, sum(
                row.packets for row in dropped if _may(host, one.now, row, rules)
            ), one.now)
            for one in some
        ]  # fmt: skip
        fits = sorted((one for one in fits if one[1]), key=lambda one: one[:2], reverse=True)
        if fits:
            return [rule for _, _, rule in fits]
    return []


def _may(
    host: Host, rule: NftablesRow, row: DropReasonRow, rules: Mapping[tuple[Place, str], RuleRow]
) -> bool:  # fmt: skip
    """Whether the rule, or the policy, may have dropped the packet at its place."""
    old = rule.family in OLD
    apart = any((version(one.release) or ()) >= NAMED for one in host.frame.rows("kernel"))
    if (row.place == _OF_RULES and old) or (row.place == _OF_HOOK and apart and not old):
        return False
    if not row.to or row.protocol not in PROTOCOLS:
        return True
    if _SIX.get(rule.family) not in (None, address(row.to).version) or rule.family == "arp":
        return False
    leaves = bool(row.source) and host.local(row.source) and not host.local(row.to)
    if leaves and rule.hook in _ARRIVING:
        return False
    arrived = bool(row.source and row.interface) and not host.local(row.source)
    if arrived and rule.hook == "output":
        return False
    packet = _packet(host, row, leaves=leaves)
    family = rule.family.removesuffix("tables")
    at = old, family, rule.table, rule.chain
    if rule.rule == "policy":
        return any(not verdict for verdict in _ends(host, rule.hook, family, packet, at))
    found = rules.get((at, rule.rule))
    return found is None or packet.matches(found.does).said is not False


def _packet(host: Host, row: DropReasonRow, *, leaves: bool) -> Packet:
    """The packet that is known of a kind, as rules see it."""
    link = host.numbered.get(row.interface)
    name = link.interface if link is not None else None
    return Packet(
        row.to, row.source, row.protocol, row.to_port, row.source_port,
        arrives="" if leaves else name, leaves=name if leaves else None, state=None,
    )  # fmt: skip


def writing(host: Host, row: DropReasonRow, *, hops: bool) -> tuple[HookRow, RuleRow] | None:
    """A rule that writes into such a packet as it arrives; with `hops`: its TTL or hop limit.

    net/netfilter/nft_payload.c, nft_payload_set_eval(). An expression that writes has no register
    of its own. Of the older iptables the targets TTL and HL.
    """
    if not row.to or row.protocol not in PROTOCOLS:
        return None
    packet, six = _packet(host, row, leaves=False), address(row.to).version == 6
    chains = {place(one): one for one in host.frame.rows("nft_hooks") if one.hook in _COMING}
    for rule in host.frame.rows("nft_rules"):
        chain = chains.get(place(rule))
        if chain is None or _SIX.get(rule.family) not in (None, 6 if six else 4):
            continue
        writes = [one for one in rule.does if _writes(one, _HOPS[six] if hops else None)]
        rest = tuple(one for one in rule.does if one not in writes)
        if writes and packet.matches(rest).said:
            return chain, rule
    return None


def _writes(does: Words, at: int | None) -> bool:
    """Whether an expression writes into a packet; `at`: into this byte of the IP header."""
    match does:
        case "payload", int(base), int(offset), int(length):
            return at is None or (base == 1 and offset <= at < offset + length)
        case "target", "TTL" | "HL":
            return at is not None
    return False


def _ends(
    host: Host, hook: str, family: str, packet: Packet, at: tuple[bool, str, str, str]
) -> Iterator[str]:  # fmt: skip
    """How a chain ends for the packet; that its end is reached where its rules are not known."""
    chains = [one for one in host.frame.rows("nft_hooks") if place(one) == at]
    if not chains:
        yield ""
    for chain, end, _ in passed(host, hook, (family,), packet):
        if place(chain) == at:
            yield end.verdict
