"""Collectors of the host's shape: topology, interrupts' places, queues, interfaces, processes."""

import os
import re
import subprocess
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop import config
from nettop.collect import irqs, kernel, netclass, processes, queues, sysctls, topology
from nettop.collect import names as collector_names
from nettop.host.recording import Record, Replay
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler
from nettop.terms import cpulist

SAMPLES = os.environ.get("NETTOP_SAMPLES", "")
MINE = ("irqs", "kernel", "netclass", "processes", "queues", "sysctls", "topology")


def archive(files: dict[str, str]) -> str:
    return "c\n" + "".join(f"-- {name} --\n{body}\n" for name, body in files.items())


def host(files: dict[str, str]) -> Replay:
    return Replay(archive(files))


class Counting(Replay):
    """A recording that counts what is asked of it, and says which files were."""

    asked = 0

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.files: set[str] = set()

    def data(self, path: str) -> bytes:
        self.files.add(path)
        return super().data(path)

    def text(self, path: str) -> str:
        self.asked += 1
        self.files.add(path)
        return super().text(path)


# --- topology ---------------------------------------------------------------------------------


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
    source, memory = Counting(machine(8, 72, 2)), dict[str, Any]()
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
def test_topology_of_real_hosts_as_lscpu_told_it(tmp_path: Path) -> None:
    checked = 0
    for told in sorted(Path(SAMPLES, "util-linux").glob("lscpu-p.*")):
        name = told.name.removeprefix("lscpu-p.")
        with tarfile.open(told.with_name(f"{name}.tar.gz")) as dump:
            dump.extractall(tmp_path, filter="data")
        # a summary, then the table, then the table again with the machine's own numbers
        header, _, table = told.read_text().partition("# CPU,")[2].partition("\n")
        columns = ["CPU", *header.split(",")]
        right = [line.split(",") for line in table.partition("#")[0].splitlines() if line]
        rows = {r.cpu: r for r in topology.update(Live(str(tmp_path / name)), {}) if r.online}
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


# --- interrupts' places -----------------------------------------------------------------------

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


def test_interrupts_of_network_devices_only() -> None:
    (row,) = irqs.read(host(PCI))
    assert (row.irq, row.allowed, row.effective) == ("31", tuple(range(8)), (5,))
    assert (row.hint, row.node, row.device, row.nics, row.msi) == (
        (100,), 1, "0000:41:00.0", ("eth0",), True,
    )  # fmt: skip


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


# --- queues and interfaces --------------------------------------------------------------------


def test_queues_in_order_with_masks() -> None:
    q = "/sys/class/net/eth0/queues"
    files = {f"{q}/rx-{n}/rps_cpus": "0" for n in range(11)}
    files[f"{q}/rx-10/rps_cpus"] = "00000001,00000000"
    files[f"{q}/rx-10/rps_flow_cnt"] = "4096"
    files[f"{q}/tx-0/xps_cpus"] = "3"
    files["/sys/class/net/eth0/device@"] = "../x"
    files[f"{q}/tx-0/byte_queue_limits/limit"] = "2020"
    rows = queues.read(host(files))
    assert [row.name for row in rows] == [f"rx-{n}" for n in range(11)] + ["tx-0"]
    assert (rows[10].rps_cpus, rows[10].rps_flow_cnt) == ((32,), 4096)
    assert (rows[11].xps_cpus, rows[11].bql_limit, rows[11].xps_rxqs) == ((0, 1), 2020, None)


def test_an_interface_that_is_down_has_unknown_speed_not_zero() -> None:
    n = "/sys/class/net"
    rows = netclass.read(
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
        )
    )
    eth0, vlan5 = rows
    assert (eth0.speed, eth0.index, eth0.node, eth0.local_cpus) == (None, 2, 1, (4, 5, 6, 7))
    assert (eth0.bus, eth0.driver, eth0.address) == ("pci", "ice", "0000:41:00.0")
    assert (vlan5.devtype, vlan5.lower, vlan5.speed) == ("vlan", ("eth0",), 25e9)
    assert (vlan5.device, vlan5.driver, vlan5.carrier) == (None, None, None)


# --- processes --------------------------------------------------------------------------------


def stat(pid: int, name: str, user: int = 0, flags: int = 0x400000, threads: int = 1) -> str:
    after = f"S 1 1 1 0 -1 {flags} 0 0 0 0 {user} 5 0 0 20 -3 {threads} 0 777 0 0" + " 0" * 14
    return f"{pid} ({name}) {after} 6 0 0 0"


