"""What this host knows beyond the reason of a drop: who or what it is that drops.

A rule or a program, a queue without a carrier, a reader, a socket that takes others only. `CAUSES`
says for which reasons each is looked for, and rules/drop-cases.toml in which words it is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, Final, NamedTuple

from ..collect import drop_reasons
from ..collect._counted import NORMAL
from ..collect.drop_reasons import Row
from ..terms.text import most
from . import Facts
from .cut_connections import cut
from .device_causes import (
    MEANT,
    TRANSPORTS,
    UNFILLED,
    dead,
    down,
    headed,
    joined,
    locked,
    numbered,
    pauses,
    ridden,
    short,
    sized,
    tagged,
    twin,
    unflooded,
    walked,
)
from .filter_causes import (
    SUMS,
    again,
    halved,
    invalid,
    rewritten,
    rules,
    tracked,
    unported,
    unserved,
    untracked,
)
from .flow_words import owners
from .kinds.firewall import dropping
from .kinds.qdisc import described, paces
from .program_causes import by_xdp, grouped, hooked, programmed, sending
from .socket_causes import arrives, choosy, closed, foremost, steered, swallowed
from .way import walk
from .way.flow import FILTERED, ROUTING, Flow, Host, address
from .way.legs import legs
from .way.lookup import Senders, by_marks

OTHER: Final = "OTHERHOST"
BACK: Final = "IP_RPFILTER"
COPY: Final = "PACKET_SOCK_ERROR"
HOOKS: Final = {"TC_INGRESS": "ingress", "TC_EGRESS": "egress"}
# a queue that is full, or its active queue management
QUEUES: Final = (
    "QDISC_OVERLIMIT", "QDISC_CONGESTED", "CAKE_FLOOD", "FQ_BAND_LIMIT", "FQ_FLOW_LIMIT",
)  # fmt: skip
# the TTL or hop limit, or another field of the header of IP
HOPS: Final = ("IP_INHDR", "IPV6_NDISC_HOP_LIMIT", "TCP_MINTTL")
FIELDS: Final = ("filters", "rules", "nic", "rule", "raises", "kind", "cut")  # of a drop
DISCARDED: Final = "dst_discard_out"  # the place of what a route or an IPsec policy discards
KEYLESS: Final = "XfrmOutNoStates"  # the counter of packets for whose policy there is no state
_SHAPER: Final = "shaper-limits"  # the rule


class Seen(NamedTuple):
    """A drop as the table of reasons tells it, and where its causes are looked for."""

    drop: Any  # of kinds.drop
    rows: Sequence[Row]  # of the packets
    host: Host
    facts: Facts


Told = Mapping[str, Any]  # words of the case, and fields of the drop; empty: it is not the case
NOT: Final[Told] = {}


def refined(seen: Seen) -> Any:
    """The drop with what is known beyond its reason."""
    for case, find in CAUSES.get(seen.drop.reason, {}).items():
        drop, told = seen.drop, find(seen)
        if told:
            own = {name: getattr(drop, name) for name in ("nic", "means", "cause", "advice")}
            words = drop_reasons.case(case, {**own, **told})
            fields = {name: told[name] for name in FIELDS if name in told}
            seen = seen._replace(drop=replace(drop, exact=True, **words, **fields))
    return seen.drop


def _filters(seen: Seen) -> Told:
    """The filters of tc that drop at ingress, egress or a root; or programs that may."""
    place, nics = HOOKS.get(seen.drop.reason, ""), seen.drop.nics.split(", ")
    entries = seen.host.frame.tables.get("filters", ())
    return {"filters": most(dropping(entries, place, nics))}


def _queue(seen: Seen) -> Told:
    """The qdiscs whose drops rise while none below theirs do.

    A qdisc with classes counts what its leaves drop as well (net/sched/sch_htb.c, htb_enqueue()).
    Where none drops any more, the only one that ever did. What a shaper drops its limit explains.
    What is forwarded has the interface by which it came: the queue of another one drops it.
    A full shaper that drops few segments of TCP tells their senders its rate, and nothing is lost.
    """
    nics = seen.drop.nics.split(", ")
    every = [one for one in seen.host.frame.tables.get("qdiscs", ())
             if one.now.drops and one.now.parent != "ingress"]  # fmt: skip
    queues = [one for one in every if one.now.interface in nics] or every
    rising = [one for one in queues if one.rate("drops")] or queues
    above = {(one.now.interface, f"{one.now.parent.partition(':')[0] or 0}:") for one in rising}
    ends = [one for one in rising if (one.now.interface, one.now.handle) not in above
            or (one.now.handle == "0:" and not one.now.root)]  # that mq made  # fmt: skip
    leaves = Counter[str]()
    for one in ends:
        leaves[described(one.now)] += ceil(one.rate("drops") or 0.0)
    if not any(leaves.values()) and len(leaves) > 1:  # none drops just now: any may have
        return NOT
    told = {"qdisc": most(leaves)} if leaves else NOT
    if leaves and all(one.now.rate for one in ends):
        told = {**told, "rule": _SHAPER}
    slowed = {row.protocol for row in seen.rows} == {"tcp"} and all(
        paces(seen.host.frame, one) for one in ends
    )
    return {**told, "kind": NORMAL} if leaves and slowed else told


def _misaddressed(seen: Seen) -> Told:
    """A sender that has a wrong hardware address of this host.

    Frames for others are no fault; those with an address of the very interface by which they come
    are meant for this host. An address elsewhere, as on `lo`, may be that of many hosts.
    """
    host = seen.host
    own = {(one.interface, address(one.address)) for one in host.addresses}
    meant = [row for row in seen.rows
             if row.to and (arrives(host, row), address(row.to)) in own]  # fmt: skip
    if seen.drop.exact or sum(row.packets for row in meant) < MEANT * seen.drop.packets:
        return NOT
    first = max(meant, key=lambda row: row.packets)
    nic, wrong = arrives(host, first), first.hardware
    link = host.links.get(nic)
    return {
        "nic": nic, "to": first.to, "source": first.source, "sent": wrong or "another address",
        "wrong": f"the hardware address {wrong}" if wrong else "a hardware address",
        "has": f", and {nic} has {link.address}" if link is not None and link.address else "",
    }  # fmt: skip


def _unread(seen: Seen) -> Told:
    """The captures that read too slowly; the program at the port of the packet is none."""
    names, losing = owners(seen.host.frame), Counter[str]()
    for entry in seen.host.frame.tables.get("packet_sockets", ()):
        if rate := entry.rate("drops"):
            losing[names.get(entry.now.inode, "a program")] += ceil(rate)
    return {"captures": most(losing)} if losing else NOT


def _behind(seen: Seen) -> Told:
    """The program behind a TUN or TAP interface."""
    found = (row for row in seen.host.frame.rows("tun_readers") if row.interface == seen.drop.nic)
    return next(({"reader": f"{row.name}[{row.pid}]"} for row in found), NOT)


def _unkeyed(seen: Seen) -> Told:
    """The IPsec policy that the packets meet, where the counter says that its state is missing."""
    rising = [one.now.reason for one in seen.host.frame.tables.get("xfrm", ())
              if one.now.reason == KEYLESS and one.rate("packets")]  # fmt: skip
    return walked(seen, "ipsec", KEYLESS) if seen.drop.place == DISCARDED and rising else NOT


def _rerouted(seen: Seen) -> Told:
    """The route that refuses what a rule of the hook output has marked: it is looked up again.

    net/netfilter/nft_chain_route.c, nf_route_table_hook4(), drops then, as the table mangle does.
    """
    row, frame = foremost(seen), seen.host.frame
    if row is None or seen.drop.filters or row.protocol not in TRANSPORTS:
        return NOT
    place = row.to, row.to_port
    user = Senders.of(frame).user(place)
    flow = Flow(*place, row.source, protocol=row.protocol, user=user)
    for one in (flow, *by_marks(flow, frame)) if seen.host.local(row.source) else ():
        step = walk(one, frame).decider if legs(one, seen.host).legs[0].marked.mark else None
        if step is not None and step.place in ROUTING:
            return {"saw": step.saw, "command": step.command, "change": step.change,
                    "raises": again(seen)}  # fmt: skip
    return NOT


# what is looked for by reason and case, in this order; each sees what those before it told
CAUSES: Final[Mapping[str, Mapping[str, Callable[[Seen], Told]]]] = {
    FILTERED: {
        "rules": rules, "tracked": tracked, "invalid": invalid, "halved": halved,
        "unserved": unserved, "untracked": untracked, "unported": unported, "hooked": hooked,
        "rerouted": _rerouted, "cut": cut},
    "SOCKET_FILTER": {
        "owned": lambda seen: {"whose": seen.drop.whose} if " of " in seen.drop.whose else NOT,
        "grouped": grouped,
    },
    "BPF_CGROUP_EGRESS": {"sending": sending},
    "TC_INGRESS": {"filters": _filters, "attached": hooked},
    "TC_EGRESS": {"filters": _filters, "attached": hooked},
    "QDISC_DROP": {
        "filters": _filters, "queue": _queue, "short": short, "sized": sized, "dead": dead,
        "down": down,
    },
    **{reason: {"queue": _queue, "short": short} for reason in QUEUES},
    OTHER: {"tagged": tagged, "ridden": ridden, "misaddressed": _misaddressed},
    COPY: {"unread": _unread},
    "VXLAN_INVALID_HDR": {"headed": headed}, "VXLAN_VNI_NOT_FOUND": {"numbered": numbered},
    UNFILLED: {"unfilled": lambda seen: walked(seen, "fdb", "tx_dropped")},
    "LOCAL_MAC": {"twin": twin}, "XDP": {"first": by_xdp},
    "FULL_RING": {"behind": _behind, "pauses": pauses},
    "NO_SOCKET": {
        "swallowed": swallowed, "choosy": choosy, "steered": steered, "closed": closed},
    "NOT_SPECIFIED": {
        "joined": joined, "unflooded": unflooded, "programmed": programmed, "unkeyed": _unkeyed,
        "first": by_xdp, "locked": locked},
    # net/ipv4/ip_fragment.c, ip_frag_too_far()
    "FRAG_TOO_FAR": {"distant": lambda _: {"limit": "net.ipv4.ipfrag_max_dist"}},
    **{reason: {"rewritten": rewritten} for reason in (*SUMS, *HOPS)},
}  # fmt: skip
