"""A real systemd, process 1 of namespaces of its own.

Only the targets that a unit asks for exist there, and they do nothing. A veth pair, va and vb, is
in its network namespace unless the caller says otherwise. /sys/fs/cgroup is a group of its own,
/run and the unit files are its own.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from changes_netns import expire
from hang import HANG, until

SYSTEMD = "/lib/systemd/systemd"
NEEDS = [
    pytest.mark.netns,
    pytest.mark.skipif(
        not (os.path.exists(SYSTEMD) and shutil.which("systemd-run")), reason="needs systemd"
    ),
]
TARGETS = ("default", "sysinit", "basic", "timers", "shutdown", "network", "multi-user")
PAIR = "ip link add va type veth peer name vb; ip link set va up; ip link set vb up"
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
cd /
eval "$1"
eval "$2"
export container=nettop SYSTEMD_UNIT_PATH=/etc/systemd/system
exec {systemd} --system --unit=default.target --log-target=console --log-level=notice
""".format(targets=" ".join(TARGETS), systemd=SYSTEMD)
# nettop uses systemd only in the initial namespace; this namespace stands in for it.
AS_HOST = (
    "import sys\nfrom nettop.changes import context\ncontext.first_netns = lambda: True\n"
    "from nettop.settings import kept\nkept.foreign = lambda _source: False\n"
    "from nettop.cli import main\nsys.exit(main(sys.argv[1:]))"
)


def own_cgroup(name: str) -> Path:
    """A control group for all of it, below our own."""
    with open("/proc/mounts") as file:
        mounted = [row.split()[1] for row in file if row.split()[2] == "cgroup2"]
    with open("/proc/self/cgroup") as file:
        ours = next(row.strip()[3:] for row in file if row.startswith("0::"))
    if not mounted:
        pytest.skip("no cgroup2 is mounted here")
    made = Path(mounted[0] + ours) / f"nt-{name}-{os.getpid()}"
    try:
        made.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error.strerror}")
    return made


class Machine:
    """A systemd with a network namespace of its own."""

    def __init__(
        self, folder: Path, more: str = "", name: str = "systemd", network: str = PAIR
    ) -> None:
        """`more`: commands of the shell that prepare its mounts; `network`: those of its links."""
        self.group = own_cgroup(name)
        self.log = open(folder / f"console-{name}", "w+")  # noqa: SIM115 - closed at the end
        self.holder = subprocess.Popen(
            ["sh", "-c", ENTER, "sh", str(self.group), *APART, BOOT, "sh", network, more],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.environment = {**os.environ, "NETTOP_STATE": str(folder / "state")}
        self.environment.pop("SSH_CONNECTION", None)

    def comes_up(self) -> str:
        """Empty, or why it did not."""
        state = ("systemctl", "is-system-running")
        up = ("running", "degraded")
        until(lambda: self.holder.poll() is not None or self.run(*state).stdout.strip() in up)
        if self.holder.poll() is None:
            return ""
        self.log.seek(0)
        return (self.log.read().strip().splitlines() or ["it says nothing"])[-1]

    def first(self) -> str:
        """The number of its systemd outside; empty before it is there."""
        number = self.holder.pid
        return Path(f"/proc/{number}/task/{number}/children").read_text().strip()

    def inside(self, *words: str) -> list[str]:
        return ["nsenter", "-t", self.first() or "0", "-m", "-n", "-p", "-u", "-i", "-C", *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.inside(*words), capture_output=True, text=True, check=False, timeout=HANG,
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

    def reverts(self) -> None:
        """The time to confirm ends now; return when no guard is left."""
        expire(self.environment["NETTOP_STATE"])
        until(lambda: not self.units())

    def end(self) -> None:
        self.holder.kill()
        self.holder.wait()
        self.log.close()
        until(self._removed, f"{self.group} has processes")

    def _removed(self) -> bool:
        for folder, _, _ in os.walk(self.group, topdown=False):
            with contextlib.suppress(OSError):  # its processes are still ending
                os.rmdir(folder)
        return not self.group.exists()


@contextlib.contextmanager
def running(folder: Path, more: str = "") -> Iterator[Machine]:
    """The machine once it is up; a test is skipped where it does not come up."""
    machine = Machine(folder, more)
    try:
        if why := machine.comes_up():
            pytest.skip(f"systemd does not come up in a namespace here: {why}")
        yield machine
    finally:
        machine.end()
