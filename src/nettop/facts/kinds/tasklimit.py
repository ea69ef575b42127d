"""A cgroup that may have no more processes, and the programs in it that listen."""

from __future__ import annotations

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind
from .quota import numbers


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


def build(frame: Frame, facts: Facts) -> tuple[TaskLimit, ...]:
    """One fact for each cgroup in `process_limits`."""
    found = []
    for entry in frame.tables.get("process_limits", ()):
        row = entry.now
        ports = {one.port for one in facts.more.get("listener", ())
                 if f"{one.process}[{one.pid}]" in row.processes}  # fmt: skip
        found.append(TaskLimit(row.cgroup, row.limit, row.tasks, entry.rate("refused"),
                               row.processes, tuple(sorted(ports))))  # fmt: skip
    return tuple(found)


KIND = Kind(
    TaskLimit, "task_limits", needs=("process_limits", "socket_owners", "threads"), build=build,
    example={"cgroup": "/system.slice/app.service", "limit": 100},
)  # fmt: skip
