"""Where a rule of nf_tables sends the packets of a new flow instead (net/netfilter/nft_nat.c).

A rule of the type dnat or redirect replaces the destination before the route is looked up: hook
prerouting for what arrives, hook output for what this host sends.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from ...terms.dataclass import dataclass
from .chains import named, passed
from .host import Host, address
from .packet import Packet

if TYPE_CHECKING:
    from ...collect.nft_rules import Row as RuleRow

_DESTINATION: Final = 1  # NFT_NAT_DNAT
_PORT: Final = 4  # hexadecimal digits


@dataclass(frozen=True, slots=True)
class Translation:
    """The new destination, and the rule that says so; port 0: it stays."""

    to: str
    port: int
    who: str
    show: str


def translation(host: Host, hook: str, packet: Packet) -> Translation | None:
    """The first rule of a hook that replaces the destination for sure."""
    family = "ip6" if address(packet.to).version == 6 else "ip"
    for chain, ended, _ in passed(host, hook, (family, "inet"), packet):
        if ended.verdict != "nat" or ended.rule is None:
            continue
        found = _destination(host, ended.rule, packet)
        if found is not None:
            who = named(ended.rule, chain)
            show = f"nft -a list chain {chain.family} {chain.table} {chain.chain}"
            return Translation(*found, who, show)
    return None


def _destination(host: Host, rule: RuleRow, packet: Packet) -> tuple[str, int] | None:
    """Address and port; None: the rule changes the source, or keeps the destination."""
    values = [str(words[2]) for words in rule.does if words[0] == "immediate" and len(words) > 2]
    port = next((int(raw, 16) for raw in values if len(raw) == _PORT), 0)
    for name, *words in rule.does:
        if name == "redir":
            return _own(host, packet), port
        if name == "nat" and words and words[0] == _DESTINATION:
            size = 2 * len(address(packet.to).packed)
            raw = next((raw for raw in values if len(raw) == size), "")
            to = str(ip_address(bytes.fromhex(raw))) if raw else packet.to
            return to, port
    return None


def _own(host: Host, packet: Packet) -> str:
    """The address of a redirection: the first one of the incoming interface, else the loopback."""
    version = address(packet.to).version
    return host.first(packet.arrives, version) or ("127.0.0.1" if version == 4 else "::1")
