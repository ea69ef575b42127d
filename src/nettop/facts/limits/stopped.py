"""A program that goes on only now and then: a signal, a tracer or too little memory stops it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...terms import units
from .looks import Look
from .sampled import HELPER, LEAST, PAGE, Cause, Shares
from .stages import cpu as cpus
from .window import mean

COUNTED: Final = 0.5  # of the rate of the flow, moved by a device for requests in the background


def halted(look: Look, pids: Sequence[int]) -> Cause | None:
    """A program that signals stop, where no more is known of it."""
    known = (one for pid in pids for one in cpus.threads(look, pid))
    one = max(known, key=lambda one: one.stopped, default=None)
    if one is None or one.stopped < LEAST:
        return None
    why = f"{one.name} is stopped by a signal {units.share(one.stopped)} of the time"
    return Cause("stopped", one.name, one.stopped, why)


def traced(look: Look, threads: Sequence[Shares]) -> Cause | None:
    """A program that a tracer stops at its calls: who waits for a core then does so once a stop."""
    stops = [one.rows["stopped"] for one in threads if "stopped" in one.rows]
    row = next((row for row in stops if row.tracer), None)
    known = cpus.threads(look, row.pid) if row is not None else ()
    ran = max((one.ran for one in known or threads), default=1.0)
    if row is None or 1.0 - ran < HELPER:
        return None
    by = next((f"{one.name}[{one.pid}]" for one in look.facts.processes if one.pid == row.tracer),
              f"process {row.tracer}")  # fmt: skip
    own = f"{row.name}[{row.pid}]"
    why = f"{own} is traced by {by}, which stops it at its calls: it ran {units.share(ran)} of the "
    return Cause("stopped", own, 1.0 - ran, f"{why}time", how="traced")


def again(look: Look, name: str, thread: Shares) -> Cause | None:
    """A program that sends what its cgroup had evicted from memory, and reads it again for that.

    The samples miss its waits: the kernel reads ahead, and to evict pages takes CPU time of the
    kernel. One that spends more time on its own work than in the kernel is busy with that.
    """
    pid = thread.row.pid
    main = [e for e in look.window.samples(pid).get(pid, ()) if e.rated]
    reads = 8 * PAGE * (mean(e.rate("evicted") for e in main) or 0.0)
    if not look.rate or reads < COUNTED * look.rate:
        return None
    times = [(one.system, one.user) for one in look.facts.processes if one.pid == pid]
    kernel = any(system and system > (user or 0.0) for system, user in times)
    if 1.0 - thread.ran < HELPER and not kernel:
        return None
    why = f"{name} reads {units.scaled(reads, 'b/s')} that its cgroup had evicted from memory"
    limit = main[-1].now.memory
    return Cause("memory", name, min(1.0, reads / look.rate), f"{why}: {limit}" if limit else why)
