"""The CPUs for which a program waits, and the programs that run there meanwhile.

/proc/PID/status, Cpus_allowed_list (Documentation/filesystems/proc.rst): it is that of the first
thread, which others inherit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..terms import cpulist, units
from ..terms.text import few

if TYPE_CHECKING:
    from ..frame.rates import Frame
    from . import Facts

IDLE: Final = "SCHED_IDLE"
FULL: Final = 10.0  # percent idle: with more on the mean, none of its CPUs is short
COUNTS: Final = 10.0  # percent of a CPU: a program that uses less does not crowd it
NAMED: Final = 3  # programs that are named


def words(facts: Facts, pid: int | None, at: int | None = None) -> str:
    """`it may run on core 1 only; there run also iperf3[28] (38% of a core)`; empty: not known.

    Programs are told where the CPUs that it may use have no idle time: by the CPU time of the last
    interval, at the CPU where each ran last. Of a program that is no fact, as it used no CPU time,
    it is known `at` which CPU it waits.
    """
    own = next((one for one in facts.processes if one.pid == pid), None)
    known = {core.cpu: core.idle for core in facts.cores if core.idle is not None}
    if own is None and at is None:
        return ""
    cpus, pinned = {one for one in known if one == at}, f"it waits on core {at}"
    if own is not None:
        cpus = {one for one in known if not own.pinned or one in own.allowed}
        pinned = f"it may run on {_cores(own.allowed)} only" if own.pinned else ""
    if not cpus or sum(known[cpu] for cpu in cpus) > FULL * len(cpus):
        return pinned
    others = sorted(
        (-spent, f"{one.name}[{one.pid}] ({units.percent(spent)} of a core)")
         for one in facts.processes
         if one.pid != pid and one.cpu in cpus
         and (spent := (one.user or 0.0) + (one.system or 0.0)) >= COUNTS
    )  # fmt: skip
    if not others:
        return pinned
    run = "runs" if len(others) == 1 else "run"
    also = few((name for _, name in others), NAMED)
    return f"{pinned}; there {run} also {also}" if pinned else f"beside it {run} {also}"


def rivals(frame: Frame, facts: Facts, least: float) -> dict[int, tuple[str, str]]:
    """By process why its threads come late that wait so much of the time, and what helps.

    Its class or nice value, by which the scheduler prefers others, and what runs there meanwhile.
    """
    found = {}
    for entry in frame.tables.get("threads", ()):
        if (entry.rate("waited") or 0.0) < least:
            continue
        row, cure = entry.now, "Give"
        told = words(facts, row.pid, row.cpu)
        if row.lowly:
            told = f"it has {row.lowly}, so others go first{told and '; '}{told}"
            back = f"chrt -a -o -p 0 {row.pid}" if row.lowly == IDLE else f"renice -n 0 {row.pid}"
            cure = f"`{back}` lets it run as others do. Or give"
        found[row.pid] = f" ({told})" if told else "", cure
    return found


def _cores(cpus: tuple[int, ...]) -> str:
    return f"core{'s' if len(cpus) > 1 else ''} {cpulist.text(cpus)}"
