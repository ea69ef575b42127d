"""A cgroup with a CPU quota whose processes move network data, from the collector `throttling`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from operator import attrgetter

from ...collect import throttling
from ...collect.threads import Row as ThreadRow
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..flow_words import part
from ..kind import Kind


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
    return tuple(int(name.rpartition("[")[2].rstrip("]")) for name in names)


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
