"""Topology, the places of interrupts, queues and interfaces."""

import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from host_files import Counting, host

from nettop.collect import irqs, netclass, queues, topology
from nettop.collect._table import Memory
from nettop.host.recording import Replay
from nettop.terms import cpulist

SAMPLES = os.environ.get("NETTOP_SAMPLES", "")


def machine(packages: int, cores: int, threads: int, offline: tuple[int, ...] = ()) -> str:
    """An archive of a host whose second threads come after all first ones, as on x86."""
    total = packages * cores * threads
    all_cpus = set(range(total))
    online = all_cpus - set(offline)
    base = "/sys/devices/system/cpu"
    out = ["c", f"-- {base}/online --", cpulist.text(online), f"-- {base}/present --"]
    out += [cpulist.text(all_cpus)]
    for package in range(packages):
        of_package = {
            cpu for cpu in all_cpus if cpu % (packages * cores) // cores == package
        } & online
        out += [f"-- /sys/devices/system/node/node{package}/cpulist --", cpulist.text(of_package)]
        for cpu in of_package:
            core = {
                cpu % (packages * cores) + n * packages * cores for n in range(threads)
            } & online
            here = f"-- {base}/cpu{cpu}"
            out += [f"{here}/topology/physical_package_id --", str(package)]
            out += [f"{here}/topology/core_id --", str(cpu % cores)]
            out += [f"{here}/topology/thread_siblings_list --", cpulist.text(core)]
            out += [f"{here}/topology/core_siblings_list --", cpulist.text(of_package)]
            for index, (level, kind, share) in enumerate(
                [(1, "Data", core), (1, "Instruction", core), (2, "Unified", core),
                 (3, "Unified", of_package)]
            ):  # fmt: skip
                cache = f"{here}/cache/index{index}"
                out += [f"{cache}/level --", str(level), f"{cache}/type --", kind]
                out += [f"{cache}/shared_cpu_list --", cpulist.text(share)]
    return "\n".join(out) + "\n"


def test_two_sockets_with_threads_and_an_offline_cpu() -> None:
    rows = {row.cpu: row for row in topology.update(Replay(machine(2, 4, 2, offline=(5,))), {})}
    assert len(rows) == 16
    assert not rows[5].online
    assert rows[5].siblings is None
    assert (rows[0].package, rows[0].core, rows[0].node) == (0, 0, 0)
    assert rows[0].siblings == (0, 8)
    assert rows[0].l2 == (0, 8)
    assert rows[0].l3 == (0, 1, 2, 3, 8, 9, 10, 11)
    assert rows[13].siblings == (13,)
    assert (rows[7].package, rows[7].node) == (1, 1)


def test_a_thousand_cpus_cost_a_few_files_each_and_then_one() -> None:
    source, memory = Counting(machine(8, 72, 2)), Memory()
    rows = topology.update(source, memory)
    assert len(rows) == 1152
    assert source.asked < 2 * 1152
    before = source.asked
    assert topology.update(source, memory) is rows
    assert source.asked == before + 1


def test_a_host_without_caches_nodes_or_packages() -> None:
    rows = topology.update(host({"/sys/devices/system/cpu/online": "0,3"}), {})
    assert rows == [topology.Row(0, online=True), topology.Row(3, online=True)]
    with pytest.raises(FileNotFoundError):
        topology.update(host({"/proc/stat": ""}), {})


@pytest.mark.skipif(not SAMPLES, reason="NETTOP_SAMPLES names no folder of real hosts' files")
def test_topology_of_real_hosts_as_lscpu_told_it() -> None:
    checked = 0
    for told in sorted(Path(SAMPLES, "util-linux").glob("lscpu-p.*")):
        name = told.name.removeprefix("lscpu-p.")
        with tarfile.open(told.with_name(f"{name}.tar.gz")) as dump:
            files = {
                member.name.removeprefix(name): dump.extractfile(member).read().decode()  # type: ignore[union-attr]
                for member in dump
                if member.isfile() and "/sys/devices/system/" in member.name
            }
        # a summary, then the table, then the table again with the machine's own numbers
        header, _, table = told.read_text().partition("# CPU,")[2].partition("\n")
        columns = ["CPU", *header.split(",")]
        right = [line.split(",") for line in table.partition("#")[0].splitlines() if line]
        rows = {r.cpu: r for r in topology.update(host(files), {}) if r.online}
        assert sorted(rows) == sorted(int(line[0]) for line in right), name
        check_groups(rows, right, columns, name)
        checked += 1
    assert checked >= 4


def check_groups(rows: dict[int, Any], right: list[list[str]], columns: list[str], of: str) -> None:
    """CPUs that lscpu puts together are together here; its numbers are its own."""
    fields = {"Core": "siblings", "L2": "l2", "L3": "l3"}
    if of.startswith("arm"):
        del fields["Core"]  # lscpu takes cores of one number in several clusters for one core
    for column, field in fields.items():
        place = columns.index(column) if column in columns else None
        if place is None or not all(line[place] for line in right):
            continue
        groups: dict[str, set[int]] = {}
        for line in right:
            groups.setdefault(line[place], set()).add(int(line[0]))
        for line in right:
            found = getattr(rows[int(line[0])], field)
            if found is not None:
                assert set(found) == groups[line[place]], (of, column, line[0])
    node = columns.index("Node")
    assert all(rows[int(line[0])].node == int(line[node]) for line in right if line[node]), of


