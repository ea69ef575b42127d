"""The CPUs that one thread may run on: `thread.affinity@PID/TID`."""

import re

from ..host.source import Source
from . import Address, Host, Limits, process
from ._text import cpu_range, ranges, some_cpus, some_online

RISK = "none"
NAMES = ("affinity",)
TARGETS = re.compile("[1-9][0-9]{0,9}/[1-9][0-9]{0,9}")
EXAMPLE = "1234/1235"
TEXT = NAMES
COMMAND = "taskset -p -c {value} {part}"
normal = some_cpus
validate = some_online


def _folder(address: Address) -> str:
    if not address.part.isdigit():
        raise LookupError(f"{address.target!r} is not PID/TID")
    return f"{process.folder(address)}/task/{address.part}"


def read(source: Source, address: Address) -> str:
    """The CPU list."""
    return process.allowed(source, _folder(address) + "/status", address.target)


def write(host: Host, address: Address, value: str) -> None:
    """Set the affinity of the thread."""
    _folder(address)
    process.place(host, address.part, value)


def identity(source: Source, address: Address) -> str:
    """The thread's name and start time."""
    stat = source.text(_folder(address) + "/stat")
    return f"{stat[stat.find('(') + 1 : stat.rfind(')')]} {stat[stat.rfind(')') + 1 :].split()[19]}"


def limits(source: Source, address: Address) -> Limits:
    """Any CPU of the host."""
    read(source, address)
    return Limits(default=ranges(cpu_range(source)))
