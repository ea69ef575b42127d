"""What systemd does for nettop: its service as the guard, its boot for what is kept.

It is a real one, process 1 of a namespace. Only the targets that a unit asks for exist there, and
they do nothing.
"""

import os
import signal
import sys
from collections.abc import Iterator

import pytest
from hang import until
from systemd_machine import NEEDS, PAIR, Machine, running

pytestmark = NEEDS


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with running(tmp_path_factory.mktemp("systemd")) as machine:
        yield machine


def test_systemds_service_reverts_what_nobody_confirms(machine: Machine) -> None:
    (made,) = machine.nettop("set", "link.mtu@va", "9000", "--confirm", "600")
    assert (made["state"], machine.mtu()) == ("pending", "9000")
    assert {unit.partition("-")[2][:6] for unit in machine.units()} == {"guard-"}
    assert [unit.rpartition(".")[2] for unit in machine.units()] == ["service"]
    machine.reverts()
    assert machine.mtu() == "1500"
    assert machine.nettop("journal")[-1]["state"] == "reverted"


def test_a_confirmed_change_outlives_systemds_service(machine: Machine) -> None:
    (made,) = machine.nettop("set", "link.mtu@va", "9000", "--confirm", "600")
    (kept,) = machine.nettop("confirm", str(made["id"]))
    assert kept["state"] == "applied"
    until(lambda: not machine.units())
    assert machine.mtu() == "9000"
    machine.nettop("undo", "--all")
    machine.nettop("confirm")


def test_a_guard_that_systemd_stops_reverts_at_once(machine: Machine) -> None:
    for value in ("9000", "8000"):
        machine.nettop("set", "link.mtu@va", value, "--confirm", "600")
    assert len(machine.units()) == 2
    machine.run("systemctl", "stop", machine.units()[0])
    assert machine.mtu() == "1500"
    assert [one["state"] for one in machine.nettop("journal")[-2:]] == ["reverted", "reverted"]
    until(lambda: not machine.units())


def test_a_guard_that_was_killed_is_started_again(machine: Machine) -> None:
    machine.nettop("set", "link.mtu@va", "9000", "--confirm", "600")
    (guard,) = machine.units()
    machine.run("systemctl", "kill", "--signal=KILL", guard)
    shown = ("systemctl", "show", "--property=NRestarts", "--value", guard)
    until(lambda: machine.run(*shown).stdout == "1\n")
    machine.reverts()
    assert machine.mtu() == "1500"


def test_systemds_service_needs_no_nettop(machine: Machine) -> None:
    running = machine.start("set", "link.mtu@va", "9000", "--confirm", "600")
    until(lambda: machine.mtu() == "9000")
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert machine.units()
    machine.reverts()
    assert machine.mtu() == "1500"
    assert machine.nettop("journal")[-1]["state"] == "reverted"


KEPT = [
    ("rps.cpus@va/rx-0", "0"),
    ("napi.gro-flush-timeout@va", "20000"),
    ("qdisc.root@va", "pfifo limit 500"),
    ("link.gso-max-size@va", "32768"),
]


def test_systemd_runs_at_boot_what_was_kept(machine: Machine) -> None:
    def values() -> dict[str, str]:
        done = machine.run(sys.executable, "-m", "nettop", "get", *(setting for setting, _ in KEPT))
        rows = (row.partition("   (")[0].partition(" = ") for row in done.stdout.splitlines())
        return {setting: value for setting, _, value in rows}

    before = values()
    for setting, value in KEPT:
        made = machine.nettop("set", setting, value, "--keep")
        assert [one["state"] for one in made] == ["applied", "applied"]
    machine.run("ip", "link", "del", "va")
    machine.run("sh", "-c", PAIR)
    assert values() == before
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "start", "multi-user.target")
    # systemctl may answer before the unit has run all its commands
    until(lambda: machine.run("systemctl", "is-active", "nettop-keep").stdout == "active\n")
    assert values() == dict(KEPT)
    machine.nettop("undo", "--all")
    left = machine.run("find", "/etc/systemd/system", "-name", "nettop*").stdout
    assert left == ""


SERVICE = "[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/bin/sleep infinity\n"


def test_a_service_is_stopped_and_started_again(machine: Machine) -> None:
    """A sleep under irqbalance's name: the real one would move this machine's interrupts."""

    def active() -> str:
        return machine.run("systemctl", "is-active", "irqbalance").stdout.strip()

    unit = "/etc/systemd/system/irqbalance.service"
    machine.run("sh", "-c", 'printf "$1" > "$2"', "sh", SERVICE, unit)
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "start", "irqbalance")
    assert active() == "active"
    (made,) = machine.nettop("set", "service.running@irqbalance", "off")
    assert (made["state"], active()) == ("applied", "inactive")
    (again,) = machine.nettop("set", "service.running@irqbalance", "off")
    assert again["state"] == "unchanged"
    undone = machine.nettop("undo", "--all")  # others are of a device that was deleted
    (back,) = (one for one in undone if one["setting"] == made["setting"])
    assert (back["state"], active()) == ("undone", "active")
    machine.run("sh", "-c", made["shell"])
    assert active() == "inactive"
