"""A program that goes on only now and then: it is stopped, or its threads run in turns.

A signal, a tracer or too little memory stops it. The threads of an interpreter with one lock run in
turns: all of them wait at one futex (Python/ceval_gil.c, take_gil(); thread_pthread.c of Ruby),
each runs now and then, together they use no more than one core, and at any time one of them runs or
wants to. Parked threads of a pool hardly run, and those of one with little work sleep at the same
time: a timed wait is one of a lock only while another thread runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...terms import units
from . import sampled
from .looks import Look
from .sampled import EVENTS, HELPER, LEAST, PAGE, RUNS, Cause, Shares
from .stages import cpu as cpus
from .window import mean, share

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


ALWAYS: Final = 0.9  # of the samples: a turn may pass on while they are read


def turns(look: Look, name: str, threads: Sequence[Shares]) -> Cause | None:
    """Who waits for its turn, and for whom; None: no thread does, or it is not certain."""
    known = {one.tid: one for pid in {one.row.pid for one in threads}
             for one in cpus.threads(look, pid)}  # fmt: skip
    active = [
        (one, busy) for one in threads
        if one.words and (busy := known.get(one.row.tid)) is not None
        and busy.ran + busy.waited >= cpus.WORKS
    ]  # fmt: skip
    waits, own = max(active, key=lambda each: each[0].parts.get("lock", 0.0), default=(None, None))
    if waits is None or own is None or waits.parts.get("lock", 0.0) < LEAST:
        return None
    others = [busy for one, busy in active if one is not waits and one.words & waits.words]
    together = sum(busy.ran for busy in (*others, own))
    if not others or together > cpus.ONE or not works(threads, ALWAYS):
        return None
    others.sort(key=lambda busy: -busy.ran)
    part = waits.parts["lock"]
    why = f"{own.name} waits {units.share(part)} of the time for a lock of its process (futex), "
    why += f"for which {cpus.several(others)} {'wait' if others[1:] else 'waits'} as well: "
    why += "one thread runs at a time, as with the lock of an interpreter"
    return Cause("lock", name, part, why, how="locked")


def shared(look: Look, name: str, threads: Sequence[Shares]) -> Cause | None:
    """The device for which in most samples one of the threads waits; None: for none.

    A runtime that moves its tasks from thread to thread, such as that of Go, lets a thread sleep
    while another one reads: a sleep of one in futex() says nothing of the program.
    """
    times = _times(threads)
    for kind in ("disk-read", "disk-write"):
        part = share(kind in kinds for kinds in times)
        if len(times) >= cpus.SAMPLES and part >= HELPER:
            row = max(threads, key=lambda one: one.parts.get(kind, 0.0)).rows[kind]
            why = f"{name} waits {units.share(part)} of the time {sampled.place(row)}, "
            why += "in one of its threads or another"
            return Cause(kind, name, part, why, (look.rate, look.rate / part), how=sampled.how(row))
    return None


def lock(
    name: str, thread: Shares, threads: Sequence[Shares], who: Sequence[str]
) -> Cause | None:  # fmt: skip
    """What another thread or program holds or has to do; None: an idle thread waits for nothing.

    `who` are the programs with which it shares that. Of its own threads, one that sleeps by itself
    limits as well: it may hold the lock meanwhile.
    """
    part, row = thread.parts["lock"], thread.rows["lock"]
    others = [one for one in threads if one.row.tid != thread.row.tid]
    asleep = max((one.parts.get("timer", 0.0) for one in others), default=0.0)
    why = f"{name} waits {units.share(part)} of the time for {sampled.lock(row, who)} ({row.call})"
    if row.call == "futex" and row.ends and sum(one.ran for one in threads) < HELPER:
        why = f"{name} sleeps {units.share(part)} of the time until a time is over, or another "
        return Cause("timer", name, part, f"{why}thread wakes it (futex); none of them runs much")
    idle = any(one.parts.get(EVENTS, 0.0) >= HELPER for one in threads)
    alone = not any(one.words & thread.words for one in others)
    if (row.ends and alone) or (not row.word and (idle or works(threads))):  # it is no lock
        return None
    if asleep < HELPER:
        return Cause("lock", name, part, why)
    why += f"; another of its threads sleeps {units.share(asleep)} of it by itself"
    return Cause("lock", name, part, why, joint=("timer",))


def _times(threads: Sequence[Shares]) -> list[tuple[str, ...]]:
    """What the threads waited for at each reading; threads that were read seldom are left out."""
    known = (one.kinds for one in threads if len(one.kinds) >= cpus.SAMPLES)
    return list(zip(*map(reversed, known), strict=False))


def works(threads: Sequence[Shares], least: float = HELPER) -> bool:
    """Whether in this share of the samples one of the threads runs, or wants to."""
    times = _times(threads)
    return len(times) >= cpus.SAMPLES and share(RUNS in kinds for kinds in times) >= least
