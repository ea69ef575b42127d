"""Faults of cores, sockets, tables and settings, and the table of all faults by name."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from generated import plant_end as end
from generated import plant_kernel as kernel
from generated import plant_nic as nic
from generated import plant_sleep as sleep
from generated import plant_stack as stack
from generated.model import Flow, Host, Process

Plant = Callable[[Host, Random], None]
ANY: Final = (*nic.METAL, "ena", "gve", "virtio", "idle-server")


def squeezed(host: Host, draw: Random) -> None:
    """Polls end with work left on every core that receives, and ksoftirqd continues them."""
    port = nic.busy_port(host)
    for cpu in set(port.cpus):
        host.squeezed[cpu] = draw.uniform(300, 3000)
        host.softirq[cpu] = draw.uniform(0.6, 0.9)
        kernel_thread(host, cpu, draw.uniform(0.4, 0.8))


def backlog(host: Host, draw: Random) -> None:
    """RPS fills the backlog of some cores."""
    nic.busy_port(host).rps = f"{(1 << min(host.cpus, 31)) - 1:x}"
    for cpu in range(min(4, host.cpus)):
        host.dropped[cpu] = draw.uniform(50, 3000)
        host.softirq[cpu] = draw.uniform(0.3, 0.7)


def steal(host: Host, draw: Random) -> None:
    """The hypervisor takes a third of the cores that receive."""
    nic.busy_port(host, 0.2)
    for cpu in range(host.cpus):
        host.steal[cpu] = draw.uniform(0.15, 0.45)


def remote_memory(host: Host, draw: Random) -> None:
    """The reader runs on node 0, the card is on node 1."""
    nic.remote_node(host, draw)
    host.numa_miss = draw.uniform(5e4, 5e5)
    for process in host.processes:
        process.cpu = host.on_node(0)[0]


def powersave(host: Host, draw: Random) -> None:
    """Busy cores stay at their lowest clock."""
    host.governor, host.clock = "powersave", (800_000, 800_000, 3_000_000)
    host.needs.add("cpufreq")
    port = nic.busy_port(host)
    for cpu in set(port.cpus):
        host.softirq[cpu] = draw.uniform(0.6, 0.8)


def deep_idle(host: Host, draw: Random) -> None:
    """Cores sleep deeply on a host for latency."""
    host.needs.add("cpuidle")
    host.idle = draw.uniform(0.5, 0.8)
    _chatty(host, draw)


def _chatty(host: Host, draw: Random) -> None:
    """Requests and replies of small packets."""
    port = host.main
    port.rx_packets = port.tx_packets = draw.uniform(5e3, 6e4)
    port.rx_size = port.tx_size = 120


def no_busy_poll(host: Host, draw: Random) -> None:
    """Sockets of a host for latency wait for interrupts."""
    _chatty(host, draw)


def busy_poll(host: Host, draw: Random) -> None:
    """Sockets spin although nobody is in a hurry."""
    host.sysctls["net.core.busy_read"] = str(draw.choice((50, 100)))
    host.sysctls["net.core.busy_poll"] = "50"
    for process in host.processes:
        process.system += 0.4


def sysctl(name: str, value: str) -> Plant:
    """A parameter has a harmful value, and flows live with it."""

    def plant(host: Host, draw: Random) -> None:
        host.sysctls[name] = value
        bit = {"net.ipv4.tcp_timestamps": 1, "net.ipv4.tcp_sack": 2,
               "net.ipv4.tcp_window_scaling": 4}.get(name, 0)  # fmt: skip
        for flow in host.flows:
            flow.options &= ~bit

    return plant


def table_full(host: Host, draw: Random) -> None:
    """The table of connections is full and drops."""
    most = draw.choice((65536, 262144))
    host.conntrack = {"count": most, "max": most, "drop": draw.uniform(20, 2000),
                      "early_drop": draw.uniform(0, 500)}  # fmt: skip
    host.sysctls["net.netfilter.nf_conntrack_max"] = str(most)


def table_nearly_full(host: Host, draw: Random) -> None:
    """A router's table is nearly full."""
    most = draw.choice((65536, 262144))
    host.conntrack = {"count": most * draw.uniform(0.93, 0.98), "max": most}


def insert_failed(host: Host, draw: Random) -> None:
    """Entries are not inserted: packets of one flow race."""
    host.conntrack = {"count": 9000, "max": 262144, "insert_failed": draw.uniform(5, 200)}


