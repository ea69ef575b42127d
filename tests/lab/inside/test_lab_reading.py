"""Facts of real drivers against ethtool, ip, ss, lscpu and the kernel's files."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.inside.kernel import connected, found, lines, see, usecs

from nettop.facts import Facts
from nettop.facts.kinds.nic import Nic
from nettop.host.source import Live
from nettop.terms.cpulist import parse
from nettop.views.observer import Observer

pytestmark = pytest.mark.topology("two-nodes")
DRIVERS = ("e1000e", "vmxnet3")
SINK = "import socket; s = socket.create_server(('', 7200)); c, _ = s.accept(); c.recv(1)"


@pytest.fixture(scope="module")
def facts() -> Iterator[Facts]:
    """Two observations while a session to the peer stands."""
    far = subprocess.Popen(["ip", "netns", "exec", "peer", sys.executable, "-c", SINK])
    session = connected(7200)
    observer = Observer(Live())
    observer.step()
    time.sleep(1)
    yield observer.step().facts
    session.close()
    far.wait(timeout=30)


def nic(facts: Facts, driver: str) -> Nic:
    name = os.environ[f"LAB_{driver.upper()}"]
    return next(one for one in facts.nics if one.name == name)


@pytest.mark.parametrize("driver", DRIVERS)
def test_rings_are_ethtools(facts: Facts, driver: str) -> None:
    one = nic(facts, driver)
    told = {way: found(rf"^{way}:\s*(\d+)", "ethtool", "-g", one.name) for way in ("RX", "TX")}
    assert [str(one.ring.rx_max), str(one.ring.rx)] == told["RX"]
    assert [str(one.ring.tx_max), str(one.ring.tx)] == told["TX"]


def test_coalescing_and_pause_are_ethtools_and_absent_where_it_has_none(facts: Facts) -> None:
    intel, vmware = nic(facts, "e1000e"), nic(facts, "vmxnet3")
    assert str(intel.coalesce.rx_usecs) == usecs(intel.name)
    for way, ours in (("RX", intel.pause.rx), ("TX", intel.pause.tx)):
        (word, *_) = found(rf"^{way}:\s*(on|off)", "ethtool", "-a", intel.name)
        assert ours == (word == "on")
    assert vmware.coalesce.rx_usecs is None
    assert vmware.pause.rx is None


@pytest.mark.parametrize("driver", DRIVERS)
def test_features_mtu_and_driver_are_ethtools(facts: Facts, driver: str) -> None:
    one = nic(facts, driver)
    assert f"driver: {driver}\n" in see("ethtool", "-i", one.name)
    (link,) = json.loads(see("ip", "-j", "-d", "link", "show", one.name))
    assert (one.mtu, one.txqueuelen) == (link["mtu"], link["txqlen"])
    told = dict(
        line.split(": ") for line in found(r"^\s*([\w-]+: (?:on|off))", "ethtool", "-k", one.name)
    )
    ours = {feature.name: feature.on for feature in one.features}
    common = {"rx-vlan-filter", "rx-gro-list", "tx-udp-segmentation", "rx-all"} & ours.keys()
    assert len(common) >= 3
    assert {name: ours[name] for name in common} == {name: told[name] == "on" for name in common}
    assert ours["rx-gro"] == (told["generic-receive-offload"] == "on")
    assert ours["rx-lro"] == (told["large-receive-offload"] == "on")


@pytest.mark.parametrize("driver", DRIVERS)
def test_counters_lie_between_two_readings_of_ip(facts: Facts, driver: str) -> None:
    name = os.environ[f"LAB_{driver.upper()}"]

    def by_ip() -> tuple[int, ...]:
        (link,) = json.loads(see("ip", "-j", "-s", "-s", "link", "show", name))
        told = link["stats64"]
        return tuple(told[way][what] for way in ("rx", "tx") for what in ("bytes", "packets"))

    before = by_ip()
    total = nic(Observer(Live()).step().facts, driver).total
    after = by_ip()
    ours = (total.rx_bytes, total.rx_packets, total.tx_bytes, total.tx_packets)
    for low, own, high in zip(before, ours, after, strict=True):
        assert own is not None
        assert low <= own <= high, (before, ours, after)


def test_cores_and_nodes_are_lscpus(facts: Facts) -> None:
    listed = see("lscpu", "-p=CPU,NODE").splitlines()
    told = {int(cpu): int(node) for cpu, _, node in
            (line.partition(",") for line in listed if line[0] != "#")}  # fmt: skip
    assert {core.cpu: core.node for core in facts.cores} == told
    for driver in DRIVERS:
        one = nic(facts, driver)
        node = int(Path(f"/sys/class/net/{one.name}/device/numa_node").read_text())
        assert one.node == (None if node < 0 else node)
    intel = nic(facts, "e1000e")
    assert set(intel.local_cpus) == {cpu for cpu, node in told.items() if node == intel.node}


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_queues_interrupt_and_its_cpus_are_the_kernels(facts: Facts, driver: str) -> None:
    name = os.environ[f"LAB_{driver.upper()}"]
    names = lines()
    received = [queue for queue in facts.queues if queue.nic == name and queue.direction == "rx"]
    assert len(received) == {"e1000e": 1, "vmxnet3": 8}[driver]
    for queue in received:
        assert queue.irq is not None
        assert names[queue.irq] == queue.irq_name
        ending = f"-rx-{queue.number}" if driver == "e1000e" else f"-rxtx-{queue.number}"
        assert names[queue.irq] == name + ending
        allowed = Path(f"/proc/irq/{queue.irq}/smp_affinity_list").read_text().strip()
        assert set(queue.allowed) == set(parse(allowed))


def test_a_session_is_what_ss_shows(facts: Facts) -> None:
    to = os.environ["LAB_E1000E_TO"]
    line = see("ss", "-Htn", "dst", f"{to}:7200").split()
    (flow,) = [one for one in facts.flows if (one.remote, one.remote_port) == (to, 7200)]
    assert line[3] == f"{flow.local}:{flow.local_port}"
    assert flow.nic == os.environ["LAB_E1000E"]
    assert flow.pid == os.getpid()
