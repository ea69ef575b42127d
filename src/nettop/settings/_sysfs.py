"""Settings that are single files of sysfs: paths, CPU numbers and error messages."""

from __future__ import annotations

import re

from ..host.source import Source
from . import Address
from ._text import cpu_list, cpus, ranges

_QUEUE = re.compile(r"(rx|tx)-\d{1,5}\Z")


def interface(address: Address) -> str:
    """The sysfs folder of the target's interface."""
    return f"/sys/class/net/{address.nic}"


def queue(address: Address, direction: str, file: str) -> str:
    """The file of a queue; LookupError when the target is not such a queue."""
    if not _QUEUE.match(address.part) or not address.part.startswith(direction):
        raise LookupError(f"{address} needs a queue, such as {address.nic}/{direction}-0")
    return f"{interface(address)}/queues/{address.part}/{file}"


def text(source: Source, path: str, what: str) -> str:
    """The file's text; FileNotFoundError says `what` is missing."""
    try:
        return source.text(path).strip()
    except FileNotFoundError:
        raise FileNotFoundError(2, what) from None


def cpu_range(source: Source) -> frozenset[int]:
    """The possible CPUs of the host."""
    try:
        return cpus(source.text("/sys/devices/system/cpu/possible"))
    except OSError:
        return frozenset()


def some_online(source: Source, address: Address, value: str) -> None:
    """ValueError where a CPU list names CPUs that the host does not have, or only offline ones."""
    known_cpus(source, address, value)
    try:
        online = cpus(source.text("/sys/devices/system/cpu/online"))
    except OSError:
        return
    if not cpus(value) & online:
        raise ValueError(f"{address}: of CPUs {value} none is online, but {ranges(online)}")


def known_cpus(source: Source, address: Address, value: str) -> None:
    """ValueError when a CPU list names a CPU that the host does not have."""
    have = cpu_range(source)
    beyond = cpus(value) - have
    if have and beyond:
        raise ValueError(f"{address}: this host has CPUs {ranges(have)}, not {ranges(beyond)}")


def some_cpus(address: Address, value: str) -> str:
    """The canonical CPU list; ValueError for an empty one."""
    chosen = cpu_list(value)
    if chosen == "none":
        raise ValueError(f"{address} needs at least one CPU")
    return chosen
