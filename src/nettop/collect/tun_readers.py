"""The programs behind TUN and TAP interfaces: descriptors of /dev/net/tun.

A VPN in user space, or the hypervisor of a guest. /proc/PID/fdinfo names the interface of such a
descriptor (drivers/net/tun.c, tun_chr_show_fdinfo(), Linux 3.14). `threads` and `waits` look at
these programs, after those whose sockets move data.
"""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs, socket_owners, threads
from ._table import Memory, Table, recall

TABLE: Final = Table(every=5.0, optional=True, memory=threads.TABLE.memory)

PROGRAMS: Final = 64  # that are read: a host with more of them is one of guests


@dataclass(frozen=True, slots=True)
class Row:
    """One program behind one interface."""

    interface: str = label("interface name, in the network namespace of the program")
    pid: int = label("process")
    name: str = gauge("name of the process", default="")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """The programs known so far; OSError when there is no /proc.

    Namespaces may have interfaces of one name: then only the programs of this one are told. A
    program may hold the descriptor of another namespace, so alone it is told.
    """
    held = recall(memory, socket_owners.Known).held
    if not held:
        source.listing("/proc")
    behind = [(pid, process.tuns) for pid, process in held.items() if process.tuns][:PROGRAMS]
    found = list[tuple[Row, str | None]]()
    for pid, numbers in behind:
        name, space = _sysfs.word(source, f"/proc/{pid}/comm") or "", _space(source, pid)
        words = [_sysfs.word(source, f"/proc/{pid}/fdinfo/{number}") or "" for number in numbers]
        told = (line.partition(":") for text in words for line in text.splitlines())
        names = dict.fromkeys(value.strip() for key, _, value in told if key == "iff")
        found += [(Row(one, int(pid), name), space) for one in names if one]
    own = _space(source, "self") if found else None
    here = {row.interface for row, space in found if space == own}
    rows = [row for row, space in found if space == own or row.interface not in here]
    recall(memory, threads.Moving).readers = tuple(dict.fromkeys(row.pid for row in rows))
    return rows


def _space(source: Source, process: str) -> str | None:
    """The network namespace of a process; None if it cannot be read."""
    return _sysfs.target(source, f"/proc/{process}/ns/net")
