"""Memory of cgroups with a limit, of processes that move network data: TCP sockets, and OOM kills.

cgroup v2: `sock_throttled` of memory.events counts how often a socket found the memory controller
short and held its buffer or window small (Linux 6.19, Documentation/admin-guide/cgroup-v2.rst). It
is counted in the cgroup of the socket and in those above it; only its own is read. v1:
memory.kmem.tcp.limit_in_bytes limits the sockets of a cgroup and of those below it
(Documentation/admin-guide/cgroup-v1/memory.rst). New kernels no longer count what they refuse in
memory.kmem.tcp.failcnt, but the most that was used is at the limit since. `threads` stores the
cgroups in the shared memory; `throttling` says where they are looked for. Processes that were
killed at a limit of memory are `oom_kill` of memory.events, and of memory.oom_control in v1.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..frame.fields import counter, gauge, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Memory, Table, recall
from .process_limits import listening
from .threads import Moving
from .throttling import ancestors, counts, folders, roots_of

TABLE: Final = Table(every=2.0, optional=True, memory="sockets")

_NONE: Final = 1 << 62  # bytes: a limit of v1 that is none, PAGE_COUNTER_MAX


@dataclass(frozen=True, slots=True)
class Row:
    """One cgroup that can be refused memory."""

    cgroup: str = label("cgroup, as `threads` names it")
    refused: int | None = counter(
        "times that TCP sockets were refused memory (v2)", "events", default=None
    )
    peak: int | None = maybe("most memory that its TCP sockets had (v1)", "bytes")
    limit: int | None = maybe("limit of the memory of its TCP sockets (v1)", "bytes")
    killed: int | None = counter(
        "of its processes, those that were killed for lack of memory", "processes", default=None
    )
    most: int | None = maybe("limit of its memory (memory.max); unknown: none of its own", "bytes")
    processes: tuple[str, ...] = gauge("programs in it that listen, as name[pid]", default=())


def update(source: Source, memory: Memory) -> list[Row]:
    """The cgroups of the processes that move data; of v1, they and those above, with a limit.

    OSError when there is no /proc: then it is not known which those are.
    """
    if Moving not in memory:
        source.listing("/proc")
    doors = [one for one in listening(source, memory, "memory") if one[0]]
    groups = {*recall(memory, Moving).memory_cgroups, *(group for group, _ in doors)}
    names: dict[str, list[str]] = {one: [] for group in groups for one in _limiting(group)}
    for group, name in doors:
        for one in _limiting(group):
            names[one].append(name)
    roots = roots_of(source) if names else ()
    rows = ((group, _first(source, roots, group)) for group in sorted(names))
    return [replace(row, processes=tuple(names[group])) for group, row in rows if row is not None]


def _limiting(group: str) -> Sequence[str]:
    """The cgroups that are read for a process in `group`."""
    return ancestors(group) if ":" in group else (group,)


def _first(source: Source, roots: tuple[str, ...], group: str) -> Row | None:
    rows = (_row(source, group, folder) for folder in folders(roots, group))
    return next((row for row in rows if row is not None), None)


def _row(source: Source, group: str, folder: str) -> Row | None:
    old = ":" in group
    events = counts(
        _sysfs.word(source, f"{folder}/memory.{'oom_control' if old else 'events'}") or ""
    )
    killed = events.get("oom_kill")
    most = _sysfs.number(source, f"{folder}/memory.{'limit_in_bytes' if old else 'max'}")
    most = most if most is not None and most < _NONE else None
    if not old:
        refused = events.get("sock_throttled")
        return None if refused is killed is None else Row(group, refused, None, None, killed, most)
    limit = _sysfs.number(source, f"{folder}/memory.kmem.tcp.limit_in_bytes")
    if limit is None or limit >= _NONE:
        return None if most is None else Row(group, None, None, None, killed, most)
    peak = _sysfs.number(source, f"{folder}/memory.kmem.tcp.max_usage_in_bytes")
    return Row(group, None, peak, limit, killed, most)