def test_a_name_may_hold_anything() -> None:
    row = processes.parse(stat(42, "a) (b", user=250).encode())
    assert (row.pid, row.name, row.user, row.system) == (42, "a) (b", 2.5, 0.05)
    assert (row.nice, row.threads, row.started, row.cpu) == (-3, 1, 777, 6)


def test_kernel_threads_that_move_no_packets_are_read_seldom() -> None:
    files = {
        "/proc/1/stat": stat(1, "init"),
        "/proc/2/stat": stat(2, "migration/0", flags=0x208040),
        "/proc/3/stat": stat(3, "ksoftirqd/0", flags=0x208040),
        "/proc/4/stat": stat(4, "napi/eth0-5", flags=0x208040),
    }
    memory: dict[str, Any] = {}
    rows = processes.update(host(files), memory)
    assert [(row.name, row.kernel) for row in rows] == [
        ("init", False), ("ksoftirqd/0", True), ("napi/eth0-5", True),
    ]  # fmt: skip
    del files["/proc/2/stat"]
    files["/proc/2/"] = "gone from view, still listed"
    assert len(processes.update(host(files), memory)) == 3


@pytest.mark.parametrize(
    "name", ["nfsd", "vhost-4711", "kpktgend_3", "iscsi_trx", "cifsd", "vif1.0-q0-guest"]
)
def test_kernel_threads_that_serve_the_network_are_seen(name: str) -> None:
    (row,) = processes.update(host({"/proc/9/stat": stat(9, name, flags=0x208040)}), {})
    assert (row.name, row.kernel) == (name, True)


def test_a_dull_thread_is_looked_at_again() -> None:
    files = {
        "/proc/2/stat": stat(2, "migration/0", flags=0x208040),
        "/proc/3/stat": stat(3, "ptlrpcd_00_01", flags=0x208040),
        "/proc/4/stat": stat(4, "rcu_preempt", flags=0x208040),
    }
    memory: dict[str, Any] = {}
    assert processes.update(host(files), memory) == []
    files["/proc/2/stat"] = stat(2, "iperf3")  # the thread ended, a program has its number
    files["/proc/4/stat"] = stat(4, "rcu_preempt", user=9, flags=0x208040)
    for turn in range(20):
        spent = 900 + 90 * turn
        files["/proc/3/stat"] = stat(3, "ptlrpcd_00_01", user=spent, flags=0x208040)
        rows = processes.update(host(files), memory)
    assert [(row.name, row.user) for row in rows] == [("iperf3", 0.0), ("ptlrpcd_00_01", 26.1)]
    assert len(processes.update(host(files), memory)) == 2
    for _ in range(3):
        rows = processes.update(host(files), memory)
    assert [row.name for row in rows] == ["iperf3"]  # the other rests again


def test_kworkers_rest_when_they_do_nothing() -> None:
    files = {
        f"/proc/{pid}/stat": stat(pid, f"kworker/{pid}:1", flags=0x4208060) for pid in range(64)
    }
    files["/proc/100/stat"] = stat(100, "init")
    memory: dict[str, Any] = {}
    read, rows = [], []
    for turn in range(24):
        if turn >= 8:  # one of them has work
            spent = 20 * (turn - 8)
            files["/proc/9/stat"] = stat(9, "kworker/9:1", user=spent, flags=0x4208060)
        source = Counting(archive(files))
        rows.append(processes.update(source, memory))
        read.append(len(source.files))
    assert [len(found) for found in rows[:5]] == [65, 65, 65, 1, 1]  # a short look sees them all
    assert read[1:8] == [65, 65, 65, 17, 17, 17, 17]
    assert sum(read[-4:]) == 4 * 17 + 3  # the one with work each time, not only in its turn
    assert [row.name for row in rows[13] if row.kernel] == ["kworker/9:1"]
    assert [row.pid for row in rows[-1]] == [100, 9]


def two_threads() -> dict[str, str]:
    return {
        "/proc/7/stat": stat(7, "iperf3", user=100, threads=2),
        "/proc/7/status": "Name:\tiperf3\nCpus_allowed_list:\t2-3\nThreads:\t2",
        "/proc/7/task/7/stat": stat(7, "iperf3", user=40, threads=2),
        "/proc/7/task/7/schedstat": "1 1500000000 3",
        "/proc/7/task/8/stat": stat(8, "worker", user=60, threads=2),
        "/proc/7/task/8/schedstat": "1 500000000 3",
    }


