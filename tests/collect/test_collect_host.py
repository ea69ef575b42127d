"""Sysctls, the kernel, and all of these collectors on this machine."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from host_files import host

from nettop import config
from nettop.collect import kernel, sysctls, topology
from nettop.collect import names as collector_names
from nettop.host.recording import Record, Replay
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler

MINE = ("irqs", "kernel", "netclass", "processes", "queues", "sysctls", "topology")


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