def accept_queue(host: Host, draw: Random) -> None:
    """A program accepts too slowly."""
    rate = draw.uniform(5, 900)
    host.snmp |= {"TcpExt.ListenOverflows": rate, "TcpExt.ListenDrops": rate}
    listener = host.listeners[0]
    listener.backlog = draw.choice((128, 511, 4096))
    listener.waiting = listener.backlog + 1


def syn_queue(host: Host, draw: Random) -> None:
    """More SYNs arrive than the queue holds."""
    rate = draw.uniform(20, 4000)
    host.snmp |= {"TcpExt.TCPReqQFullDoCookies": rate, "TcpExt.SyncookiesSent": rate}


def _far(host: Host, draw: Random) -> Flow:
    """A bulk connection over a long path."""
    process = next(one for one in host.processes if one.inodes)
    inode = 99000
    process.inodes.append(inode)
    rtt = draw.randrange(40_000, 120_000)
    flow = Flow("198.51.100.7", 50000, 443, rtt=rtt, min_rtt=rtt - 500, busy=0.98,
                app_limited=False, pid=process.pid, inode=inode, cwnd=400)  # fmt: skip
    host.flows.append(flow)
    return flow


def receive_buffer(host: Host, draw: Random) -> None:
    """A download over a long path fills the largest buffer that tcp_rmem allows."""
    host.sysctls["net.ipv4.tcp_rmem"] = "4096\t131072\t262144"
    flow = _far(host, draw)
    flow.rcvbuf, flow.tx = 262144, 2e3
    flow.rx = 131072 / (flow.rtt / 1e6)
    flow.app_limited = True


def send_buffer(host: Host, draw: Random) -> None:
    """An upload over a long path is limited by its send buffer."""
    host.sysctls["net.ipv4.tcp_wmem"] = "4096\t16384\t262144"
    flow = _far(host, draw)
    flow.sndbuf, flow.send_q, flow.rx = 262144, 180_000, 1e3
    flow.tx = 180_000 / (flow.rtt / 1e6)
    flow.sndbuf_limited, flow.notsent = 0.9, 0


def memory_pressure(host: Host, draw: Random) -> None:
    """TCP holds more pages than tcp_mem's second value."""
    pages = [int(word) for word in host.sysctls["net.ipv4.tcp_mem"].split()]
    host.sockstat["mem"] = round(pages[1] * 1.05)
    host.snmp |= {"TcpExt.TCPMemoryPressures": draw.uniform(1.2, 9),
                  "TcpExt.PruneCalled": draw.uniform(20, 200)}  # fmt: skip


def udp_receive(host: Host, draw: Random) -> None:
    """A UDP socket overflows."""
    rate = draw.uniform(50, 9000)
    host.snmp |= {"Udp.InErrors": rate, "Udp.RcvbufErrors": rate, "Udp.InDatagrams": rate * 20}
    host.datagrams[0] = (host.datagrams[0][0], rate)


def udp_send(host: Host, draw: Random) -> None:
    """UDP senders find their buffer full."""
    host.snmp |= {"Udp.SndbufErrors": draw.uniform(50, 5000), "Udp.OutDatagrams": 1e5}


def neighbours(host: Host, draw: Random) -> None:
    """The table of neighbours is full."""
    host.neighbours = {"entries": 1024, "table_fulls": draw.uniform(5, 500)}


def ports_used(host: Host, draw: Random) -> None:
    """Nearly every local port is in use towards one service, most of them in TIME_WAIT."""
    ports = draw.randrange(2000, 6000)
    host.sysctls["net.ipv4.ip_local_port_range"] = f"32768 {32767 + ports}"
    count = round(ports * draw.uniform(0.96, 0.99))
    host.sockstat |= {"tw": count - OPEN, "inuse": OPEN + 100}
    host.waiting.append(("10.1.1.1", 5432, count - OPEN))
    host.snmp["Tcp.ActiveOpens"] = count / 60
    process = next(one for one in host.processes if one.inodes)
    for number in range(OPEN):
        host.flows.append(Flow("10.1.1.1", 32768 + number, 5432, tx=200.0, rx=200.0,
                               pid=process.pid))  # fmt: skip


