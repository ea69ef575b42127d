"""A directory that serves as a host: four CPUs, one NIC with two queues, a process."""

from pathlib import Path

from nettop.settings import Host

FILES = {
    "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "/proc/sys/net/ipv4/tcp_congestion_control": "cubic\n",
    "/proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic bbr\n",
    "/proc/sys/net/ipv4/conf/eth0.100/rp_filter": "1\n",
    "/proc/sys/net/core/netdev_max_backlog": "1000\n",
    "/proc/sys/net/core/rmem_max": "212992\n",
    "/proc/interrupts": (
        "            CPU0       CPU1       CPU2       CPU3\n"
        "  24:          0          0          0          0  PCI-MSI 327680-edge      eth0\n"
        "  25:          1          0          0          0  PCI-MSI 327681-edge      eth0-rx-0\n"
        "  26:          0          7          0          0  PCI-MSI 327682-edge      eth0-tx-0\n"
        "  27:          0          0          0          0  PCI-MSI 1-edge      eth1-TxRx-0\n"
        " NMI:          0          0          0          0   Non-maskable interrupts\n"
    ),
    "/proc/irq/24/smp_affinity_list": "0-3\n",
    "/proc/irq/25/smp_affinity_list": "0-3\n",
    "/proc/irq/26/smp_affinity_list": "0-3\n",
    "/proc/irq/27/smp_affinity_list": "1\n",
    "/sys/devices/system/cpu/possible": "0-3\n",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors": "performance powersave\n",
    "/sys/class/net/eth0/ifindex": "2\n",
    "/sys/class/net/eth0/flags": "0x1003\n",
    "/sys/class/net/eth0/mtu": "1500\n",
    "/sys/class/net/eth0/carrier": "1\n",
    "/sys/class/net/eth0/tx_queue_len": "1000\n",
    "/sys/class/net/eth0/napi_defer_hard_irqs": "0\n",
    "/sys/class/net/eth0/gro_flush_timeout": "0\n",
    "/sys/class/net/eth0/threaded": "0\n",
    "/sys/class/net/eth0/queues/rx-0/rps_cpus": "0\n",
    "/sys/class/net/eth0/queues/rx-0/rps_flow_cnt": "0\n",
    "/sys/class/net/eth0/queues/tx-0/xps_cpus": "0\n",
    "/sys/class/net/eth0/queues/tx-0/xps_rxqs": "0\n",
    "/sys/class/net/eth0/device/msi_irqs/24": "msix\n",
    "/sys/class/net/eth0/device/msi_irqs/25": "msix\n",
    "/sys/class/net/eth0/device/msi_irqs/26": "msix\n",
    "/proc/3391/stat": "3391 (iperf3) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 4711 0 0\n",
    "/proc/3391/status": "Name:\tiperf3\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\nMems:\t1\n",
    "/proc/3391/task/3391/status": "Name:\tiperf3\nCpus_allowed_list:\t0-3\n",
}

# every kind of setting that is a file, with a valid value
SETTINGS = {
    "sysctl.net.ipv4.tcp_rmem": "4096 131072 67108864",
    "sysctl.net.ipv4.tcp_congestion_control": "bbr",
    "sysctl.net.ipv4.conf.eth0/100.rp_filter": "2",
    "sysctl.net.core.netdev_max_backlog": "10000",
    "irq.affinity@eth0/rx-0": "2",
    "irq.affinity@eth0/irq:eth0-tx-0": "1,3",
    "irq.affinity@27": "0-1",
    "link.mtu@eth0": "9000",
    "link.txqueuelen@eth0": "10000",
    "napi.defer-hard-irqs@eth0": "2",
    "napi.gro-flush-timeout@eth0": "200000",
    "napi.threaded@eth0": "on",
    "rps.cpus@eth0/rx-0": "1-3",
    "rps.flow-cnt@eth0/rx-0": "4096",
    "xps.cpus@eth0/tx-0": "0-1",
    "xps.rxqs@eth0/tx-0": "0",
    "process.affinity@3391": "1",
    "cpufreq.governor@cpu0": "performance",
}


def make(folder: Path) -> Host:
    """Write the host below `folder`."""
    for path, text in FILES.items():
        file = folder / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Host.at(str(folder))


def contents(folder: Path) -> dict[str, str]:
    """Every file of the host."""
    return {
        str(file.relative_to(folder)): file.read_text()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
