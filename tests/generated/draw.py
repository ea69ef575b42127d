"""What sound hosts of all kinds share: settings, a card and its traffic, programs and flows."""

from random import Random
from typing import Final

from generated.cards import CARDS, slot, statistics
from generated.ioctls import MODES
from generated.model import Flow, Host, Listener, Port, Process, among, spread

KERNELS: Final = ((5, 4), (5, 10), (5, 15), (6, 1), (6, 6), (6, 8), (6, 12), (6, 18))
_SYSCTLS: Final = {
    "net.core.netdev_max_backlog": "1000", "net.core.netdev_budget": "300",
    "net.core.netdev_budget_usecs": "2000", "net.core.dev_weight": "64",
    "net.core.somaxconn": "4096", "net.core.rmem_max": "212992", "net.core.wmem_max": "212992",
    "net.core.rmem_default": "212992", "net.core.wmem_default": "212992",
    "net.core.optmem_max": "20480", "net.core.busy_poll": "0", "net.core.busy_read": "0",
    "net.core.default_qdisc": "fq_codel", "net.core.rps_sock_flow_entries": "0",
    "net.ipv4.tcp_rmem": "4096\t131072\t6291456", "net.ipv4.tcp_wmem": "4096\t16384\t4194304",
    "net.ipv4.tcp_sack": "1", "net.ipv4.tcp_timestamps": "1", "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_moderate_rcvbuf": "1", "net.ipv4.tcp_congestion_control": "cubic",
    "net.ipv4.tcp_available_congestion_control": "reno cubic", "net.ipv4.tcp_mtu_probing": "0",
    "net.ipv4.tcp_slow_start_after_idle": "1", "net.ipv4.tcp_tw_reuse": "2",
    "net.ipv4.tcp_max_syn_backlog": "1024", "net.ipv4.tcp_syncookies": "1",
    "net.ipv4.tcp_max_tw_buckets": "65536", "net.ipv4.tcp_no_metrics_save": "0",
    "net.ipv4.ip_local_port_range": "32768\t60999", "net.ipv4.ip_forward": "0",
    "net.ipv4.conf.all.rp_filter": "2", "net.ipv4.neigh.default.gc_thresh3": "1024",
    "net.ipv4.ipfrag_high_thresh": "4194304", "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_dsack": "1", "net.ipv4.tcp_retries2": "15",
    "kernel.numa_balancing": "1",
}  # fmt: skip


def settle(made: Host) -> None:
    """Give each port the statistics of its driver, after what was planted changed it."""
    for port in made.ports:
        if port.hardware:
            port.stats = {**statistics(port), **port.stats}


def bare(draw: Random, seed: str, kind: str, cpus: int, **more: object) -> Host:
    kernel = draw.choice(KERNELS)
    release = f"{kernel[0]}.{kernel[1]}.{draw.randrange(90)}-{draw.choice(('generic', 'amd64'))}"
    made = Host(f"{kind}:{seed}", kind, kernel, release, cpus)
    for name, value in more.items():
        setattr(made, name, value)
    memory = made.memory // 4  # pages; tcp_mem as tcp_init_mem() sets it
    made.sysctls = dict(_SYSCTLS)
    if kernel >= (6, 18):
        made.sysctls |= {"net.core.rmem_max": "4194304", "net.core.wmem_max": "4194304",
                         "net.ipv4.tcp_rmem": "4096\t131072\t33554432"}  # fmt: skip
    made.sysctls["net.ipv4.tcp_mem"] = f"{memory * 3 // 32}\t{memory // 8}\t{memory * 3 // 16}"
    return made


