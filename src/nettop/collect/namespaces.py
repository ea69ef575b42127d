"""Other network namespaces of this host, by their processes: /proc/PID/ns/net (namespaces(7)).

They are listed only from the outermost namespace, that of process 1; inside another one, nettop
looks at that one only. A new process is looked up at once, the others in turn. A namespace is named
after its mount (`ip netns add NAME`), else after the host name of its container, else after its
cgroup.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from ..frame.fields import gauge, label
from ..frame.rates import Partly, Unfinished
from ..host.netlink.codec import Space
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _pids, _sysfs
from ._table import Memory, Table, recall

# `netns_tcp` and `netns_udp` read those
TABLE: Final = Table(every=10.0, optional=True, memory=_pids.MEMORY)

MOST: Final = 64  # namespaces that are read, those with the most processes
NEW: Final = 8_000  # processes that are looked up for the first time in one reading
_TURNS: Final = 6  # readings after which a process is looked up again
_AGAIN: Final = 60  # the same, on a host with many processes
_CLOSED: Final = -1


@dataclass(frozen=True, slots=True)
class Row:
    """One other namespace."""

    inode: int = label("inode of the namespace")
    name: str = gauge("its mount, the container's host name, or the cgroup")
    pid: int = gauge("first process in it")
    processes: int = gauge("processes in it", "processes")
    mounted: bool = gauge("the name is that of `ip netns`", default=False)


@dataclass
class Known:
    """The namespaces of the last reading, also for the collectors of their sockets."""

    read: bool = False  # since the first reading that succeeded
    turn: int = -1
    by_pid: dict[str, int] = field(default_factory=dict)  # inode; _CLOSED: not to be read
    spaces: list[Space] = field(default_factory=list)
    rows: dict[int, Row] = field(default_factory=dict)  # by inode
    others: dict[int, Row] = field(default_factory=dict)  # the same where this one is not the first


def known_of(memory: Memory) -> Known:
    """What `namespaces` found before, for the tables of their sockets; OSError if nothing."""
    known = recall(memory, Known)
    if not known.read:
        raise OSError("the network namespaces are not known")
    return known


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """The namespaces, those with the most processes first; OSError if there are none at all.

    `Partly` when the namespaces of some processes may not be read, or are too many.
    """
    known = recall(memory, Known)
    own = of_process(source, "self")
    pids = _pids.pids(source, memory)
    turns = _AGAIN if len(pids) > _pids.MANY else _TURNS
    known.turn = (known.turn + 1) % turns
    known.read = True
    new = [pid for pid in pids if pid not in known.by_pid]
    later = frozenset(new[NEW:])
    known.by_pid = {
        pid: found
        for pid in pids
        if pid not in later and (found := _namespace(source, pid, known, turns)) is not None
    }
    spaces: dict[int, list[int]] = {}
    for pid, inode in known.by_pid.items():
        spaces.setdefault(inode, []).append(int(pid))
    closed = len(spaces.pop(_CLOSED, ()))
    first = _outermost(own, spaces, closed, known.by_pid.get("1", _CLOSED))
    spaces.pop(own, None)
    most = sorted(spaces.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST]
    mounts = mounted_names(_sysfs.word(source, "/proc/self/mountinfo")) if most else {}
    rows = []
    for inode, members in most:
        old, leader = known.others.get(inode), min(members)
        same = old is not None and old.pid == leader
        mount = mounts.get(inode)
        name = old.name if old is not None and same else name_of(source, leader, mount)
        mounted = bool(name) and name == mount
        rows.append(Row(inode, name or f"net:[{inode}]", leader, len(members), mounted))
    known.others = {row.inode: row for row in rows}
    if not first:
        known.spaces, known.rows = [], {}
        return []
    known.rows = known.others
    known.spaces = [space_of(row) for row in rows]
    why = _unseen(closed, len(spaces) - len(rows), sum(map(len, spaces.values())), rows)
    if later:
        return Unfinished(rows, _pids.left(len(later), len(pids), "network namespaces"))
    return Partly(rows, why) if why else rows


def space_of(row: Row) -> Space:
    """The namespace, to be asked."""
    return Space(f"/proc/{row.pid}/ns/net", row.inode)


def _unseen(closed: int, left: int, members: int, rows: Sequence[Row]) -> str:
    """A sentence about processes that may not be read, and about namespaces beyond `MOST`."""
    parts = []
    if closed:
        many = "s" * (closed > 1), "es" * (closed > 1)
        parts.append(f"the network namespace{many[0]} of {closed} process{many[1]} cannot be read")
    if left:
        processes = members - sum(row.processes for row in rows)
        parts.append(f"{left} more network namespaces, with {processes} processes, are not read")
    return "; ".join(parts)


def _namespace(source: Source, pid: str, known: Known, turns: int) -> int | None:
    """The namespace of a process; None if it ended meanwhile."""
    old = known.by_pid.get(pid)
    if old is not None and (int(pid) - known.turn) % turns:
        return old
    try:
        return of_process(source, pid)
    except PermissionError:
        return _CLOSED
    except (OSError, ValueError):
        return None


def of_process(source: Source, pid: str | int) -> int:
    """The inode of its namespace, of `net:[4026531833]`; OSError, ValueError for another form."""
    return int(source.link(f"/proc/{pid}/ns/net").removeprefix("net:[").removesuffix("]"))


def _outermost(own: int, spaces: dict[int, list[int]], closed: int, first: int) -> bool:
    """Whether this is the namespace of process 1.

    If that cannot be read: whether this is the namespace with the most processes, where processes
    that cannot be read count as those of this one.
    """
    if first != _CLOSED:
        return own == first
    others = (len(members) for inode, members in spaces.items() if inode != own)
    return len(spaces.get(own, ())) + closed >= max(others, default=0)


_MADE: Final = re.compile(r"cni-[0-9a-f-]+|[0-9a-f]{8,}|netns-[0-9a-f-]+|default")
_CONTAINER: Final = re.compile(r"(?:^|[/:-])([0-9a-f]{12})[0-9a-f]{20,}(?:\.scope)?$")
_LXC: Final = re.compile(r"/lxc(?:\.payload\.|/)([^/]+)")
_UNIT: Final = re.compile(r"([^/]+)\.(?:service|scope)$")


def mounted_names(mountinfo: str | None) -> Mapping[int, str]:
    """Names by inode of /proc/self/mountinfo (proc(5)): the root of such a mount is `net:[N]`."""
    names = {}
    for line in (mountinfo or "").splitlines():
        words = line.split(" ")
        if len(words) > 4 and words[3].startswith("net:[") and words[3][5:-1].isdecimal():
            name = words[4].rpartition("/")[2]
            if not _MADE.fullmatch(name):
                names[int(words[3][5:-1])] = name
    return names


def name_of(source: Source, pid: int, mount: str | None) -> str | None:
    """The name of the namespace of this process; None if it has no name.

    A mount below /run/netns has the name that somebody gave (ip-netns(8)); those of container
    engines are identifiers. A container has its own /etc/hostname, which Kubernetes makes the name
    of the pod. A cgroup has the identifier of its container, or the name of its service.
    """
    if mount is not None:
        return mount
    own = _sysfs.word(source, "/proc/self/cgroup") or ""  # nettop may be in a container itself
    text = _sysfs.word(source, f"/proc/{pid}/cgroup") or ""
    paths = [line.split(":", 2)[2] for line in text.splitlines() if line.count(":") >= 2]
    found = [match for path in paths for match in (_LXC.search(path),) if match]
    if found:
        return found[0][1]
    for path in paths:
        container = _CONTAINER.search(path)
        if container is not None and container[1] not in own:
            return _sysfs.word(source, f"/proc/{pid}/root/etc/hostname") or container[1]
    for path in paths:
        unit = _UNIT.search(path)
        if unit is not None and not unit[1].startswith(("session-", "init")):
            return unit[1]
    return None
