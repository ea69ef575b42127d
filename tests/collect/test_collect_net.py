"""Collectors of protocol sums, slots, clocks, services, and of configuration files."""

from typing import Any

import pytest
from net_files import SNMP, SOCKSTAT, UDP, host

from nettop.collect import (
    conntrack,
    cpufreq,
    cpuidle,
    iommu,
    pci,
    rdma,
    services,
    snmp,
    sockets_udp,
    sysctl_files,
    vmstat,
    xfrm,
)
from nettop.collect._table import Memory

NETSTAT = "TcpExt: ListenDrops TCPRcvQDrop NewInLinux99\nTcpExt: 5 6 1\n"


def test_figures_are_found_by_name_and_both_families_added() -> None:
    files = {
        "/proc/net/snmp": SNMP,
        "/proc/net/netstat": NETSTAT,
        "/proc/net/sockstat": SOCKSTAT,
        "/proc/net/sockstat6": "TCP6: inuse 4\nUDP6: inuse 0",
        "/proc/net/snmp6": "Udp6InDatagrams   10\nUdp6RcvbufErrors  1\nIp6InReceives 9\n"
        "Ip6FragCreates 8\nIp6OutForwDatagrams 4\nUdp6InCsumErrors 2\nIcmp6InMsgs 6",
    }
    (row,) = snmp.update(host(files), {})
    assert (row.tcp_in, row.tcp_out, row.tcp_retrans) == (100, 200, 3)
    assert (row.udp_in, row.udp_rcvbuf_errors) == (17, 3)
    assert (row.ip_in, row.frag_creates, row.ip_forwarded) == (9, 8, 4)
    assert row.udp_checksum_errors == 2
    assert (row.listen_drops, row.rcvq_drops) == (5, 6)
    assert (row.tcp_inuse, row.time_wait, row.tcp_mem_pages, row.udp_inuse) == (5, 44, 9, 3)
    assert (row.socket_backlog_drops, row.udp_sndbuf_errors) == (None, None)


def test_only_snmp_itself_is_needed() -> None:
    (row,) = snmp.update(host({"/proc/net/snmp": SNMP}), {})
    assert (row.udp_in, row.listen_drops, row.time_wait) == (7, None, None)
    with pytest.raises(ValueError, match="names without figures"):
        snmp.update(host({"/proc/net/snmp": "Tcp: InSegs\nUdp: 3\n"}), {})


def test_what_did_not_change_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"/proc/net/snmp": SNMP, "/proc/net/netstat": NETSTAT, "/proc/net/udp": UDP}
    memory: dict[str, Memory] = {"snmp": {}, "udp": {}}

    def rows() -> list[Any]:
        source = host(files)
        sums = snmp.update(source, memory["snmp"])
        return [*sums, *sockets_udp.update(source, memory["udp"])]

    before = rows()
    parsed: list[str] = []

    def told(what: str, told: Any) -> Any:
        parsed.append(what)
        return told

    monkeypatch.setattr(snmp, "row", lambda figures, **_: told("row", dict(figures)))
    monkeypatch.setattr(sockets_udp, "parse", lambda text: told("udp", [text]))
    assert all(new is old for new, old in zip(rows(), before, strict=True))
    assert parsed == []
    files["/proc/net/snmp"] = SNMP.replace(" 100 ", " 101 ")
    assert rows()[0]["Tcp.InSegs"] == 101
    assert parsed == ["row"]


NET = "/sys/class/net/eth0/device"


