"""The host fact: kernel, CPUs, services, and sums over cores, NICs and flows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
from ipaddress import ip_interface
from math import inf
from typing import Final

from ..collect.conntrack import Row as ConntrackRow
from ..collect.ipvs import Row as IpvsRow
from ..collect.kernel import Row as KernelRow
from ..collect.nftables import Row as NftablesRow
from ..collect.services import Row as ServiceRow
from ..collect.snmp import Row as SnmpRow
from ..frame.rates import Entry, Frame, Tables
from ..terms import units
from ..terms.dataclass import dataclass
from ..terms.text import version
from .connections import closer
from .counters import grown, largest, middle
from .flow_words import EVERYWHERE, part, total
from .flows import Full
from .kinds.call import with_ipv6
from .kinds.core import Core, Load
from .kinds.flow import Flow
from .kinds.host import HostFact
from .kinds.nic import Nic
from .place import OnlineCpus
from .single import triple
from .way.rule_tests import few_ports
from .way.steps.device import silenced

UNSCALED: Final = 65_535  # bytes: the largest window without window scaling (RFC 7323, 2.1)
# what the host has of the table snmp
_SNMP: Final = {f.name: f.metadata["of"] for f in fields(HostFact) if "of" in f.metadata}
RATES: Final = tuple(name for name, of in _SNMP.items() if of.metadata["kind"] == "counter")
NOW: Final = tuple(name for name in _SNMP if name not in RATES)
_GROWN: Final = 0.9  # of the maximum: the kernel rounds the size of a buffer
_HANDS_OVER: Final = "__dev_forward_skb"  # of net/core/dev.c: drops what exceeds the MTU alone
NAMED: Final = 8  # rules of the firewall that are named
STILL: Final = ("kernel", "services", "sysctls", "cpufreq", "sysctl_files")


@dataclass(frozen=True, slots=True)
class Sums:
    """The other facts that the host adds up."""

    cores: Sequence[Core] = ()
    nics: Sequence[Nic] = ()
    flows: Sequence[Flow] = ()
    captures: int = 0
    tcp_flows: int = 0
    full: Full | None = None
    half_open: Full | None = None


@dataclass(frozen=True, slots=True)
class Fixed:
    """A host with the fields that rarely change, and its sysctls by name."""

    host: HostFact
    sysctls: Mapping[str, str] = field(default_factory=dict)


def fixed(tables: Tables, place: OnlineCpus, legacy: Sequence[str]) -> Fixed:
    """The host of the rows of the tables in `STILL`; `legacy` are the harmful sysctl lines."""
    kernel: KernelRow | None = next(iter(tables.get("kernel", ())), None)
    services: dict[str, ServiceRow] = {row.name: row for row in tables.get("services", ())}
    sysctls = {row.name: row.value for row in tables.get("sysctls", ())}
    clocks = [row.max_frequency for row in tables.get("cpufreq", ()) if row.max_frequency]
    release = kernel.release if kernel is not None else ""
    cmdline = (kernel.cmdline if kernel is not None else None) or ""
    forwards = [sysctls[name] for name in _FORWARDING if name in sysctls]
    return Fixed(
        HostFact(
            name=(kernel.hostname if kernel is not None else None) or "",
            kernel=version(release),
            release=release,
            cpus=len(place.spots),
            cores=place.cores(place.by_cpu),
            nodes=place.nodes,
            packages=place.packages,
            smt=place.smt,
            max_frequency=max(clocks, default=None),
            memory=kernel.memory if kernel is not None else None,
            page=(kernel.page if kernel is not None else None) or 4096,
            virtual=kernel.virtual if kernel is not None else None,
            container=kernel.container if kernel is not None else None,
            root=kernel.admin if kernel is not None else None,
            cmdline=cmdline,
            irqbalance=_running(services.get("irqbalance")),
            tuned=_tuned(services.get("tuned")),
            network_manager=_running(services.get("NetworkManager")),
            networkd=_running(services.get("networkd")),
            forwarding=any(value != "0" for value in forwards) if forwards else None,
            iommu_pt=not _PASSED.isdisjoint(cmdline.split()) if cmdline else None,
            legacy=tuple(legacy),
            rps_flow_entries=whole(sysctls.get("net.core.rps_sock_flow_entries")),
        ),
        sysctls,
    )


def _mean_packet(nics: Iterable[Nic]) -> float | None:
    """The bytes of a packet on the ports, both directions together."""
    rates = [nic.per_s for nic in nics if nic.kind == "nic"]
    packets = total(n for one in rates for n in (one.rx_packets, one.tx_packets))
    size = total(n for one in rates for n in (one.rx_bytes, one.tx_bytes))
    return size / packets if size is not None and packets else None


def _nodes(nics: Iterable[Nic]) -> tuple[int, ...]:
    """The NUMA nodes of these interfaces; none if the node of one is not known."""
    nodes = {nic.node for nic in nics}
    return tuple(sorted(node for node in nodes if node is not None)) if None not in nodes else ()


# Documentation/admin-guide/kernel-parameters.txt; iommu=pt is for x86 only
_PASSED: Final = frozenset({"iommu=pt", "iommu.passthrough=1", "iommu.passthrough=on"})
_FORWARDING: Final = ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding")


def build(frame: Frame, still: Fixed, load: Mapping[int, Load], sums: Sums) -> HostFact:
    """The host in this frame; `load` by CPU."""
    snmp = next(iter(frame.tables.get("snmp", ())), None)
    now, rate = (snmp.now, snmp.per_s) if snmp is not None else (None, None)
    values: dict[str, float | None] = {name: getattr(rate, name, None) for name in RATES}
    values |= {name: getattr(now, name, None) for name in NOW}
    values["ip_no_way_out"] = _no_way_out(frame, rate)
    sent, again = values["tcp_out"], values["tcp_retrans"]
    idle = [one.idle for one in load.values()]
    track: Entry[ConntrackRow] | None = next(iter(frame.tables.get("conntrack", ())), None)
    balancer: Entry[IpvsRow] | None = next(iter(frame.tables.get("ipvs", ())), None)
    return replace(
        still.host,
        **values,  # type: ignore[arg-type]
        **_flows(sums, still.sysctls),  # type: ignore[arg-type]
        **_nettop(frame, sums.nics),  # type: ignore[arg-type]
        retransmit_ratio=part(again, sent),
        busiest_cpu=list(load)[idle.index(min(idle))] if load else None,
        idle=sum(idle) / len(load) if load else None,
        ring_drops=total(nic.per_s.ring_drops for nic in sums.nics),
        ring_drop_nodes=_nodes(nic for nic in sums.nics if nic.per_s.ring_drops),
        cpu_backlog_drops=total(core.backlog_drops for core in sums.cores),
        squeezed=total(core.squeezed for core in sums.cores),
        flow_limited=total(core.flow_limited for core in sums.cores),
        conntrack=track.now.count if track is not None else None,
        conntrack_max=track.now.most if track is not None else None,
        conntrack_drops=track.rate("drops") if track is not None else None,
        mean_packet=_mean_packet(sums.nics),
        conntrack_failures=track.rate("failures") if track is not None else None,
        few_ports=few_ports(frame),
        closer=closer(frame) if values["tcp_cut"] else "This host",
        conntrack_invalid=track.rate("invalid") if track is not None else None,
        firewall=_firewall(frame, track),
        balanced=balancer.rate("connections") if balancer is not None else None,
        ip_vanished=vanished(rate, frame.tables.get("nftables", ()), balancer),
        ip_unsent=_unsent(rate),
        silent_drops=_silent(frame.tables.get("nftables", ())),
        drops_told="drop_reasons" in frame.tables,
        frames_too_long=total(
            grown(one, "packets")
            for one in frame.tables.get("drop_reasons", ())
            if one.now.place.startswith(_HANDS_OVER)
        ),
        **silenced(frame)._asdict(),
        beyond_ip=_beyond_ip(sums.nics, now),
        duplicates=tuple(
            f"{row.address}@{row.interface}" for row in frame.rows("addresses") if row.duplicate
        ),
        answers_from_another=from_another(frame) if values["ip_unreachable"] else (),
        tcp_holder=_holder(frame, values, still.sysctls),
        full_listener=sums.full.name if sums.full is not None else None,
        full_waiting=sums.full.waiting if sums.full is not None else None,
        full_backlog=sums.full.backlog if sums.full is not None else None,
        syn_listener=sums.half_open.name if sums.half_open is not None else None,
        syn_backlog=sums.half_open.backlog if sums.half_open is not None else None,
        syn_bound=sums.half_open is not None and sums.half_open.bound,
        max_speed=max((n.speed for n in sums.nics if n.kind == "nic" and n.speed), default=None),
        max_mtu=max((n.mtu for n in sums.nics if n.kind == "nic" and n.mtu), default=None),
        captures=sums.captures,
        tunnels=sum(nic.kind == "tunnel" and nic.driver != "tun" for nic in sums.nics),
        manual_affinity=_any(nic.manual_affinity for nic in sums.nics),
    )


def _holder(
    frame: Frame, now: Mapping[str, float | None], sysctls: Mapping[str, str]
) -> str | None:
    """The program whose TCP sockets hold most data, in all namespaces read; None: memory is free.

    Data that is sent and not acknowledged counts as unsent.
    """
    few = triple(sysctls.get("net.ipv4.tcp_mem"))[1:2] or (inf,)
    if (now["tcp_mem_pages"] or 0) <= few[0] and not now["memory_pressures"]:
        return None
    owners = {row.inode: (row.pid, row.name) for row in frame.rows("socket_owners") if row.pid}
    held: dict[tuple[int | None, str], list[tuple[int, int]]] = {}
    for name in ("sockets_tcp", "netns_tcp"):
        for row in frame.rows(name):
            if row.state != "listen" and (row.recv_q or row.send_q) and row.inode in owners:
                held.setdefault(owners[row.inode], []).append((row.recv_q, row.send_q))
    if not held:
        return None
    (pid, name), most = max(held.items(), key=lambda item: sum(map(sum, item[1])))
    unread, unsent = (units.size(sum(one)) for one in zip(*most, strict=True))
    return f"{name}[{pid}]: {len(most):,} sockets, {unread} unread, {unsent} unsent"


def backlog_drops(frame: Frame) -> float | None:
    """Packets that the backlogs of all CPUs dropped since boot; None: not read."""
    return total(row.dropped for row in frame.rows("softnet"))


_BEFORE_SOCKETS: Final = frozenset({"prerouting", "input", "forward"})


def _unsent(rate: SnmpRow | None) -> float | None:
    """Packets per second that were to be forwarded and did not reach an interface.

    The packet filter is between both counters (net/ipv4/ip_forward.c, ip_forward(); ip_output.c,
    ip_output()). What this host originates passes both too, so what is lost of that is in the sum;
    it is at most what was to be forwarded. None before Linux 6.6, which has no OutTransmits.
    """
    if rate is None or None in (rate.ip_forwarded, rate.ip_requests, rate.ip_transmits):
        return None
    forwarded = rate.ip_forwarded or 0
    lost = forwarded + (rate.ip_requests or 0) - (rate.ip_transmits or 0)
    return float(min(forwarded, max(0, lost)))


def _no_way_out(frame: Frame, rate: SnmpRow | None) -> float | None:
    """Packets per second without a route; of IPv6 only where that is no vain try."""
    if rate is None:
        return None
    return total((rate.ip_no_way_out, rate.ip6_no_way_out if with_ipv6(frame) else None))


def _silent(rules: Sequence[Entry[NftablesRow]]) -> tuple[str, ...]:
    """The rules and policies that drop what arrives or is forwarded, and count nothing."""
    return tuple(
        row.name
        for row in (one.now for one in rules)
        if row.packets is None and not row.maps and (not row.hook or row.hook in _BEFORE_SOCKETS)
    )[:NAMED]


def _beyond_ip(nics: Sequence[Nic], now: SnmpRow | None) -> float | None:
    """Packets that interfaces with generic XDP received, without all that IP received."""
    if now is None or now.ip_wire is None:
        return None
    got = total(n.total.rx_packets for n in nics if n.xdp_mode == "generic" and n.master is None)
    return None if got is None else got - now.ip_wire


def vanished(
    rate: SnmpRow | None, rules: Sequence[Entry[NftablesRow]], balancer: Entry[IpvsRow] | None
) -> float | None:
    """Packets per second that IP received and neither delivered, forwarded nor counted as lost.

    IPVS takes the packets of its services from the input hook, and IP counts them no more.
    A received fragment is one packet, and what is reassembled of many is delivered once. Multicast
    of IPv6 is not judged: a group that nobody joined is dropped without a counter, and rightly
    (net/ipv6/ip6_input.c, ip6_mc_input()). None if a counter is absent. net/ipv4/ip_input.c:
    ip_rcv_core(), ip_local_deliver_finish().
    """
    if rate is None:
        return None
    explained = (
        rate.ip_delivers, rate.ip_forwarded, rate.ip_no_routes, rate.ip_foreign, rate.ip_errors,
        rate.ip_discards, rate.reverse_path_drops, rate.reasm_needed,
    )  # fmt: skip
    known = [count for count in explained if count is not None]
    if rate.ip_in is None or rate.reasm_done is None or len(known) < len(explained):
        return None
    drops = total(one.rate("packets") for one in rules if one.now.hook in _BEFORE_SOCKETS)
    balanced = balancer.rate("packets_in") if balancer is not None else None
    aside = (drops or 0.0) + (rate.ip6_multicast or 0.0) + (balanced or 0.0)
    return max(0.0, rate.ip_in + rate.reasm_done - sum(known) - aside)


def _flows(sums: Sums, sysctls: Mapping[str, str]) -> dict[str, float | None]:
    cap = triple(sysctls.get("net.ipv4.tcp_rmem"))
    bulk = [flow for flow in sums.flows if flow.bulk]
    trips = {f.id: f.rtt if f.min_rtt is None else f.min_rtt for f in sums.flows}
    longest = largest(trips[flow.id] for flow in bulk)
    moving = [trip for f in bulk if (trip := trips[f.id]) is not None]
    return {
        "tcp_flows": sums.tcp_flows,
        "bulk_flows": len(bulk),
        "out_of_order": largest(flow.out_of_order for flow in bulk),
        "max_rtt": longest,
        "unscaled_rate": 8 * UNSCALED / longest if longest else None,
        "median_rtt": middle(moving),
        "max_bdp": largest(flow.bdp for flow in sums.flows),
        "receive_bdp": _receive_bdp(sums.flows, cap),
        "send_bdp": largest(flow.bdp for flow in bulk if flow.direction == "send"),
        "worst_sndbuf_limited": largest(flow.sndbuf_limited for flow in bulk),
    }


def _receive_bdp(flows: Sequence[Flow], cap: Sequence[int]) -> float | None:
    """0 if no buffer has grown to the maximum; None if the maximum is unknown."""
    if len(cap) < 3:
        return None
    return largest(_in_flight(flow) for flow in flows if _at_cap(flow, cap)) or 0.0


def _at_cap(flow: Flow, cap: Sequence[int]) -> bool:
    """Whether the receive buffer has grown to the maximum of tcp_rmem."""
    if flow.direction != "receive" or flow.rcvbuf is None or flow.rcvbuf_fixed:
        return False
    return flow.rcvbuf >= _GROWN * cap[2]


def _in_flight(flow: Flow) -> float | None:
    """Bytes in flight at the measured rate of the flow, without those in a queue."""
    trip = flow.rtt if flow.min_rtt is None else flow.min_rtt
    return None if flow.rx_per_s is None or trip is None else flow.rx_per_s * trip


def _nettop(frame: Frame, nics: Sequence[Nic]) -> dict[str, float | bool | None]:
    own = next(iter(frame.tables.get("meself", ())), None)
    if own is None:
        return {}
    rate, cpu = own.per_s, own.now.cpu
    spent = None if rate is None or rate.user is None or rate.system is None else (
        100.0 * (rate.user + rate.system)
    )  # fmt: skip
    taken = {c for nic in nics if nic.kind == "nic" for c in nic.irq_cpus}
    return {
        "nettop_cpu": spent,
        "nettop_on_irq_cpu": cpu in taken if cpu is not None and taken else None,
    }


def _firewall(frame: Frame, track: object) -> bool | None:
    """Whether connections are tracked; the conntrack file exists only with nf_conntrack.

    None if no kernel parameter could be read, because then its absence has no meaning.
    """
    if track is not None:
        return True
    absent = "No such file" in frame.missing.get("conntrack", "")
    return False if absent and frame.tables.get("sysctls") else None


def _running(row: ServiceRow | None) -> bool | None:
    return row.running if row is not None else None


def _tuned(row: ServiceRow | None) -> str | None:
    return row.detail if row is not None and row.running is not False else None


def _any(values: Iterable[bool | None]) -> bool | None:
    known = [value for value in values if value is not None]
    return any(known) if known else None


def whole(text: str | None) -> int | None:
    """The integer of a sysctl; None for any other text."""
    return int(text) if text is not None and re.fullmatch(r"-?\d{1,18}", text, re.ASCII) else None


def from_another(frame: Frame) -> tuple[str, ...]:
    """UDP services that answer from another address than the one that was asked.

    `PORT at ADDRESS@INTERFACE` for each port and second address of a network of IPv4. A socket that
    is bound to all addresses sends from the first address of the route, unless the program sets the
    source (IP_PKTINFO in ip(7)): net/ipv4/devinet.c, inet_select_addr().
    """
    seen: set[tuple[str, object]] = set()
    second = []
    for row in frame.rows("addresses"):
        if row.family == 4 and row.scope == "global":
            place = row.interface, ip_interface(f"{row.address}/{row.prefix}").network
            second += [f"{row.address}@{row.interface}"] if place in seen else []
            seen.add(place)
    if not second:
        return ()
    ports = sorted(
        {row.local_port for row in frame.rows("sockets_udp")
         if row.local in EVERYWHERE and not row.remote_port}
    )  # fmt: skip
    return tuple(f"{port} at {address}" for port in ports for address in second)
