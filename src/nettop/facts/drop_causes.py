"""What this host knows beyond the reason of a drop: who or what it is that drops.

A rule or a program, a queue without a carrier, a reader, a socket that takes others only. `CAUSES`
says for which reasons each is looked for, and rules/drop-cases.toml in which words it is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, Final, NamedTuple

from ..collect import drop_reasons
from ..collect._counted import NORMAL
from ..collect.drop_reasons import Row
from ..collect.failed_calls import OPENED
from ..collect.ways import Question
from ..terms.text import few
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
from .flow_words import end, owners
from .kinds.firewall import dropping
from .kinds.qdisc import described, paces
from .peers import program
from .used_ports import chosen
from .way import walk
from .way.flow import FILTERED, ROUTING, Flow, Host, address
from .way.legs import legs
from .way.lookup import Senders, by_marks, lookup
from .way.steps.listener import misses

MOST: Final = 3  # ports, destinations or rules that are named
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
PROGRAMMED: Final = "run_lwt_bpf"  # the place of what a program of a route drops
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


def _hooked(seen: Seen) -> Told:
    """The BPF programs at the hook or interface, where no rule or filter is known to drop."""
    found = _programs(seen)
    if not found or seen.drop.filters:
        return NOT
    first, _, place = found.most_common(1)[0][0].partition("@")
    number = place.rpartition("/")[2]
    return {"first": first, "place": place, "number": number, "programs": most(found)}


def _first(seen: Seen) -> Told:
    """The program of XDP at the interface."""
    return _hooked(seen) if "_xdp" in seen.drop.place else NOT


def _grouped(seen: Seen) -> Told:
    """The BPF programs of the receivers' control groups."""
    found = _programs(seen)
    if not found:
        return NOT
    first = found.most_common(1)[0][0]
    named = most(Counter({program(one): count for one, count in found.items()}))
    return {"name": first.partition("@")[0], "first": program(first), "programs": named}


def _sending(seen: Seen) -> Told:
    """The BPF programs of the senders' control groups, and who sends."""
    found = _grouped(seen)
    if not found:
        return NOT
    to = {(row.to, str(row.to_port)) for row in seen.rows}
    who = Counter[str]()
    for call in seen.host.frame.rows("failed_calls"):
        if (call.address, call.port) in to and call.error != OPENED:
            who[f"{call.process}[{call.pid}]"] += call.events
    sole = len(_programs(seen)) == 1
    return {
        **found,
        "who": most(who) or "its processes",
        "verb": "rejects" if sole else "may reject",
        "raises": again(seen),
    }


def _programs(seen: Seen) -> Counter[str]:
    """The packets by BPF program that may have dropped them, as NAME@PLACE."""
    found = Counter[str]()
    for row in seen.rows:
        for one in filter(None, row.by.split(",")):
            found[one] += row.packets
    return found


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


def _foremost(seen: Seen) -> Row | None:
    """The packets of the most frequent kind of which port and addresses are known."""
    known = (row for row in seen.rows if row.to and row.port and row.to_port)
    return max(known, key=lambda one: one.packets, default=None)


def _holders(host: Host, row: Row) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """Who has sockets at the port of a packet, and why one does not take it with what cures that.

    None: it takes it. net/ipv4/udp.c, compute_score(): the device, the address and the connected
    peer must match.
    """
    names = owners(host.frame)
    for one in host.frame.rows(f"sockets_{row.protocol}"):
        if one.local_port != row.to_port or (row.protocol == "tcp" and one.state != "listen"):
            continue
        missed: tuple[str, str] | None
        if row.protocol == "udp" and one.remote_port:
            peer = address(one.remote), one.remote_port
            only = f"for {end(one.remote, one.remote_port)} only"
            missed = only, "let the sender answer from that address and port"
            missed = None if peer == (address(row.source), row.source_port) else missed
        else:
            missed = misses(host, one, row.to, arrives(host, row))
        if missed is not None and missed[0] == "only":
            missed = f"at {one.local} only", missed[1]
        yield names.get(one.inode, "a program"), missed


def _swallowed(seen: Seen) -> Told:
    """The local route that takes packets for an address that is not of this host (AnyIP)."""
    row, host = _foremost(seen), seen.host
    if row is None or host.local(row.to) or address(row.to).is_multicast:
        return NOT
    found = lookup(host, Question(row.to, row.source, arrives(host, row)))
    if found.kind != "local" or found.doubt:
        return NOT
    first = found.routes[0]
    return {"to": row.to, "route": first.to, "table": first.table, "nic": first.interface or "lo"}


def _choosy(seen: Seen) -> Told:
    """The sockets at its port, if each takes others only, and says which."""
    row, said, cures = _foremost(seen), [], []
    for who, missed in () if row is None else _holders(seen.host, row):
        if missed is None:
            return NOT
        said.append(f"{who} has it {missed[0]}")
        cures.append(f"{missed[1][0].upper()}{missed[1][1:]}")
    if row is None or not said:
        return NOT
    return {
        "port": f"{row.protocol} port {row.to_port}", "first": said[0], "cure": cures[0],
        "sockets": most(Counter(said)), "list": f"ss -anp{row.protocol[0]} sport = :{row.to_port}",
    }  # fmt: skip


