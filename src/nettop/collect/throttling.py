"""CPU quotas of the cgroups of processes that move network data, and how often they throttled.

cgroup v2: cpu.max and cpu.stat (Documentation/admin-guide/cgroup-v2.rst); v1: cpu.cfs_quota_us,
cpu.cfs_period_us and cpu.stat (Documentation/scheduler/sched-bwc.rst). A quota of an ancestor
applies to everything below it. `threads` stores the cgroups in the shared memory. `ip netns exec`
mounts /sys anew and so hides the cgroup file system: then that of the first process is read, or of
the nearest that started this one (proc(5), /proc/PID/root), where the first may not be looked at.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from ..frame.fields import counter, gauge, label
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Memory, Table, recall
from .threads import Moving

TABLE: Final = Table(every=0.45, optional=True, memory="sockets")

MOUNT: Final = "/sys/fs/cgroup"
ABOVE: Final = 8  # processes above the parent that are looked at


@dataclass(frozen=True, slots=True)
class Row:
    """One cgroup with a CPU quota."""

    cgroup: str = label("cgroup, as `threads` names it")
    quota: float = gauge("CPUs it may use", "cores")
    periods: int | None = counter("periods in which it ran", "periods", default=None)
    throttled: int | None = counter("periods in which it was throttled", "periods", default=None)


def update(source: Source, memory: Memory) -> list[Row]:
    """The cgroups with a quota, and their ancestors, of the processes that move data.

    OSError when there is no /proc: then it is not known which those are.
    """
    if Moving not in memory:
        source.listing("/proc")
    rows, roots = [], None
    for group in sorted(_with_ancestors(recall(memory, Moving).cgroups)):
        roots = roots or roots_of(source)
        for folder in folders(roots, group):
            quota = _quota(source, folder, old=":" in group)
            if quota is not None:
                stat = counts(_sysfs.word(source, f"{folder}/cpu.stat") or "")
                rows.append(Row(group, quota, stat.get("nr_periods"), stat.get("nr_throttled")))
                break
    return rows


def file(group: str) -> str:
    """The file with the quota of a cgroup, where its file system is usually mounted."""
    controllers, colon, path = group.partition(":")
    if not colon:
        return f"{MOUNT}{group.rstrip('/')}/cpu.max"
    return f"{MOUNT}/{controllers}{path.rstrip('/')}/cpu.cfs_quota_us"


def folders(roots: tuple[str, ...], group: str) -> tuple[str, ...]:
    """Where the files of a cgroup may be, below each of `roots`."""
    controllers, colon, path = group.partition(":")
    place = f"/{controllers}{path}" if colon else group
    return tuple(f"{root}{place}" for root in roots)


def roots_of(source: Source) -> tuple[str, ...]:
    """Where the cgroup file system may be seen: here, by the first process, by the parent.

    Where none of these lists it, also by the nearest above the parent that does (`timeout`, a
    shell and a script below `ip netns exec`).
    """
    parents = _parents(source)
    near = (MOUNT, *(f"/proc/{pid}/root{MOUNT}" for pid in ("1", *islice(parents, 1))))
    if any(_sysfs.names(source, root) for root in near):
        return near
    above = (f"/proc/{pid}/root{MOUNT}" for pid in islice(parents, ABOVE))
    return (*near, *islice((root for root in above if _sysfs.names(source, root)), 1))


def _parents(source: Source) -> Iterator[str]:
    """The processes that started this one, the nearest first, without the first process."""
    pid = "self"
    while True:
        words = (_sysfs.word(source, f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
        if len(words) < 2 or words[1] in ("0", "1"):
            return
        pid = words[1]
        yield pid


def ancestors(group: str) -> list[str]:
    """The cgroup and those above it, the nearest first; without the root, which has no quota."""
    controllers, colon, path = group.rpartition(":")
    parts = [part for part in path.split("/") if part]
    return [f"{controllers}{colon}/{'/'.join(parts[:n])}" for n in range(len(parts), 0, -1)]


def _with_ancestors(groups: Iterable[str]) -> set[str]:
    return {one for group in groups for one in ancestors(group)}


def _quota(source: Source, folder: str, *, old: bool) -> float | None:
    """The quota in CPUs; None: no limit, or not readable."""
    if old:
        most = _sysfs.number(source, f"{folder}/cpu.cfs_quota_us")
        period = _sysfs.number(source, f"{folder}/cpu.cfs_period_us")
    else:
        words = (_sysfs.word(source, f"{folder}/cpu.max") or "").split()
        most, period = (_sysfs.whole(word) for word in words) if len(words) == 2 else (None, None)
    return most / period if most is not None and most > 0 and period else None


def counts(text: str) -> dict[str, int]:
    """The lines `NAME NUMBER` of a file of a cgroup."""
    pairs = (line.split() for line in text.splitlines())
    return {
        pair[0]: value
        for pair in pairs
        if len(pair) == 2 and (value := _sysfs.whole(pair[1])) is not None
    }
