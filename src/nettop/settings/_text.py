"""Values as text: switches, numbers, CPU lists and masks; and the files of sysfs that hold them."""

import re
from collections.abc import Iterable

from ..host.source import Source
from ..terms import cpulist
from . import Address

_ON = frozenset({"on", "yes", "true", "1", "y"})
_OFF = frozenset({"off", "no", "false", "0", "n"})


def switch(value: str) -> str:
    """`on` or `off`, however it was written."""
    word = value.strip().lower()
    if word in _ON:
        return "on"
    if word in _OFF:
        return "off"
    raise ValueError(f"{value!r} is neither on nor off")


def number(value: str) -> str:
    """A decimal or hexadecimal number as decimal text; ValueError for anything else."""
    word = value.strip()
    try:
        return str(int(word, 16) if word.lower().startswith("0x") else int(word))
    except ValueError:
        raise ValueError(f"{value!r} is not a whole number") from None


def cpus(value: str) -> frozenset[int]:
    """The CPUs of a list (`0-3,8`), a mask (`0xff`, `ff,00000000`) or `none`.

    A mask needs its `0x` or its 32-bit groups: `10` is CPU 10, never CPU 4.
    """
    word = value.strip().lower()
    if word == "none":
        return frozenset()
    groups = word.split(",")
    if word.startswith("0x") or (len(groups) > 1 and all(len(g) == 8 for g in groups[1:])):
        return frozenset(cpulist.parse_mask(word))
    return frozenset(cpulist.parse(word))


def ranges(value: Iterable[int]) -> str:
    """The canonical list of some numbers: `0-3,8`; `none` when empty."""
    return cpulist.text(value) or "none"


def cpu_list(value: str) -> str:
    """The canonical CPU list of any form that `cpus` reads; ValueError for others."""
    return ranges(cpus(value))


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