def test_a_slot_that_came_up_narrow() -> None:
    files = {
        f"{NET}@": "../../../0000:41:00.0",
        f"{NET}/current_link_speed": "8.0 GT/s PCIe",
        f"{NET}/current_link_width": "4",
        f"{NET}/max_link_speed": "16.0 GT/s PCIe",
        f"{NET}/max_link_width": "16",
        f"{NET}/aer_dev_correctable": "RxErr 3\nBadTLP 2\nTOTAL_ERR_COR 5",
        f"{NET}/aer_dev_fatal": "Undefined 0\nTOTAL_ERR_FATAL 0",
        f"{NET}/aer_dev_nonfatal": "TOTAL_ERR_NONFATAL 1",
        f"{NET}/link/l1_aspm": "1",
        f"{NET}/iommu_group@": "../../../../kernel/iommu_groups/17",
        f"{NET}/iommu_group/type": "DMA-FQ",
        "/sys/class/net/lo/mtu": "65536",
    }
    (row,) = pci.read(host(files))
    assert (row.speed, row.width, row.max_speed, row.max_width) == (8.0, 4, 16.0, 16)
    assert (row.aer_correctable, row.aer_fatal, row.aspm_l1) == (5, 1, True)
    files[f"{NET}/link/l1_aspm"] = "0"
    assert pci.read(host(files))[0].aspm_l1 is False
    del files[f"{NET}/link/l1_aspm"]
    assert pci.read(host(files))[0].aspm_l1 is None
    assert iommu.read(host(files)) == [iommu.Row("eth0", 17, "DMA-FQ")]


def test_unknown_speed_is_unknown_and_virtio_stands_in_its_parents_slot() -> None:
    files = {
        f"{NET}@": "../../../virtio2",
        f"{NET}/../current_link_speed": "Unknown",
        f"{NET}/../current_link_width": "255",
    }
    assert pci.read(host(files)) == [pci.Row("eth0", folder=f"{NET}/..")]
    assert iommu.read(host(files)) == [iommu.Row("eth0")]
    assert pci.rate("2.5 GT/s PCIe") == 2.5


def test_drops_of_ipsec_are_the_counters_that_are_not_zero() -> None:
    text = "XfrmInError             \t0\nXfrmInStateSeqError     \t512\nXfrmOutNoStates \t7\n"
    rows = xfrm.read(host({"/proc/net/xfrm_stat": text}))
    assert rows == [xfrm.Row("XfrmInStateSeqError", 512), xfrm.Row("XfrmOutNoStates", 7)]
    for strange in ("XfrmInError\n", "XfrmInError x\n", "XfrmInError 1 2\n"):
        with pytest.raises(ValueError, match=r".+"):
            xfrm.read(host({"/proc/net/xfrm_stat": strange}))


def test_clocks_of_a_policy_with_two_cpus() -> None:
    p = "/sys/devices/system/cpu/cpufreq/policy0"
    rows = cpufreq.read(
        host(
            {
                f"{p}/affected_cpus": "0 32",
                f"{p}/scaling_governor": "powersave",
                f"{p}/cpuinfo_max_freq": "3500000",
                f"{p}/scaling_cur_freq": "800000",
            }
        )
    )
    assert [(r.cpu, r.governor, r.frequency, r.max_frequency, r.epp) for r in rows] == [
        (0, "powersave", 8e8, 3.5e9, None),
        (32, "powersave", 8e8, 3.5e9, None),
    ]


def test_time_in_deep_states() -> None:
    c = "/sys/devices/system/cpu/cpu0/cpuidle"
    files = {"/sys/devices/system/cpu/online": "0"}
    for number, (name, wake, spent, off) in enumerate(
        [("POLL", 0, 5, 0), ("C1", 2, 7, 0), ("C1E", 10, 9, 0), ("C6", 133, 4000000, 0),
         ("C10", 890, 1000000, 1)]
    ):  # fmt: skip
        files |= {
            f"{c}/state{number}/name": name,
            f"{c}/state{number}/latency": str(wake),
            f"{c}/state{number}/time": str(spent),
            f"{c}/state{number}/disable": str(off),
        }
    memory: Memory = {}
    (row,) = cpuidle.update(host(files), memory)
    assert (row.deep, row.deepest, row.latency) == (5.0, "C6", 133e-6)
    assert cpuidle.update(host(files), memory) == [row]


def test_conntrack_sums_its_cpus_in_hexadecimal() -> None:
    base = "/proc/sys/net/netfilter/nf_conntrack_"
    stat = (
        "entries  drop early_drop insert_failed invalid\n"
        "0000000a 00000010 1 0 00000036\n0000000a 1 0 0 1\n"
    )
    (row,) = conntrack.read(
        host({base + "count": "10", base + "max": "100", "/proc/net/stat/nf_conntrack": stat})
    )
    assert (row.count, row.most, row.buckets) == (10, 100, None)
    assert (row.drops, row.early_drops, row.failures, row.invalid) == (17, 1, 0, 55)
    with pytest.raises(ValueError, match="no number"):
        conntrack.read(host({base + "count": "x"}))


