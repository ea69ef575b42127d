"""A queue that drops because it is small, or its interface takes nothing; a VXLAN; a group.

`seen`: the drop and the host, as in `drop_causes`. What of the configuration of a VXLAN decides
about what arrives: drivers/net/vxlan/vxlan_core.c, vxlan_rcv().
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from ..collect._counted import TURNED
from ..terms.text import few
from .kinds.qdisc import LEAST
from .way.steps.queue import BOUNDS, HEADER, needed

SILENT: Final = 0.5  # of the drops: an interface that sends fewer frames does not get its own back


def headed(seen: Any) -> Mapping[str, Any]:
    """The interfaces at the port of the packets, with their extensions."""
    ports = {row.to_port for row in seen.rows if row.to_port}
    found = [one for one in seen.host.links.values()
             if one.kind == "vxlan" and one.tunnel_port in ports]  # fmt: skip
    if not found:
        return {}
    told = (f"{one.interface} ({one.extensions or 'no extension'})" for one in found)
    return {"tunnels": ", ".join(told)}


def twin(seen: Any) -> Mapping[str, Any]:
    """The other host that has the MAC of a VXLAN, which sends too little to hear itself."""
    link = seen.host.links.get(seen.drop.nic or "")
    moved = seen.host.frame.tables.get("link_stats", ())
    sent = next((one.rate("tx_packets") for one in moved
                 if link is not None and one.now.interface == link.interface), None)  # fmt: skip
    if link is None or not link.address or sent is None or seen.drop.per_s is None:
        return {}
    if sent >= SILENT * seen.drop.per_s:
        return {}
    ends = {one.remote for one in seen.host.frame.rows("fdb")
            if one.interface == link.interface and one.remote} | {link.tunnel_remote}  # fmt: skip
    known = sorted(filter(None, ends))
    return {"mac": link.address, "behind": f" behind {known[0]}" if len(known) == 1 else ""}


MOST: Final = 0.5  # of the drops of an interface: a queue with fewer is not the cause


def short(seen: Any) -> Mapping[str, Any]:
    """A queue that has room for fewer packets than a sender sends at once, and drops most.

    Below a shaper it loses what could wait for its turn, at whatever rate: its limit is the cause.
    """
    nics = seen.drop.nics.split(", ")
    rates = {entry.now: entry.rate("drops") or 0.0 for entry in
             seen.host.frame.tables.get("qdiscs", ()) if entry.now.interface in nics}  # fmt: skip
    for row, rate in rates.items():
        count, _, unit = row.room.partition(" ")
        short = unit.startswith("packet") and int(count.replace(",", "")) < LEAST
        if short and rate and rate >= MOST * max(rates.values()):
            return {
                "qdisc": f"{row.kind} {row.handle}", "nic": row.interface, "room": row.room,
                "where": row.where, "type": row.kind,
                "handle": row.handle,
            }  # fmt: skip
    return {}


def sized(seen: Any) -> Mapping[str, Any]:
    """A qdisc without room for one packet of full size, which drops while none waits in it.

    net/sched/sch_tbf.c, tbf_enqueue(): what is larger than the burst; sch_fifo.c: than the limit.
    """
    for entry in seen.host.frame.tables.get("qdiscs", ()):
        row, link = entry.now, seen.host.links.get(entry.now.interface)
        longest = (link.mtu or 0) + HEADER if link is not None else 0
        small = row.largest and row.largest < longest and not row.backlog
        if small and row.interface == seen.drop.nic and entry.rate("drops"):
            need, why = needed(row.kind, link, longest)
            return {
                "qdisc": f"{row.kind} {row.handle}", "nic": row.interface, "longest": longest,
                "needed": need, "why": why,
                "largest": row.largest, "where": row.where, "type": row.kind,
                "bound": BOUNDS.get(row.kind, "burst"),
            }  # fmt: skip
    return {}


def dead(seen: Any) -> Mapping[str, Any]:
    """An interface without a carrier, which has no queue that is full.

    The kernel gives such an interface a queue that drops all (noop_enqueue()).
    """
    links, nics = seen.host.links, seen.drop.nics.split(", ")
    every = all(nic in links and links[nic].up and links[nic].carrier is False for nic in nics)
    return {"nic": seen.drop.nic} if every else {}


def down(seen: Any) -> Mapping[str, Any]:
    """An interface that is down, whose queue drops all; as lo, to which routes still lead."""
    links, nics = seen.host.links, seen.drop.nics.split(", ")
    every = all(nic in links and not links[nic].up for nic in nics)
    return {"nic": seen.drop.nic} if every else {}


GROUPS: Final = ("ip_rcv_finish_core", "ip6_mc_input")  # drop packets to a group not joined there
NAMED: Final = 3  # interfaces


def joined(seen: Any) -> Mapping[str, Any]:
    """The interfaces on which such a group is joined, where that by which it comes is not one.

    An interface may take IPv6 multicast for no reason, so it is told where a socket wants it.
    """
    places, on = Counter[tuple[str, str]](), dict[str, list[str]]()
    for row in seen.rows:
        link = seen.host.numbered.get(row.interface)
        if row.place in GROUPS and row.to and link is not None:
            places[row.to, link.interface] += row.packets
    for one in seen.host.frame.rows("groups"):
        on.setdefault(one.group, []).append(one.interface)
    for (group, nic), _ in places.most_common():
        if nic not in on.get(group, (nic,)):
            six = ":" in group
            return {
                "nic": nic, "group": group, "on": few(sorted(on[group]), NAMED),
                "kind": TURNED if seen.drop.wanted else seen.drop.kind,
                "six": "-6 " * six, "length": 128 if six else 32,
            }  # fmt: skip
    return {}
