"""What holds programs up from outside: the freezer, limits of their cgroups, a debugger.

Of the processes that move data or let it wait (`threads`), of the programs at the other end of
their pipes (`waits`) and of those that listen on TCP: cgroup.freeze, or freezer.self_freezing
(v1); memory.high with its count in memory.events; pids.current, pids.max and pids.events
(Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/freezer-subsystem.rst, cgroup-v1/pids.rst);
TracerPid of /proc/PID/status, and RLIMIT_NPROC of /proc/PID/limits. Beside them the threads of the
host (/proc/loadavg) with kernel.pid_max and kernel.threads-max (kernel/fork.c, copy_process()).
"""

from collections.abc import Mapping
from functools import cache
from operator import itemgetter
from typing import Any, Final, NamedTuple

from ..frame.fields import counter, gauge, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _counted, _lines, _sysfs, threads, throttling
from ._table import Memory, Table, recall

TABLE: Final = Table(every=2.0, optional=True, memory=threads.TABLE.memory)

PROCESSES: Final = 32  # that are looked at, those that move data first
_TASKS: Final = "Max processes"  # of /proc/PID/limits
_UNIFIED: Final = "none"  # no controller of v1: the cgroup of v2


@dataclass(frozen=True, slots=True)
class Row:
    """One process."""

    pid: int = label("process")
    name: str = gauge("name of the process")
    thaw: str = gauge("the file that thaws the cgroup in which it is frozen; empty: it runs")
    high: str = gauge("the cgroup with the nearest memory.high; empty: none", default="")
    slowed: int | None = counter(
        "times that processes of that cgroup were slowed at memory.high", "events", default=None
    )
    full: str = gauge(
        "of its cgroup and those above, the one with the least room below pids.max", default=""
    )
    tasks: int | None = maybe("pids.max of that cgroup", "processes")
    room: int | None = maybe("processes that it may have more", "processes")
    refused: int | None = counter(
        "processes that its cgroup and those above refused at pids.max", "processes", default=None
    )
    unseen: str = gauge(
        "the nearest cgroup whose pids.max is not visible here; /..: above this container",
        default="",
    )
    tasks_of_user: int | None = maybe(
        "processes that its user may have (RLIMIT_NPROC)", "processes"
    )
    tracer: int = gauge("the process that traces it; 0: none", default=0)
    all_tasks: int | None = maybe("threads of the host", "threads")
    pid_max: int | None = maybe("kernel.pid_max", "processes")
    threads_max: int | None = maybe("kernel.threads-max", "threads")
    state: str = gauge("state of its first thread, such as T: stopped by a signal", default="")


class _Cgroups(NamedTuple):
    """The cgroups of one process."""

    source: Source
    roots: tuple[str, ...]  # where the cgroup file system may be seen
    lines: str  # of /proc/PID/cgroup

    def above(self, controller: str) -> list[str]:
        """The cgroup that the controller limits, and those above it, the nearest first."""
        return throttling.ancestors(threads.cgroup(self.lines, controller) or "")

    def read(self, group: str, name: str) -> tuple[str, str]:
        """The folder in which a file is found, as a user sees it, and its text; else empty."""
        for folder in throttling.folders(self.roots, group):
            text = _sysfs.word(self.source, f"{folder}/{name}")
            if text is not None:
                return folder[folder.find("/sys/fs/cgroup") :], text
        return "", ""

    def thaw(self) -> str:
        """The file of the cgroup that is frozen; empty: none is."""
        old = ":" in (threads.cgroup(self.lines, "freezer") or "")
        for group in self.above("freezer") if old else ():
            folder, text = self.read(group, "freezer.self_freezing")
            if text == "1":
                return f"{folder}/freezer.state"
        for group in self.above(_UNIFIED):
            for place in (f"/unified{group}", group) if old else (group,):
                folder, text = self.read(place, "cgroup.freeze")
                if text == "1":
                    return f"{folder}/cgroup.freeze"
        return ""

    def high(self) -> tuple[str, int | None]:
        """The nearest cgroup with memory.high, and how often it slowed its processes."""
        for group in self.above("memory"):
            folder, most = self.read(group, "memory.high")
            if most not in ("", "max"):
                return folder, throttling.counts(self.read(group, "memory.events")[1]).get("high")
        return "", None

    def pids(self) -> tuple[str, int | None, int | None, int | None, str]:
        """The cgroup with the least room below pids.max, that limit, its room, what was refused.

        At last the cgroup that is not visible. The kernel counts what it refuses in the cgroup of
        the process or, since 6.11 with v2, in that of the limit and those above (pids_event() of
        kernel/cgroup/pids.c). Only a root that is a part of the host's tree has pids.max.
        """
        own = threads.cgroup(self.lines, "pids") or ""
        if not self.roots:
            return "", None, None, None, own.rpartition(":")[2]
        found: list[tuple[int, str, int]] = []
        refused: list[int] = []
        text = ""
        for group in (*self.above("pids"), own[: own.rfind(":") + 1]):
            folder, text = self.read(group, "pids.max")
            most, now = _sysfs.whole(text), _sysfs.whole(self.read(group, "pids.current")[1])
            if most is not None and now is not None:
                found.append((max(0, most - now), folder, most))
            events = throttling.counts(self.read(group, "pids.events")[1])
            refused += [events["max"]] if "max" in events else []
        room, folder, most = min(found, default=(None, "", None), key=itemgetter(0))
        times = sum(refused) if refused else None
        return folder, most, room, times, "/.." if text else ""  # that of the root, read at last


