"""What replaces an address: a rule of nf_tables, or an entry of connection tracking.

An entry outlives the rule that made it, and its packets follow it (nf_nat_core.c,
nf_nat_inet_fn()): datagrams that a client sends from one port never end it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....collect.nft_rules import Row as RuleRow
from ....collect.translated import Row
from ...flow_words import end
from ..chains import MASKS, passed
from ..flow import PASSES, STOPS, SUSPECT, Step, inside
from ..legs import OUT, THROUGH, Leg, entries
from ..packet import Packet

PLACE: Final = 5
_NEAR: Final = ("", "bond", "bridge", "team", "veth", "vlan")  # kinds of links to a common network


def look(leg: Leg) -> Iterator[Step]:
    """Where the packets go instead, and whether the answers come back by this host."""
    if leg.by is None or leg.was is None:
        return
    if leg.back:
        yield from _hairpin(leg)
        return
    goes = f"{leg.by.who} sends these packets to {end(leg.flow.to, leg.flow.port)}"
    if leg.role == OUT and leg.host.failed(leg.was.to, leg.was.port):
        yield Step("nat", SUSPECT, f"{goes}, and calls for them fail", leg.by.show, leg.by.change)
    else:
        yield Step("nat", PASSES, goes, leg.by.show)
    for row in entries(leg.host, leg.was):
        if row.sent_to != leg.flow.to or row.sent_port not in (leg.flow.port, 0):
            sent = end(row.sent_to, row.sent_port)
            yield Step(
                "nat", SUSPECT, f"an entry of connection tracking still sends those of "
                f"{end(row.origin, row.origin_port)} to {sent}, and not to "
                f"{end(leg.flow.to, leg.flow.port)}",
                f"conntrack -L -p {row.protocol} -d {row.to}",
                f"conntrack -D -p {row.protocol} -s {row.origin} -d {row.to} --dport {row.port}",
            )  # fmt: skip
            return


def _returned(row: Row) -> bool:
    """Whether the answers of an entry come back by this host."""
    return row.answered or row.returns_to != row.origin


def _hairpin(leg: Leg) -> Iterator[Step]:
    """A client and the new destination in one network: the answer passes this host by.

    The client asked another address, and so does not know the answer. With br_netfilter the bridge
    of this host sees it. `STOPS` where connection tracking has seen such packets and no answer.
    """
    hop, was, name = leg.hop, leg.was, leg.hop.interface or ""
    link, client = leg.host.links.get(name), leg.question.to
    near = hop.kind == "unicast" and hop.gateway is None and name == leg.question.arrives
    if was is None or leg.role != THROUGH or not near or link is None or link.noarp:
        return
    net, version = hop.network, "6" if ":" in client else ""
    if link.kind not in _NEAR or net is None or not inside(leg.flow.to, net):
        return
    calls = f"net.bridge.bridge-nf-call-ip{version}tables"
    rows = leg.host.frame.rows("sysctls")
    if link.kind == "bridge" and any(one.name == calls and one.value == "1" for one in rows):
        return
    seen = [one for one in entries(leg.host, was) if one.sent_to == leg.flow.to]
    masked = sourced(leg)
    if masked or (masked is None and not seen) or any(_returned(one) for one in seen):
        return
    family = f"ip{version}"
    yield Step(
        "hairpin", STOPS if seen else SUSPECT,
        f"{leg.flow.to} answers {client} directly, for both are in {net} on {name}: the answer "
        f"does not come back by this host, and {client}, which asked {was.to}, ignores it",
        f"conntrack -L -p {was.protocol} -d {was.to}",
        f"translate the source too: nft add rule {family} TABLE CHAIN {family} saddr {net} "
        f"{family} daddr {leg.flow.to} oifname {name} masquerade, in a chain of type nat and hook "
        "postrouting; or give the clients there the address of the server itself (split DNS)",
    )  # fmt: skip


def sourced(leg: Leg, leaves: str = "") -> RuleRow | bool | None:
    """The rule that replaces the source of a forwarded flow, whose answers the part is of, or not.

    None: whether one does depends on what is not known here. `leaves`: as if it left by another
    interface.
    """
    flow, asked = leg.flow, leg.question
    packet = Packet(
        flow.to, asked.to, flow.protocol, flow.port,
        arrives=leg.hop.interface or "", leaves=leaves or asked.arrives,
    )  # fmt: skip
    families = "ip6" if ":" in flow.to else "ip", "inet"
    ends = list(passed(leg.host, "postrouting", families, packet))
    for _, ended, _ in ends:
        if ended.verdict == "nat":
            return ended.rule or True
    return None if any(what in ("nat", MASKS) for *_, does in ends for _, what in does) else False
