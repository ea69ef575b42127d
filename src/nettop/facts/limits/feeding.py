"""What the program of a flow waits for, and which program that waits for in turn.

A sender waits for what feeds it: a device, a pipe, a time, a lock. A receiver waits for what drains
it. The samples of the collector `waits` say in which system call each thread slept, the counters of
the scheduler how long it ran; together they are shares of wall time. A program that waits for a
pipe is followed to the program at the other end, and one that waits for its children to these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from ...terms import units
from . import halts, passing, sampled
from .halts import COUNTED
from .looks import Look
from .sampled import (
    CHILD,
    CLOSED,
    EVENTS,
    GIVES,
    HELPER,
    OTHER,
    RUNS,
    SOCKET,
    Cause,
    Shares,
    chosen,
)
from .stages import cpu as cpus
from .window import mean

RESTS: Final = 0.2  # of wall time: a relay that runs in the rest; less may be chance
# what a busy thread waits for as well
BESIDE: Final = ("disk-read", "disk-write", "pipe", EVENTS, OTHER)
FILES: Final = 3  # different ones in the samples: one after the other, and not parts of one
OFTEN: Final = 0.8  # of the samples
DEEP: Final = 8  # programs that are followed, one behind the other
WRITES: Final = 0.1  # of wall time in a call that sends: less is nothing that stops it
LATE: Final = 0.5  # of wall time: the other end neither has data to confirm nor is it on its way
EARLY: Final = 4.0  # wakeups in the time after which it would wake by itself
# what a program at the other end of a pipe does if it limits one that waits for several things: who
# reads messages of a receiver sleeps as well, by a timer too
SURE: Final = ("timer", "stopped", "memory", "disk-read", "disk-write", "pipe-cpu")


def cause(look: Look) -> Cause | None:
    """What the program of a flow waits for; None: it may not be read, or it waits for nothing."""
    datagrams = look.over == "socket" and look.sends
    if not (look.over == "flow" or datagrams) or look.flow is None or look.flow.pid is None:
        return None
    pid = look.flow.pid
    return look.window.once(
        ("cause", look.target, look.sends, pid), lambda: _cause(look, (pid,), frozenset())
    )


def _cause(look: Look, pids: Sequence[int], seen: frozenset[int]) -> Cause | None:
    """Of one process, or of children that come and go."""
    if len(seen) >= DEEP or seen.intersection(pids):
        return None
    threads = sampled.threads(look, pids)
    if not threads:
        return halts.halted(look, pids)
    name = _name(threads, pids)
    stage, thread = chosen(threads)
    if (traced := halts.traced(look, threads)) is not None:
        return traced
    seen |= {*pids}
    hidden = _hidden(look, name, stage, thread, threads, seen)
    if hidden is not None:
        return hidden
    if stage == CHILD:
        found = _cause(look, thread.children, seen)
        return found and replace(found, because=f"{found.because}; {name} waits for it to end")
    if stage in _OTHERS:
        return _OTHERS[stage](look, name, thread, seen)
    if stage == RUNS and len(seen) > 1:
        return _of_core(look, pids[0], name, thread)
    if stage == SOCKET:
        found = passing.on(look, name, thread, SOCKET) or passing.datagrams(look, name, thread)
        if found is not None or len(seen) > 1:
            return found
        found = _asked(look, name, thread)
        idle = max(one.parts.get(GIVES, 0.0) for one in threads) < WRITES
        return replace(found, reads=idle) if found is not None else None
    if stage in ("", OTHER):
        return _moved(look, name, max(threads, key=lambda one: one.ran))
    if stage in (RUNS, GIVES, CLOSED):
        return None
    return _plain(look, stage, name, thread, threads)


def _hidden(
    look: Look, name: str, stage: str, thread: Shares, threads: Sequence[Shares],
    seen: frozenset[int],
) -> Cause | None:  # fmt: skip
    """What a program waits for that seems to run, or to wait for nothing that is known."""
    if stage in (RUNS, OTHER, "") and (again := halts.again(look, name, thread)) is not None:
        return again
    if stage in (RUNS, OTHER, "", "lock"):
        turn = halts.turns(look, name, threads)
        if turn is None and stage == "lock" and thread.rows[stage].call == "futex":
            turn = halts.shared(look, name, threads)
        if turn is not None:
            return turn
    return _relayed(look, name, thread, seen) if stage == RUNS else None


def _name(threads: Sequence[Shares], pids: Sequence[int]) -> str:
    row = threads[0].row
    return f"{row.name}[{row.pid}]" if len(pids) == 1 else row.name


def _of_pipe(look: Look, name: str, thread: Shares, seen: frozenset[int]) -> Cause:
    """The program at the other end of the pipe, or the pipe where both wait for each other."""
    share = thread.parts.get("pipe", 0.0)
    row = thread.rows["pipe"]
    others = " and ".join(_title(look, pid) for pid in thread.feeds)
    why = f"{name} waits {units.share(share)} of the time {sampled.stream(row)}"
    if file := row.type == "file":
        why += f", which {others} serves"
    found = _followed(look, thread.feeds, seen)
    if found is not None:
        return _behind(found, why, "" if file else "pipe")
    if file:
        stage = "disk-read" if row.kind == "input" else "disk-write"
        return Cause(
            stage, name, share, why, sampled.carried(look.rate, share, row, direct=row.direct)
        )
    at = f", whose other end is {others}" if others else ""
    return Cause("pipe", others or name, share, f"{why}{at}")


def _relayed(look: Look, name: str, thread: Shares, seen: frozenset[int]) -> Cause | None:
    """What a relay waits for that runs meanwhile; None: no program of its pipe is busier than it.

    It copies for a part of the time and waits for its pipe in the rest, however it waits.
    """
    kind = max(("pipe", EVENTS), key=lambda one: thread.parts.get(one, 0.0))
    if not thread.feeds or thread.parts.get(kind, 0.0) < RESTS:
        return None
    found = (_of_pipe if kind == "pipe" else _of_events)(look, name, thread, seen)
    known = found is not None and found.stage in SURE and found.share > thread.ran
    return found if known else None


def _of_lock(look: Look, name: str, thread: Shares, seen: frozenset[int]) -> Cause:
    """Who holds the lock of a file, and what that one waits for."""
    share = thread.parts["held-lock"]
    words = sampled.held(thread.rows["held-lock"], [_title(look, pid) for pid in thread.holders])
    why = f"{name} waits {units.share(share)} of the time for {words}"
    return _held(look, Cause("lock", name, share, why), thread, seen)


def _of_others(look: Look, name: str, thread: Shares, seen: frozenset[int]) -> Cause | None:
    """What other threads or programs hold or have to do, and what one of these waits for."""
    threads = sampled.threads(look, (thread.row.pid,))
    waits = halts.lock(name, thread, threads, [_title(look, pid) for pid in thread.holders])
    return waits and _held(look, waits, thread, seen)


def _held(look: Look, waits: Cause, thread: Shares, seen: frozenset[int]) -> Cause:
    """A wait for others, with what the one of a few waits for that waits most."""
    few = thread.holders if len(thread.holders) <= sampled.MOST else ()
    found = _followed(look, few, seen)
    return waits if found is None else replace(waits, because=f"{found.because}; {waits.because}")


def _behind(found: Cause, why: str, way: str = "pipe") -> Cause:
    """The cause with those that wait for it; `way`: the stage by which it feeds or drains them."""
    joint = tuple(one for one in dict.fromkeys((*found.joint, way)) if one)
    return Cause(found.stage, found.name, found.share, f"{found.because}; {why}", found.capacity,
                 found.thread, found.how, joint)  # fmt: skip


def _followed(look: Look, pids: Iterable[int], seen: frozenset[int]) -> Cause | None:
    """Of several programs, the one that waits most, or runs most."""
    causes = (_cause(look, (pid,), seen) for pid in pids)
    return max((one for one in causes if one is not None), key=lambda one: one.share, default=None)


def _title(look: Look, pid: int) -> str:
    rows = [entry.now for one in look.window.samples(pid).values() for entry in one]
    return f"{rows[-1].name}[{pid}]" if rows else f"process {pid}"


def _of_events(look: Look, name: str, thread: Shares, seen: frozenset[int]) -> Cause | None:
    """A program that waits for several things at once: for a pipe, a time or a request."""
    share, row = thread.parts[EVENTS], thread.rows[EVENTS]
    found = _followed(look, thread.feeds, seen)
    why = f"{name} waits {units.share(share)} of the time "
    if row.type == "inotify":
        others = " and ".join(_title(look, pid) for pid in thread.feeds)
        why += f"until {row.object} grows" + (f", which {others} writes" if others else "")
        if found is None or found.stage not in SURE:
            return Cause("pipe", name, share, why, how="grows")
        return _behind(found, why, "")
    sure = SURE if look.sends else SURE[1:]
    if found is not None and (found.stage in sure or found.how == "grows"):
        return _behind(found, f"{why}for events")
    if row.call.startswith("io_") and (moved := _moved(look, name, thread)) is not None:
        return moved
    asked = passing.on(look, name, thread, EVENTS)
    if asked is None and len(seen) == 1:
        asked = _asked(look, name, thread)
    if asked is None and look.sends and row.type == "pipe" and thread.feeds:
        others = _title(look, thread.feeds[0])
        why += f"for events, its standard input is a pipe, whose other end is {others}"
        return Cause("pipe", others, share, why)
    if asked is not None or len(seen) > 1 or not row.ends or _early(look, thread):
        return asked
    why = f"{name} sleeps {units.share(share)} of the time until a time is over ({row.call})"
    return Cause("timer", name, share, why)


def _early(look: Look, thread: Shares) -> bool:
    """Whether data wakes a thread before its time is over: it wakes far more often than by that.

    Where it is not known how often it wakes, data may.
    """
    after = thread.rows[EVENTS].after
    known = (one for one in cpus.threads(look, thread.row.pid) if one.tid == thread.row.tid)
    runs = next((one.runs for one in known), None)
    return bool(after) and (runs is None or runs * after / 1000 >= EARLY)


# what a program waits for in which another one is followed
_OTHERS: Final = {
    EVENTS: _of_events, "pipe": _of_pipe, "held-lock": _of_lock, "lock": _of_others,
}  # fmt: skip


def _moved(look: Look, name: str, thread: Shares) -> Cause | None:
    """A program that sleeps most of the time, and whose data comes from a device or goes there.

    The samples miss a page fault within a call that sends: the socket is locked, and its own
    reading waits for that.
    """
    pid, share = thread.row.pid, 1.0 - thread.ran
    counter = "read" if look.sends else "written"
    moved = mean(e.rate(counter) for e in look.window.samples(pid).get(pid, ()))
    if share < HELPER or not moved or look.over == "socket" or 8 * moved < COUNTED * look.rate:
        return None
    what = "reads" if look.sends else "writes"
    why = f"{name} {what} {units.scaled(8 * moved, 'b/s')} by devices and waits "
    why += f"{units.share(share)} of the time"
    events = thread.rows.get(EVENTS)
    held = next((row for row in thread.rows.values() if row.throttled), None)
    if events is not None and events.type == "file":  # it asks in the background
        held, why = events, f"{why} {sampled.place(events)}"
    elif held is not None:
        why += f", in part {sampled.place(held)}"
    why += sampled.disk(look, held) if held is not None else ""
    direct = held is events and held is not None
    return Cause("disk-read" if look.sends else "disk-write", name, share, why,
                 sampled.carried(look.rate, share, held, direct=direct),
                 how=sampled.how(held) if held is not None else "")  # fmt: skip


def _asked(look: Look, name: str, thread: Shares) -> Cause | None:
    """A program that sends, and waits for what the other end asks next."""
    share = thread.parts.get(SOCKET, 0.0) + thread.parts.get(EVENTS, 0.0)
    if not look.sends or not look.rated("bytes_received"):
        return None
    why = f"{name} waits {units.share(share)} of the time for data of the other end"
    each, trip = look.rated("data_segs_in"), (look.now("rtt") or 0) / 1e6
    if not each or share - max(each * trip, look.part("busy_time")) < LATE:
        return Cause("request", name, share, why)
    why += (
        f", {units.seconds(share / each)} each time, where the path takes {units.seconds(trip)}: "
    )
    return Cause("request", name, share, f"{why}the program there takes the rest", how="late")


def _of_core(look: Look, pid: int, name: str, thread: Shares) -> Cause:
    """A program in the pipe that computes."""
    known = next((one for one in cpus.threads(look, pid) if one.tid == thread.row.tid), None)
    ran = "ran" if known is not None else "ran or waited for a core"
    why = f"{name} {ran} {units.share(thread.ran)} of the time"
    if known is not None and known.throttled >= cpus.USED_UP:
        why = f"{name} is throttled by its cgroup in {units.share(known.throttled)} of periods"
    elif known is not None and known.waited >= 0.05:
        why = f"{name} ran {units.share(known.ran)} of the time and waited for a core "
        why += units.share(min(known.waited, 1.0 - known.ran))
        crowded = cpus.crowd(look, pid, known)
        why += f", {crowded}" if crowded else ""
    capacity = known.carried(look.rate)[0] if known is not None else None
    how = "throttled" if known is not None and known.throttled >= cpus.USED_UP else ""
    return Cause("pipe-cpu", name, thread.ran, why, capacity, thread.row.tid, how)


def beside(look: Look, thread: int | None) -> tuple[str, str]:
    """What a busy thread of a flow waits for in a good part of the rest; empty: in none.

    On a crowded host the time for which it waits for a core hides what it waits for otherwise.
    The second is how the thread is used: `locked` if its program runs one thread at a time.
    """
    if look.over != "flow" or look.flow is None or look.flow.pid is None:
        return "", ""
    pid = look.flow.pid
    every = sampled.threads(look, (pid,))
    if (turn := halts.turns(look, "", every)) is not None:
        return turn.because, "locked"
    one = next((one for one in every if one.row.tid == thread), None)
    parts = one.parts if one is not None else {}
    kind = max(BESIDE, key=lambda kind: parts.get(kind, 0.0))
    if one is None or parts.get(kind, 0.0) < RESTS:
        return "", ""
    share = units.share(parts[kind])
    if kind in ("disk-read", "disk-write"):
        return f"waits {share} of the time {sampled.place(one.rows[kind])}", ""
    found = _followed(look, one.feeds, frozenset((pid,)))
    if found is None or found.stage not in SURE or found.share <= one.ran:
        return "", ""
    return f"waits {share} of the time; behind its pipe {found.because}", ""


def _plain(
    look: Look, stage: str, name: str, thread: Shares, threads: Sequence[Shares]
) -> Cause | None:  # fmt: skip
    share, row = thread.parts[stage], thread.rows[stage]
    part = units.share(share)
    if stage in ("disk-read", "disk-write"):
        why, how = f"{name} waits {part} of the time {sampled.place(row)}", sampled.how(row)
        if how == "cached" and len({*thread.files}) >= max(FILES, OFTEN * len(thread.files)):
            why, how = f"{why}, another file in each sample", "files"
        capacity = sampled.carried(look.rate, share, row, direct=row.direct)
        return Cause(stage, name, share, why + sampled.disk(look, row), capacity, how=how)
    if stage == "timer":
        why = f"{name} sleeps {part} of the time by itself ({row.call})"
        tries = sampled.tries(thread, [_title(look, pid) for pid in thread.holders])
        return Cause(stage, name, share, f"{why}{tries}", joint=("lock",) if tries else ())
    if stage == "stopped":
        share = min(share, 1.0 - max(one.ran for one in threads))  # all stop together
        part = units.share(share)
        how = f"frozen with its cgroup {row.frozen}" if row.frozen else "stopped by a "
        how += "" if row.frozen else "tracer" if row.state == "t" else "signal"
        return Cause(stage, name, share, f"{name} is {how} {part} of the time")
    why = f"{name} waits {part} of the time {sampled.place(row)}"
    if row.kind != "memory":
        why += ": what it reads was in memory before"
    return Cause(stage, name, share, f"{why}: {row.memory}" if row.memory else why)