def _closed(seen: Seen) -> Told:
    """The one port of TCP at which nothing listens; not one from which this host may connect."""
    row = _foremost(seen)
    if row is None or row.protocol != "tcp" or row.to_port in (chosen(seen.facts.sysctls) or ()):
        return NOT
    if {one.to_port for one in seen.rows} != {row.to_port} or any(_holders(seen.host, row)):
        return NOT
    who = few(sorted({one.source for one in seen.rows}), 2)
    return {"port": f"tcp port {row.to_port}", "who": who}


def _steered(seen: Seen) -> Told:
    """The program that looks for a socket before the kernel, where one would take the packet."""
    row = _foremost(seen)
    taking = [] if row is None else [who for who, why in _holders(seen.host, row) if why is None]
    found = _hooked(seen) if taking else NOT
    if row is None or not found:
        return NOT
    return {**found, "port": f"{row.protocol} port {row.to_port}", "who": taking[0]}


def _unkeyed(seen: Seen) -> Told:
    """The IPsec policy that the packets meet, where the counter says that its state is missing."""
    rising = [one.now.reason for one in seen.host.frame.tables.get("xfrm", ())
              if one.now.reason == KEYLESS and one.rate("packets")]  # fmt: skip
    return walked(seen, "ipsec", KEYLESS) if seen.drop.place == DISCARDED and rising else NOT


def _rerouted(seen: Seen) -> Told:
    """The route that refuses what a rule of the hook output has marked: it is looked up again.

    net/netfilter/nft_chain_route.c, nf_route_table_hook4(), drops then, as the table mangle does.
    """
    row, frame = _foremost(seen), seen.host.frame
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


def _programmed(seen: Seen) -> Told:
    """The BPF programs of the routes to where such packets go."""
    found = Counter[str]()
    for row in seen.rows:
        found[route_programs(seen.host, row.to)] += row.packets
    named = most(found) if seen.drop.place == PROGRAMMED else ""
    return {"programs": named} if named else NOT


def route_programs(host: Host, to: str) -> str:
    """The BPF programs of the route to an address, in words; empty: none is known."""
    routes = lookup(host, Question(to)).routes if to else ()
    return next((f"{row.programs} of route {row.to}" for row in routes if row.programs), "")


# what is looked for by reason and case, in this order; each sees what those before it told
CAUSES: Final[Mapping[str, Mapping[str, Callable[[Seen], Told]]]] = {
    FILTERED: {
        "rules": rules, "tracked": tracked, "invalid": invalid, "halved": halved,
        "unserved": unserved, "untracked": untracked, "unported": unported, "hooked": _hooked,
        "rerouted": _rerouted, "cut": cut},
    "SOCKET_FILTER": {
        "owned": lambda seen: {"whose": seen.drop.whose} if " of " in seen.drop.whose else NOT,
        "grouped": _grouped,
    },
    "BPF_CGROUP_EGRESS": {"sending": _sending},
    "TC_INGRESS": {"filters": _filters, "attached": _hooked},
    "TC_EGRESS": {"filters": _filters, "attached": _hooked},
    "QDISC_DROP": {
        "filters": _filters, "queue": _queue, "short": short, "sized": sized, "dead": dead,
        "down": down,
    },
    **{reason: {"queue": _queue, "short": short} for reason in QUEUES},
    OTHER: {"tagged": tagged, "ridden": ridden, "misaddressed": _misaddressed},
    COPY: {"unread": _unread},
    "VXLAN_INVALID_HDR": {"headed": headed}, "VXLAN_VNI_NOT_FOUND": {"numbered": numbered},
    UNFILLED: {"unfilled": lambda seen: walked(seen, "fdb", "tx_dropped")},
    "LOCAL_MAC": {"twin": twin}, "XDP": {"first": _first},
    "FULL_RING": {"behind": _behind, "pauses": pauses},
    "NO_SOCKET": {
        "swallowed": _swallowed, "choosy": _choosy, "steered": _steered, "closed": _closed},
    "NOT_SPECIFIED": {
        "joined": joined, "unflooded": unflooded, "programmed": _programmed, "unkeyed": _unkeyed,
        "first": _first, "locked": locked},
    # net/ipv4/ip_fragment.c, ip_frag_too_far()
    "FRAG_TOO_FAR": {"distant": lambda _: {"limit": "net.ipv4.ipfrag_max_dist"}},
    **{reason: {"rewritten": rewritten} for reason in (*SUMS, *HOPS)},
}  # fmt: skip


def arrives(host: Host, row: Row) -> str:
    """The interface by which the packet came, or was to leave; empty: it is not known."""
    link = host.numbered.get(row.interface)
    return link.interface if link is not None else ""


def most(counts: Counter[str]) -> str:
    """The names with the highest counts, and how many others there are."""
    return few((name for name, _ in counts.most_common()), MOST)
