"""What feeds a sender and what drains a receiver: see `feeding`.

These stages stand for the application: they limit in the time in which it offers no more, or reads
no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .. import Reading
from ..feeding import cause
from ..looks import Look
from ..sampled import LEAST
from ..stage import Stage

STAGES: Final = (
    Stage("disk-read", "the disk reads", "the program waits for a file that it reads", "DISK",
          "see its device: throttle, readahead", precedence=171, sending=1, receiving=141,
          feeds=True, sure=True),
    Stage("disk-write", "the disk writes", "the program waits for a file that it writes", "DISK",
          "see its device: throttle, fsync", precedence=172, sending=2, receiving=142,
          feeds=True, sure=True),
    Stage("pipe-cpu", "the CPU time",
          "the program at the other end of a pipe has no more time on its core", "PROCESS",
          "less work for each byte there", precedence=173, sending=3, receiving=136,
          cpu=True, feeds=True, short="pipe CPU"),
    Stage("memory", "memory stalls", "the program waits for memory", "PROCESS",
          "a larger memory limit", precedence=148, sending=4, receiving=137,
          feeds=True, sure=True),
    Stage("lock", "lock contention",
          "the program waits for a lock that another thread or program holds", "PROCESS",
          "find out who holds the lock", precedence=175, sending=5, receiving=134,
          feeds=True),
    Stage("timer", "the timed sleep", "the program sleeps by itself", "PROCESS",
          "nothing to fix: it sleeps by itself", precedence=176, sending=6, receiving=133,
          fault=False, feeds=True),
    Stage("pipe", "the pipe", "the program waits for the program at the other end of a pipe",
          "PROCESS", "look at the program at its other end", precedence=177, sending=7,
          receiving=135, feeds=True),
    Stage("request", "the wait between requests", "an end waits for what the other asks or answers",
          "PROCESS", "ask for more at once, or in parallel", precedence=178, sending=8,
          fault=False, feeds=True, short="requests"),
    Stage("relay", "another connection",
          "the program passes data on, and waits for the connection from which it comes or to "
          "which it goes", "PROCESS", "look at that connection", precedence=174, sending=11,
          receiving=138, feeds=True, short="other conn."),
    Stage("stopped", "the suspension", "a signal or a freezer stops the program", "PROCESS",
          "find out who stops it", precedence=149, sending=9, receiving=132, feeds=True,
          sure=True),
)  # fmt: skip


def readings(look: Look) -> Iterator[Reading]:
    """The stage that the program of a flow waits for, and those that limit with it."""
    found = cause(look)
    if found is None:
        return
    held = 1.0 if found.stage == "stopped" and found.share >= LEAST else found.share
    for stage in (found.stage, *found.joint):
        rated = stage == found.stage and look.over == "flow"  # nobody counts the bytes of datagrams
        capacity = found.capacity if rated else None
        yield Reading(stage, "here", found.name, "measured", found.because, found.share, capacity,
                      held, None, found.thread, found.how, other=found.other)  # fmt: skip
