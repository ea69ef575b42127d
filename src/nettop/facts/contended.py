"""The CPUs for which a program waits, and what keeps it from them: a quota, or other programs.

/proc/PID/status, Cpus_allowed_list (Documentation/filesystems/proc.rst): it is that of the first
thread, which others inherit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final

from ..terms import cpulist, units
from ..terms.text import few
from .kinds import quota

if TYPE_CHECKING:
    from ..frame.rates import Frame
    from . import Facts
    from .kinds.process import Taken
    from .kinds.quota import Quota

IDLE: Final = "SCHED_IDLE"
FULL: Final = 10.0  # percent idle: with more on the mean, none of its CPUs is short
COUNTS: Final = 10.0  # percent of a CPU: a program that uses less does not crowd it
NAMED: Final = 3  # programs that are named


def words(facts: Facts, pid: int | None, at: int | None = None) -> str:
    """`it may run on core 1 only; there run also iperf3[28] (38% of core 1)`; empty: not known.

    Programs are told where the CPUs that it may use have no idle time, first those that took most
    of its CPU. Of a program that is no fact, as it used no CPU time, it is known `at` which CPU it
    waits.
    """
    own = next((one for one in facts.processes if one.pid == pid), None)
    known = {core.cpu: core.idle for core in facts.cores if core.idle is not None}
    if own is None and at is None:
        return ""
    cpus, pinned = {one for one in known if one == at}, f"it waits on core {at}"
    if own is not None:
        cpus = {one for one in known if not own.pinned or one in own.allowed}
        pinned = f"it may run on {cores(own.allowed)} only" if own.pinned else ""
    if not cpus or sum(known[cpu] for cpu in cpus) > FULL * len(cpus):
        return pinned
    near = own.cpu if own is not None else None
    others = takers(facts.means.taken, cpus, but=pid, near=near)
    if not others:
        return pinned
    run = "runs" if len(others) == 1 else "run"
    also = few(others, NAMED)
    return f"{pinned}; there {run} also {also}" if pinned else f"beside it {run} {also}"


def takers(
    on: Taken, cpus: Collection[int], *, but: int | None = None, near: int | None = None
) -> list[str]:  # fmt: skip
    """The programs on these CPUs with their shares of the time of these, without `but`.

    `x[7] (38% of core 1)`, `x[7] (19% of 2 cores)`: of what, the first one tells. First those that
    took most of the CPU `near`, then those that took most.
    """
    shares = shared(on, cpus, but=but)
    here = on.get(near, {}) if near is not None else {}
    found = sorted(shares, key=lambda name: -here.get(name, 0.0))
    of = chain([f" of {cores(cpus) if len(cpus) == 1 else f'{len(cpus)} cores'}"], repeat(""))
    return [f"{name} ({units.percent(shares[name])}{unit})"
            for name, unit in zip(found, of, strict=False)]  # fmt: skip


def shared(on: Taken, cpus: Collection[int], *, but: int | None = None) -> dict[str, float]:
    """Percent of the time of these CPUs by program, the largest first; of those that count."""
    whole: Counter[str] = Counter()
    for cpu in cpus:
        whole.update(on.get(cpu, {}))
    # a thread may have run on another CPU before the last one: all together take no more than all
    each = max(float(len(cpus)), sum(whole.values()) / 100)
    return {name: spent / each for name, spent in whole.most_common()
            if spent >= COUNTS and not name.endswith(f"[{but}]")}  # fmt: skip


def everywhere(facts: Facts, *, but: int | None = None) -> str:
    """`stop or limit python[7] (29% of 2 cores): both cores are full`; empty: a core has time."""
    free = [(one.idle or 0.0) + (one.iowait or 0.0) for one in facts.cores if one.idle is not None]
    if not free or max(free) > FULL:
        return ""
    each = {1: "the core is", 2: "both cores are"}.get(len(free), f"all {len(free)} cores are")
    every = takers(facts.means.taken, [one.cpu for one in facts.cores], but=but)
    return f"stop or limit {next(iter(every), 'other programs')}: {each} full"


def kept(
    frame: Frame, facts: Facts, least: float
) -> dict[int, tuple[str, dict[str, object]]]:  # fmt: skip
    """By process the state of one whose threads wait so much of the time, and the words of it.

    Throttled, where a quota makes that wait; else starved: its class or nice value, by which the
    scheduler prefers others, and what runs there meanwhile.
    """
    found: dict[int, tuple[str, dict[str, object]]] = {}
    quotas = throttled(frame)
    for entry in frame.tables.get("threads", ()):
        waited = entry.rate("waited") or 0.0
        if waited < least:
            continue
        row, cure = entry.now, "Give"
        quota = quotas.get(row.pid)
        if quota is not None and explains(quota, waited):
            words_of = {"cgroup": quota.cgroup, "file": quota.file, "cores": f"{quota.cores:.2g}"}
            found[row.pid] = "throttled", {**words_of, "share": quota.throttled}
            continue
        told = words(facts, row.pid, row.cpu)
        if row.lowly:
            told = f"it has {row.lowly}, so others go first{told and '; '}{told}"
            back = f"chrt -a -o -p 0 {row.pid}" if row.lowly == IDLE else f"renice -n 0 {row.pid}"
            cure = f"`{back}` lets it run as others do. Or give"
        found[row.pid] = "starved", {"crowd": f" ({told})" if told else "", "give": cure}
    return found


def throttled(frame: Frame) -> dict[int, Quota]:
    """By process the quota that throttles it in most of its periods; none of one without."""
    found: dict[int, Quota] = {}
    for one in sorted(quota.build(frame, None), key=lambda one: one.throttled or 0.0):
        found |= dict.fromkeys(one.pids, one) if one.throttled else {}
    return found


def explains(one: Quota, waited: float) -> bool:
    """Whether a quota makes most of the wait for a CPU, a share of wall time.

    A thread that is throttled is counted as one that waits for a CPU (kernel/sched/stats.h,
    sched_info_arrive()), for as much of the time as there are periods with throttling at most.
    """
    return 2 * (one.throttled or 0.0) >= min(1.0, waited)


def cores(cpus: Collection[int]) -> str:
    """`core 1`, `cores 0-2`."""
    return f"core{'s' if len(cpus) > 1 else ''} {cpulist.text(cpus)}"
