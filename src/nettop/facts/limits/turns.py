"""Threads of one program that run in turns, as those of an interpreter with one lock.

All of them wait at one futex (Python/ceval_gil.c, take_gil(); thread_pthread.c of Ruby), each runs
now and then, together they use no more than one core, and at any time one of them runs or wants to.
Parked threads of a pool hardly run, and those of one with little work sleep at the same time: a
timed wait is one of a lock only while another thread runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...terms import units
from . import sampled
from .looks import Look
from .sampled import HELPER, LEAST, RUNS, Cause, Shares
from .stages import cpu as cpus
from .window import share

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


def _times(threads: Sequence[Shares]) -> list[tuple[str, ...]]:
    """What the threads waited for at each reading; threads that were read seldom are left out."""
    known = (one.kinds for one in threads if len(one.kinds) >= cpus.SAMPLES)
    return list(zip(*map(reversed, known), strict=False))


def works(threads: Sequence[Shares], least: float = HELPER) -> bool:
    """Whether in this share of the samples one of the threads runs, or wants to."""
    times = _times(threads)
    return len(times) >= cpus.SAMPLES and share(RUNS in kinds for kinds in times) >= least