def black_hole(host: Host, draw: Random) -> None:
    """Segments of full size never arrive."""
    for _ in range(2):
        flow = _far(host, draw)
        flow.remote_port = draw.randrange(2000, 60000)
        flow.tx, flow.rx, flow.cwnd, flow.lost, flow.backoff = 0.0, 0.0, 1, 1, 6
        flow.send_q, flow.retransmits, flow.busy = 200_000, 0.5, 1.0
        flow.acked = draw.randrange(200, 9000)
    host.snmp |= {"TcpExt.TCPTimeouts": 1.0, "Tcp.RetransSegs": 1.0}


def path_loss(host: Host, draw: Random) -> None:
    """One segment in fifty is lost on the way."""
    flow = _far(host, draw)
    flow.tx, flow.cwnd, flow.lost = 4e6, 40, 2
    flow.retransmits = flow.tx / flow.mss * draw.uniform(0.015, 0.03)
    host.snmp |= {"Tcp.RetransSegs": flow.retransmits, "TcpExt.TCPSackRecovery": 5,
                  "TcpExt.TCPFastRetrans": flow.retransmits}  # fmt: skip


def counted(name: str, least: float, most: float) -> Plant:
    """A counter of the protocols grows."""

    def plant(host: Host, draw: Random) -> None:
        host.snmp[name] = draw.uniform(least, most)

    return plant


def pruned(host: Host, draw: Random) -> None:
    """Received data is thrown away for want of socket memory."""
    host.snmp |= {"TcpExt.PruneCalled": draw.uniform(50, 500),
                  "TcpExt.RcvPruned": draw.uniform(20, 300),
                  "TcpExt.TCPRcvQDrop": draw.uniform(20, 300)}  # fmt: skip


def reader_slow(host: Host, draw: Random) -> None:
    """A program does not read what arrives."""
    flow = host.flows[0]
    flow.rcvbuf, flow.recv_q = 6291456, draw.randrange(2_500_000, 3_100_000)
    flow.rx, flow.app_limited = 2e6, True
    host.snmp |= {"TcpExt.TCPToZeroWindowAdv": draw.uniform(1, 20),
                  "TcpExt.TCPFromZeroWindowAdv": draw.uniform(1, 20)}  # fmt: skip
    process = next(one for one in host.processes if flow.inode in one.inodes)
    process.user = 0.9


def firewall(host: Host, draw: Random) -> None:
    """A rule drops some percent of the packets, another one a scanner's."""
    port = nic.busy_port(host, 0.2)
    rate = (port.rx_packets + port.tx_packets) * draw.uniform(0.005, 0.05)
    host.firewall = [(False, 0.3), (draw.random() < 0.5, rate)]


def kernel_thread(host: Host, cpu: int, share: float) -> None:
    """ksoftirqd of a CPU takes a share of it."""
    host.processes.append(Process(20 + cpu, f"ksoftirqd/{cpu}", cpu, 0.0, share, kernel=True))