def card(
    draw: Random, made: Host, driver: str, name: str, *, queues: int = 0, load: float = 0.1,
    node: int = 0, most: int = 64,
) -> Port:  # fmt: skip
    """A port of this driver, its interrupts one a core of its node; `load` of its speed moves."""
    about = CARDS[driver]
    port = Port(name, driver=driver, bus=about.bus, node=node)
    here = [cpu for cpu in made.on_node(node) if cpu < made.half] or made.on_node(node)
    port.queues = queues or among(draw, about.queues, min(most, len(here)))
    port.cpus = [here[n % len(here)] for n in range(port.queues)]
    port.shares = spread(draw, port.queues)
    if about.speeds:
        port.speed = draw.choice(about.speeds)
        name_of = f"{port.speed}base"
        port.modes = tuple(
            mode for mode in MODES
            if mode in ("Autoneg", "Pause") or mode.startswith(name_of)
            or (port.speed <= 2500 and mode.split("base")[0] in ("10", "100", "1000")
                and int(mode.split("base")[0]) <= port.speed)
        )  # fmt: skip
        port.peer_modes = port.modes
    port.rx_size, port.tx_size = draw.randrange(500, 1400), draw.randrange(300, 1400)
    rate = (port.speed or draw.choice((2000, 5000, 10000))) * 1e6 / 8 * load
    # a core takes 300,000 packets a second and more: sound hosts stay below half of that
    most_packets = 120_000 * port.queues
    port.rx_packets = min(most_packets, rate / port.rx_size * draw.uniform(0.3, 1))
    port.tx_packets = min(most_packets, rate / port.tx_size * draw.uniform(0.3, 1))
    if about.ring:
        now, limit = about.ring
        port.ring = (now, limit, now, limit)
    if about.channels:
        port.channels = (port.queues, max(port.queues, draw.choice((port.queues, made.half, 64))))
        if about.bus in ("virtio", "vmbus") or driver in ("ena", "gve", "mana"):
            port.channels = (port.queues, port.queues)
    port.coalesce = dict(about.coalesce) if about.coalesce else None
    port.pause = {"autoneg": 0, "rx": 0, "tx": 0} if about.pause else None
    if about.pause and draw.random() < 0.3:
        port.pause = {"autoneg": 1, "rx": 1, "tx": 1}
    port.features = dict(about.features)
    if about.eee:  # most ports of copper offer it, and about half of their partners
        enabled = draw.random() < 0.8
        port.eee = (enabled and draw.random() < 0.5, enabled)
    if about.pcie:
        port.aspm = draw.choice((None, False, False, True))
        port.pcie = 2 * slot(about, port.speed or 0)
    if "fec" in about.lost:
        port.fec = (draw.uniform(0, 40), 0.0)
    port.qdisc = "mq" if port.queues > 1 else "fq_codel"
    made.ports.append(port)
    return port


def finish(draw: Random, made: Host) -> None:
    """Loopback, addresses, indexes, programs, flows and what every host counts a little."""
    made.ports.insert(0, Port("lo", mtu=65536, type=772, qdisc="noqueue", address="127.0.0.1",
                              bus="", rx_packets=50, tx_packets=50))  # fmt: skip
    for index, port in enumerate(made.ports, 1):
        port.index = index
        if not port.address and not port.master and port.kind in ("", "bond", "vlan", "bridge"):
            port.address = f"10.{index}.{draw.randrange(250)}.{draw.randrange(2, 250)}"
    pids = iter(range(700, 9000))
    made.processes += [
        Process(1, "systemd"), Process(2, "kthreadd", user=0, system=0, kernel=True),
        Process(next(pids), "sshd", cpu=draw.randrange(made.cpus)),
    ]  # fmt: skip
    main = made.main
    inode = 7000
    for name in draw.sample(("nginx", "postgres", "java", "node", "redis-server"), 2):
        process = Process(
            next(pids), name, cpu=draw.choice(made.on_node(main.node)),
            user=draw.uniform(0.02, 0.2), system=draw.uniform(0.01, 0.08),
        )  # fmt: skip
        number = draw.choice((80, 443, 5432, 6379, 8080))
        process.inodes.append(inode := inode + 1)
        made.listeners.append(Listener(number, draw.randrange(3), 4096, inode))
        subnet = main.address.rpartition(".")[0] or "10.9.9"
        for client in range(draw.randrange(2, 8)):
            process.inodes.append(inode := inode + 1)
            made.flows.append(Flow(
                f"{subnet}.{draw.randrange(2, 250)}", number, 40000 + client,
                tx=draw.uniform(1e3, 4e5), rx=draw.uniform(1e3, 2e5), rtt=draw.randrange(120, 900),
                min_rtt=110, pid=process.pid, inode=inode,
            ))  # fmt: skip
        made.processes.append(process)
    made.datagrams.append((53, 0.0))
    packets = sum(port.rx_packets for port in made.ports)
    made.snmp = {
        "Ip.InReceives": packets / 8, "Tcp.InSegs": packets / 10 + 100,
        "Tcp.OutSegs": packets / 10 + 100, "Tcp.RetransSegs": draw.uniform(0, 0.02),
        "Tcp.ActiveOpens": 2, "Tcp.PassiveOpens": 5, "Udp.InDatagrams": 60,
        "Udp.OutDatagrams": 60, "Udp.NoPorts": 0.1, "TcpExt.TCPTimeouts": 0.02,
        "IpExt.InOctets": packets * 800, **made.snmp,
    }  # fmt: skip
    made.snmp["Ip.InReceives"] += made.snmp.get("Ip.ForwDatagrams", 0.0)
    _ordinary(draw, made)
    for cpu in range(made.cpus):
        made.user.setdefault(cpu, draw.uniform(0, 0.25))
        made.squeezed.setdefault(cpu, draw.choice((0.0, 0.0, draw.uniform(0, 0.6))))