def test_the_busiest_show_their_threads() -> None:
    files = {**two_threads(), "/proc/self/stat": ""}
    rows = processes.update(host(files), {})
    assert [(row.pid, row.tid, row.name, row.thread) for row in rows] == [
        (7, 7, "iperf3", False), (7, 7, "iperf3", True), (7, 8, "worker", True),
    ]  # fmt: skip
    assert (rows[0].allowed, rows[0].waited, rows[2].waited) == ((2, 3), 2.0, 0.5)


def test_of_what_did_not_run_meanwhile_no_more_is_read() -> None:
    files = two_threads()
    memory: dict[str, Any] = {}

    def read() -> tuple[list[processes.Row], set[str]]:
        source = Counting(archive(files))
        return processes.update(source, memory), source.files

    first, paths = read()
    assert paths == {*files}
    again, paths = read()
    assert paths == {"/proc/7/stat"}
    assert all(new is old for new, old in zip(again, first, strict=True))
    files["/proc/7/stat"] = stat(7, "iperf3", user=120, threads=2)
    files["/proc/7/task/8/stat"] = stat(8, "worker", user=80, threads=2)
    files["/proc/7/task/8/schedstat"] = "2200 600000000 4"
    rows, paths = read()
    assert paths == {*files} - {"/proc/7/task/7/stat"}
    assert [row.user for row in rows] == [1.2, 0.4, 0.8]
    assert rows[1] is first[1]


def test_threads_are_read_of_the_busiest_first_and_not_without_end() -> None:
    files = {}
    for pid, user in ((7, 100), (8, 900)):
        files[f"/proc/{pid}/stat"] = stat(pid, f"p{pid}", user=user, threads=400)
        for tid in range(400):
            number = pid * 1000 + tid
            files[f"/proc/{pid}/task/{number}/stat"] = stat(number, "t", user=1)
    rows = [row for row in processes.update(host(files), {}) if row.thread]
    assert len(rows) == processes.THREADS
    assert sum(row.pid == 8 for row in rows) == 400


@given(st.binary(max_size=200) | st.text(max_size=120).map(str.encode))
def test_any_line_is_a_process_or_a_value_error(line: bytes) -> None:
    try:
        row = processes.parse(line)
    except ValueError:
        return
    assert row.pid == row.tid


def test_this_process_is_seen_with_its_threads() -> None:
    stop = threading.Event()
    helper = threading.Thread(target=stop.wait)
    helper.start()
    try:
        rows = [r for r in processes.update(Live(), {}) if r.pid == os.getpid()]
    finally:
        stop.set()
        helper.join()
    whole = next(row for row in rows if not row.thread)
    assert whole.threads is not None
    assert whole.threads >= 2
    assert {row.tid for row in rows} <= {int(t) for t in os.listdir("/proc/self/task")} | {
        row.tid for row in rows if row.thread
    }
    if whole.allowed is not None:
        assert set(whole.allowed) == os.sched_getaffinity(0)


# --- sysctls and the kernel -------------------------------------------------------------------


def test_sysctls_by_the_list_with_absent_ones_absent() -> None:
    rows = sysctls.read(
        host(
            {
                "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456",
                "/proc/sys/net/core/default_qdisc": "fq",
            }
        )
    )
    assert [(row.name, row.value) for row in rows] == [
        ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ("net.core.default_qdisc", "fq"),
    ]
    with pytest.raises(FileNotFoundError):
        sysctls.read(host({"/proc/stat": ""}))


def test_a_dot_inside_a_name_is_a_slash() -> None:
    assert sysctls.path("net.ipv4.conf.eth0/5.mtu") == "/proc/sys/net/ipv4/conf/eth0.5/mtu"
    assert len(set(sysctls.names())) == len(sysctls.names()) > 80


@pytest.mark.parametrize(
    ("vendor", "product", "virtual"),
    [
        ("QEMU", None, "qemu"),
        ("Amazon EC2", "m5.large", "amazon"),
        ("Amazon EC2", "m5.metal", None),
        ("Microsoft Corporation", "Virtual Machine", "hyperv"),
        ("Microsoft Corporation", "Surface", None),
        ("Dell Inc.", "PowerEdge R740", None),
    ],
)
def test_hypervisors_by_what_the_machine_calls_itself(
    vendor: str, product: str | None, virtual: str | None
) -> None:
    files = {"/proc/sys/kernel/osrelease": "6.1.0", "/sys/class/dmi/id/sys_vendor": vendor}
    if product is not None:
        files["/sys/class/dmi/id/product_name"] = product
    assert kernel.read(host(files))[0].virtual == virtual


