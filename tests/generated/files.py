"""The files of /proc and /sys of a generated host, as text by path."""

from collections.abc import Iterator
from typing import Final

from generated.cards import actions
from generated.ioctls import parent, slot
from generated.model import Host, Port, Process

_PACKET: Final = 0.9e-6  # seconds of softirq that a packet costs with GRO
_UDP: Final = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode ref pointer drops"
)
_SNMP: Final = {
    "Ip": "InReceives InHdrErrors InAddrErrors ForwDatagrams InDiscards InDelivers OutRequests "
    "ReasmTimeout ReasmReqds ReasmOKs ReasmFails FragCreates FragFails InUnknownProtos",
    "Tcp": "InSegs OutSegs RetransSegs InErrs InCsumErrors OutRsts ActiveOpens PassiveOpens "
    "AttemptFails",
    "Udp": "InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors "
    "IgnoredMulti MemErrors",
    "Icmp": "InMsgs InDestUnreachs OutMsgs OutDestUnreachs OutTimeExcds",
}
_NETSTAT: Final = {
    "TcpExt": "SyncookiesSent ListenOverflows ListenDrops TCPReqQFullDoCookies TCPReqQFullDrop "
    "TCPRcvQDrop TCPBacklogDrop TCPToZeroWindowAdv TCPFromZeroWindowAdv TCPZeroWindowDrop "
    "PruneCalled RcvPruned OfoPruned TCPRcvCollapsed TCPMemoryPressures TCPMTUPFail "
    "TCPMTUPSuccess TCPRenoRecovery TCPSackRecovery TCPSACKReorder TCPTimeouts "
    "TCPLostRetransmit TCPSpuriousRTOs TCPFastRetrans BusyPollRxPackets TCPTimeWaitOverflow "
    "IPReversePathFilter DelayedACKs TCPDSACKOldSent TCPDSACKOfoSent "
    "TCPSynRetrans PAWSEstab TCPSpuriousRtxHostQueues TCPMD5NotFound",
    "IpExt": "InNoRoutes InOctets OutOctets",
}
_GONE: Final = (
    "Ip.InHdrErrors", "Ip.InAddrErrors", "Ip.ForwDatagrams", "Ip.InDiscards", "IpExt.InNoRoutes",
    "TcpExt.IPReversePathFilter",
)  # fmt: skip
_XFRM: Final = (  # the first of the names of net/xfrm/xfrm_proc.c
    "XfrmInError XfrmInBufferError XfrmInHdrError XfrmInNoStates XfrmInStateProtoError "
    "XfrmInStateModeError XfrmInStateSeqError XfrmInStateExpired XfrmInStateMismatch "
    "XfrmInStateInvalid XfrmInTmplMismatch XfrmInNoPols XfrmInPolBlock XfrmOutNoStates "
    "XfrmOutPolBlock"
)


def still(host: Host) -> Iterator[tuple[str, str]]:
    """What does not change; a path that ends in `@` is a link."""
    yield "/proc/sys/kernel/osrelease", f"{host.release}\n"
    yield "/proc/sys/kernel/hostname", f"{host.kind}\n"
    yield "/proc/cmdline", "BOOT_IMAGE=/vmlinuz ro quiet\n"
    yield "/proc/meminfo", f"MemTotal:       {host.memory} kB\nMemFree: {host.memory // 3} kB\n"
    yield "/proc/self/status", f"Name:\tnettop\nCapEff:\t{'1ffffffffff' if host.admin else '0'}\n"
    if host.vendor:
        yield "/sys/class/dmi/id/sys_vendor", f"{host.vendor}\n"
        yield "/sys/class/dmi/id/product_name", f"{host.product}\n"
    for name, value in host.sysctls.items():
        yield "/proc/sys/" + name.replace(".", "/"), f"{value}\n"
    yield from _topology(host)
    for port in host.ports:
        yield from _interface(host, port)
    yield from host.files.items()


def _listed(cpus: list[int]) -> str:
    return ",".join(map(str, cpus)) + "\n"