def test_rdma_counts_words_of_four_bytes() -> None:
    d = "/sys/class/infiniband/mlx5_0"
    files = {
        f"{d}/ports/1/counters/port_rcv_data": "25",
        f"{d}/ports/1/state": "4: ACTIVE",
        f"{d}/ports/1/gid_attrs/ndevs/0": "eth0",
    }
    (row,) = rdma.read(host(files))
    assert (row.device, row.port, row.nic, row.state, row.rx_bytes, row.tx_bytes) == (
        "mlx5_0", 1, "eth0", "ACTIVE", 100, None,
    )  # fmt: skip
    assert rdma.read(host({"/sys/class/net/lo/mtu": "1"})) == []


def test_services_by_command_name_and_files() -> None:
    files = {
        "/proc/2/comm": "kthreadd",
        "/proc/50/comm": "irqbalance",
        "/proc/50/cmdline": "/usr/sbin/irqbalance\0--banirq=33\0",
        "/etc/default/irqbalance": "#x\nIRQBALANCE_BANNED_CPULIST=0-3",
        "/proc/51/comm": "systemd-network",
        "/etc/tuned/active_profile": "network-latency",
    }
    rows = {row.name: row for row in services.update(host(files), {})}
    assert rows["irqbalance"].detail == "--banirq=33 IRQBALANCE_BANNED_CPULIST=0-3"
    assert (rows["networkd"].running, rows["networkd"].pid) == (True, 51)
    assert (rows["tuned"].running, rows["tuned"].detail) == (False, "network-latency")
    del files["/proc/2/comm"]
    inside = {row.name: row.running for row in services.update(host(files), {})}
    assert (inside["irqbalance"], inside["tuned"]) == (True, None)


def test_host_sums() -> None:
    row = vmstat.parse("cpu 1 2\ncpu0 1\nintr 99 1 2\nctxt 7\nprocs_running 3\n", "numa_miss 4\n")
    assert (row.interrupts, row.switches, row.running, row.numa_miss) == (99, 7, 3, 4)
    assert (row.softirqs, row.numa_hit) == (None, None)


def test_sysctl_files_in_order_masked_and_overridden() -> None:
    files = {
        "/etc/": "sysctl.conf\nsysctl.d",
        "/usr/lib/sysctl.d/50-a.conf": "net.ipv4.tcp_sack = 1\nnet.core.somaxconn=1",
        "/etc/sysctl.d/50-a.conf": "\n\n# x\n-net/ipv4/tcp_sack =  0\n",
        "/usr/lib/sysctl.d/10-b.conf": "net/ipv4/conf/eth0.5/mtu = 1\n;net.x=1\nnovalue\n",
        "/etc/sysctl.d/readme": "a=1",
        "/etc/sysctl.conf": "net.ipv4.tcp_rmem = 4096\t131072   6291456\nnet.ipv4.tcp_sack=1\n",
    }
    rows = sysctl_files.read(host(files))
    assert [(row.file, row.line, row.key, row.value, row.wins) for row in rows] == [
        ("/usr/lib/sysctl.d/10-b.conf", 1, "net.ipv4.conf.eth0/5.mtu", "1", True),
        ("/etc/sysctl.d/50-a.conf", 4, "net.ipv4.tcp_sack", "0", False),
        ("/etc/sysctl.conf", 1, "net.ipv4.tcp_rmem", "4096 131072 6291456", True),
        ("/etc/sysctl.conf", 2, "net.ipv4.tcp_sack", "1", True),
    ]


def test_sysctl_conf_by_a_link_is_read_once() -> None:
    files = {
        "/etc/": "sysctl.conf\nsysctl.d",
        "/etc/sysctl.d/99-sysctl.conf": "a.b = 1",
        "/etc/sysctl.d/99-sysctl.conf@": "../sysctl.conf",
        "/etc/sysctl.conf": "a.b = 1",
    }
    assert [row.file for row in sysctl_files.read(host(files))] == ["/etc/sysctl.d/99-sysctl.conf"]
