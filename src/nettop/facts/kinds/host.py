"""The host as a whole: kernel, topology, sums, services, and the sockets' memory."""

from __future__ import annotations

from ...frame.fields import gauge, label, light
from ...terms.dataclass import dataclass
from ..kind import Kind


@light
@dataclass(frozen=True, slots=True)
class HostFact:
    """One host. `kernel` is a tuple such as (6, 1); sysctls are asked by sysctl('name')."""

    name: str = label("host name")
    kernel: tuple[int, int] | None = gauge("kernel version", default=None)
    release: str = gauge("kernel release", default="")
    cpus: int = gauge("CPUs online", "CPUs", default=0)
    cores: int | None = gauge("physical cores online", "cores", default=None)
    nodes: int = gauge("NUMA nodes with CPUs", "nodes", default=1)
    packages: int | None = gauge("processor packages", "packages", default=None)
    smt: bool | None = gauge("SMT siblings in use", default=None)
    max_frequency: float | None = gauge("highest clock", "Hz", default=None)
    memory: float | None = gauge("memory", "bytes", default=None)
    page: int = gauge("page size", "bytes", default=4096)
    virtual: str | None = gauge("hypervisor, if the host is a guest", default=None)
    container: bool | None = gauge("own network namespace", default=None)
    root: bool | None = gauge("permission to change settings", default=None)
    cmdline: str = gauge("kernel command line", default="")
    busiest_cpu: int | None = gauge("busiest CPU", default=None)
    idle: float | None = gauge("mean idle time", "%", default=None)
    tcp_out: float | None = gauge("TCP segments sent", "segments/s", default=None)
    tcp_in: float | None = gauge(
        "TCP segments received (merged segments count once)", "segments/s", default=None
    )
    tcp_retrans: float | None = gauge("retransmitted TCP segments", "segments/s", default=None)
    retransmit_ratio: float | None = gauge("retransmit ratio", "ratio", default=None)
    tcp_active: float | None = gauge("outgoing connections opened", "connections/s", default=None)
    tcp_passive: float | None = gauge("incoming connections opened", "connections/s", default=None)
    tcp_timeouts: float | None = gauge("retransmission timeouts", "events/s", default=None)
    listen_overflows: float | None = gauge(
        "connections dropped, accept queue full", "events/s", default=None
    )
    full_listener: str | None = gauge("listening socket with a full accept queue", default=None)
    full_backlog: int | None = gauge("backlog of that socket", "connections", default=None)
    full_waiting: int | None = gauge(
        "connections in that queue now; less than the backlog between bursts",
        "connections",
        default=None,
    )
    syn_listener: str | None = gauge("listening socket with a full SYN queue", default=None)
    syn_backlog: int | None = gauge(
        "backlog of the socket with a full SYN queue", "connections", default=None
    )
    listen_drops: float | None = gauge("SYNs dropped", "events/s", default=None)
    rcvq_drops: float | None = gauge(
        "packets dropped, no socket memory (TCPRcvQDrop)", "packets/s", default=None
    )
    socket_backlog_drops: float | None = gauge(
        "packets dropped, socket backlog full (TCPBacklogDrop)", "packets/s", default=None
    )
    zero_windows: float | None = gauge("zero windows advertised", "events/s", default=None)
    prune_called: float | None = gauge("receive queues pruned", "events/s", default=None)
    memory_pressures: float | None = gauge("TCP memory pressure events", "events/s", default=None)
    mtup_fail: float | None = gauge("failed MTU probes", "events/s", default=None)
    mtup_success: float | None = gauge("successful MTU probes", "events/s", default=None)
    reno_recovery: float | None = gauge("recoveries without SACK", "events/s", default=None)
    udp_in: float | None = gauge("datagrams delivered", "packets/s", default=None)
    udp_out: float | None = gauge("datagrams sent", "packets/s", default=None)
    udp_rcvbuf_errors: float | None = gauge(
        "datagrams dropped, receive buffer full", "packets/s", default=None
    )
    udp_no_ports: float | None = gauge(
        "datagrams to a port that no socket has", "packets/s", default=None
    )
    udp_sndbuf_errors: float | None = gauge(
        "datagrams dropped, send buffer full", "packets/s", default=None
    )
    frag_creates: float | None = gauge("IP fragments created", "fragments/s", default=None)
    reasm_fails: float | None = gauge("failed reassemblies", "events/s", default=None)
    reasm_needed: float | None = gauge("IP fragments received", "fragments/s", default=None)
    reasm_done: float | None = gauge("packets reassembled", "packets/s", default=None)
    delayed_acks: float | None = gauge("delayed ACKs sent by the timer", "events/s", default=None)
    tcp_mem_pages: int | None = gauge("memory of all TCP sockets", "pages", default=None)
    tcp_orphan: int | None = gauge("orphaned TCP sockets", "sockets", default=None)
    tcp_inuse: int | None = gauge("TCP sockets", "sockets", default=None)
    time_wait: int | None = gauge("sockets in TIME_WAIT", "sockets", default=None)
    cpu_backlog_drops: float | None = gauge(
        "packets dropped, backlogs of all CPUs", "packets/s", default=None
    )
    squeezed: float | None = gauge("polls out of budget or time, all CPUs", "polls/s", default=None)
    conntrack: int | None = gauge("tracked connections", "connections", default=None)
    conntrack_max: int | None = gauge("connection tracking limit", "connections", default=None)
    mean_packet: float | None = gauge("mean packet of all ports", "bytes", default=None)
    conntrack_drops: float | None = gauge(
        "packets dropped by connection tracking", "packets/s", default=None
    )
    irqbalance: bool | None = gauge("irqbalance", default=None)
    tuned: str | None = gauge("active tuned profile", default=None)
    network_manager: bool | None = gauge("NetworkManager", default=None)
    networkd: bool | None = gauge("systemd-networkd", default=None)
    firewall: bool | None = gauge("nf_conntrack module", default=None)
    forwarding: bool | None = gauge("IP forwarding", default=None)
    iommu_pt: bool | None = gauge("IOMMU pass-through on the kernel command line", default=None)
    tcp_flows: int = gauge("established TCP flows", "flows", default=0)
    bulk_flows: int = gauge("bulk flows", "flows", default=0)
    max_rtt: float | None = gauge("largest RTT of a bulk flow, without queueing", "s", default=None)
    median_rtt: float | None = gauge(
        "median RTT of the bulk flows, without queueing", "s", default=None
    )
    max_bdp: float | None = gauge(
        "largest bandwidth-delay product of a flow", "bytes", default=None
    )
    max_speed: float | None = gauge("fastest physical link", "bit/s", default=None)
    captures: int = gauge("packet sockets", "sockets", default=0)
    tunnels: int = gauge(
        "tunnel interfaces without TUN/TAP: VXLAN, Geneve, GRE …", "interfaces", default=0
    )
    legacy: tuple[str, ...] = gauge(
        "harmful lines in sysctl files, as file:line key=value", default=()
    )
    rps_flow_entries: int | None = gauge("rps_sock_flow_entries", "flows", default=None)
    nettop_cpu: float | None = gauge("CPU use of nettop", "%", default=None)
    nettop_on_irq_cpu: bool | None = gauge("nettop on an interrupt CPU of a NIC", default=None)
    manual_affinity: bool | None = gauge("manual interrupt affinity of a NIC", default=None)
    receive_bdp: float | None = gauge(
        "largest rate × minimum RTT of a flow received with a buffer at the tcp_rmem maximum",
        "bytes",
        default=None,
    )
    send_bdp: float | None = gauge(
        "largest bandwidth-delay product of a bulk flow sent from here", "bytes", default=None
    )
    worst_sndbuf_limited: float | None = gauge(
        "largest share of busy time limited by the send buffer, of all bulk flows",
        "ratio",
        default=None,
    )
    max_mtu: int | None = gauge("largest MTU of a physical link", "bytes", default=None)
    ring_drops: float | None = gauge(
        "packets dropped, receive rings of all NICs", "packets/s", default=None
    )
    ring_drop_nodes: tuple[int, ...] = gauge(
        "NUMA nodes of the NICs whose receive rings drop packets", default=()
    )
    flow_limited: float | None = gauge(
        "packets dropped by the flow limit, all CPUs", "packets/s", default=None
    )
    syn_cookies: float | None = gauge("SYN cookies sent, SYN queue full", "events/s", default=None)
    syn_drops: float | None = gauge("SYNs dropped, SYN queue full", "events/s", default=None)
    time_wait_overflows: float | None = gauge(
        "sockets closed without TIME_WAIT, too many of them", "events/s", default=None
    )
    reverse_path_drops: float | None = gauge(
        "packets dropped, reverse path filter", "packets/s", default=None
    )
    rcv_pruned: float | None = gauge(
        "packets dropped, receive buffer of the socket full", "packets/s", default=None
    )
    udp_memory_errors: float | None = gauge(
        "datagrams dropped, UDP memory limit", "packets/s", default=None
    )
    ip_forwarded: float | None = gauge("IP packets forwarded", "packets/s", default=None)
    tcp_checksum_errors: float | None = gauge(
        "TCP segments with a wrong checksum", "segments/s", default=None
    )
    udp_checksum_errors: float | None = gauge(
        "datagrams with a wrong checksum", "packets/s", default=None
    )
    udp_errors: float | None = gauge(
        "datagrams not delivered to their socket", "packets/s", default=None
    )
    ip_in: float | None = gauge("IP packets received", "packets/s", default=None)
    ip_wire: float | None = gauge(
        "IP packets received; each of a merged packet counts", "packets/s", default=None
    )
    ip_no_routes: float | None = gauge("IP packets received, no route", "packets/s", default=None)
    ip_foreign: float | None = gauge(
        "IP packets received for another host", "packets/s", default=None
    )
    ip_vanished: float | None = gauge(
        "IP packets received that no counter explains", "packets/s", default=None
    )
    ip_unsent: float | None = gauge(
        "IP packets to forward that no interface got", "packets/s", default=None
    )
    silent_drops: tuple[str, ...] = gauge(
        "rules and policies of nf_tables that drop without a counter, as family/table/chain/handle",
        default=(),
    )
    drops_told: bool = gauge("the kernel gives the reasons of its drops now", default=False)
    beyond_ip: float | None = gauge(
        "packets received where XDP is generic, minus all that IP received",
        "packets",
        default=None,
    )
    udp_unasked: float | None = gauge(
        "broadcast and multicast datagrams that no socket takes", "packets/s", default=None
    )
    syn_retrans: float | None = gauge("SYN segments sent again", "segments/s", default=None)
    tcp_resets: float | None = gauge("TCP resets sent", "segments/s", default=None)
    tcp_aborts: float | None = gauge(
        "connections aborted by this host", "connections/s", default=None
    )
    tcp_cut: float | None = gauge(
        "connections that this host ended by a reset with data left",
        "connections/s",
        default=None,
    )
    tcp_given_up: float | None = gauge(
        "connections ended without an answer", "connections/s", default=None
    )
    tcp_silent: float | None = gauge(
        "handshakes without data, for a listener with TCP_DEFER_ACCEPT", "events/s", default=None
    )
    ip_no_way_out: float | None = gauge(
        "IP packets not sent, no route; of IPv6 with a global address only",
        "packets/s",
        default=None,
    )
    ip_header_errors: float | None = gauge(
        "IP packets received with a wrong header or an expired TTL", "packets/s", default=None
    )
    ip_expired: float | None = gauge("ICMP messages sent: time exceeded", "packets/s", default=None)
    duplicates: tuple[str, ...] = gauge(
        "IPv6 addresses that another host has, as address@interface", default=()
    )
    rivals: tuple[str, ...] = gauge(
        "neighbours with two hardware addresses in turn, as address@interface (both)", default=()
    )
    icmp_filtered: int = gauge(
        "ICMP messages that the packet filter of this host dropped", "packets", default=0
    )
    answers_from_another: tuple[str, ...] = gauge(
        "UDP ports open on all addresses, and addresses that are no first choice as source, while "
        "ICMP messages come",
        default=(),
    )
    conntrack_failures: float | None = gauge(
        "connection tracking entries not inserted", "entries/s", default=None
    )
    frag_waiting: int | None = gauge(
        "packets that wait for the rest of their fragments", "packets", default=None
    )
    frag_memory: int | None = gauge(
        "memory of the fragments that wait, of IPv4", "bytes", default=None
    )
    tcp_failed: float | None = gauge(
        "connections refused, or given up, before they were open", "connections/s", default=None
    )
    tcp_twice: float | None = gauge(
        "TCP segments received a second time (DSACK)", "segments/s", default=None
    )
    tcp_unsigned: float | None = gauge(
        "TCP segments dropped, MD5 or TCP-AO signature absent or wrong", "segments/s", default=None
    )
    ip_unreachable: float | None = gauge(
        "ICMP messages received: destination unreachable", "packets/s", default=None
    )


KIND = Kind(
    HostFact, "hosts", name="host", key=lambda _host: "host", target=lambda _host: "host",
    example={"name": "host"},
)  # fmt: skip