@pytest.mark.parametrize(
    ("file", "text", "virtual"),
    [
        ("/sys/hypervisor/type", "xen", "xen"),
        ("/proc/cpuinfo", "processor : 0\nflags : fpu hypervisor\n\nprocessor : 1", "unnamed"),
        ("/proc/cpuinfo", "processor : 0\nflags : fpu", None),
        ("/proc/stat", "", None),
    ],
)
def test_hypervisors_by_other_signs(file: str, text: str, virtual: str | None) -> None:
    (row,) = kernel.read(host({"/proc/sys/kernel/osrelease": "6.1.0", file: text}))
    assert row.virtual == virtual


def test_a_guest_without_a_name_is_told_by_its_clock() -> None:
    clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
    files = {
        "/proc/sys/kernel/osrelease": "6.1.0",
        "/proc/cpuinfo": "flags : hypervisor",
        clocks: "tsc kvm-clock acpi_pm",
    }
    assert kernel.read(host(files))[0].virtual == "kvm"


def test_a_namespace_of_its_own_lacks_the_first_ones_parameters() -> None:
    base = {"/proc/sys/kernel/osrelease": "6.1.0"}
    core = "/proc/sys/net/core/"
    assert kernel.read(host(base))[0].container is None
    assert kernel.read(host({**base, core: "netdev_max_backlog\nsomaxconn"}))[0].container is False
    assert kernel.read(host({**base, core: "somaxconn"}))[0].container is True
    links = {"/proc/self/ns/net@": "net:[5]", "/proc/1/ns/net@": "net:[4]"}
    assert kernel.read(host({**base, **links}))[0].container is True


def test_memory_page_and_capability() -> None:
    files = {
        "/proc/sys/kernel/osrelease": "6.1.0",
        "/proc/meminfo": "MemTotal:  16 kB\n",
        "/proc/self/statm": "100 5 1",
        "/proc/self/status": "VmSize:\t    6404 kB\nCapEff:\t0000000000001000",
    }
    (row,) = kernel.read(host(files))
    assert (row.memory, row.page, row.admin) == (16384, 65536, True)


# --- this machine -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", MINE)
def test_a_recording_of_this_machine_gives_the_same_rows(name: str) -> None:
    assert name in collector_names()
    record: Any = Record(Live())
    seen = Sampler(record).take([name])
    if name in seen.missing:
        pytest.skip(seen.missing[name])
    replayed = Sampler(Replay(record.archive())).take([name])
    assert replayed.rows(name) == seen.rows(name)
    assert seen.rows(name)


@pytest.mark.parametrize("name", MINE)
def test_an_empty_root_is_an_os_error(name: str, tmp_path: Path) -> None:
    frame = Sampler(Live(str(tmp_path))).take([name])
    assert "No such file" in frame.missing[name]


def test_topology_agrees_with_lscpu() -> None:
    try:
        shown = subprocess.run(
            ["lscpu", "-p=CPU,CORE,SOCKET,NODE"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no lscpu")
    lines = [line.split(",") for line in shown.splitlines() if not line.startswith("#")]
    rows = {row.cpu: row for row in topology.update(Live(), {}) if row.online}
    assert sorted(rows) == sorted(int(line[0]) for line in lines)
    for cpu, _core, _socket, node in lines:
        if node:
            assert rows[int(cpu)].node in (int(node), None)
    for a in lines:
        for b in lines:
            siblings = rows[int(a[0])].siblings
            if siblings is not None:
                assert (int(b[0]) in siblings) == (a[1] == b[1])


def test_parameters_that_rules_name_are_read() -> None:
    text = "".join(path.read_text() for path in config.rules_folder().rglob("*.toml"))
    named = set(re.findall(r"sysctl\('([\w./-]+)'\)", text))
    assert named
    assert named <= set(sysctls.names())


def test_a_process_and_its_main_thread_are_not_mistaken_for_each_other() -> None:
    from nettop.collect.processes import Row, parse
    from nettop.frame.fields import key_of

    line = b"7 (a) S 1 1 1 0 -1 0 0 0 0 0 90 10 0 0 20 0 3 0 55" + b" 0" * 30
    assert key_of(Row)(parse(line)) != key_of(Row)(parse(line, 7))
