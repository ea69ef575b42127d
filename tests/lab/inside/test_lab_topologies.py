"""What differs from host to host: one core, no NUMA files, 64 cores, a bond with a VLAN on top."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.inside.kernel import Nettop, found, see

from nettop.cli import main
from nettop.facts import Facts
from nettop.host.source import Live
from nettop.views.observer import Observation, Observer

PLACEMENT = {
    "irq-off-node", "irqs-on-one-core", "app-on-irq-core", "app-on-other-node",
    "capture-on-irq-core",
    "rss-skew", "too-few-queues", "guest-queues-unused", "rps-beside-rss",
}  # fmt: skip


@pytest.fixture(scope="module")
def facts() -> Facts:
    """The second observation of the host at rest."""
    observer = Observer(Live())
    observer.step()
    time.sleep(1)
    return observer.step().facts


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """`nettop show PANE` as text."""

    def show(pane: str, width: int = 100) -> str:
        assert main(["show", pane, "--once", "--width", str(width)]) == 0
        out, _ = capsys.readouterr()
        assert all(len(line) <= width for line in out.splitlines())
        return out

    return show


def transfer(to: str, source: str) -> subprocess.Popen[bytes]:
    """A client of the peer's iperf3, which is started for it and ends with it."""
    subprocess.run(["ip", "netns", "exec", "peer", "iperf3", "-s", "-1", "-D"], check=True)
    time.sleep(3)
    client = ["iperf3", "-c", to, "-B", source, "-t", "900"]  # `watched` ends it
    return subprocess.Popen(client, stdout=subprocess.DEVNULL)


def watched(client: subprocess.Popen[bytes], steps: int = 4) -> Observation:
    """The last of some observations a second apart; the client is ended."""
    observer = Observer(Live(), window=2.0)
    time.sleep(2)
    for _ in range(steps):
        seen = observer.step()
        time.sleep(1)
    client.terminate()
    client.wait()
    return seen


def rules(seen: Observation) -> set[str]:
    """The rules that found something."""
    return {one.id.partition("@")[0] for one in seen.judgement.findings}


@pytest.mark.topology("one-core")
def test_on_one_core_nothing_is_advised_to_go_elsewhere(told: dict[str, str]) -> None:
    seen = watched(transfer(told["e1000e_to"], told["e1000e_here"]))
    (core,) = seen.facts.cores
    assert core.cpu == 0
    assert not core.idle_peers
    assert [one for one in seen.facts.flows if one.bulk], "there must be load"
    assert {one.irq_cpu for one in seen.facts.flows if one.nic == told["e1000e"]} == {0}
    assert not rules(seen) & PLACEMENT


@pytest.mark.topology("one-core")
def test_one_core_is_drawn_and_advised(nettop: Nettop, shown: Callable[..., str]) -> None:
    code, advice = nettop("advise", "--seconds", "4", "--fail-on", "never")
    assert code == 0
    assert "findings" in advice
    assert os.environ["LAB_E1000E"] in shown("cores")


@pytest.mark.topology("no-numa")
def test_without_numa_files_the_node_is_unknown_and_never_zero(
    facts: Facts, shown: Callable[..., str]
) -> None:
    assert not list(Path("/sys/devices/system/node").iterdir())
    assert len(facts.cores) == 2
    assert {core.node for core in facts.cores} == {None}
    assert {nic.node for nic in facts.nics} == {None}
    assert {queue.node for queue in facts.queues} == {None}
    assert {queue.off_node for queue in facts.queues} == {None}
    for pane in ("overview", "cores", "nic"):
        assert "node 0" not in shown(pane)


@pytest.mark.topology("no-numa")
def test_without_numa_files_load_is_seen_and_nodes_are_not(told: dict[str, str]) -> None:
    seen = watched(transfer(told["e1000e_to"], told["e1000e_here"]))
    (flow,) = [one for one in seen.facts.flows if one.bulk]
    assert flow.irq_cpu is not None
    assert flow.far is not True
    assert not rules(seen) & {"irq-off-node", "app-on-other-node"}


@pytest.mark.topology("many-cores")
def test_sixty_four_cores_on_four_nodes_are_read_and_drawn(
    facts: Facts, shown: Callable[..., str]
) -> None:
    listed = found(r"^(\d+,\d+)", "lscpu", "-p=CPU,NODE")
    told = {int(cpu): int(node) for cpu, node in (line.split(",") for line in listed)}
    assert {core.cpu: core.node for core in facts.cores} == told
    assert (len(told), facts.host.nodes) == (64, 4)
    assert len([one for one in facts.queues if one.direction == "rx"]) > 1
    for pane, width in (("overview", 80), ("nic", 200), ("cores", 200)):
        assert shown(pane, width)
    cores = shown("cores", 120)
    assert all(f"node {node}" in cores for node in range(4))


@pytest.mark.topology("bond-vlan")
def test_what_is_wrong_with_a_bond_is_said_of_its_port(
    nettop: Nettop, told: dict[str, str], shown: Callable[..., str]
) -> None:
    bond, bad = told["bond"], told["members"].split()[0]
    see("ethtool", "-K", bad, "gro", "off")
    try:
        code, advice = nettop("advise", "--seconds", "4", "--fail-on", "never")
    finally:
        see("ethtool", "-K", bad, "gro", "on")
    assert code == 0
    ids = {one["id"] for one in advice["findings"]}
    assert f"offloads-off@{bad}" in ids
    assert not {one for one in ids if one.endswith((f"@{bond}", f"@{bond}.7"))}
    for pane in ("overview", "nic"):
        assert bad in shown(pane)


@pytest.mark.topology("bond-vlan")
def test_a_bond_knows_its_ports_and_a_flow_over_the_vlan_its_bond(told: dict[str, str]) -> None:
    bond, members = told["bond"], told["members"].split()
    facts = watched(transfer(told["bond_to"], told["bond_here"])).facts
    nics = {one.name: one for one in facts.nics}
    assert (nics[bond].kind, nics[f"{bond}.7"].kind) == ("bond", "vlan")
    assert set(nics[bond].lower) == set(nics[f"{bond}.7"].lower) == set(members)
    assert all(nics[one].master == bond for one in members)
    (flow,) = [one for one in facts.flows if one.bulk]
    assert flow.nic == f"{bond}.7"
    assert flow.queue is None
    assert "several ports" in str(flow.queue_why)
    (active,) = found(r"^Currently Active Slave: (\S+)", "cat", f"/proc/net/bonding/{bond}")
    assert max(members, key=lambda one: nics[one].per_s.tx_bytes or 0.0) == active
