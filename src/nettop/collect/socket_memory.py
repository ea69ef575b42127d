"""Memory of TCP sockets in cgroups with a limit, of processes that move network data.

cgroup v2: `sock_throttled` of memory.events counts how often a socket found the memory controller
short and held its buffer or window small (Linux 6.19, Documentation/admin-guide/cgroup-v2.rst). It
is counted in the cgroup of the socket and in those above it; only its own is read. v1:
memory.kmem.tcp.limit_in_bytes limits the sockets of a cgroup and of those below it
(Documentation/admin-guide/cgroup-v1/memory.rst). New kernels no longer count what they refuse in
memory.kmem.tcp.failcnt, but the most that was used is at the limit since. `threads` stores the
cgroups in the shared memory; `throttling` says where they are looked for.
"""

from __future__ import annotations

from typing import Final

from ..frame.fields import counter, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Memory, Table, recall
from .threads import Moving
from .throttling import ancestors, counts, folders, roots_of

TABLE: Final = Table(every=2.0, optional=True, memory="sockets")

_NONE: Final = 1 << 62  # bytes: a limit of v1 that is none, PAGE_COUNTER_MAX


@dataclass(frozen=True, slots=True)
class Row:
    """One cgroup whose TCP sockets can be refused memory."""

    cgroup: str = label("cgroup, as `threads` names it")
    refused: int | None = counter(
        "times that TCP sockets were refused memory (v2)", "events", default=None
    )
    peak: int | None = maybe("most memory that its TCP sockets had (v1)", "bytes")
    limit: int | None = maybe("limit of the memory of its TCP sockets (v1)", "bytes")


def update(source: Source, memory: Memory) -> list[Row]:
    """The cgroups of the processes that move data; of v1, they and those above, with a limit.

    OSError when there is no /proc: then it is not known which those are.
    """
    if Moving not in memory:
        source.listing("/proc")
    groups = recall(memory, Moving).memory_cgroups
    every = {one for group in groups for one in (ancestors(group) if ":" in group else (group,))}
    roots = roots_of(source) if every else ()
    rows = (_first(source, roots, group) for group in sorted(every))
    return [row for row in rows if row is not None]


def _first(source: Source, roots: tuple[str, ...], group: str) -> Row | None:
    rows = (_row(source, group, folder) for folder in folders(roots, group))
    return next((row for row in rows if row is not None), None)


def _row(source: Source, group: str, folder: str) -> Row | None:
    if ":" not in group:
        events = counts(_sysfs.word(source, f"{folder}/memory.events") or "")
        refused = events.get("sock_throttled")
        return None if refused is None else Row(group, refused)
    limit = _sysfs.number(source, f"{folder}/memory.kmem.tcp.limit_in_bytes")
    if limit is None or limit >= _NONE:
        return None
    return Row(
        group, None, _sysfs.number(source, f"{folder}/memory.kmem.tcp.max_usage_in_bytes"), limit
    )
