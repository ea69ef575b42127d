"""The host as a whole: kernel, topology, sums, services, and the sockets' memory."""

from __future__ import annotations

from typing import Final

from ...collect.snmp import Row as Snmp
from ...frame.fields import Repeated, gauge, label, light, maybe
from ...terms.dataclass import dataclass
from ..kind import Kind

_SNMP: Final = Repeated(Snmp, rates=True)


@light
@dataclass(frozen=True, slots=True)
class HostFact:
    """One host. `kernel` is a tuple such as (6, 1); sysctls are asked by sysctl('name')."""

    name: str = label("host name")
    kernel: tuple[int, int] | None = maybe("kernel version")
    release: str = gauge("kernel release", default="")
    cpus: int = gauge("CPUs online", "CPUs", default=0)
    cores: int | None = maybe("physical cores online", "cores")
    nodes: int = gauge("NUMA nodes with CPUs", "nodes", default=1)
    packages: int | None = maybe("processor packages", "packages")
    smt: bool | None = maybe("SMT siblings in use")
    max_frequency: float | None = maybe("highest clock", "Hz")
    memory: float | None = maybe("memory", "bytes")
    page: int = gauge("page size", "bytes", default=4096)
    virtual: str | None = maybe("hypervisor, if the host is a guest")
    container: bool | None = maybe("own network namespace")
    root: bool | None = maybe("permission to change settings")
    cmdline: str = gauge("kernel command line", default="")
    busiest_cpu: int | None = maybe("busiest CPU")
    idle: float | None = maybe("mean idle time", "%")
    crowd: str | None = maybe("what takes the cores for which forwarded packets wait")
    tcp_out: float | None = _SNMP.tcp_out
    tcp_in: float | None = _SNMP.tcp_in
    tcp_retrans: float | None = _SNMP.tcp_retrans
    retransmit_ratio: float | None = maybe("retransmit ratio", "ratio")
    tcp_active: float | None = _SNMP.tcp_active
    tcp_passive: float | None = _SNMP.tcp_passive
    tcp_timeouts: float | None = _SNMP.tcp_timeouts
    listen_overflows: float | None = _SNMP.listen_overflows
    full_listener: str | None = maybe("listening socket with a full accept queue")
    full_backlog: int | None = maybe("backlog of that socket", "connections")
    full_waiting: int | None = maybe(
        "connections in that queue now; less than the backlog between bursts", "connections"
    )
    syn_listener: str | None = maybe("listening socket with a full SYN queue")
    syn_backlog: int | None = maybe("handshakes for which that queue has room", "connections")
    syn_bound: bool = gauge(
        "net.ipv4.tcp_max_syn_backlog bounds it, and not the backlog of the socket", default=False
    )
    listen_drops: float | None = _SNMP.listen_drops
    rcvq_drops: float | None = _SNMP.rcvq_drops
    socket_backlog_drops: float | None = _SNMP.socket_backlog_drops
    zero_windows: float | None = _SNMP.zero_windows
    prune_called: float | None = _SNMP.prune_called
    memory_pressures: float | None = _SNMP.memory_pressures
    mtup_fail: float | None = _SNMP.mtup_fail
    mtup_success: float | None = _SNMP.mtup_success
    reno_recovery: float | None = _SNMP.reno_recovery
    udp_in: float | None = _SNMP.udp_in
    udp_out: float | None = _SNMP.udp_out
    udp_rcvbuf_errors: float | None = _SNMP.udp_rcvbuf_errors
    udp_no_ports: float | None = _SNMP.udp_no_ports
    udp_sndbuf_errors: float | None = _SNMP.udp_sndbuf_errors
    frag_creates: float | None = _SNMP.frag_creates
    reasm_fails: float | None = _SNMP.reasm_fails
    reasm_needed: float | None = _SNMP.reasm_needed
    reasm_done: float | None = _SNMP.reasm_done
    delayed_acks: float | None = _SNMP.delayed_acks
    tcp_mem_pages: int | None = _SNMP.tcp_mem_pages
    tcp_orphan: int | None = _SNMP.tcp_orphan
    tcp_inuse: int | None = _SNMP.tcp_inuse
    tcp_holder: str | None = maybe(
        "program whose TCP sockets hold most data, while memory is short"
    )
    time_wait: int | None = _SNMP.time_wait
    cpu_backlog_drops: float | None = maybe("packets dropped, backlogs of all CPUs", "packets/s")
    squeezed: float | None = maybe("polls out of budget or time, all CPUs", "polls/s")
    conntrack: int | None = maybe("tracked connections", "connections")
    conntrack_max: int | None = maybe("connection tracking limit", "connections")
    mean_packet: float | None = maybe("mean packet of all ports", "bytes")
    conntrack_drops: float | None = maybe("packets dropped by connection tracking", "packets/s")
    irqbalance: bool | None = maybe("irqbalance")
    tuned: str | None = maybe("active tuned profile")
    network_manager: bool | None = maybe("NetworkManager")
    networkd: bool | None = maybe("systemd-networkd")
    firewall: bool | None = maybe("nf_conntrack module")
    forwarding: bool | None = maybe("IP forwarding")
    iommu_pt: bool | None = maybe("IOMMU pass-through on the kernel command line")
    tcp_flows: int = gauge("established TCP flows", "flows", default=0)
    bulk_flows: int = gauge("bulk flows", "flows", default=0)
    out_of_order: float | None = maybe(
        "largest share of the segments of a bulk flow that came behind a gap", "ratio"
    )
    max_rtt: float | None = maybe("largest RTT of a bulk flow, without queueing", "s")
    unscaled_rate: float | None = maybe("rate of a window of 64 KiB over that RTT", "bit/s")
    median_rtt: float | None = maybe("median RTT of the bulk flows, without queueing", "s")
    max_bdp: float | None = maybe("largest bandwidth-delay product of a flow", "bytes")
    max_speed: float | None = maybe("fastest physical link", "bit/s")
    captures: int = gauge("packet sockets", "sockets", default=0)
    tunnels: int = gauge(
        "tunnel interfaces without TUN/TAP: VXLAN, Geneve, GRE …", "interfaces", default=0
    )
    legacy: tuple[str, ...] = gauge(
        "harmful lines in sysctl files, as file:line key=value", default=()
    )
    rps_flow_entries: int | None = maybe("rps_sock_flow_entries", "flows")
    nettop_cpu: float | None = maybe("CPU use of nettop", "%")
    nettop_on_irq_cpu: bool | None = maybe("nettop on an interrupt CPU of a NIC")
    manual_affinity: bool | None = maybe("manual interrupt affinity of a NIC")
    receive_bdp: float | None = maybe(
        "largest rate × minimum RTT of a flow received with a buffer at the tcp_rmem maximum",
        "bytes",
    )
    send_bdp: float | None = maybe(
        "largest bandwidth-delay product of a bulk flow sent from here", "bytes"
    )
    worst_sndbuf_limited: float | None = maybe(
        "largest share of busy time limited by the send buffer, of all bulk flows", "ratio"
    )
    max_mtu: int | None = maybe("largest MTU of a physical link", "bytes")
    ring_drops: float | None = maybe("packets dropped, receive rings of all NICs", "packets/s")
    ring_drop_nodes: tuple[int, ...] = gauge(
        "NUMA nodes of the NICs whose receive rings drop packets", default=()
    )
    flow_limited: float | None = maybe("packets dropped by the flow limit, all CPUs", "packets/s")
    syn_cookies: float | None = _SNMP.syn_cookies
    syn_drops: float | None = _SNMP.syn_drops
    time_wait_overflows: float | None = _SNMP.time_wait_overflows
    reverse_path_drops: float | None = _SNMP.reverse_path_drops
    rcv_pruned: float | None = _SNMP.rcv_pruned
    udp_memory_errors: float | None = _SNMP.udp_memory_errors
    ip_forwarded: float | None = _SNMP.ip_forwarded
    tcp_checksum_errors: float | None = _SNMP.tcp_checksum_errors
    udp_checksum_errors: float | None = _SNMP.udp_checksum_errors
    udp_errors: float | None = _SNMP.udp_errors
    ip_in: float | None = _SNMP.ip_in
    ip_wire: float | None = _SNMP.ip_wire
    ip_no_routes: float | None = _SNMP.ip_no_routes
    ip_foreign: float | None = _SNMP.ip_foreign
    ip_vanished: float | None = maybe("IP packets received that no counter explains", "packets/s")
    ip_unsent: float | None = maybe("IP packets to forward that no interface got", "packets/s")
    silent_drops: tuple[str, ...] = gauge(
        "rules and policies of nf_tables that drop without a counter, as family/table/chain/handle",
        default=(),
    )
    drops_told: bool = gauge("the kernel gives the reasons of its drops now", default=False)
    beyond_ip: float | None = maybe(
        "packets received where XDP is generic, minus all that IP received", "packets"
    )
    udp_unasked: float | None = _SNMP.udp_unasked
    syn_retrans: float | None = _SNMP.syn_retrans
    tcp_resets: float | None = _SNMP.tcp_resets
    tcp_aborts: float | None = _SNMP.tcp_aborts
    tcp_cut: float | None = _SNMP.tcp_cut
    tcp_given_up: float | None = _SNMP.tcp_given_up
    tcp_silent: float | None = _SNMP.tcp_silent
    ip_no_way_out: float | None = maybe(
        "IP packets not sent, no route; of IPv6 with a global address only", "packets/s"
    )
    ip_header_errors: float | None = _SNMP.ip_header_errors
    ip_expired: float | None = _SNMP.ip_expired
    duplicates: tuple[str, ...] = gauge(
        "IPv6 addresses that another host has, as address@interface", default=()
    )
    icmp_filtered: int = gauge(
        "ICMP messages that the packet filter of this host dropped", "packets", default=0
    )
    icmp_filter: str = gauge("the rule or policy that dropped them", default="")
    icmp_accepted_by: str = gauge("a command that lets those of connections pass it", default="")
    answers_from_another: tuple[str, ...] = gauge(
        "UDP ports open on all addresses, and addresses that are no first choice as source, while "
        "ICMP messages come",
        default=(),
    )
    conntrack_failures: float | None = maybe(
        "connection tracking entries not inserted", "entries/s"
    )
    closer: str = gauge(
        "this host, and the program that ends connections by a reset, where it is known",
        default="This host",
    )
    few_ports: str | None = maybe(
        "rule that translates source addresses to no more ports than connections are tracked"
    )
    frames_too_long: float | None = maybe(
        "frames dropped at the end of a veth pair, longer than its MTU, in all namespaces",
        "packets/s",
    )
    conntrack_invalid: float | None = maybe(
        "packets that fit no tracked connection and open none", "packets/s"
    )
    frag_waiting: int | None = _SNMP.frag_waiting
    frag_memory: int | None = _SNMP.frag_memory
    tcp_failed: float | None = _SNMP.tcp_failed
    tcp_twice: float | None = _SNMP.tcp_twice
    tcp_unsigned: float | None = _SNMP.tcp_unsigned
    ip_unreachable: float | None = _SNMP.ip_unreachable
    too_big_sent: float | None = _SNMP.too_big_sent
    balanced: float | None = maybe(
        "connections to virtual services of IPVS opened", "connections/s"
    )


KIND = Kind(
    HostFact, "hosts", name="host", key=lambda _host: "host", target=lambda _host: "host",
    example={"name": "host"},
)  # fmt: skip
