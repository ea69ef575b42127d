"""A queue that drops because it is small, or its interface takes nothing; a VXLAN; a group.

`seen`: the drop and the host, as in `drop_causes`. What of the configuration of a VXLAN decides
about what arrives: drivers/net/vxlan/vxlan_core.c, vxlan_rcv().
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..collect._counted import TURNED
from ..collect.qdiscs import Row
from ..terms import units
from ..terms.text import few
from .kinds.qdisc import FULL, LEAST, LONGEST, paced
from .way import Flow, walk
from .way.steps.queue import BOUNDS, HEADER, needed

TRANSPORTS: Final = ("tcp", "udp")
UNFILLED: Final = "NO_TX_TARGET"  # the reason of a VXLAN without an entry
MEANT: Final = 0.5  # of the frames for others: if most are for an interface of this host
BRIDGED: Final = "br_handle_frame_finish"  # the place
SHOWN: Final = 3  # VLAN interfaces that are named
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


def numbered(seen: Any) -> Mapping[str, Any]:
    """The interfaces at the port of the packets, with the network identifier that each takes."""
    ports = {row.to_port for row in seen.rows if row.to_port}
    told = (f"{one.interface} has {one.tunnel_id}" for one in seen.host.links.values()
            if one.kind == "vxlan" and one.tunnel_port in ports and one.tunnel_id)  # fmt: skip
    listed = ", ".join(told)
    return {"tunnels": listed} if listed else {}


def walked(seen: Any, place: str, counter: str) -> Mapping[str, Any]:
    """The step at this place on the way of most such packets, and the counter that they raise."""
    row = max(seen.rows, key=lambda one: one.packets)
    if not row.to or row.protocol not in TRANSPORTS:
        return {}
    way = walk(Flow(row.to, row.to_port, row.source, protocol=row.protocol), seen.host.frame)
    for step in way.steps:
        if step.place == place and step.change:
            saw, change = (f"{text[0].upper()}{text[1:]}" for text in (step.saw, step.change))
            return {"saw": saw, "command": step.command, "change": change, "raises": (counter,)}
    return {}


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


def locked(seen: Any) -> Mapping[str, Any]:
    """The bridge port that takes frames only from addresses with an entry there.

    net/bridge/br_input.c, br_handle_frame_finish(): BR_PORT_LOCKED.
    """
    link = seen.host.links.get(seen.drop.nic or "")
    if seen.drop.place != BRIDGED or link is None or not link.locked:
        return {}
    senders = {row.sender for row in seen.rows if row.sender}
    unknown = sorted(one for one in senders if seen.host.port(link.master, one) != link.interface)
    if senders and not unknown:
        return {}
    return {"bridge": link.master, "mac": unknown[0] if unknown else "ADDRESS",
            "sender": f", such as {unknown[0]}" if unknown else ""}  # fmt: skip


def tagged(seen: Any) -> Mapping[str, Any]:
    """The interface whose own frames are for others: they have a VLAN tag that it has nothing for.

    net/core/dev.c, __netif_receive_skb_core(): check_vlan_id, PACKET_OTHERHOST.
    """
    host, own = seen.host, Counter[str]()
    for row in seen.rows:
        link = host.numbered.get(row.interface)
        if link is not None and row.hardware and row.hardware == link.address:
            own[link.interface] += row.packets
    if own.total() < MEANT * seen.drop.packets:
        return {}
    nic = own.most_common(1)[0][0]
    has = [f"{one.interface} ({one.vlan})" for one in host.links.values()
           if one.link == nic and one.vlan]  # fmt: skip
    return {"nic": nic, "has": f" It has {few(has, SHOWN)}." if has else ""}


def ridden(seen: Any) -> Mapping[str, Any]:
    """The interface on another one that does not take what comes there for its address.

    drivers/net/macvlan.c, macvlan_handle_frame(): in mode source the sender must be in its list.
    """
    host, found = seen.host, Counter[tuple[str, str, str]]()
    for row in seen.rows:
        below = host.numbered.get(row.interface)
        for one in host.links.values() if below is not None and row.hardware else ():
            takes = one.up and (one.senders is None or row.sender in one.senders)
            if not takes and one.link == below.interface and one.address == row.hardware:
                found[one.interface, below.interface, row.sender] += row.packets
    if seen.drop.exact or found.total() < MEANT * seen.drop.packets:
        return {}
    (name, nic, sender), _ = found.most_common(1)[0]
    down = not host.links[name].up
    return {
        "nic": nic, "over": name, "sender": sender or "ADDRESS",
        "why": "it is down" if down else "in mode source it takes frames of listed senders only",
        "cure": f"ip link set {name} up" if down
        else f"ip link set {name} type {host.links[name].kind} macaddr add {sender or 'ADDRESS'}",
    }  # fmt: skip


WORKS: Final = 0.005  # of the time: a reader that runs less does not read at all
FREE: Final = 0.7  # of the time: a reader that runs, or waits for a core, less has time left


def pauses(seen: Any) -> Mapping[str, Any]:
    """The program behind a TUN or TAP interface that reads, and does not lack time on a core."""
    frame = seen.host.frame
    found = [row for row in frame.rows("tun_readers") if row.interface == seen.drop.nic]
    threads = [one for row in found[:1] for one in frame.tables.get("threads", ())
               if one.now.pid == row.pid]  # fmt: skip
    ran = sum(one.rate("ran") or 0.0 for one in threads)
    late = sum(one.rate("waited") or 0.0 for one in threads)
    if len(found) != 1 or ran < WORKS or ran + late > FREE:
        return {}
    return {"reader": f"{found[0].name}[{found[0].pid}]", "pid": found[0].pid, "ran": f"{ran:.0%}"}


MOST: Final = 0.5  # of the drops of an interface: a queue with fewer is not the cause
BRIEF: Final = 0.002  # s of its rate: what a shorter queue holds, TCP sends at once
AMPLE: Final = 0.02  # s of its rate: a queue that lets a sender go on, and delays it little
WOKEN: Final = 0.001  # s of its rate: a burst that is smaller ends before a timer comes


def short(seen: Any) -> Mapping[str, Any]:
    """A queue that has room for less than a sender sends at once, and drops most.

    Below a shaper, or in it, it loses what could wait for its turn: its limit is the cause. Of one
    that reaches its rate only so small a one, at whatever rate.
    """
    frame, nics = seen.host.frame, seen.drop.nics.split(", ")
    rates = {entry.now: entry.rate("drops") or 0.0 for entry in
             frame.tables.get("qdiscs", ()) if entry.now.interface in nics}  # fmt: skip
    inner = {(row.interface, f"{row.parent.partition(':')[0]}:") for row in rates}
    for entry in frame.tables.get("qdiscs", ()):
        row, rate = entry.now, rates.get(entry.now)
        if not rate or rate < MOST * max(rates.values()):
            continue
        if row.kind != "tbf" or (row.interface, row.handle) not in inner:
            pace, sent = paced(frame, entry)
            slow = pace if 8 * (sent or 0.0) < FULL * (pace or 0.0) else None
            if told := _lacks(row, pace, slow):
                return told
    return {}


def _lacks(row: Row, pace: float | None, slow: float | None) -> Mapping[str, Any]:
    """The room of a queue that is too small, its share of the rate, and the change, in words.

    `slow`: its rate, if it sends less than that.
    """
    count, _, unit = row.room.partition(" ")
    each = 1 if unit == "bytes" else LONGEST
    size = each * int(count.replace(",", "") or 0)
    if not size or size >= max(LEAST * LONGEST, BRIEF * (slow or 0.0) / 8):
        return {}
    parts = [f"{size // LONGEST} packets of full size"] if each == 1 else []
    parts += [f"{units.seconds(8 * size / pace)} at {units.scaled(pace, 'b/s')}"] if pace else []
    ample = max(100 * LONGEST, round(AMPLE * (pace or 0.0) / 8))
    limit = f"limit {ample if each == 1 else max(1000, ample // LONGEST)}"
    also = ""
    if row.kind == "tbf" and row.rate:
        burst = max(row.largest or 0, LEAST * LONGEST, round(2 * WOKEN * row.rate / 8))
        limit = f"rate {round(row.rate)}bit burst {burst} {limit}"
        if row.largest and row.largest < WOKEN * row.rate / 8:
            also = (f"; its burst, {row.largest:,} bytes, is small too: "
                    f"{units.seconds(8 * row.largest / row.rate)} at that rate")  # fmt: skip
    return {
        "qdisc": f"{row.kind} {row.handle}", "nic": row.interface, "where": row.where,
        "room": row.room + (f" ({', '.join(parts)})" if parts else ""), "also": also,
        "change": f"{row.where} handle {row.handle} {row.kind} {limit}",
    }  # fmt: skip


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
    return _of_all(seen, lambda link: link.up and link.carrier is False)


def down(seen: Any) -> Mapping[str, Any]:
    """An interface that is down, whose queue drops all; as lo, to which routes still lead."""
    return _of_all(seen, lambda link: not link.up)


def _of_all(seen: Any, fits: Callable[[Any], bool]) -> Mapping[str, Any]:
    """The interface, where the link of each that drops fits."""
    links, nics = seen.host.links, seen.drop.nics.split(", ")
    return {"nic": seen.drop.nic} if all(nic in links and fits(links[nic]) for nic in nics) else {}


GROUPS: Final = ("ip_rcv_finish_core", "ip6_mc_input")  # drop packets to a group not joined there
NAMED: Final = 3  # interfaces


def _arriving(seen: Any) -> Counter[tuple[str, str, str]]:
    """The groups to which packets arrived in vain, each with its interface, and who sent them."""
    found = Counter[tuple[str, str, str]]()
    for row in seen.rows:
        link = seen.host.numbered.get(row.interface)
        if row.place in GROUPS and row.to and link is not None:
            found[row.to, link.interface, row.sender] += row.packets
    return found


def joined(seen: Any) -> Mapping[str, Any]:
    """The interfaces on which such a group is joined, where that by which it comes is not one.

    An interface may take IPv6 multicast for no reason, so it is told where a socket wants it.
    """
    on = dict[str, list[str]]()
    for one in seen.host.frame.rows("groups"):
        on.setdefault(one.group, []).append(one.interface)
    for (group, nic, _), _ in _arriving(seen).most_common():
        if nic not in on.get(group, (nic,)):
            six = ":" in group
            return {
                "nic": nic, "group": group, "on": few(sorted(on[group]), NAMED),
                "kind": TURNED if seen.drop.wanted else seen.drop.kind,
                "six": "-6 " * six, "length": 128 if six else 32,
            }  # fmt: skip
    return {}


def unflooded(seen: Any) -> Mapping[str, Any]:
    """The ports of a bridge that get none of a group, beside that behind which its sender is.

    The bridge host gets a copy of what it floods: net/bridge/br_input.c, br_handle_frame_finish().
    """
    host = seen.host
    for (group, nic, sender), _ in _arriving(seen).most_common():
        by = host.port(nic, sender)
        ports = (one for one in host.links.values() if one.master == nic and one.interface != by)
        shut = host.left_out(ports, group)[1]
        if shut and (by or len(shut) > 1):
            return {"bridge": nic, "port": shut[0], "ports": few(shut, NAMED)}
    return {}