def update(source: Source, memory: Memory) -> list[Row]:
    """One row for each process that was looked at; OSError without /proc."""
    if threads.Moving not in memory:
        source.listing("/proc")
    moving = recall(memory, threads.Moving)
    doors = (pid for held in moving.doors.values() for pid in held)
    pids = [*dict.fromkeys((*moving.rounds, *moving.others, *doors))][:PROCESSES]
    # without a process too: a far host is asked again for what was read before, in one exchange
    roots = throttling.roots_of(source) if pids else (throttling.MOUNT,)
    roots = tuple(root for root in roots if _sysfs.names(source, root))[:1]
    known: dict[str, tuple[Any, ...]] = {}  # the fields from `thaw` to `unseen`, by cgroups
    loads = (_sysfs.word(source, "/proc/loadavg") or "").partition("/")[2].split()
    most = [
        _sysfs.number(source, f"/proc/sys/kernel/{name}") for name in ("pid_max", "threads-max")
    ]
    host = (_sysfs.whole(next(iter(loads), None)), *most) if pids else ()
    rows = []
    for pid in pids:
        lines = _sysfs.word(source, f"/proc/{pid}/cgroup")
        if lines is None:
            continue  # it ended meanwhile
        if lines not in known:
            groups = _Cgroups(source, roots, lines)
            known[lines] = (groups.thaw(), *groups.high(), *groups.pids())
        name = _sysfs.word(source, f"/proc/{pid}/comm") or ""
        tasks = _number(_sysfs.word(source, f"/proc/{pid}/limits") or "", _TASKS)
        status = _sysfs.word(source, f"/proc/{pid}/status") or ""
        tracer = _number(status, "TracerPid:")
        state = next(iter(_lines.named(status).get("State", "").split()), "")
        rest: tuple[Any, ...] = (*known[lines], tasks, tracer or 0, *host, state)
        rows.append(Row(pid, name, *rest))
    return rows


def _number(text: str, start: str) -> int | None:
    """The first number of the line that begins so."""
    for line in text.splitlines():
        if line.startswith(start):
            return _sysfs.whole(next(iter(line.removeprefix(start).split()), None))
    return None


class State(NamedTuple):
    """A state of a program in words, which are templates: `rules/program-states.toml`."""

    means: str  # behind the name of the program
    cure: str  # what shows it, and who must do what
    held: bool  # until then nothing goes on
    halted: bool  # no thread of it may run


@cache
def states() -> Mapping[str, State]:
    """The states by name; the first of them that holds is told."""
    return {
        one["name"]: State(
            one["means"], one["cure"], one.get("held", False), one.get("halted", False)
        )
        for one, _ in _counted.entries("program-states.toml", "state")
    }
