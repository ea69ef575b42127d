"""A cgroup that limits the memory of its TCP sockets, from the collector `socket_memory`."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ..kind import Kind
from .quota import below, programs


@dataclass(frozen=True, slots=True)
class Memcg:
    """One cgroup; `processes` are those that move data in it or below it."""

    cgroup: str = label("cgroup")
    refused: float | None = gauge(
        "times that TCP sockets were refused memory (v2)", "events/s", default=None
    )
    peak: int | None = gauge("most memory that its TCP sockets had (v1)", "bytes", default=None)
    limit: int | None = gauge("limit of the memory of its TCP sockets (v1)", "bytes", default=None)
    processes: tuple[str, ...] = gauge(
        "processes with network traffic in it, as nginx[812]", default=()
    )

    @property
    def pids(self) -> tuple[int, ...]:
        """The numbers of the processes."""
        return tuple(int(name.rpartition("[")[2].rstrip("]")) for name in self.processes)


def build(frame: Frame, facts: object) -> tuple[Memcg, ...]:  # noqa: ARG001
    """One fact for each cgroup in `socket_memory`."""
    names = programs(frame, attrgetter("memory_cgroup"))
    return tuple(
        Memcg(
            entry.now.cgroup.rpartition(":")[2],
            entry.rate("refused"),
            entry.now.peak,
            entry.now.limit,
            below(entry.now.cgroup, names),
        )
        for entry in frame.tables.get("socket_memory", ())
    )


KIND = Kind(
    name="memcg", type=Memcg, plural="memcgs", key=attrgetter("cgroup"),
    target=attrgetter("cgroup"), names={"memcg": "memcg.cgroup"},
    example={"cgroup": "/system.slice/app.service"}, tables={"": "socket_memory"},
    needs=("socket_memory", "threads"), build=build,
)  # fmt: skip
