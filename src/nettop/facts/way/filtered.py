"""The rules and policies of the packet filter that may have dropped packets that were seen.

The kernel says at which place it dropped them, and of each kind one packet is known. A rule that
this packet does not match, or that is at a hook it does not pass, did not drop it; nor did a policy
that it does not reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ...collect.drop_reasons import Row as DropReasonRow
from ...collect.nft_hooks import Row as HookRow
from ...collect.nft_rules import Row as RuleRow
from ...collect.nft_rules import Words
from ...collect.nftables import Row as NftablesRow
from ...terms.text import version
from .chains import passed, place
from .flow import Host, address
from .packet import PROTOCOLS, Packet

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

    Those first that may have dropped most.
    """
    kernel = next((version(row.release) for row in host.frame.rows("kernel")), None)
    fits = [
        (sum(row.packets for row in dropped if _may(host, one.now, row, kernel)), one)
        for one in host.frame.tables.get("nftables", ())
    ]
    fit = [one for packets, one in sorted(fits, key=lambda one: -one[0]) if packets]
    counting = [(rate, one.now) for one in fit if (rate := one.rate("packets"))]
    counting.sort(key=lambda one: -one[0])
    return [row for _, row in counting] or [one.now for one in fit if one.now.packets is None]


def _may(
    host: Host, rule: NftablesRow, row: DropReasonRow, kernel: tuple[int, int] | None
) -> bool:  # fmt: skip
    """Whether the rule, or the policy, may have dropped the packet at its place."""
    old = rule.family in OLD
    apart = kernel is not None and kernel >= NAMED
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
    found = (one for one in host.frame.rows("nft_rules")
             if place(one) == at and str(one.handle) == rule.rule)  # fmt: skip
    return all(packet.matches(one.does).said is not False for one in found)


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
