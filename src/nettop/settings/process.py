"""The CPUs that a process, with all its threads, may run on: sched_setaffinity(2).

The target is a process number; at undo it must still be the same program, identified by its start
time. A thread that had other CPUs of its own gets them back (`thread.affinity@PID/TID`).
"""

import os
import re

from ..host.source import Source
from ..terms.cpulist import parse as parse_list
from . import Address, Host, Limits
from ._text import cpu_range, cpus, ranges, some_cpus, some_online

RISK = "none"
NAMES = ("affinity",)
TARGETS = re.compile("[1-9][0-9]{0,9}")
EXAMPLE = "1234"
TEXT = NAMES
COMMAND = "taskset -a -p -c {value} {target}"
normal = some_cpus
validate = some_online


def folder(address: Address) -> str:
    """The process's folder; LookupError when the target is no number."""
    if not address.nic.isdigit():
        raise LookupError(f"{address.target!r} is not a process number")
    return f"/proc/{address.nic}"


def threads(source: Source, pid: str) -> list[str]:
    """The numbers of its threads, the main thread included."""
    try:
        return [name for name in source.listing(f"/proc/{pid}/task") if name.isdigit()]
    except FileNotFoundError:
        raise FileNotFoundError(2, f"there is no process {pid}") from None


def allowed(source: Source, status: str, pid: str) -> str:
    """The CPU list in a status file."""
    try:
        text = source.text(status)
    except FileNotFoundError:
        raise FileNotFoundError(2, f"there is no process {pid}") from None
    for line in text.splitlines():
        if line.startswith("Cpus_allowed_list:"):
            return ranges(parse_list(line.partition(":")[2]))
    raise FileNotFoundError(2, f"process {pid} does not show its CPUs")


def place(host: Host, tid: str, value: str) -> None:
    """Move one thread to the CPUs; ProcessLookupError if it has ended."""
    if not host.real:
        path = f"/proc/{tid}/status"
        rows = host.source.text(path).splitlines()
        new = f"Cpus_allowed_list:\t{value}"
        rows = [new if row.startswith("Cpus_allowed_list:") else row for row in rows]
        host.write(path, "\n".join(rows))
        return
    try:
        os.sched_setaffinity(int(tid), cpus(value))
    except ProcessLookupError:
        raise ProcessLookupError(3, f"there is no process {tid}") from None
    except PermissionError:
        raise PermissionError(1, f"process {tid} is another user's") from None


def read(source: Source, address: Address) -> str:
    """The CPUs of its main thread."""
    return allowed(source, folder(address) + "/status", address.nic)


def write(host: Host, address: Address, value: str) -> None:
    """Move every thread to the CPUs; threads that end meanwhile are ignored."""
    if not host.real:
        place(host, address.nic, value)
        return
    for tid in threads(host.source, address.nic):
        try:
            place(host, tid, value)
        except ProcessLookupError:
            if tid == address.nic:
                raise


def side_effects(source: Source, address: Address) -> tuple[str, ...]:
    """The affinity of its other threads."""
    try:
        listed = threads(source, address.nic)
    except OSError:
        return ()
    return tuple(f"thread.affinity@{address.nic}/{tid}" for tid in listed if tid != address.nic)


def identity(source: Source, address: Address) -> str:
    """Name and start time (field 22 of stat), because pids are reused."""
    stat = source.text(folder(address) + "/stat")
    name = stat[stat.find("(") + 1 : stat.rfind(")")]
    return f"{name} started {stat[stat.rfind(')') + 1 :].split()[19]}"


def limits(source: Source, address: Address) -> Limits:
    """Any CPU of the host."""
    read(source, address)
    return Limits(default=ranges(cpu_range(source)))
