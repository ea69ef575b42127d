"""What programs may use: control groups of the first version, CPUs that are busy, pauses.

quota PERCENT COMMAND…     in a control group that may use so much of one CPU
memory BYTES COMMAND…      in a control group that may have so much memory
tcp-memory BYTES COMMAND…  in a control group whose TCP sockets may hold so many bytes
halting ON OFF COMMAND…    a command that is stopped for OFF seconds after each ON seconds
busy CPU                   a loop on one CPU
"""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from live.programs.shared import kind

GROUPS = Path("/sys/fs/cgroup")


@kind
def quota(percent: str, *command: str) -> None:
    """Of each tenth of a second."""
    _grouped("cpu", {"cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": 1000 * int(percent)}, command)


@kind
def memory(size: str, *command: str) -> None:
    """What it needs beyond that must be given up elsewhere."""
    _grouped("memory", {"memory.limit_in_bytes": int(size)}, command)


@kind
def tcp_memory(size: str, *command: str) -> None:
    """TCP's own memory only."""
    _grouped("memory", {"memory.kmem.tcp.limit_in_bytes": int(size)}, command)


@kind
def halting(on: str, off: str, *command: str) -> None:
    """As a program whose memory is collected, or a path that fails for a while."""
    child = subprocess.Popen(command)
    while True:
        for number, seconds in ((signal.SIGCONT, on), (signal.SIGSTOP, off)):
            os.kill(child.pid, number)
            time.sleep(float(seconds))


@kind
def busy(cpu: str) -> None:
    """Use one CPU."""
    os.sched_setaffinity(0, {int(cpu)})
    while True:
        pass


def _grouped(controller: str, told: dict[str, int], command: tuple[str, ...]) -> None:
    """Run the command in a group; a process in a session of its own removes that afterwards."""
    where = GROUPS / controller
    if not where.exists():  # `ip netns exec` has a /sys of its own, without them
        words = ["mount", "-t", "cgroup", "-o", controller, "none", str(where := GROUPS)]
        subprocess.run(words, check=True)
    group = (
        where / f"nt-{os.urandom(3).hex()}"
    )  # processes of other namespaces have the same numbers
    group.mkdir()
    for name, value in told.items():
        (group / name).write_text(str(value))
    if not os.fork():
        os.setsid()
        parent = os.getppid()
        while Path(f"/proc/{parent}").exists() and os.getppid() == parent:
            time.sleep(0.2)
        for _ in range(50):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.2)
        os._exit(0)
    (group / "cgroup.procs").write_text(str(os.getpid()))
    os.execvp(command[0], command)