def _ordinary(draw: Random, made: Host) -> None:
    """What looks odd and is not: each of these is common on hosts that nobody complains about."""
    main = made.main
    if draw.random() < 0.3:  # a server that closes first keeps its connections in TIME_WAIT
        made.sockstat["tw"] = draw.randrange(5000, 30000)
        # and what it opened itself is spread over several others
        made.waiting = [(f"10.9.0.{number}", 443, 120) for number in range(1, 9)]
    if draw.random() < 0.4 and made.flows:  # a small transfer over a long path
        process = next(one for one in made.processes if one.inodes)
        process.inodes.append(98000)
        rate = draw.uniform(1e5, 1.6e6)
        rtt = draw.randrange(20_000, 100_000)
        flow = Flow("203.0.113.9", 51000, 443, rtt=rtt, min_rtt=rtt - 300, cwnd=300, busy=0.4,
                    pid=process.pid, inode=98000, rcvbuf=2_000_000, sndbuf=2_000_000)  # fmt: skip
        if draw.random() < 0.5:
            flow.tx = rate
        else:
            flow.rx = rate
        made.flows.append(flow)
    if draw.random() < 0.3:  # frames of unknown protocols and foreign VLANs
        main.link["rx_dropped"] = draw.uniform(0.2, 12)
    if draw.random() < 0.2:  # a VPN or an old NFS client fragments
        made.snmp |= {"Ip.FragCreates": draw.uniform(1, 60), "Ip.ReasmFails": 0.05}
    if draw.random() < 0.3:  # a quota that is met now and then, and a core that is shared a little
        process = next(one for one in made.processes if one.inodes)
        process.cgroup, process.waited = "/system.slice/app.service", draw.uniform(0, 0.06)
        made.quotas = {process.cgroup: (2.0, draw.uniform(0, 0.05))}
    if draw.random() < 0.3:
        made.snmp["TcpExt.PruneCalled"] = draw.uniform(0, 0.6)
    if draw.random() < 0.3:  # a scanner meets closed ports
        made.snmp["Tcp.OutRsts"] = draw.uniform(1, 40)
        made.firewall = [(False, draw.uniform(0.1, 30)), (True, draw.uniform(0, 3))]
    if draw.random() < 0.2:  # a policy of IPsec that blocks, and a scanner of its ports
        made.xfrm = {"XfrmOutPolBlock": draw.uniform(1, 90), "XfrmInNoPols": draw.uniform(0, 40),
                     "XfrmInNoStates": draw.uniform(0, 1)}  # fmt: skip
    for port in made.ports:
        if port.kind == "veth" and draw.random() < 0.2:  # frames that no protocol wants
            port.link["rx_dropped"] = port.rx_packets * draw.choice((0.001, 0.3, 0.9))
    if made.nodes > 1 and draw.random() < 0.3:  # irqbalance spreads a card's queues over all nodes
        for port in made.ports:
            port.cpus = [n * made.half // len(port.cpus) for n in range(len(port.cpus))]
