"""One host with every table that facts are built from, at any second; every part of it is varied.

Two nodes of four CPUs; a 10 Gb/s card with four queues that sends and receives, a bond of two ports
of one card, a VLAN, a bridge with a veth, a tunnel, captures, and another network namespace.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from nettop import collect
from nettop.facts import Facts
from nettop.facts.joined import Joiner
from nettop.frame.fields import type_of
from nettop.frame.pairs import entries
from nettop.frame.rates import Frame

KEY = bytes(range(1, 41)).hex(":")
_PLAIN = {"str": "", "int": 0, "float": 0.0, "bool": False}
SECONDS = 2  # of moments: rates need two

# rows that stay as they are; the fields left out are unknown, zero or empty
STILL: dict[str, list[dict[str, Any]]] = {
    "kernel": [{"release": "6.12.3-amd64", "hostname": "h", "cmdline": "quiet isolcpus=7",
                "memory": 2**36, "page": 4096, "virtual": "none", "container": False,
                "admin": True}],
    "topology": [{"cpu": n, "online": True, "package": n // 4, "core": n // 2, "node": n // 4,
                  "siblings": (n // 2 * 2, n // 2 * 2 + 1), "l2": (n // 2 * 2, n // 2 * 2 + 1),
                  "l3": tuple(range(n // 4 * 4, n // 4 * 4 + 4))} for n in range(8)],
    "isolation": [{"isolated": (7,), "tickless": (7,)}],
    "links": [
        {"interface": "lo", "index": 1, "type": 772, "loopback": True, "up": True, "mtu": 65536},
        {"interface": "eth0", "index": 2, "type": 1, "up": True, "carrier": True, "mtu": 1500,
         "max_mtu": 9600, "txqueuelen": 1000, "parent": "0000:41:00.0", "bus": "pci",
         "promiscuity": 0, "rx_queues": 8, "tx_queues": 8, "gso_max_size": 65536,
         "gro_max_size": 65536, "tso_max_size": 131072, "address": "02:00:00:00:00:01"},
        {"interface": "eth1", "index": 3, "type": 1, "up": True, "carrier": True, "mtu": 9000,
         "parent": "0000:81:00.0", "bus": "pci", "master": "bond0", "slave_kind": "bond"},
        {"interface": "eth2", "index": 4, "type": 1, "up": True, "carrier": True, "mtu": 9000,
         "parent": "0000:81:00.1", "bus": "pci", "master": "bond0", "slave_kind": "bond"},
        {"interface": "bond0", "index": 5, "type": 1, "kind": "bond", "up": True, "carrier": True,
         "mtu": 9000},
        {"interface": "bond0.5", "index": 6, "type": 1, "kind": "vlan", "up": True,
         "link": "bond0", "vlan": 5, "mtu": 9000},
        {"interface": "br0", "index": 7, "type": 1, "kind": "bridge", "up": True, "mtu": 1500},
        {"interface": "veth0", "index": 8, "type": 1, "kind": "veth", "up": True, "master": "br0",
         "slave_kind": "bridge", "link_netns": 0, "mtu": 1500},
        {"interface": "vxlan0", "index": 9, "type": 1, "kind": "vxlan", "up": True,
         "link": "eth0", "mtu": 1450},
        {"interface": "mac0", "index": 10, "type": 1, "kind": "macvlan", "up": True,
         "link": "eth0", "mtu": 1500, "promisc": True, "promiscuity": 1},
    ],
    "netclass": [
        {"name": name, "index": index, "type": 1, "device": bus, "address": bus, "node": node,
         "driver": driver, "irqs": irqs, "local_cpus": tuple(range(4 * node, 4 * node + 4)),
         "speed": 10e9, "duplex": "full", "carrier": True, "threaded": False,
         "defer_hard_irqs": 0, "gro_flush_timeout": 0, "sriov_vfs": 0}
        for name, index, bus, node, driver, irqs in (
            ("eth0", 2, "0000:41:00.0", 1, "ixgbe", ("50", "51", "52", "53")),
            ("eth1", 3, "0000:81:00.0", 0, "mlx5_core", ("60",)),
            ("eth2", 4, "0000:81:00.1", 0, "mlx5_core", ("61",)))
    ],
    "drvinfo": [{"interface": "eth0", "driver": "ixgbe", "version": "6.12.3", "firmware": "1.0",
                 "bus": "0000:41:00.0", "para": False, "arfs": True, "fcs_counted": False,
                 "dynamic_usecs": (1,), "link_ring": "rx_missed_errors"}],
    "linkmodes": [{"interface": "eth0", "speed": 10e9, "duplex": "full", "link": True,
                   "best": 25e9, "offered": 25e9, "common": 10e9}],
    "pci": [{"nic": "eth0", "speed": 8.0, "width": 4, "max_speed": 8.0, "max_width": 8,
             "aer_correctable": 0, "aer_fatal": 0, "aspm_l1": True, "usable": 31.5e9},
            {"nic": "eth1", "speed": 8.0, "width": 8, "usable": 63e9},
            {"nic": "eth2", "speed": 8.0, "width": 8, "usable": 63e9}],
    "iommu": [{"nic": "eth0", "group": 3, "type": "DMA"}],
    "rings": [{"interface": "eth0", "rx": 512, "rx_max": 4096, "tx": 512, "tx_max": 4096}],
    "coalesce": [{"interface": "eth0", "adaptive_rx": False, "rx_usecs": 1, "rx_frames": 0,
                  "tx_usecs": 0}],
    "channels": [{"interface": "eth0", "combined": 4, "combined_max": 8, "rx": 0, "tx": 0}],
    "rss": [{"interface": "eth0", "key": KEY, "table": (0, 1, 2, 3) * 32, "function": "toeplitz",
             "symmetric": False, "rings": 4, "hash_tcp4": "sdfn", "hash_udp4": "sd",
             "hash_tcp6": "sdfn", "hash_udp6": "sd"}],
    "eee": [{"interface": "eth0", "active": True, "enabled": True}],
    "fec": [{"interface": "eth0", "active": "rs", "auto": True, "modes": ("rs",)}],
    "module": [{"interface": "eth0", "kind": "SFP", "temperature": 40.0, "rx_power": -3.0}],
    "features": [{"interface": "eth0", "name": name, "on": on, "wanted": on, "fixed": False}
                 for name, on in (("rx-gro", True), ("tx-tcp-segmentation", True),
                                  ("rx-lro", False), ("rx-ntuple-filter", False))],
    "privflags": [{"interface": "eth0", "name": "legacy-rx", "on": True}],
    "ntuple": [{"interface": "eth0", "location": 1, "flow": "tcp4", "destination_port": 5001,
                "queue": 2}],
    "queues": [
        *({"nic": "eth0", "name": f"rx-{n}", "rps_cpus": (), "rps_flow_cnt": 0} for n in range(4)),
        *({"nic": "eth0", "name": f"tx-{n}", "xps_cpus": (4 + n,), "bql_limit": 90_000,
           "bql_inflight": 10_000, "tx_timeouts": 0} for n in range(4)),
    ],
    "bql": [{"nic": "eth0", "queue": f"tx-{n}", "inflight": 10_000, "limit": 90_000,
             "limit_max": 10**6} for n in range(4)],
    "irqs": [{"irq": str(50 + n), "allowed": (4 + n,), "effective": (4 + n,), "node": 1,
              "device": "0000:41:00.0", "nics": ("eth0",), "msi": True} for n in range(4)],
    "addresses": [{"interface": "eth0", "address": "10.0.0.1", "prefix": 24, "family": 4,
                   "scope": "global"},
                  {"interface": "eth0", "address": "fd00::1", "prefix": 64, "family": 6,
                   "scope": "global"}],
    "routes": [{"to": "10.0.0.0/24", "interface": "eth0", "metric": 0, "table": 254},
               {"to": "default", "interface": "eth0", "metric": 100, "table": 254,
                "gateway": "10.0.0.254", "initcwnd": 10, "mtu": 1400}],
    "sysctls": [{"name": name, "value": value} for name, value in (
        ("net.ipv4.tcp_rmem", "4096 131072 6291456"), ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
        ("net.core.netdev_max_backlog", "1000"), ("net.core.somaxconn", "4096"),
        ("net.ipv4.ip_forward", "0"), ("net.ipv4.ip_local_port_range", "32768 60999"),
        ("net.core.rps_sock_flow_entries", "0"), ("net.core.rmem_max", "212992"),
        ("net.core.wmem_max", "212992"), ("net.ipv4.tcp_adv_win_scale", "1"),
        ("net.ipv4.neigh.default.gc_thresh3", "1024"), ("net.core.netdev_budget", "300"))],
    "services": [{"name": "irqbalance", "running": True, "pid": 400},
                 {"name": "tuned", "running": True, "detail": "throughput-performance"},
                 {"name": "NetworkManager", "running": False}],
    "cpufreq": [{"cpu": n, "governor": "powersave", "driver": "intel_pstate", "epp": "balance",
                 "frequency": 1.2e9, "least": 8e8, "most": 3e9, "max_frequency": 3.5e9}
                for n in range(8)],
    "socket_owners": [{"inode": 101, "pid": 700, "name": "iperf3"},
                      {"inode": 102, "pid": 701, "name": "nginx"},
                      {"inode": 103, "pid": 702, "name": "dns"},
                      {"inode": 104, "pid": 703, "name": "tcpdump"},
                      {"inode": 0, "pid": None, "name": "", "closed": 2}],
    "tcp_files": [{"pid": 701, "files": 900, "limit": 1024}],
    "namespaces": [{"inode": 77, "name": "blue", "pid": 900, "processes": 2, "mounted": True}],
    "time_wait": [{"local": "10.0.0.1", "remote": "10.0.0.9", "remote_port": 443, "ports": 600}],
    "bonds": [{"interface": "bond0", "mode": "802.3ad", "policy": "layer2", "partner": True,
               "ports": 2, "outside": 1}],
    "sysctl_files": [{"file": "/etc/sysctl.conf", "line": 3, "key": "net.ipv4.tcp_rmem",
                      "value": "4096 87380 16777216", "harmful": True}],
}  # fmt: skip

_TCP = {
    "family": 4, "state": "established", "congestion": "cubic", "timestamps": True, "sack": True,
    "wscale": True, "ecn": False, "snd_wscale": 7, "rcv_wscale": 7, "app_limited": False,
    "probes": 0, "backoff": 0, "local": "10.0.0.1", "rmem_alloc": 0, "rcvbuf": 6_000_000,
    "wmem_alloc": 0, "sndbuf": 4_000_000, "wmem_queued": 600_000, "drops": 0, "mss": 1448,
    "unacked": 200, "lost": 0, "pmtu": 1500, "rtt": 4000, "min_rtt": 2000, "rttvar": 500,
    "ssthresh": 100, "cwnd": 400, "rcv_rtt": 3000, "max_pacing_rate": 2**34, "notsent": 300_000,
    "delivery_rate": 10**8, "dsack_dups": 0, "reord_seen": 0, "snd_wnd": 3_000_000,
}  # fmt: skip
_AWAY = {"notsent": 0, "unacked": 0, "wmem_queued": 0}
_ZERO = dict.fromkeys(("bytes_acked", "bytes_received", "busy_time", "rwnd_limited",
                       "sndbuf_limited", "total_retrans", "segs_out", "segs_in"), 0)  # fmt: skip
# rows with counters: what they have at a second, in which `s` is that second
MOVING: dict[str, list[dict[str, Any]]] = {
    "sockets_tcp": [
        {**_TCP, **_ZERO, "cookie": 1, "local_port": 5001, "remote": "10.0.0.2",
         "remote_port": 40001, "inode": 101, "recv_q": 0, "send_q": 300_000},
        {**_TCP, **_ZERO, **_AWAY, "cookie": 2, "local_port": 443, "remote": "10.0.1.3",
         "remote_port": 40002, "inode": 102, "recv_q": 900_000, "rmem_alloc": 1_200_000},
        {**_TCP, **_ZERO, **_AWAY, "cookie": 3, "local_port": 443, "remote": "0.0.0.0",
         "remote_port": 0, "state": "listen", "inode": 105, "recv_q": 130, "send_q": 128},
    ],
    "sockets_udp": [{"inode": 103, "local": "10.0.0.1", "local_port": 53, "remote": "0.0.0.0",
                     "remote_port": 0, "recv_q": 90_000}],
    "netns_tcp": [{**_TCP, **_ZERO, "cookie": 9, "namespace": 77, "local": "10.9.0.1",
                   "local_port": 80, "remote": "10.9.0.2", "remote_port": 50_000, "inode": 201,
                   "recv_q": 0, "send_q": 0}],
    "netns_udp": [{"namespace": 77, "inode": 202, "local": "10.9.0.1", "local_port": 53,
                   "recv_q": 4000}],
    "netns_links": [{"namespace": 77, "interface": "eth0", "index": 2}],
    "netns_qdiscs": [{"namespace": 77, "interface": "eth0", "parent": "root", "handle": "1:",
                      "kind": "tbf", "leaf": True, "addresses": ("10.9.0.1",), "backlog": 9000,
                      "rate": 1e9}],
    "packet_sockets": [{"inode": 104, "index": 2, "type": "raw", "protocol": 3, "ring_version": 3,
                        "ring_bytes": 2**22, "fanout": 1, "fanout_type": "hash"}],
    "xdp_sockets": [{"inode": 300, "index": 3, "queue": 0}],
    "interrupts": [
        *({"irq": str(50 + n), "name": f"eth0-TxRx-{n}", "chip": "PCI-MSI-X-0000:41:00.0 1-edge",
           "by_cpu": {}} for n in range(4)),
        {"irq": "60", "name": "mlx5_comp0@pci:0000:81:00.0", "chip": "PCI-MSI 2-edge",
         "by_cpu": {}},
        {"irq": "61", "name": "mlx5_comp0@pci:0000:81:00.1", "chip": "PCI-MSI 3-edge",
         "by_cpu": {}},
    ],
    "processes": [
        {"pid": 700, "tid": 700, "started": 5, "name": "iperf3", "state": "R", "cpu": 0,
         "threads": 1, "nice": 0, "allowed": tuple(range(8))},
        {"pid": 701, "tid": 701, "started": 5, "name": "nginx", "state": "S", "cpu": 4,
         "threads": 2},
        {"pid": 702, "tid": 702, "started": 5, "name": "dns", "state": "R", "cpu": 5,
         "threads": 1},
        {"pid": 703, "tid": 703, "started": 5, "name": "tcpdump", "state": "S", "cpu": 5,
         "threads": 1},
        {"pid": 40, "tid": 40, "started": 1, "name": "ksoftirqd/4", "state": "R", "cpu": 4,
         "kernel": True, "threads": 1},
    ],
    "threads": [{"pid": 700, "tid": 700, "started": 5, "name": "iperf3", "state": "R", "cpu": 0,
                 "cgroup": "cpu:/app/one", "memory_cgroup": "memory:/app/one"},
                {"pid": 701, "tid": 701, "started": 5, "name": "nginx", "state": "S", "cpu": 4}],
    "throttling": [{"cgroup": "cpu:/app", "quota": 0.8}],
    "socket_memory": [{"cgroup": "memory:/app"}],
    "cpu": [{"cpu": n} for n in range(8)],
    "cpuidle": [{"cpu": n, "deepest": "C6", "latency": 1e-4} for n in range(8)],
    "softnet": [{"cpu": n, "backlog": 0, "input_queue": 0} for n in range(8)],
    "softirqs": [{"cpu": n} for n in range(8)],
    "link_stats": [{"interface": name, "index": index} for name, index in
                   (("lo", 1), ("eth0", 2), ("eth1", 3), ("eth2", 4), ("bond0", 5))],
    "nicqueues": [{"interface": "eth0", "queue": f"{way}-{n}"} for way in ("rx", "tx")
                  for n in range(4)],
    "nicstats": [{"interface": "eth0", "driver": "ixgbe"}],
    "pause": [{"interface": "eth0", "autoneg": True, "rx": True, "tx": True}],
    "qdiscs": [{"interface": "eth0", "parent": "root", "handle": "1:", "kind": "htb", "root": True,
                "backlog": 0, "qlen": 0},
               {"interface": "eth0", "parent": "ingress", "handle": "ffff:", "kind": "ingress",
                "root": False, "backlog": 0, "qlen": 0}],
    "classes": [{"interface": "eth0", "handle": "1:1", "parent": "root", "kind": "htb",
                 "rate": 9e9, "ceiling": 9e9, "backlog": 0},
                {"interface": "eth0", "handle": "1:10", "parent": "1:1", "kind": "htb",
                 "leaf": True, "rate": 2e9, "ceiling": 3e9, "backlog": 60_000}],
    "filters": [{"interface": "eth0", "parent": "1:", "priority": 5, "handle": 1, "place": 0,
                 "kind": "flower", "action": "police", "rate": 3e8}],
    "conntrack": [{"count": 900, "most": 1000, "buckets": 250}],
    "neighbours": [{"family": "arp", "entries": 1000}],
    "nftables": [{"family": "inet", "table": "filter", "chain": "input", "rule": "7",
                  "hook": "input"}],
    "xfrm": [{"reason": "XfrmInNoStates"}],
    "rdma": [{"device": "mlx5_0", "port": 1, "nic": "eth1", "layer": "Ethernet",
              "state": "ACTIVE"}],
    "meself": [{"pid": 999, "cpu": 4, "threads": 3}],
    "snmp": [{"tcp_inuse": 3, "time_wait": 600, "tcp_mem_pages": 40}],
}  # fmt: skip
# growth of counters a second, by table and number of the row; other counters grow by one or stay
GROWTH: dict[tuple[str, int], dict[str, Any]] = {
    ("sockets_tcp", 0): {"bytes_acked": 10**8, "segs_out": 70_000, "data_segs_out": 70_000,
                         "busy_time": 900_000, "rwnd_limited": 100_000, "total_retrans": 70,
                         "sndbuf_limited": 50_000, "bytes_sent": 10**8, "segs_in": 30_000},
    ("sockets_tcp", 1): {"bytes_received": 5 * 10**7, "segs_in": 40_000, "data_segs_in": 40_000,
                         "segs_out": 20_000},
    ("sockets_tcp", 2): {"drops": 3},
    ("sockets_udp", 0): {"drops": 40},
    ("netns_tcp", 0): {"bytes_acked": 10**7, "segs_out": 7000, "busy_time": 990_000},
    ("netns_udp", 0): {"drops": 5},
    ("netns_links", 0): {"tx_bytes": 11_000_000, "tx_packets": 7000},
    ("netns_qdiscs", 0): {"bytes": 11_000_000},
    ("packet_sockets", 0): {"drops": 7},
    ("processes", 0): {"user": 0.1, "system": 0.6, "waited": 0.1},
    ("processes", 1): {"user": 0.2, "system": 0.2},
    ("processes", 2): {"user": 0.5, "system": 0.5},
    ("threads", 0): {"ran": 0.7, "waited": 0.1, "runs": 3000},
    ("threads", 1): {"ran": 0.4, "waited": 0.0, "runs": 9000},
    ("throttling", 0): {"periods": 10, "throttled": 2},
    ("link_stats", 1): {"rx_bytes": 5 * 10**7, "rx_packets": 40_000, "tx_bytes": 105_000_000,
                        "tx_packets": 75_000, "rx_missed_errors": 30, "rx_dropped": 20,
                        "rx_crc_errors": 2, "rx_length_errors": 1},
    ("link_stats", 2): {"tx_bytes": 10**6, "tx_packets": 900},
    ("link_stats", 3): {"tx_bytes": 3 * 10**6, "tx_packets": 2900},
    ("nicstats", 0): {"ring_drops": 30, "phy_errors": 2, "pause_rx": 4, "tx_stops": 5},
    ("pause", 0): {"rx_frames": 4, "tx_frames": 2},
    ("classes", 0): {"bytes": 10**8}, ("classes", 1): {"bytes": 10**8, "drops": 2},
    ("qdiscs", 0): {"bytes": 10**8, "packets": 70_000, "drops": 2, "requeues": 3},
    ("qdiscs", 1): {"drops": 4},
    ("filters", 0): {"packets": 900, "bytes": 90_000, "drops": 3},
    ("conntrack", 0): {"drops": 1, "failures": 1}, ("neighbours", 0): {"overflows": 1},
    ("nftables", 0): {"packets": 500}, ("xfrm", 0): {"packets": 2},
    ("meself", 0): {"user": 0.01, "system": 0.02},
    ("snmp", 0): {"tcp_out": 90_000, "tcp_in": 70_000, "tcp_retrans": 70, "udp_rcvbuf_errors": 40},
    ("rdma", 0): {"rx_bytes": 1000, "tx_bytes": 1000},
    **{("cpu", n): {"user": 0.1, "system": 0.2, "softirq": 0.1 * n / 7, "idle": 0.7 - 0.1 * n / 7}
       for n in range(8)},
    **{("cpuidle", n): {"deep": 0.3} for n in range(8)},
    **{("softnet", n): {"processed": 5000 * n, "squeezed": n} for n in range(8)},
    **{("nicqueues", n): {"packets": 10_000 * (n + 1), "bytes": 10**7 * (n + 1)}
       for n in range(8)},
    **{("interrupts", n): {"by_cpu": {4 + n % 4: 1000 * (n + 1)}, "total": 1000 * (n + 1)}
       for n in range(6)},
}  # fmt: skip


def declared(table: str, number: int) -> dict[str, Any]:
    """The values of a row at second 0."""
    every: dict[str, Any] = {}
    for field in collect.collector(table).Row.__dataclass_fields__.values():
        kind, optional = type_of(field)
        plain = () if kind.startswith("tuple") else _PLAIN.get(kind)
        every[field.name] = None if optional else plain
    return {**every, **(STILL.get(table) or MOVING[table])[number]}


def row(table: str, number: int, second: float, vary: Mapping[str, Any]) -> Any:
    """A row at a second; `vary` replaces values, and of counters the growth in a second."""
    kind = collect.collector(table).Row
    values = declared(table, number)
    growth = GROWTH.get((table, number), {})
    for field in kind.__dataclass_fields__.values():
        name = field.name
        if field.metadata.get("kind") not in ("counter", "vector"):
            values[name] = vary.get(name, values[name])
            continue
        grows = vary.get(name, growth.get(name, values[name] and 0))
        if isinstance(grows, Mapping):
            values[name] = {cpu: int(count * second) for cpu, count in grows.items()}
        elif grows is None:
            values[name] = None
        else:
            start = values[name] or 0
            at = start + grows * second
            values[name] = at if "float" in str(field.type) else int(at)
    return kind(**values)


Vary = Mapping[tuple[str, int], Mapping[str, Any] | None]


@cache
def _plain(second: float) -> dict[str, Sequence[Any]]:
    every = {**STILL, **MOVING}
    return {name: [row(name, n, second, {}) for n in range(len(every[name]))] for name in every}


def tables(second: float, vary: Vary) -> dict[str, Sequence[Any]]:
    """Every table at a second; a row that `vary` maps to None is left out."""
    out = dict(_plain(second))
    for table in {table for table, _ in vary}:
        out[table] = [
            row(table, n, second, changed) if changed else same
            for n, same in enumerate(out[table])
            if (changed := vary.get((table, n), {})) is not None
        ]
    return out


def facts(vary: Vary, absent: str = "", missing: str = "") -> Facts:
    """The facts after some seconds, of the host with what varies, without the table `absent`."""
    joiner = Joiner(ssh_peer="10.0.0.2")
    past: Mapping[str, Any] = {}
    found: list[Facts] = []
    for second in range(SECONDS):
        rows = tables(float(second), vary)
        made = {name: entries(rows[name], past.get(name, ()), 1.0) for name in rows
                if name != absent}  # fmt: skip
        why = {absent: missing} if missing else {}
        found.append(joiner.build(Frame(float(second), float(second), made, why)))
        past = made
    return found[-1]
