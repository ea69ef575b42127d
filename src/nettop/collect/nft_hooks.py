"""Base chains of nf_tables (NFT_MSG_GETCHAIN) and of the older iptables: the packet filter."""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink import netfilter
from ..host.netlink.codec import Attributes, attributes, text
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _iptables, nftables
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=2.0, asked=True, optional=True)


@dataclass(frozen=True, slots=True)
class Row:
    """One base chain."""

    family: str = label("inet ip ip6 bridge netdev arp")
    table: str = label("table")
    chain: str = label("chain")
    hook: str = gauge("prerouting input forward output postrouting; a family without them: itself")
    priority: int = gauge("chains of one hook are passed from the lowest on")
    kind: str = gauge("filter nat route")
    drops: bool = gauge("its policy is drop")
    old: bool = gauge("of the older iptables (xtables), which nft does not show", default=False)
    devices: tuple[str, ...] = gauge("the interfaces of ingress or egress", default=())


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every base chain; none if neither is in use. OSError."""
    chains, _, tables = _iptables.answers(source)
    return parsed(memory, "nft_hooks", (chains, tables), lambda it: [*parse(it[0]), *old(it[1])])


def old(tables: _iptables.Tables) -> list[Row]:
    """The chains of the older iptables."""
    return [
        Row(one.family, one.table, one.chain, one.hook, _iptables.priority(one),
            "nat" if one.table == "nat" else "filter", one.drops, old=True)
        for one in _iptables.rules(tables) if one.policy
    ]  # fmt: skip


def parse(reply: bytes) -> list[Row]:
    """The rows of an answer; ValueError if it is cut off."""
    hooks = nftables.hooks(reply)
    rows = []
    for family, values in nftables.entries(reply, netfilter.NEWCHAIN, netfilter.CHAIN):
        place = family, values.get("table", ""), values.get("name", "")
        if place in hooks:
            raw = values["hook"].get("priority", bytes(4))
            priority = int.from_bytes(raw, "big", signed=True)
            drops = values.get("policy") == nftables.DROP
            devices = _devices(values["hook"])
            rows.append(Row(*place, hooks[place], priority, values.get("type", ""), drops,
                            devices=devices))  # fmt: skip
    return rows


def _devices(hook: Attributes) -> tuple[str, ...]:
    """The interfaces of a chain: net/netfilter/nf_tables_api.c, nft_dump_basechain_hook()."""
    raw = hook.get("devices", b"")
    names = [text(raw[start:end]) for _, start, end in attributes(raw, 0, len(raw))]
    return tuple(names) or tuple(filter(None, [hook.get("device", "")]))
