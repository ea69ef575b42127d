"""Limits of the number of processes in the cgroups of the programs that listen: pids controller.

Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/pids.rst: pids.max, pids.current, and `max` of
pids.events, which counts the calls of fork() and clone() that ended with EAGAIN for the limit. A
limit of an ancestor applies to everything below it, threads count too. `socket_owners` stores the
programs in the shared memory; `throttling` says where their cgroups are looked for.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from ..frame.fields import counter, gauge, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs, socket_owners
from ._table import Memory, Table, recall
from .threads import Moving, cgroup
from .throttling import ancestors, counts, folders, roots_of

TABLE: Final = Table(every=2.0, optional=True, memory="sockets")

MOST: Final = 64  # processes whose cgroups are looked at


@dataclass(frozen=True, slots=True)
class Row:
    """One cgroup with a limit."""

    cgroup: str = label("cgroup")
    limit: int = gauge("processes and threads that it may have", "tasks")
    tasks: int | None = maybe("processes and threads in it", "tasks")
    refused: int | None = counter("processes and threads refused", "tasks", default=None)
    processes: tuple[str, ...] = gauge("programs in it that listen, as name[pid]", default=())


def update(source: Source, memory: Memory) -> list[Row]:
    """The cgroups with a limit, and their ancestors. OSError when there is no /proc."""
    if Moving not in memory:
        source.listing("/proc")
    names: dict[str, list[str]] = {}
    for group, name in listening(source, memory, "pids"):
        for above in ancestors(group):
            names.setdefault(above, []).append(name)
    roots = roots_of(source) if names else ()
    rows = (_row(source, roots, group, names[group]) for group in sorted(names))
    return [row for row in rows if row is not None]


def listening(source: Source, memory: Memory, controller: str) -> Iterator[tuple[str, str]]:
    """The programs that listen, as name[pid], each after its cgroup of a controller."""
    held = recall(memory, socket_owners.Known).held
    pids = dict.fromkeys(pid for doors in recall(memory, Moving).doors.values() for pid in doors)
    for pid in islice((str(one) for one in pids if str(one) in held), MOST):
        group = cgroup(_sysfs.word(source, f"/proc/{pid}/cgroup") or "", controller)
        yield group or "", f"{held[pid].name}[{pid}]"


def _row(source: Source, roots: tuple[str, ...], group: str, names: list[str]) -> Row | None:
    for folder in folders(roots, group):
        limit = _sysfs.number(source, f"{folder}/pids.max")  # none: `max`
        if limit is not None:
            refused = counts(_sysfs.word(source, f"{folder}/pids.events") or "").get("max")
            tasks = _sysfs.number(source, f"{folder}/pids.current")
            return Row(group.rpartition(":")[2], limit, tasks, refused, tuple(names))
    return None
