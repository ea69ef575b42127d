"""Limits of cgroups: CPU time, processes, memory of TCP sockets.

From the collectors `throttling` (of cgroups whose processes move network data), `process_limits`
and `socket_memory`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Final

from ...collect import throttling
from ...collect.threads import Row as ThreadRow
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..flow_words import part
from ..kind import Kind
from .flow import Flow


@dataclass(frozen=True, slots=True)
class Quota:
    """One cgroup; `processes` are those that move data in it or below it."""

    cgroup: str = label("cgroup")
    cores: float = gauge("CPU quota", "cores", default=0.0)
    throttled: float | None = maybe("share of the periods in which it was throttled", "ratio")
    processes: tuple[str, ...] = gauge(
        "processes with network traffic in it, as nginx[812]", default=()
    )

    file: str = gauge("file with the quota", default="")

    @property
    def pids(self) -> tuple[int, ...]:
        """The numbers of the processes."""
        return numbers(self.processes)


def build(frame: Frame, facts: object) -> tuple[Quota, ...]:  # noqa: ARG001
    """One fact for each cgroup with a quota; a cgroup that did not run has no share."""
    names = programs(frame, attrgetter("cgroup"))
    return tuple(
        Quota(
            entry.now.cgroup.rpartition(":")[2],
            entry.now.quota,
            part(entry.rate("throttled"), entry.rate("periods")),
            below(entry.now.cgroup, names),
            throttling.file(entry.now.cgroup),
        )
        for entry in frame.tables.get("throttling", ())
    )


def numbers(names: Iterable[str]) -> tuple[int, ...]:
    """The process numbers of names such as nginx[812]."""
    found = (name.rpartition("[")[2].rstrip("]") for name in names)
    return tuple(int(one) for one in found if one.isdecimal())


def programs(
    frame: Frame, group_of: Callable[[ThreadRow], str | None]
) -> Mapping[str, Collection[str]]:
    """The processes that move data, as nginx[812], by their cgroup."""
    names: dict[str, dict[str, None]] = {}
    for row in frame.rows("threads"):
        group = group_of(row)
        if group is not None and row.pid == row.tid:
            names.setdefault(group, {})[f"{row.name}[{row.pid}]"] = None
    return names


def below(cgroup: str, names: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Those of `names` in the cgroup or below it."""
    return tuple(
        name
        for group, inside in sorted(names.items())
        if f"{group}/".startswith(f"{cgroup}/")
        for name in inside
    )


KIND = Kind(
    Quota, "quotas", needs=("throttling", "threads"), build=build,
    example={"cgroup": "/system.slice/app.service", "cores": 1.0},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TaskLimit:
    """One cgroup with a limit of processes and threads."""

    cgroup: str = label("cgroup")
    limit: int = gauge("processes and threads that it may have (pids.max)", "tasks", default=0)
    tasks: int | None = maybe("processes and threads in it", "tasks")
    refused: float | None = maybe("processes and threads that the limit refused", "tasks/s")
    processes: tuple[str, ...] = gauge("programs in it that listen", default=())
    ports: tuple[int, ...] = gauge("ports at which they listen", default=())

    @property
    def pids(self) -> tuple[int, ...]:
        """The numbers of these programs."""
        return numbers(self.processes)


def task_limits(frame: Frame, facts: Facts) -> tuple[TaskLimit, ...]:
    """One fact for each cgroup in `process_limits`."""
    found = []
    for entry in frame.tables.get("process_limits", ()):
        row = entry.now
        ports = {one.port for one in facts.more.get("listener", ())
                 if f"{one.process}[{one.pid}]" in row.processes}  # fmt: skip
        found.append(TaskLimit(row.cgroup, row.limit, row.tasks, entry.rate("refused"),
                               row.processes, tuple(sorted(ports))))  # fmt: skip
    return tuple(found)


TASK_LIMIT = Kind(
    TaskLimit, "task_limits", needs=("process_limits", "socket_owners", "threads"),
    build=task_limits, example={"cgroup": "/system.slice/app.service", "limit": 100},
)  # fmt: skip


SMALL: Final = 0.5  # of the largest send buffer: autotuning stops above it, a shortage below
FULL: Final = 0.98  # of the limit: it is reached
WAITS: Final = 0.5  # of busy time: the send buffer limits the flow


@dataclass(frozen=True, slots=True)
class Memcg:
    """One cgroup; `processes` are those that move data in it or below it, or that listen."""

    cgroup: str = label("cgroup")
    refused: float | None = maybe("times that TCP sockets were refused memory (v2)", "events/s")
    peak: int | None = maybe("most memory that its TCP sockets had (v1)", "bytes")
    limit: int | None = maybe("limit of the memory of its TCP sockets (v1)", "bytes")
    processes: tuple[str, ...] = gauge(
        "processes with network traffic in it, as nginx[812]", default=()
    )
    squeezed: bool = gauge(
        "one of its processes sends from a full buffer that is far below the maximum of tcp_wmem",
        default=False,
    )
    short: bool = gauge(
        "its TCP sockets are refused memory, or have all of its limit while segments that arrive "
        "find none", default=False,
    )  # fmt: skip
    ports: tuple[int, ...] = gauge("local ports of the flows of its processes", default=())
    killed: float | None = maybe(
        "of its processes, those that were killed for lack of memory", "processes/s"
    )
    most: int | None = maybe("memory that it may use", "bytes")

    @property
    def pids(self) -> tuple[int, ...]:
        """The numbers of the processes."""
        return numbers(self.processes)


def memcgs(frame: Frame, facts: Facts) -> tuple[Memcg, ...]:
    """One fact for each cgroup in `socket_memory`."""
    entries = frame.tables.get("socket_memory", ())
    names = programs(frame, attrgetter("memory_cgroup")) if entries else {}
    made = (
        Memcg(
            entry.now.cgroup.rpartition(":")[2],
            entry.rate("refused"),
            entry.now.peak,
            entry.now.limit,
            tuple(dict.fromkeys((*below(entry.now.cgroup, names), *entry.now.processes))),
            killed=entry.rate("killed"),
            most=entry.now.most,
        )
        for entry in entries
    )
    small = {flow.pid for flow in facts.flows if _small(flow, facts.sysctls)} if entries else set()
    return tuple(_joined(one, small, facts) for one in made)


def _joined(cgroup: Memcg, small: Collection[int | None], facts: Facts) -> Memcg:
    """The cgroup with what its flows tell."""
    ports = {one.local_port for one in facts.flows if one.pid in cgroup.pids}
    full = cgroup.limit is not None and (cgroup.peak or 0) > FULL * cgroup.limit
    lost = full and bool(facts.host.rcvq_drops)
    return replace(
        cgroup, squeezed=any(one in small for one in cgroup.pids),
        short=bool(cgroup.refused) or lost, ports=tuple(sorted(ports)),
    )  # fmt: skip


def _small(flow: Flow, sysctls: Mapping[str, str]) -> bool:
    """Whether it waits for room in a send buffer that could grow (sk_stream_moderate_sndbuf())."""
    triple = sysctls.get("net.ipv4.tcp_wmem", "").split()
    if len(triple) != 3 or not flow.sndbuf or flow.sndbuf >= SMALL * int(triple[2]):
        return False
    return bool(flow.sndbuf_full) or (flow.sndbuf_limited or 0.0) >= WAITS


MEMCG = Kind(
    Memcg, "memcgs", needs=("socket_memory", "threads"), build=memcgs,
    example={"cgroup": "/system.slice/app.service"},
)  # fmt: skip
