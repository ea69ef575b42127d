"""What cgroups take from a process that waits: devices that they throttle, memory, the freezer.

Documentation/admin-guide/cgroup-v2.rst: io.max, memory.stat, cgroup.freeze; of v1:
cgroup-v1/blkio-controller.rst and cgroup-v1/freezer-subsystem.rst.
"""

from collections.abc import Iterator
from typing import Final

from ..host.source import Source
from . import _sysfs, threads, throttling

_USED: Final = ("usage_in_bytes", "current")  # of v1 and v2
FULL: Final = 0.9  # of a limit of memory: pages are freed at it in pieces
_NONE: Final = 1 << 62  # bytes: a limit of v1 that is none, PAGE_COUNTER_MAX
# functions of the kernel in which a frozen thread sleeps: kernel/freezer.c for v1; v2 stops it on
# the way back to the program, do_freezer_trap() in kernel/signal.c, where it has state S
_FROZEN: Final = ("__refrigerator", "do_freezer_trap", "get_signal")


def frozen(source: Source, groups: str, pid: str, tid: str, state: str) -> str:
    """The cgroup with which a thread is frozen; empty: it is not.

    `groups`: the text of /proc/PID/cgroup.
    """
    if state not in "SD":
        return ""
    place = _sysfs.word(source, f"/proc/{pid}/task/{tid}/wchan") or ""
    if not place.startswith(_FROZEN):
        return ""
    old = threads.cgroup(groups, "freezer") or ""
    group = old if ":" in old and state == "D" else threads.cgroup(groups, "none") or old
    return group.rpartition(":")[2] or "/"


def short(source: Source, groups: str, pid: str, tid: str) -> bool:
    """Whether a thread sleeps since its cgroup has no memory for it: mm/memcontrol.c.

    Where the cgroup is at its limit, also until what it wrote is on the disk: mm/vmscan.c,
    reclaim_throttle(), which a host without memory calls as well.
    """
    place = _sysfs.word(source, f"/proc/{pid}/task/{tid}/wchan") or ""
    if "mem_cgroup" in place or not place.startswith("reclaim_throttle"):
        return "mem_cgroup" in place
    file, _, most = memory(source, groups)[0].partition(" is ")
    folder = file.rpartition("/")[0]
    texts = (_sysfs.word(source, f"{folder}/memory.{name}") for name in _USED) if most else ()
    return any(int(text) >= FULL * int(most) for text in texts if text and text.isdecimal())


def throttle(source: Source, groups: str, device: str, way: str) -> str:
    """The limit of a cgroup on a device: its file and the limit; empty: there is none.

    `way` is read or write. Limits are those of a disk, the file may be on a partition of it.
    """
    for file, line in _throttles(source, groups, way) if device else ():
        limited, _, most = line.partition(" ")
        name = _block(source, limited)
        if limited != device and not _part(source, device, limited, name):
            continue
        on = f"{name} ({limited})" if name else limited
        unit = "" if "=" in most else " bytes/s" if "_bps_" in file else " requests/s"
        return f"{file} allows {' '.join(_allowed(most, way))}{unit} on {on}"
    return ""


def _throttles(source: Source, groups: str, way: str) -> Iterator[tuple[str, str]]:
    """The lines `MAJOR:MINOR LIMIT` of the files of the cgroup and those above it.

    Of v1 the root has limits as well: they hold for the programs in none of its groups.
    """
    group = threads.cgroup(groups, "blkio") or ""
    names = [f"blkio.throttle.{way}_{unit}_device" for unit in ("bps", "iops")]
    top = [f"{group.rpartition(':')[0]}:"] if group.endswith(":/") else []
    if ":" not in group:
        group, names = threads.cgroup(groups, "io") or "", ["io.max"]
    roots = throttling.roots_of(source) if group else ()
    for above in throttling.ancestors(group) or top:
        for folder in throttling.folders(roots, above):
            for name in names:
                text = _sysfs.word(source, f"{folder}/{name}") or ""
                place = folder[max(0, folder.find(throttling.MOUNT)) :]
                for line in text.splitlines():
                    if _allowed(line.partition(" ")[2], way):
                        yield f"{place}/{name}", line


def _allowed(most: str, way: str) -> list[str]:
    """The limits of a line for that way: `rbps=N` of v2, the number of v1."""
    return [
        word for word in most.split()
        if word.isdecimal() or (word.startswith(way[0]) and not word.endswith("=max"))
    ]  # fmt: skip


def _part(source: Source, device: str, disk: str, name: str) -> bool:
    """Whether a device is a partition of a disk: then both have the same major number.

    The folder of a partition is in that of its disk; without these the number decides.
    """
    if device.partition(":")[0] != disk.partition(":")[0]:
        return False
    try:
        place = source.link(f"/sys/dev/block/{device}")
    except OSError:
        return True
    return not name or place.split("/")[-2:-1] == [name]


def _block(source: Source, device: str) -> str:
    """The name of a block device, `loop0` of 7:0; empty if it is not known."""
    try:
        return source.link(f"/sys/dev/block/{device}").rpartition("/")[2]
    except OSError:
        return ""


def memory(source: Source, groups: str) -> tuple[str, int | None]:
    """The memory limit of the process's cgroup, and the pages read again after their eviction.

    memory.stat counts these, workingset_refault_*. Empty and None where no memory is limited: then
    it is the host that evicts. The limit is empty as well if it could not be read.
    """
    group = threads.cgroup(groups, "memory") or ""
    names = ("memory.limit_in_bytes",) if ":" in group else ("memory.max", "memory.high")
    roots = throttling.roots_of(source) if group else ()
    limit, seen = "", False
    for above in throttling.ancestors(group):
        for folder in throttling.folders(roots, above):
            texts = [(name, _sysfs.word(source, f"{folder}/{name}")) for name in names]
            seen = seen or any(text is not None for _, text in texts)
            least = [(int(text), name) for name, text in texts if text and text.isdecimal()]
            if least and not limit and min(least)[0] < _NONE:
                place = folder[max(0, folder.find(throttling.MOUNT)) :]
                limit = f"{place}/{min(least)[1]} is {min(least)[0]}"
    if not throttling.ancestors(group) or (seen and not limit):
        return "", None
    for folder in throttling.folders(roots, group):
        known = throttling.counts(_sysfs.word(source, f"{folder}/memory.stat") or "")
        if known:
            kinds = ("workingset_refault_anon", "workingset_refault_file")
            return limit, sum(known.get(kind, 0) for kind in kinds)
    return limit, None