OPEN: Final = 60  # connections of a fault that holds ports; the others wait in TIME_WAIT
_TSO: Final = ("tx-tcp-segmentation", "tx-tcp6-segmentation")
_DEVICES: Final = ("hundred-gigabit", "storage", "hypervisor", "router")
_TWO: Final = ("hundred-gigabit",)
FAULTS: Final[Mapping[str, tuple[tuple[str, ...], Plant]]] = {
    "rx-ring-full": (nic.METAL, nic.ring_full),
    "rx-ring-full-at-maximum": (nic.METAL, nic.ring_full_at_maximum),
    "port-buffer-full": (("hundred-gigabit", "storage"), nic.port_buffer_full),
    "rx-no-memory": (nic.METAL, nic.no_memory),
    "softirq-budget": (nic.METAL, squeezed),
    "backlog-drops": (("virtio", "ena", "hypervisor"), backlog),
    "one-core-takes-all-interrupts": (nic.METAL, nic.one_core),
    "one-flow-queue-hot": (nic.METAL, nic.hot_queue),
    "too-few-queues": (nic.METAL, nic.too_few),
    "single-queue-no-rps": (("virtio",), nic.single_no_rps),
    "interrupts-remote-node": (_TWO, nic.remote_node),
    "tso-off": (_DEVICES, nic.feature_off(*_TSO)),
    "tx-checksum-off": (_DEVICES, nic.feature_off("tx-checksum-ip-generic", *_TSO)),
    "rx-checksum-off": (_DEVICES, nic.feature_off("rx-checksum", receives=True)),
    "gro-off": (_DEVICES, nic.feature_off("rx-gro", receives=True)),
    "frames-too-long": (("router", "hypervisor"), nic.frames_too_long),
    "crc-errors": (nic.METAL, nic.crc),
    "fec-uncorrectable": (_TWO, nic.fec),
    "link-slow": (("idle-server", "router", "hypervisor"), nic.link_slow),
    "half-duplex": (("idle-server",), nic.half_duplex),
    "carrier-flaps": (nic.METAL, nic.flaps),
    "pcie-narrow": (_TWO, nic.pcie_narrow),
    "conntrack-full": (("router", "kubernetes"), table_full),
    "conntrack-nearly-full-router": (("router",), table_nearly_full),
    "conntrack-insert-failed": (("kubernetes",), insert_failed),
    "accept-queue-overflow": (ANY, accept_queue),
    "syn-queue-full": (ANY, syn_queue),
    "receive-buffer-small": (ANY, receive_buffer),
    "send-buffer-small": (ANY, send_buffer),
    "window-scaling-off": (ANY, sysctl("net.ipv4.tcp_window_scaling", "0")),
    "sack-off": (ANY, sysctl("net.ipv4.tcp_sack", "0")),
    "timestamps-off": (ANY, sysctl("net.ipv4.tcp_timestamps", "0")),
    "tcp-memory-pressure": (ANY, memory_pressure),
    "udp-receive-buffer": (ANY, udp_receive),
    "udp-send-buffer": (ANY, udp_send),
    "qdisc-drops": (("idle-server", "router"), nic.qdisc),
    "neighbour-table-full": (("kubernetes", "router"), neighbours),
    "ephemeral-ports-nearly-used": (ANY, ports_used),
    "steal": (("ena", "gve", "virtio"), steal),
    "cgroup-throttled": (("kubernetes", "container"), kernel.throttled),
    "remote-memory": (_TWO, remote_memory),
    "governor-powersave": (("hundred-gigabit", "storage"), powersave),
    "deep-idle-states": (("idle-server", "hundred-gigabit"), deep_idle),
    "pause-storm-received": (_DEVICES, nic.pause_received),
    "pause-sent": (_DEVICES, nic.pause_sent),
    "pfc-storm": (("hundred-gigabit",), nic.pfc),
    "firewall-drops": (ANY, firewall),
    "bond-leg-down": (("storage",), nic.bond_leg),
    "coalescing-too-long": (("hundred-gigabit", "storage", "hypervisor"), nic.coalesce_long),
    "coalescing-off": (("hundred-gigabit", "storage"), nic.coalesce_off),
    "ena-bandwidth-allowance": (("ena",), nic.allowance("bandwidth")),
    "ena-conntrack-allowance": (("ena",), nic.allowance("conntrack")),
    "ena-linklocal-allowance": (("ena",), nic.allowance("linklocal")),
    "virtio-queue-drops": (("virtio",), nic.virtio_drops),
    "xdp-drops": (("virtio",), nic.xdp_drops),
    "xdp-redirect-errors": (("hundred-gigabit",), nic.xdp_errors),
    "tx-timeout": (nic.METAL, nic.tx_timeout),
    "tx-ring-full": (("hundred-gigabit",), nic.tx_ring),
    "rps-on-many-queues": (("hundred-gigabit", "storage"), nic.rps_needless),
    "busy-poll-absent": (("idle-server", "hundred-gigabit"), no_busy_poll),
    "busy-poll-on-bulk": (("storage", "router"), busy_poll),
    "pmtu-black-hole": (ANY, black_hole),
    "loss-on-the-path": (ANY, path_loss),
    "reverse-path-filter": (("router",), counted("TcpExt.IPReversePathFilter", 20, 900)),
    "fragments-lost": (ANY, counted("Ip.ReasmFails", 20, 900)),
    "time-wait-overflow": (ANY, counted("TcpExt.TCPTimeWaitOverflow", 20, 900)),
    "tcp-queue-pruned": (ANY, pruned),
    "reader-slow": (ANY, reader_slow),
    "flow-control-one-way": (_DEVICES, nic.pause_one_way),
    "link-full": (("idle-server", "router"), nic.link_full),
    "xdp-generic": (nic.METAL, nic.xdp_generic),
    "run-queue-wait": (ANY, stack.waits),
    "shaped": (("idle-server", "router", "virtio"), nic.shaped),
    "shaper-burst-small": (("idle-server", "virtio"), nic.burst_small),
    "policed": (("router", "virtio", "hypervisor"), nic.policed),
    "out-of-files": (ANY, stack.out_of_files),
    "one-worker-stuck": (ANY, stack.one_worker_stuck),
    "ports-held-open": (ANY, stack.ports_open),
    "tunnel-mtu": (("kubernetes",), stack.tunnel_mtu),
    "tunnel-offload-off": (("kubernetes",), stack.tunnel_offload),
    "wireguard-one-core": (("router",), stack.wireguard),
    "bond-not-aggregated": (("storage",), stack.bond_alone),
    "bond-uneven": (("storage",), stack.bond_uneven),
    "isolated-interrupted": (_TWO, stack.isolated),
    "slot-shared": (("storage",), stack.slot_shared),
    "bus-errors": (_TWO, stack.bus_errors),
    "forwarding-core-full": (("router",), stack.forwarding),
    "eee-on-latency-host": (("idle-server", "raspberry-pi"), sleep.eee_latency),
    "eee-drops-the-link": (("idle-server", "raspberry-pi", "router"), sleep.eee_drops),
    "aspm-on-latency-host": (("idle-server", "hundred-gigabit", "storage"), sleep.aspm_latency),
    "aspm-overruns-the-card": (("idle-server", "router", "hypervisor"), sleep.aspm_overrun),
    "ipsec-drops": (("router", "virtio", "ena", "idle-server"), stack.ipsec),
    "veth-frames-too-long": (("kubernetes", "container"), stack.veth_long),
    "checksums-wrong": (ANY, kernel.checksums),
    "datagrams-refused": (ANY, kernel.refused),
    "bus-stalls": (_TWO, kernel.bus_stalls),
    "ipsec-one-core": (("router",), kernel.ipsec_core),
    "long-rule-chain": (("router", "hypervisor"), kernel.long_chain),
    "tun-reader-slow": (("router", "virtio", "idle-server"), kernel.tun_slow),
    "udp-memory-limit": (ANY, counted("Udp.MemErrors", 20, 900)),
    "radio-loses-frames": (("laptop",), end.radio),
    "kernel-tls-fails": ((*ANY, "kubernetes"), end.tls),
    "gaps-at-the-receiver": (ANY, end.gaps),
    "answer-never-arrives": (ANY, end.answer_lost),
    "request-in-two-parts": (ANY, end.two_parts),
    "writes-in-two-parts": (ANY, end.small_writes),
    "peer-window-small": (ANY, end.peer_window),
    "standing-queue": (ANY, end.queue_delay),
    "standing-queue-before-us": (ANY, end.queue_before_us),
    "peer-port-closed": (ANY, kernel.unreachable),
    "signatures-missing": (ANY, counted("TcpExt.TCPMD5NotFound", 2, 90)),
    "interrupts-deferred": (("idle-server", "raspberry-pi", "virtio"), kernel.deferred),
    "protocol-unknown": (ANY, counted("Ip.InUnknownProtos", 30, 4000)),
    "timestamps-old": (ANY, counted("TcpExt.PAWSEstab", 30, 900)),
    "packets-too-long-to-forward": (("router",), counted("Ip.FragFails", 30, 900)),
    "segments-held-by-the-host": (ANY, counted("TcpExt.TCPSpuriousRtxHostQueues", 15, 200)),
    "connections-refused": (ANY, end.refused),
    "segments-copied": (ANY, end.copied),
    "connection-for-each-request": (ANY, end.each_anew),
    "two-ports-in-one-network": (("router",), stack.one_network),
    "segments-small": (ANY, end.small_segments),
    "packets-unrouted": (ANY, kernel.unrouted),
    "packets-vanish": (ANY, kernel.vanishing),
    "broadcast-flood": (ANY, kernel.broadcasts),
    "socket-memory-of-cgroup": (ANY, kernel.socket_memory),
    "udp-port-closed": (ANY, counted("Udp.NoPorts", 200, 9000)),
    "receive-autotuning-off": (ANY, sysctl("net.ipv4.tcp_moderate_rcvbuf", "0")),
}  # fmt: skip
