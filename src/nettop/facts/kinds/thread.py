"""A thread of a process that moves network data, from the collector `threads`."""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from typing import Final

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts, contended, work
from ..kind import Kind
from .quota import Quota

WAITS: Final = 0.2  # of wall time that a thread waits for a CPU: then it is told what else runs


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread. Shares are percent of wall time."""

    tid: int = label("thread")
    pid: int = gauge("process", default=0)
    name: str = gauge("thread name", default="")
    ran: float | None = maybe("time on a CPU", "%")
    waited: float | None = maybe("time waiting for a CPU (run queue)", "%")
    cpu: int | None = maybe("CPU it last ran on")
    group: int = gauge("threads of its name in the process", "threads", default=1)
    rest: float | None = maybe("time on a CPU of the busiest other thread of the group", "%")
    nic: str | None = maybe("interface with most of the traffic of its process")
    doing: str | None = maybe("what it does: classes of work by share of its time")
    work: str | None = maybe("class of most of its work")
    work_share: float | None = maybe("share of that class in its CPU time", "%")
    relief: str | None = maybe("how to reduce that work")
    crowd: str | None = maybe("CPUs to which its process is bound, and what else runs there")
    throttled: float | None = maybe(
        "share of the periods in which a quota throttles its process, which makes most of its wait",
        "%",
    )


def build(frame: Frame, facts: Facts) -> tuple[Thread, ...]:
    """One fact for each thread that was read."""
    threads = frame.tables.get("threads")
    if not threads:
        return ()
    nics = {one.pid: one.nic for one in facts.processes}
    doing = work.threads(frame.tables.get("profiles", ()))
    quotas = contended.throttled(frame)
    waits = {e.now.pid for e in threads if (e.rate("waited") or 0.0) >= WAITS}
    crowds = {pid: contended.words(facts, pid) or None for pid in waits}
    groups: dict[tuple[int, str], list[float]] = defaultdict(list)
    for entry in threads:
        groups[entry.now.pid, _stem(entry.now.name)].append(entry.rate("ran") or 0.0)
    for shares in groups.values():
        shares.sort(reverse=True)
    return tuple(
        Thread(
            entry.now.tid,
            entry.now.pid,
            entry.now.name,
            _percent(entry.rate("ran")),
            _percent(entry.rate("waited")),
            entry.now.cpu,
            len(group := groups[entry.now.pid, _stem(entry.now.name)]),
            _rest(group, entry.rate("ran")),
            nics.get(entry.now.pid),
            *doing.get(entry.now.tid, work.NOTHING),
            crowds.get(entry.now.pid),
            _throttled(quotas.get(entry.now.pid), entry.rate("waited")),
        )
        for entry in threads
    )


def _stem(name: str) -> str:
    """The name without a number at its end: worker-3 and worker-11 are of one group."""
    return name.rstrip("0123456789").rstrip("-_:/#")


def _rest(group: list[float], ran: float | None) -> float | None:
    """The largest share of the group but for this thread's; None for a thread alone."""
    if len(group) < 2 or ran is None:
        return None
    return _percent(group[1] if ran >= group[0] else group[0])


def _throttled(quota: Quota | None, waited: float | None) -> float | None:
    kept = quota is not None and waited and contended.explains(quota, waited)
    return _percent(quota.throttled) if quota is not None and kept else None


def _percent(share: float | None) -> float | None:
    return None if share is None else min(100.0, 100.0 * share)


KIND = Kind(
    Thread, "threads", needs=("threads", "throttling"), build=build,
    target=lambda thread: f"{thread.name}[{thread.tid}]", owner=attrgetter("name"),
    parents={"process": attrgetter("pid"), "nic": attrgetter("nic")},
    names={"thread": "thread.name", "tid": "thread.tid"},
    example={"tid": 3391, "pid": 3391, "name": "app"},
)  # fmt: skip
