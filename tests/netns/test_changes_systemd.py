"""What systemd does for nettop: its service as the guard, its boot for what is kept.

It is a real one, process 1 of a namespace. Only the targets that a unit asks for exist there, and
they do nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SYSTEMD = "/lib/systemd/systemd"
pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes namespaces"),
    pytest.mark.skipif(
        not (os.path.exists(SYSTEMD) and shutil.which("systemd-run")), reason="needs systemd"
    ),
]
TARGETS = ("default", "sysinit", "basic", "timers", "shutdown", "network", "multi-user")
PAIR = "ip link add va type veth peer name vb"
ENTER = 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"'
APART = "unshare --pid --mount --net --uts --ipc --cgroup --fork --kill-child sh -c".split()
BOOT = """
set -e
mount -t proc proc /proc
for what in fs kernel vm; do  # these are the host's own: systemd raises fs.file-max at its start
  if [ -d /proc/sys/$what ]; then
    mount --bind /proc/sys/$what /proc/sys/$what
    mount -o remount,bind,ro /proc/sys/$what
  fi
done
mount -t sysfs none /sys
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs none /run
mount -t tmpfs none /etc/systemd/system
cd /etc/systemd/system
for name in {targets}; do printf '[Unit]\\nDefaultDependencies=no\\n' > $name.target; done
{pair}
ip link set va up
ip link set vb up
export container=nettop SYSTEMD_UNIT_PATH=/etc/systemd/system
exec {systemd} --system --unit=default.target --log-target=console --log-level=notice
""".format(pair=PAIR, targets=" ".join(TARGETS), systemd=SYSTEMD)
# Only in the host's own namespace is systemd asked: here this one plays it.
AS_HOST = (
    "import sys\nfrom nettop.changes import context\ncontext.first_netns = lambda: True\n"
    "from nettop.settings import kept\nkept.foreign = lambda _source: False\n"
    "from nettop.cli import main\nsys.exit(main(sys.argv[1:]))"
)


def own_cgroup() -> Path:
    """A control group for all of it, below our own."""
    with open("/proc/mounts") as file:
        mounted = [row.split()[1] for row in file if row.split()[2] == "cgroup2"]
    with open("/proc/self/cgroup") as file:
        ours = next(row.strip()[3:] for row in file if row.startswith("0::"))
    if not mounted:
        pytest.skip("no cgroup2 is mounted here")
    made = Path(mounted[0] + ours) / f"nt-systemd-{os.getpid()}"
    try:
        made.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error.strerror}")
    return made


class Machine:
    """A systemd with a network namespace of its own; a veth pair is in it."""

    def __init__(self, folder: Path) -> None:
        self.group = own_cgroup()
        self.log = open(folder / "console", "w+")  # noqa: SIM115 - closed at the end
        self.holder = subprocess.Popen(
            ["sh", "-c", ENTER, "sh", str(self.group), *APART, BOOT],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.environment = {**os.environ, "NETTOP_STATE": str(folder / "state")}
        self.environment.pop("SSH_CONNECTION", None)

    def comes_up(self) -> str:
        """Empty, or why it did not."""
        end = time.monotonic() + 20
        while time.monotonic() < end and self.holder.poll() is None:
            done = self.run("systemctl", "is-system-running")
            if done.stdout.strip() in ("running", "degraded"):
                return ""
            time.sleep(0.1)
        self.log.seek(0)
        return (self.log.read().strip().splitlines() or ["it says nothing"])[-1]

    def inside(self, *words: str) -> list[str]:
        first = subprocess.run(
            ["pgrep", "-P", str(self.holder.pid)], capture_output=True, text=True, check=False
        ).stdout.strip()
        return ["nsenter", "-t", first or "0", "-m", "-n", "-p", "-u", "-i", "-C", *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.inside(*words), capture_output=True, text=True, check=False, timeout=60,
            env=self.environment,
        )  # fmt: skip

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.inside(sys.executable, "-c", AS_HOST, *words, "--json"), env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def nettop(self, *words: str) -> list[dict[str, Any]]:
        done = self.run(sys.executable, "-c", AS_HOST, *words, "--json")
        assert done.stdout, done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)["changes"]
        return found

    def mtu(self) -> str:
        return self.run("cat", "/sys/class/net/va/mtu").stdout.strip()

    def units(self) -> list[str]:
        """The guard's service."""
        told = self.run("systemctl", "list-units", "--all", "--plain", "--no-legend", "nettop-*")
        return [row.split()[0] for row in told.stdout.splitlines()]

    def until(self, value: str, seconds: float) -> float:
        """Seconds until the MTU is this."""
        begun = time.monotonic()
        while self.mtu() != value:
            assert time.monotonic() < begun + seconds, "it took too long"
            time.sleep(0.05)
        return time.monotonic() - begun

    def end(self) -> None:
        self.holder.kill()
        self.holder.wait()
        self.log.close()
        end = time.monotonic() + 10
        while self.group.exists() and time.monotonic() < end:
            for folder, _, _ in os.walk(self.group, topdown=False):
                with contextlib.suppress(OSError):  # its processes are still ending
                    os.rmdir(folder)
            time.sleep(0.05)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    try:
        why = made.comes_up()
        if why:
            pytest.skip(f"systemd does not come up in a namespace here: {why}")
        yield made
    finally:
        made.end()


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
    for words in (PAIR, "ip link set va up", "ip link set vb up"):
        machine.run(*words.split())
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
