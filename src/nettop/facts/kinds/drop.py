"""Packets that the kernel drops for one reason at one place: collector `drop_reasons`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import ceil, inf
from typing import TYPE_CHECKING, Any, Final

from ...collect import drop_reasons
from ...collect.ways import Question
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Entry, Frame
from ...terms.dataclass import dataclass
from ..counters import grown
from ..flow_words import end, owners, total
from ..group_programs import program
from ..kind import Kind
from ..way.host import Host, address
from ..way.lookup import routed
from ..way.steps.listener import misses
from .filter import dropping as tc_dropping

if TYPE_CHECKING:
    from ...collect.drop_reasons import Row as DropReasonRow
    from ...collect.nftables import Row as NftablesRow
    from .. import Facts

MOST: Final = 3  # ports, destinations or rules that are named
FILTER: Final = "NETFILTER_DROP"
MEANT: Final = 0.5  # of the frames for others: if most are for an address of the interface
HUGE: Final = 1 << 20  # bytes: no interface has such an MTU
NEARLY: Final = 0.8  # of the drops: as many entries of tracking were not inserted
QUEUE: Final = "QDISC_DROP"
TC: Final = {"TC_INGRESS": "ingress", "TC_EGRESS": "egress", QUEUE: ""}
OTHER: Final = "OTHERHOST"
UNHEARD: Final = "NO_SOCKET"
COPY: Final = "PACKET_SOCK_ERROR"
RING: Final = "FULL_RING"
# reasons that may come from a wrong hardware address or a second owner of an address
FRAMES: Final = (OTHER, "IP_LOCAL_SOURCE", "IP_RPFILTER", "IP_INVALID_SOURCE", "IP_LOCALNET")
# reasons for which packets are dropped before they leave
LEAVING: Final = ("PKT_TOO_BIG", "NEIGH_FAILED", "NEIGH_QUEUEFULL", "NEIGH_CREATEFAIL")
UNTRACKED: Final = "Connection tracking could not insert the entry of the packet"


@dataclass(frozen=True, slots=True)
class Drop:
    """Drops of one reason at one place, in the network namespace of nettop."""

    id: str = label("reason and place, e.g. NO_SOCKET/tcp_v4_rcv")
    reason: str = gauge("the kernel's name of the reason", default="")
    place: str = gauge("function of the kernel that drops", default="")
    kind: str = gauge("kind of the reason", default="")
    means: str = gauge("what the kernel found", default="")
    cause: str = gauge("what decides it", default="")
    advice: str = gauge("how to find out more, and what helps", default="")
    rests: str = gauge("the source that defines it", default="")
    rule: str = gauge("the rule that explains it", default="")
    whose: str = gauge("protocols and local ports", default="")
    ports: tuple[str, ...] = gauge("these ports, e.g. tcp port 80", default=())
    of: str | None = maybe("from and to, such as")
    nics: str = gauge("interfaces", default="")
    nic: str | None = maybe("the interface where most are dropped")
    filters: str = gauge("rules of nf_tables, or filters of tc, that drop", default="")
    rules: tuple[str, ...] = gauge("their names", default=())
    packets: int = gauge("packets dropped while nettop looked", "packets", default=0)
    per_s: float | None = maybe("packets dropped", "packets/s")


_ETH0: Final = re.compile(r"\beth0\b")


def build(frame: Frame, facts: Facts) -> tuple[Drop, ...]:
    """One fact for each reason and place that dropped in this namespace."""
    found: dict[tuple[str, str], list[Entry[Any]]] = {}
    for entry in frame.tables.get("drop_reasons", ()):
        if entry.now.where == "here" and entry.now.packets:
            found.setdefault((entry.now.reason, entry.now.place), []).append(entry)
    if not found:
        return ()
    host = Host.of(frame)
    programs = _programs(frame)
    dropping = filters(frame.tables.get("nftables", ()))
    untracked = sum(one.rate("failures") or 0.0 for one in frame.tables.get("conntrack", ()))
    dead = {nic.name for nic in facts.nics if nic.carrier is False}
    out = []
    for key, entries in found.items():
        drop = _of_tc(_drop(*key, entries, host, dropping, programs), frame)
        drop = _of_carrier(_of_tracking(drop, untracked), dead)
        rows = [entry.now for entry in entries]
        drop = _of_readers(_of_frames(drop, rows, host), frame)
        drop = _of_programs(drop, rows)
        out.append(_of_sockets(drop, rows, host))
    return tuple(out)


def _of_frames(drop: Drop, rows: Sequence[DropReasonRow], host: Host) -> Drop:
    """The drop in the words of a sender that has a wrong hardware address of this host.

    Frames for others are no fault; those with an address of the very interface by which they come
    are meant for this host. An address elsewhere, as on `lo`, may be that of many hosts.
    """
    if drop.reason != OTHER:
        return drop
    own = {(one.interface, address(one.address)) for one in host.addresses}
    meant = [row for row in rows
             if row.to and (_arrives(host, row), address(row.to)) in own]  # fmt: skip
    packets = sum(row.packets for row in meant)
    if packets < MEANT * drop.packets:
        return drop
    first = max(meant, key=lambda row: row.packets)
    nic = _arrives(host, first)
    link = host.links.get(nic)
    has = f", and {nic} has {link.address}" if link is not None and link.address else ""
    wrong = f"the hardware address {first.hardware}" if first.hardware else "a hardware address"
    to = first.to
    return replace(
        drop, kind="refused", rule="", nic=nic,
        means=f"Packets for {to} come with {wrong}, which is not that of {nic}",
        cause=f"{first.source} sends to {first.hardware or 'another address'}{has}. Its entry for "
        f"{to} is wrong (static, or not renewed since the address moved), or the router between "
        "has a wrong one, or another host has the same IP address.",
        advice=f"At the sender `ip neigh show {to}` shows its entry; `ip neigh del {to} dev IF` "
        f"lets it ask again. From here, `arping -U -c 3 -I {nic} {to}` tells all neighbours the "
        f"right one, but no static entry. `arping -D -c 2 -I {nic} {to}` finds a second owner.",
        rests="net/ipv4/ip_input.c, ip_rcv_core(), PACKET_OTHERHOST",
    )  # fmt: skip


def _of_readers(drop: Drop, frame: Frame) -> Drop:
    """The drop with who reads too slowly: a capture, or the program behind a TUN or TAP interface.

    The program at the port of the packet is neither.
    """
    if drop.reason == COPY:
        names, losing = owners(frame), Counter[str]()
        for entry in frame.tables.get("packet_sockets", ()):
            if rate := entry.rate("drops"):
                losing[names.get(entry.now.inode, "a program")] += ceil(rate)
        means = f"The packet socket of {most(losing)} has no room for its copy" if losing else ""
    elif drop.reason == RING:
        found = (row for row in frame.rows("tun_readers") if row.interface == drop.nic)
        reader = next((f"{row.name}[{row.pid}]" for row in found), "")
        means = f"{reader} takes nothing from {drop.nic}, or too slowly" if reader else ""
    else:
        return drop
    return replace(drop, means=means) if means else drop


def _of_programs(drop: Drop, rows: Sequence[DropReasonRow]) -> Drop:
    """The drop with the BPF programs that may do it, where no rule of nf_tables is known to."""
    found = Counter[str]()
    for row in rows:
        for one in filter(None, row.by.split(",")):
            found[one] += row.packets
    if not found or drop.filters:
        return drop
    hooked = drop.reason == FILTER
    first, _, place = found.most_common(1)[0][0].partition("@")
    shown = f"BPF program {first} at the hook {place}" if hooked else program(f"{first}@{place}")
    if hooked:
        cause = f"No rule of nf_tables is seen to drop. Programs at hooks: {most(found)}."
        advice = (
            "`bpftool link` shows the program, and who holds it: ask them. `bpftool net` of "
            "this network namespace lists those that are here."
        )
    else:
        named = most(Counter({program(one): count for one, count in found.items()}))
        cause = f"These see what arrives for the process: {named}. Or: {drop.cause}"
        advice = (
            f"`bpftool prog show name {first}` and `bpftool cgroup tree` show it; ask who "
            f"loads it. {drop.advice}"
        )
    return replace(drop, means=f"{shown} may drop it", cause=cause, advice=advice, rule="")


def _of_sockets(drop: Drop, rows: Sequence[DropReasonRow], host: Host) -> Drop:
    """The drop in the words of the sockets at its port, if each takes others only, and says which.

    net/ipv4/udp.c, compute_score(): the device, the address and the connected peer must match.
    """
    known = [row for row in rows if row.to and row.port and row.to_port]
    if drop.reason != UNHEARD or not known:
        return drop
    row = max(known, key=lambda one: one.packets)
    names, said, cures = owners(host.frame), [], []
    for one in host.frame.rows(f"sockets_{row.protocol}"):
        if one.local_port != row.to_port or (row.protocol == "tcp" and one.state != "listen"):
            continue
        missed: tuple[str, str] | None
        if row.protocol == "udp" and one.remote_port:
            if (address(one.remote), one.remote_port) == (address(row.source), row.source_port):
                return drop
            only = f"for {end(one.remote, one.remote_port)} only"
            missed = only, "let the sender answer from that address and port"
        else:
            missed = misses(host, one, row.to, _arrives(host, row))
        if missed is None:
            return drop
        only = f"at {one.local} only" if missed[0] == "only" else missed[0]
        said.append(f"{names.get(one.inode, 'a program')} has it {only}")
        cures.append(missed[1])
    if not said:
        return drop
    port = f"{row.protocol} port {row.to_port}"
    return replace(
        drop, means=f"{port} is open, but not for these packets: {said[0]}",
        cause=f"Sockets at the port: {most(Counter(said))}.",
        advice=f"`ss -anp{row.protocol[0]} sport = :{row.to_port}` shows them. "
        f"{cures[0][0].upper()}{cures[0][1:]}.",
    )  # fmt: skip


def _arrives(host: Host, row: DropReasonRow) -> str:
    """The interface by which the packet came, or was to leave; empty: it is not known."""
    link = host.numbered.get(row.interface)
    return link.interface if link is not None else ""


def _of_carrier(drop: Drop, dead: Collection[str]) -> Drop:
    """The drop in the words of an interface without a carrier, which has no queue that is full.

    The kernel gives such an interface a queue that drops all (noop_enqueue()). `dead`: their names.
    """
    if drop.reason != QUEUE or not drop.nic or not {*drop.nics.split(", ")} <= {*dead}:
        return drop
    return replace(
        drop, kind="turned away", rule="",
        means=f"{drop.nic} has no carrier, and drops what is sent",
        cause="The link is down: no route or neighbour should lead there any more.",
        advice=f"`ip -br link show {drop.nic}` shows NO-CARRIER and `ip route show dev {drop.nic}` "
        f"what still leads there. Bring the link up, or set `ip link set {drop.nic} down`.",
        rests="net/sched/sch_generic.c, dev_deactivate_many(), noop_enqueue()",
    )  # fmt: skip


def _of_tc(drop: Drop, frame: Frame) -> Drop:
    """The drop with the filters of tc that drop there, or the programs that may."""
    place = TC.get(drop.reason)
    if place is None:
        return drop
    found = tc_dropping(frame.tables.get("filters", ()), place, drop.nics.split(", "))
    return replace(drop, filters=most(found))


def _of_tracking(drop: Drop, untracked: float) -> Drop:
    """The drop in the words of connection tracking if that, and no rule, dropped the packets.

    nf_conntrack_confirm() is called at a hook of the filter, and its NF_DROP has no reason of its
    own. `untracked`: entries a second that were not inserted.
    """
    if drop.reason != FILTER or drop.filters or untracked < NEARLY * (drop.per_s or inf):
        return drop
    return replace(
        drop, means=UNTRACKED, rule="connection-entries-collide",
        cause="Another packet of the flow was faster, or address translation has no port left.",
        rests="net/netfilter/nf_conntrack_core.c, __nf_conntrack_confirm()",
    )  # fmt: skip


def _programs(frame: Frame) -> dict[tuple[str, str], str]:
    """` of NAME[PID]` by protocol and port, where one program alone receives there.

    Of datagram sockets that share a port those that lose count. A socket whose program is not known
    may be of another one.
    """
    names = owners(frame)
    found: dict[tuple[str, str], set[str]] = {}
    losing: dict[tuple[str, str], set[str]] = {}
    for entry in frame.tables.get("sockets_udp", ()):
        place, who = ("udp", str(entry.now.local_port)), names.get(entry.now.inode, "")
        found.setdefault(place, set()).add(who)
        if entry.rate("drops"):
            losing.setdefault(place, set()).add(who)
    for row in frame.rows("sockets_tcp"):
        if row.state == "listen":
            place = "tcp", str(row.local_port)
            found.setdefault(place, set()).add(names.get(row.inode, ""))
    alone = {place: min(who) for place, who in {**found, **losing}.items() if len(who) == 1}
    return {place: f" of {who}" for place, who in alone.items() if who}


def filters(rules: Sequence[Entry[Any]]) -> list[NftablesRow]:
    """Those whose counter rises most; without any, those that do not count and may be it."""
    counting = [(rate, one.now) for one in rules if (rate := one.rate("packets"))]
    counting.sort(key=lambda one: -one[0])
    return [row for _, row in counting] or [one.now for one in rules if one.now.packets is None]


def _drop(
    reason: str, place: str, entries: list[Entry[Any]], host: Host,
    filters: Sequence[NftablesRow],
    programs: Mapping[tuple[str, str], str],
) -> Drop:  # fmt: skip
    words = drop_reasons.words(reason, place, _to([entry.now for entry in entries]))
    places, nics, ends = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    for row in (entry.now for entry in entries):
        places[row.protocol, _port(host, row)] += row.packets
        leaves, more = _leaves(host, row)
        nics[leaves or _arrives(host, row)] += row.packets
        ends[_ends(row) + more if row.source else ""] += row.packets
    nic = next((name for name, _ in nics.most_common() if name), None)
    foremost = [place for place, _ in places.most_common()]
    ports = [f"{protocol} port {number}" if number else protocol for protocol, number in foremost]
    named = {} if reason == COPY else programs
    whose = [port + named.get(place, "") for port, place in zip(ports, foremost, strict=True)]
    dropping = filters if reason == FILTER else ()
    return Drop(
        id=f"{reason}/{place}" if place else reason, reason=reason, place=place, kind=words.kind,
        means=words.means, cause=words.cause, rests=words.rests,
        advice=_ETH0.sub(nic or "eth0", words.advice),
        rule=words.rule, whose=few(whose), ports=tuple(ports[:MOST]), of=most(ends) or None,
        nics=most(nics), nic=nic,
        filters=few([one.told for one in dropping]),
        rules=tuple(one.name for one in dropping[:MOST]),
        packets=sum(entry.now.packets for entry in entries),
        per_s=total(grown(entry, "packets") for entry in entries),
    )  # fmt: skip


def _to(rows: Sequence[DropReasonRow]) -> str:
    """The kind of address to which most packets go; empty: it is not known."""
    kinds = Counter[str]()
    for row in rows:
        if row.to:
            kinds["multicast" if address(row.to).is_multicast else "unicast"] += row.packets
    return max(kinds, key=lambda kind: kinds[kind], default="")


def _port(host: Host, row: DropReasonRow) -> str:
    """The port of this host: of what has not yet reached IP the kernel does not know its side."""
    if row.source and row.port and host.local(row.to) and not host.local(row.source):
        return str(row.to_port)
    return row.port


def _ends(row: DropReasonRow) -> str:
    """Both ends of a packet: of the source the address alone, as its port is mostly of chance."""
    source, to = row.source, end(row.to, row.to_port) if row.to_port else row.to
    if row.reason in FRAMES and row.hardware:
        return f"{source} (frame from {row.sender} to {row.hardware}) to {to}"
    return f"{source} to {to}"


def _leaves(host: Host, row: DropReasonRow) -> tuple[str, str]:
    """The interface by which a packet was to leave, and words about it; empty: it is not one."""
    if row.reason not in LEAVING or not row.source or host.local(row.source):
        return "", ""
    hop = routed(host, Question(row.to, row.source, _arrives(host, row), protocol=row.protocol))
    link = host.links.get(hop.interface or "")
    if link is None or link.loopback:
        return "", ""
    mtu = min(one for one in (hop.mtu, link.mtu, HUGE) if one)
    size = f" (MTU {mtu})" if row.reason == "PKT_TOO_BIG" and mtu < HUGE else ""
    return link.interface, f" by {link.interface}{size}"


def most(counts: Counter[str]) -> str:
    """The names with the highest counts, and how many others there are."""
    return few([name for name, _ in counts.most_common()])


def few(names: Sequence[str]) -> str:
    """The first of these names, and how many others there are."""
    named = [name for name in names if name]
    others = len(named) - MOST
    return ", ".join(named[:MOST]) + (f" and {others} more" if others > 0 else "")


KIND = Kind(
    Drop, "drops", build=build, example={"id": "NO_SOCKET/tcp_v4_rcv"}, tables={"": "drop_reasons"}
)