def _topology(host: Host) -> Iterator[tuple[str, str]]:
    root = "/sys/devices/system/cpu"
    yield f"{root}/online", f"0-{host.cpus - 1}\n" if host.cpus > 1 else "0\n"
    yield f"{root}/present", f"0-{host.cpus - 1}\n" if host.cpus > 1 else "0\n"
    for node in range(host.nodes):
        yield f"/sys/devices/system/node/node{node}/cpulist", _listed(host.on_node(node))
    for cpu in range(host.cpus):
        here = f"{root}/cpu{cpu}"
        yield f"{here}/topology/thread_siblings_list", _listed(host.core(cpu))
        yield f"{here}/topology/core_siblings_list", _listed(host.on_node(host.node(cpu)))
        yield f"{here}/topology/physical_package_id", f"{host.node(cpu)}\n"
        yield f"{here}/topology/core_id", f"{cpu % host.half}\n"
        if "cache" not in host.absent:
            for index, level, shared in (
                (2, 2, host.core(cpu)),
                (3, 3, [n for n in range(host.cpus) if n % host.half // 8 == cpu % host.half // 8]),
            ):
                yield f"{here}/cache/index{index}/level", f"{level}\n"
                yield f"{here}/cache/index{index}/type", "Unified\n"
                yield f"{here}/cache/index{index}/shared_cpu_list", _listed(shared)
        if host.governor and "cpufreq" not in host.absent:
            now, least, most = host.clock
            policy = f"{root}/cpufreq/policy{cpu}"
            yield f"{policy}/scaling_governor", f"{host.governor}\n"
            yield f"{policy}/scaling_driver", f"{host.scaling}\n"
            for file, value in (
                ("scaling_cur_freq", now), ("scaling_min_freq", least),
                ("scaling_max_freq", most), ("cpuinfo_max_freq", most),
            ):  # fmt: skip
                yield f"{policy}/{file}", f"{value}\n"
            yield f"{policy}/affected_cpus", f"{cpu}\n"


def _interface(host: Host, port: Port) -> Iterator[tuple[str, str]]:
    here = f"/sys/class/net/{port.name}"
    flags = "0x9" if port.name == "lo" else "0x1003"
    for file, text in (
        ("type", port.type), ("mtu", port.mtu), ("flags", flags), ("tx_queue_len", 1000),
        ("operstate", "up" if port.carrier else "down"),
        ("uevent", f"INTERFACE={port.name}\nIFINDEX={port.index}"),
        ("threaded", 0), ("napi_defer_hard_irqs", 0), ("gro_flush_timeout", 0),
        ("carrier", int(port.carrier)),
    ):  # fmt: skip
        yield f"{here}/{file}", f"{text}\n"
    if port.speed is not None:
        yield f"{here}/speed", f"{port.speed if port.carrier else -1}\n"
        yield f"{here}/duplex", f"{('half', 'full')[port.duplex] if port.carrier else 'unknown'}\n"
    if port.master:
        yield f"{here}/master@", f"../{port.master}"
    for queue in range(port.queues):
        yield f"{here}/queues/rx-{queue}/rps_cpus", f"{port.rps}\n"
        yield f"{here}/queues/rx-{queue}/rps_flow_cnt", "0\n"
        yield f"{here}/queues/tx-{queue}/xps_cpus", "0\n"
    if port.hardware:
        yield from _device(host, port, f"{here}/device")


def _device(host: Host, port: Port, here: str) -> Iterator[tuple[str, str]]:
    name = parent(host, port)
    yield f"{here}@", f"../../../{name}"
    yield f"{here}/subsystem@", f"../../../../bus/{port.bus}"
    yield f"{here}/driver@", f"../../../../bus/{port.bus}/drivers/{port.driver}"
    place = f"{here}/.." if port.bus == "virtio" else here
    if port.bus in ("pci", "virtio"):
        address = slot(host, port)
        node = port.node if host.nodes > 1 else -1
        yield f"{place}/uevent", f"DRIVER={port.driver}\nPCI_SLOT_NAME={address}\n"
        yield f"{place}/numa_node", f"{node}\n"
        yield f"{place}/local_cpulist", _listed(host.on_node(port.node))
        for irq, _action, _queue in lines_of(host, port):
            yield f"{place}/msi_irqs/{irq}", "msix\n"
    if port.pcie is not None and "pci" not in host.absent:
        speed, width, fastest, widest = port.pcie
        for file, text in (
            ("current_link_speed", speed), ("current_link_width", width),
            ("max_link_speed", fastest), ("max_link_width", widest),
        ):  # fmt: skip
            yield f"{place}/{file}", f"{text}\n"
        if port.aspm is not None and host.kernel >= (5, 5):  # aspm_ctrl_attrs, drivers/pci
            yield f"{place}/link/l1_aspm", f"{int(port.aspm)}\n"
    for irq, _action, queue in lines_of(host, port):
        cpu = port.cpus[queue] if queue is not None else 0
        allowed = port.allowed if queue is not None and port.allowed else str(cpu)
        yield f"/proc/irq/{irq}/smp_affinity_list", f"{allowed}\n"
        yield f"/proc/irq/{irq}/effective_affinity_list", f"{cpu}\n"
        yield f"/proc/irq/{irq}/node", f"{port.node if host.nodes > 1 else -1}\n"


def lines_of(host: Host, port: Port) -> list[tuple[int, str, int | None]]:
    """The interrupt lines of a port: number, name, and the queue that one serves."""
    first = 40 + 200 * port.index
    names = actions(port, slot(host, port), parent(host, port))
    return [(first + n, name, queue) for n, (name, queue) in enumerate(names)]


def moving(host: Host, moment: int) -> Iterator[tuple[str, str]]:
    """What changes from moment to moment."""
    yield "/proc/interrupts", _interrupts(host, moment)
    for path, (template, rate) in host.counted.items():
        yield path, template.format(host.count(path, rate, moment))
    yield "/proc/stat", _stat(host, moment)
    yield "/proc/softirqs", _softirqs(host, moment)
    yield "/proc/net/softnet_stat", _softnet(host, moment)
    yield "/proc/net/snmp", _pairs(host, _SNMP, moment)
    yield "/proc/net/netstat", _pairs(host, _NETSTAT, moment)
    gauges = {"inuse": 40, "orphan": 0, "tw": 30, "alloc": 60, "mem": 20, **host.sockstat}
    tcp = " ".join(f"{name} {value}" for name, value in gauges.items())
    yield "/proc/net/sockstat", f"sockets: used 300\nTCP: {tcp}\nUDP: inuse 6 mem 4\n"
    rows = [_UDP]
    for place, (number, drops) in enumerate(host.datagrams):
        lost = host.count(f"udp {number}", drops, moment) if drops else 0
        queued = 208000 if drops else 0
        rows.append(
            f"{place:5}: 00000000:{number:04X} 00000000:0000 07 00000000:{queued:08X}"
            f" 00:00000000 00000000   0        0 {7000 + place} 2 0000000000000000 {lost}"
        )
    yield "/proc/net/udp", "\n".join(rows) + "\n"
    if host.xfrm:
        rows = [f"{name:<24}\t{host.count(name, host.xfrm.get(name, 0.0), moment)}"
                for name in _XFRM.split()]  # fmt: skip
        yield "/proc/net/xfrm_stat", "\n".join(rows) + "\n"
    if host.conntrack is not None:
        yield from _conntrack(host, moment)
    if host.neighbours:
        head = "entries allocs destroys hash_grows lookups hits res_failed table_fulls"
        entries = round(host.neighbours.get("entries", 40))
        fulls = host.count("table_fulls", host.neighbours.get("table_fulls", 0.0), moment)
        row = [entries, 100, 60, 3, 10000, 9000, 0, fulls]
        yield "/proc/net/stat/arp_cache", f"{head}\n{' '.join(f'{v:08x}' for v in row)}\n"
    hits, miss = host.count("numa hit", 1e4, moment), host.count("miss", host.numa_miss, moment)
    yield "/proc/vmstat", f"numa_hit {hits}\nnuma_miss {miss}\nnuma_other {miss}\n"
    if host.idle is not None and "cpuidle" not in host.absent:
        spent = round(host.idle * 1e6 * (100 + host.moments[moment]))
        for cpu in range(host.cpus):
            here = f"/sys/devices/system/cpu/cpu{cpu}/cpuidle"
            for state, (name, latency, time) in enumerate(
                (("POLL", 0, 1), ("C1", 2, spent // 9), ("C6", 133, spent))
            ):
                for file, text in (("name", name), ("latency", latency), ("time", time),
                                   ("disable", 0)):  # fmt: skip
                    yield f"{here}/state{state}/{file}", f"{text}\n"
    for port in host.ports:
        for queue in range(port.queues if port.hardware else 0):
            late = host.count(f"{port.name} timeout", port.tx_timeouts, moment) if not queue else 0
            value = late if port.tx_timeouts else 0
            yield f"/sys/class/net/{port.name}/queues/tx-{queue}/tx_timeout", f"{value}\n"
    for process in host.processes:
        yield from _process(host, process, moment)
    for group, (cores, share) in host.quotas.items():
        here = f"/sys/fs/cgroup{group}"
        periods = host.count(f"{group} periods", 10.0, moment)
        throttled = round(periods * share)
        yield f"{here}/cpu.max", f"{round(cores * 100_000)} 100000\n"
        times = {
            "usage_usec": periods * 9000, "user_usec": periods * 6000,
            "system_usec": periods * 3000, "nr_periods": periods, "nr_throttled": throttled,
            "throttled_usec": throttled * 60_000,
        }  # fmt: skip
        yield f"{here}/cpu.stat", "".join(f"{name} {value}\n" for name, value in times.items())


def _interrupts(host: Host, moment: int) -> str:
    out = ["           " + " ".join(f"CPU{n:<7}" for n in range(host.cpus))]
    for port in host.ports:
        if not port.hardware or port.bus == "vmbus":
            continue
        for irq, action, queue in lines_of(host, port):
            ticks = 3
            if queue is not None:
                share = port.shares[queue] if queue < len(port.shares) else 0.0
                rate = min(port.interrupts, (port.rx_packets + port.tx_packets) * share)
                ticks = host.count(f"irq {irq}", rate, moment)
            cpu = port.cpus[queue] if queue is not None else 0
            row = " ".join(f"{ticks if n == cpu else 0:10}" for n in range(host.cpus))
            chip = "ITS-MSI 65536 Edge" if host.arch == "arm" else (
                "PCI-MSIX-0000:00:00.0 1-edge" if host.kernel >= (6, 5) else "PCI-MSI 65536-edge"
            )  # fmt: skip
            if port.bus == "platform":
                chip = "GICv2 189 Level"
            out.append(f"{irq:>4}: {row}  {chip}  {action}")
    row = " ".join(f"{host.count(f'loc {n}', 250, moment):10}" for n in range(host.cpus))
    return "\n".join([*out, f" LOC: {row}   Local timer interrupts", " ERR:          0", ""])


def busy(host: Host, cpu: int, received: float) -> dict[str, float]:
    """Shares of the time of a CPU that takes so many packets a second."""
    soft = min(1.0, received * _PACKET + host.softirq.get(cpu, 0.0))
    steal = host.steal.get(cpu, 0.002 if host.vendor else 0.0)
    used = sum(one.user + one.system for one in host.processes if one.cpu == cpu)
    free = max(0.0, 0.99 - soft - steal)
    user = min(free * 0.7, 0.02 + host.user.get(cpu, 0.0) + used * 0.5)
    system = min(free * 0.3, 0.01 + used * 0.5)
    return {"user": user, "system": system, "softirq": soft, "steal": steal,
            "idle": max(0.0, 1 - soft - steal - user - system)}  # fmt: skip


def _stat(host: Host, moment: int) -> str:
    rows = ["cpu  0 0 0 0 0 0 0 0 0 0"]
    at = 1000 + host.moments[moment]
    for cpu, received in enumerate(host.received()):
        shares = busy(host, cpu, received)
        share = {name: round(value * at * 100) for name, value in shares.items()}
        rows.append(f"cpu{cpu} {share['user']} 0 {share['system']} {share['idle']} 0 0 "
                    f"{share['softirq']} {share['steal']} 0 0")  # fmt: skip
    counts = [host.count(name, 9000, moment) for name in ("intr", "ctxt", "softirq")]
    return "\n".join([*rows, f"intr {counts[0]}", f"ctxt {counts[1]}", "btime 1700000000",
                      "processes 4000", "procs_running 1", "procs_blocked 0",
                      f"softirq {counts[2]}", ""])  # fmt: skip


def _softirqs(host: Host, moment: int) -> str:
    out = ["                    " + " ".join(f"CPU{n}" for n in range(host.cpus))]
    for kind in ("HI", "TIMER", "NET_TX", "NET_RX", "TASKLET", "SCHED", "RCU"):
        rates = [100.0] * host.cpus
        if kind == "NET_RX":
            rates = [min(2e4, received / 8) for received in host.received()]
        ticks = (host.count(f"{kind} {n}", rate, moment, bits=32) for n, rate in enumerate(rates))
        out.append(f"{kind:>12}: " + " ".join(map(str, ticks)))
    return "\n".join(out) + "\n"


def _softnet(host: Host, moment: int) -> str:
    width = 11 if host.kernel < (5, 10) else 13 if host.kernel < (6, 4) else 15
    rows = []
    rps = any(int(port.rps.replace(",", ""), 16) for port in host.ports)
    for cpu, received in enumerate(host.received()):
        done = host.count(f"softnet {cpu}", received + 20, moment, bits=32)
        columns = [0] * 15
        columns[0] = done
        columns[1] = host.count(f"dropped {cpu}", host.dropped.get(cpu, 0.0), moment, bits=32)
        columns[2] = host.count(f"squeezed {cpu}", host.squeezed.get(cpu, 0.0), moment, bits=32)
        columns[9] = host.count(f"rps {cpu}", 900.0 if rps else 0.0, moment, bits=32)
        columns[12] = cpu
        rows.append(" ".join(f"{value:08x}" for value in columns[:width]))
    return "\n".join(rows) + "\n"


def _protocol(host: Host, name: str, moment: int) -> int:
    return host.count(name, host.snmp.get(name, 0.0), moment)


def _delivered(host: Host, moment: int) -> int:
    """Ip.InDelivers: what was received without what was forwarded or lost, to the packet."""
    come, *gone = (
        _protocol(host, name, moment) - _protocol(host, name, 0)
        for name in ("Ip.InReceives", *_GONE)
    )
    start = host.count("Ip.InDelivers", 0.0, 0)
    return start + max(0, round(come * (1 - host.vanishing)) - sum(gone))


def _pairs(host: Host, table: dict[str, str], moment: int) -> str:
    out = []
    for section, names in table.items():
        values = [
            _delivered(host, moment)
            if name == "InDelivers"
            else _protocol(host, f"{section}.{name}", moment)
            for name in names.split()
        ]
        out += [f"{section}: {names}", f"{section}: {' '.join(map(str, values))}"]
    return "\n".join(out) + "\n"


def _conntrack(host: Host, moment: int) -> Iterator[tuple[str, str]]:
    told = host.conntrack or {}
    root = "/proc/sys/net/netfilter/nf_conntrack_"
    yield f"{root}count", f"{round(told['count'])}\n"
    yield f"{root}max", f"{round(told['max'])}\n"
    yield f"{root}buckets", f"{round(told['max']) // 4}\n"
    names = "entries clashres found new invalid ignore delete insert insert_failed drop early_drop"
    row = [
        round(told["count"]) if name == "entries"
        else host.count(f"ct {name}", told.get(name, 0.0), moment, bits=32)
        for name in names.split()
    ]  # fmt: skip
    rest = [f"{row[0]:08x} " + " ".join(["00000000"] * (len(row) - 1))] * (host.cpus - 1)
    first = " ".join(f"{value:08x}" for value in row)
    yield "/proc/net/stat/nf_conntrack", "\n".join([names, first, *rest]) + "\n"


def _process(host: Host, one: Process, moment: int) -> Iterator[tuple[str, str]]:
    here = f"/proc/{one.pid}"
    at = 400 + host.moments[moment]
    user, system = round(one.user * at * 100), round(one.system * at * 100)
    flags = 0x00208040 if one.kernel else 0x00400100
    words = ["S", "1", "1", "1", "0", "-1", str(flags), "0", "0", "0", "0", str(user), str(system),
             "0", "0", "20", "0", "1", "0", str(900 + one.pid), "0", "900", *["0"] * 14,
             str(one.cpu), "0", "0", "0", "0", "0"]  # fmt: skip
    line = f"{one.pid} ({one.name}) {' '.join(words)}\n"
    yield f"{here}/stat", line
    yield f"{here}/comm", f"{one.name}\n"
    if one.inodes:
        yield f"{here}/task/{one.pid}/stat", line
        waited = round(one.waited * at * 1e9)
        yield f"{here}/task/{one.pid}/schedstat", f"{(user + system) * 10**7} {waited} 900\n"
    if moment:
        return
    if one.inodes:
        yield f"{here}/task/", f"{one.pid}\n"
        yield f"{here}/cgroup", f"0::{one.cgroup or '/'}\n"
    soft = f"Max open files            {one.nofile:<20} 1048576              files     \n"
    yield f"{here}/limits", f"Limit                     Soft Limit           Hard Limit\n{soft}"
    cpus = f"0-{host.cpus - 1}" if host.cpus > 1 else "0"
    yield f"{here}/status", f"Name:\t{one.name}\nCpus_allowed_list:\t{cpus}\n"
    yield f"{here}/fd/", "".join(f"{n}\n" for n in range(len(one.inodes)))
    for number, inode in enumerate(one.inodes):
        yield f"{here}/fd/{number}@", f"socket:[{inode}]"
