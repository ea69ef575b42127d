"""What systemd does for nettop: its service as the guard, its boot for what is kept.

It is a real one, process 1 of a namespace. Only the targets that a unit asks for exist there, and
they do nothing.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from systemd_machine import NEEDS, PAIR, Machine, running

pytestmark = NEEDS


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with running(tmp_path) as machine:
        yield machine


def test_systemds_service_reverts_what_nobody_confirms(machine: Machine) -> None:
    (made,) = machine.nettop("set", "link.mtu@va", "9000", "--confirm", "4")
    assert (made["state"], machine.mtu()) == ("pending", "9000")
    assert {unit.partition("-")[2][:6] for unit in machine.units()} == {"guard-"}
    assert [unit.rpartition(".")[2] for unit in machine.units()] == ["service"]
    machine.until("1500", 4 + 5)
    end = time.monotonic() + 10
    while machine.units() and time.monotonic() < end:
        time.sleep(0.1)
    assert machine.units() == []
    (entry,) = machine.nettop("journal")
    assert entry["state"] == "reverted"


def test_a_confirmed_change_outlives_systemds_service(machine: Machine) -> None:
    (made,) = machine.nettop("set", "link.mtu@va", "9000", "--confirm", "3")
    (kept,) = machine.nettop("confirm", str(made["id"]))
    assert kept["state"] == "applied"
    time.sleep(5)
    assert (machine.mtu(), machine.units()) == ("9000", [])


def test_a_guard_that_systemd_stops_reverts_at_once(machine: Machine) -> None:
    for value in ("9000", "8000"):
        machine.nettop("set", "link.mtu@va", value, "--confirm", "600")
    assert len(machine.units()) == 2
    machine.run("systemctl", "stop", machine.units()[0])
    assert machine.mtu() == "1500"
    assert [one["state"] for one in machine.nettop("journal")] == ["reverted", "reverted"]


def test_a_guard_that_was_killed_is_started_again(machine: Machine) -> None:
    machine.nettop("set", "link.mtu@va", "9000", "--confirm", "6")
    machine.run("systemctl", "kill", "--signal=KILL", *machine.units())
    machine.until("1500", 6 + 10)


def test_systemds_service_needs_no_nettop(machine: Machine) -> None:
    running = machine.start("set", "link.mtu@va", "9000", "--confirm", "3")
    machine.until("9000", 20)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert machine.until("1500", 3 + 5) > 1
    time.sleep(1)
    assert machine.nettop("journal")[0]["state"] == "reverted"


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
    assert values() == dict(KEPT)
    assert machine.run("systemctl", "is-active", "nettop-keep").stdout == "active\n"
    machine.nettop("undo", "--all")
    left = machine.run("find", "/etc/systemd/system", "-name", "nettop*").stdout
    assert left == ""


SERVICE = "[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/bin/sleep 600\n"


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
    (back,) = machine.nettop("undo", "--all")
    assert (back["state"], active()) == ("undone", "active")
    machine.run("sh", "-c", made["shell"])
    assert active() == "inactive"