def test_minus_one_is_unknown() -> None:
    files = {"/sys/devices/system/cpu/online": "0"}
    files["/sys/devices/system/cpu/cpu0/topology/physical_package_id"] = "-1"
    assert topology.update(host(files), {})[0].package is None


PCI = {
    "/proc/irq/30/smp_affinity_list": "0-7",
    "/proc/irq/31/smp_affinity_list": "0-7",
    "/proc/irq/31/effective_affinity_list": "5",
    "/proc/irq/31/affinity_hint": "00000010,00000000,00000000,00000000",
    "/proc/irq/31/node": "1",
    "/proc/irq/default_smp_affinity": "ff",
    "/sys/class/net/eth0/device@": "../../../0000:41:00.0",
    "/sys/class/net/eth0/device/msi_irqs/31": "msix",
    "/sys/class/net/lo/mtu": "65536",
}


def test_all_interrupts_when_a_device_does_not_tell_its_own() -> None:
    rows = irqs.read(host({**PCI, "/sys/class/net/eth1/device@": "../../vif-0"}))
    assert [(row.irq, row.nics) for row in rows] == [("30", ()), ("31", ("eth0",))]
    assert [row.irq for row in irqs.read(host({"/proc/irq/30/node": "0"}))] == ["30"]


def test_no_interrupts_where_no_interface_is_a_device() -> None:
    assert irqs.read(host({"/proc/irq/30/node": "0", "/sys/class/net/lo/mtu": "65536"})) == []


def test_virtio_interrupts_are_the_parents_and_ports_may_share_a_device() -> None:
    files = {
        "/proc/irq/38/node": "-1",
        "/proc/irq/20/node": "0",
        "/sys/class/net/eth0/device@": "../../../virtio2",
        "/sys/class/net/eth0/device/../msi_irqs/38": "msix",
        "/sys/class/net/p1/device@": "../../../0000:02:00.0",
        "/sys/class/net/p1/device/irq": "20",
        "/sys/class/net/p2/device@": "../../../0000:02:00.0",
    }
    rows = irqs.read(host(files))
    assert [(row.irq, row.device, row.nics, row.msi, row.node) for row in rows] == [
        ("20", "0000:02:00.0", ("p1", "p2"), False, 0),
        ("38", "virtio2", ("eth0",), True, None),
    ]


def test_queues_in_order_with_masks() -> None:
    q = "/sys/class/net/eth0/queues"
    files = {f"{q}/rx-{n}/rps_cpus": "0" for n in range(11)}
    files[f"{q}/rx-10/rps_cpus"] = "00000001,00000000"
    files[f"{q}/rx-10/rps_flow_cnt"] = "4096"
    files[f"{q}/tx-0/xps_cpus"] = "3"
    files["/sys/class/net/eth0/device@"] = "../x"
    files[f"{q}/tx-0/byte_queue_limits/limit"] = "2020"
    rows = queues.update(host(files), {})
    assert [row.name for row in rows] == [f"rx-{n}" for n in range(11)] + ["tx-0"]
    assert (rows[10].rps_cpus, rows[10].rps_flow_cnt) == ((32,), 4096)
    assert (rows[11].xps_cpus, rows[11].bql_limit, rows[11].xps_rxqs) == ((0, 1), 2020, None)


def test_an_interface_that_is_down_has_unknown_speed_not_zero() -> None:
    n = "/sys/class/net"
    rows = netclass.update(
        host(
            {
                f"{n}/eth0/speed": "!22 Invalid argument",
                f"{n}/eth0/uevent": "INTERFACE=eth0\nIFINDEX=2",
                f"{n}/eth0/device@": "../../../0000:41:00.0",
                f"{n}/eth0/device/numa_node": "1",
                f"{n}/eth0/device/local_cpulist": "4-7",
                f"{n}/eth0/device/uevent": "PCI_SLOT_NAME=0000:41:00.0",
                f"{n}/eth0/device/subsystem@": "../../bus/pci",
                f"{n}/eth0/device/driver@": "../../bus/pci/drivers/ice",
                f"{n}/": "bonding_masters\neth0\nvlan5",
                f"{n}/vlan5/": "lower_eth0\nuevent\nspeed",
                f"{n}/eth0/": "device\nspeed\nuevent",
                f"{n}/vlan5/uevent": "DEVTYPE=vlan\nIFINDEX=9",
                f"{n}/vlan5/speed": "25000",
            }
        ),
        {},
    )
    eth0, vlan5 = rows
    assert (eth0.speed, eth0.index, eth0.node, eth0.local_cpus) == (None, 2, 1, (4, 5, 6, 7))
    assert (eth0.bus, eth0.driver, eth0.address) == ("pci", "ice", "0000:41:00.0")
    assert (vlan5.devtype, vlan5.lower, vlan5.speed) == ("vlan", ("eth0",), 25e9)
    assert (vlan5.device, vlan5.driver, vlan5.carrier) == (None, None, None)
