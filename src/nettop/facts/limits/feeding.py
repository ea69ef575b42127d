"""What the program of a flow waits for, and which program that waits for in turn.

A sender waits for what feeds it: a device, a pipe, a time, a lock. A receiver waits for what drains
it. The samples of the collector `waits` say in which system call each thread slept, the counters of
the scheduler how long it ran; together they are shares of wall time. A program that waits for a
pipe is followed to the program at the other end, and one that waits for its children to these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ...frame.rates import Entry
from ...terms import units
from ...terms.dataclass import dataclass
from . import Interval, waiting
from .looks import Look
from .stages import cpu as cpus
from .window import mean

LEAST: Final = 0.3  # of wall time: a program that waits less for each thing waits for none
HELPER: Final = 0.5  # the same of one thread of several: a helper may sleep often
DEEP: Final = 8  # programs that are followed, one behind the other
PAGE: Final = 4096
AGAIN: Final = 0.5  # of what is read, was in memory a short time before
COUNTED: Final = 0.5  # of the rate of the flow, moved by a device for requests in the background

# in place of a stage: what it does for the way, and not what it waits for
RUNS, GIVES, CHILD, EVENTS, SOCKET, OTHER, CLOSED = (
    "runs", "gives", "child", "events", "socket", "other", "closed",
)  # fmt: skip
FIRM: Final = ("stopped", "memory", "disk-read", "disk-write", "held-lock", "pipe", RUNS, CHILD)
# what a program at the other end of a pipe does if it limits one that waits for several things: who
# reads messages of a receiver sleeps as well, by a timer too
SURE: Final = ("timer", "stopped", "memory", "disk-read", "disk-write", "pipe-cpu")
LOOSE: Final = ("timer", "lock", EVENTS, SOCKET)


@dataclass(frozen=True, slots=True)
class Cause:
    """What a program waits for, after all that was followed."""

    stage: str
    name: str  # of the program that waits, or that is at the end of the pipes
    share: float  # of wall time, of that program
    because: str
    capacity: Interval | None = None
    thread: int | None = None
    how: str = ""  # a device is used
    joint: tuple[str, ...] = ()


class _Shares(NamedTuple):
    """Of one thread: shares of wall time by what it waits for, and a sample of each."""

    row: Any  # the last sample
    ran: float
    parts: Mapping[str, float]
    rows: Mapping[str, Any]
    feeds: tuple[int, ...] = ()
    holders: tuple[int, ...] = ()
    children: tuple[int, ...] = ()
    gives: float = 0.0  # of wall time: the network does not take more of this flow


def cause(look: Look) -> Cause | None:
    """What the program of a flow waits for; None: it may not be read, or it waits for nothing."""
    if look.over != "flow" or look.flow is None or look.flow.pid is None:
        return None
    pid = look.flow.pid
    return look.window.once(
        ("cause", look.target, look.sends, pid), lambda: _cause(look, (pid,), frozenset())
    )


def _cause(look: Look, pids: Sequence[int], seen: frozenset[int]) -> Cause | None:
    """Of one process, or of children that come and go."""
    if len(seen) >= DEEP or seen.intersection(pids):
        return None
    threads = list(_threads(look, pids))
    if not threads:
        return _halted(look, pids)
    name = _name(threads, pids)
    stage, thread = _chosen(threads)
    seen |= {*pids}
    if stage in (RUNS, OTHER, "") and (again := _again(look, name, thread)) is not None:
        return again
    if stage == CHILD:
        return _cause(look, thread.children, seen)
    if stage == EVENTS:
        return _of_events(look, name, thread, seen)
    if stage == "pipe":
        return _of_pipe(look, name, thread, seen)
    if stage == "held-lock":
        return _of_lock(look, name, thread, seen)
    if stage == RUNS and len(seen) > 1:
        return _of_core(look, pids[0], name, thread)
    if stage == SOCKET:
        return _asked(look, name, thread) if len(seen) == 1 else None
    if stage in ("", OTHER):
        return _moved(look, name, max(threads, key=lambda one: one.ran))
    if stage in (RUNS, GIVES, CLOSED):
        return None
    return _plain(look, stage, name, thread, threads)


def _threads(look: Look, pids: Sequence[int]) -> Iterator[_Shares]:
    known = {one.tid: one for pid in pids for one in cpus.threads(look, pid)}
    if len(pids) > 1:  # they come and go: one of them at a time
        every = [entry for pid in pids for one in look.window.samples(pid).values()
                 for entry in one]  # fmt: skip
        if every:
            yield _shares(look, every, None)
        return
    for pid in pids:
        for tid, entries in look.window.samples(pid).items():
            yield _shares(look, entries, known.get(tid))


def _shares(look: Look, entries: Sequence[Entry[Any]], thread: cpus.Thread | None) -> _Shares:
    rows = [entry.now for entry in entries]
    kinds = [_kind(look, entry) for entry in entries]
    waits = Counter(kind for kind in kinds if kind != RUNS)
    ran = (len(kinds) - waits.total()) / len(kinds)
    if thread is not None:
        ran = min(1.0, thread.ran + thread.waited)
        if thread.throttled >= cpus.USED_UP:
            ran = max(ran, thread.throttled)
    parts = {kind: (1.0 - ran) * number / waits.total() for kind, number in waits.items()}
    if not waits:  # it was read between two waits each time
        parts = {OTHER: 1.0 - ran}
    socket = f"socket:[{look.flow.inode if look.flow is not None else None}]"
    way = "feeds" if look.sends else "drains"
    return _Shares(
        rows[-1], ran, {**parts, RUNS: ran}, dict(zip(kinds, rows, strict=True)),
        tuple(dict.fromkeys(pid for row in rows for pid in getattr(row, way))),
        tuple(dict.fromkeys(pid for row in rows for pid in row.holders)),
        tuple(dict.fromkeys(pid for row in rows for pid in row.children)),
        parts.get(GIVES, 0.0) if any(row.object == socket for row in rows) else 0.0,
    )  # fmt: skip


def _kind(look: Look, entry: Entry[Any]) -> str:
    """What a thread waited for in one sample: a stage, or one of the words above."""
    row = entry.now
    waits = row.state == "D"
    if row.state in ("T", "t") or row.frozen:
        return "stopped"
    if row.state == "R":
        return RUNS
    if row.call is None:
        return _device(look, entry) if waits else CLOSED
    if row.kind in ("input", "output") and row.object.startswith("/"):
        return _file(look, entry)
    if row.kind == "sync":
        return "disk-write"
    if waits:
        return _device(look, entry)
    if row.kind in ("input", "output"):
        if not row.object.startswith(("pipe:", "socket:")):
            return OTHER
        if row.kind != _way(look):
            return GIVES
        return "pipe" if row.object.startswith("pipe:") or row.feeds or row.drains else SOCKET
    if row.kind == "lock":
        return "held-lock" if row.object else "lock"
    return {"timer": "timer", "events": EVENTS, "child": CHILD}.get(row.kind, OTHER)


def _way(look: Look) -> str:
    return "input" if look.sends else "output"


def _file(look: Look, entry: Entry[Any]) -> str:
    """What a thread waits for that reads or writes a file."""
    row = entry.now
    if row.kind == _way(look) and (row.feeds or row.drains):
        return "pipe"  # a program serves the file system
    if row.state != "D" and row.object.startswith("/dev/"):
        return OTHER
    return _device(look, entry, "disk-read" if row.kind == "input" else "disk-write")


def _device(look: Look, entry: Entry[Any], told: str = "") -> str:
    """What a thread waits for: memory, a file, or a mapped file or folder without a descriptor."""
    main = [e for e in look.window.samples(entry.now.pid).get(entry.now.pid, ()) if e.rated]
    read, written = (mean(e.rate(name) for e in main) or 0.0 for name in ("read", "written"))
    again = PAGE * (mean(e.rate("evicted") for e in main) or 0.0)
    if again >= PAGE and again >= AGAIN * read and told != "disk-write":
        return "memory"
    writes = written > read or (read == written and not look.sends)
    return told or ("disk-write" if writes else "disk-read")


def _halted(look: Look, pids: Sequence[int]) -> Cause | None:
    """A program that signals stop, where no more is known of it."""
    known = (one for pid in pids for one in cpus.threads(look, pid))
    one = max(known, key=lambda one: one.stopped, default=None)
    if one is None or one.stopped < LEAST:
        return None
    why = f"{one.name} is stopped by a signal {units.share(one.stopped)} of the time"
    return Cause("stopped", one.name, one.stopped, why)


def _again(look: Look, name: str, thread: _Shares) -> Cause | None:
    """A program that sends what its cgroup had evicted from memory, and reads it again for that.

    The samples miss its waits: the kernel reads ahead, and to evict pages takes CPU time of the
    kernel. One that spends more time on its own work than in the kernel is busy with that.
    """
    pid = thread.row.pid
    main = [e for e in look.window.samples(pid).get(pid, ()) if e.rated]
    again = 8 * PAGE * (mean(e.rate("evicted") for e in main) or 0.0)
    if not look.rate or again < COUNTED * look.rate:
        return None
    times = [(one.system, one.user) for one in look.facts.processes if one.pid == pid]
    kernel = any(system and system > (user or 0.0) for system, user in times)
    if 1.0 - thread.ran < HELPER and not kernel:
        return None
    why = f"{name} reads {units.scaled(again, 'b/s')} that its cgroup had evicted from memory"
    limit = main[-1].now.memory
    return Cause("memory", name, min(1.0, again / look.rate), f"{why}: {limit}" if limit else why)


def _chosen(threads: Sequence[_Shares]) -> tuple[str, _Shares]:
    """What the program waits for most, and the thread that does.

    A firm wait of any thread counts: the others wait for that thread. Else the thread that runs
    most decides, since to send and to receive take CPU time, unless one waits for the network.
    """
    busiest = max(threads, key=lambda one: one.ran)
    least = LEAST if len(threads) == 1 else HELPER
    firm = [(one.parts.get(kind, 0.0), kind, one) for one in threads for kind in FIRM]
    share, kind, thread = max(firm, key=lambda each: each[0])
    if share >= least and share >= thread.parts.get(GIVES, 0.0):
        return kind, thread
    gives = max(threads, key=lambda one: one.gives)
    if gives.gives >= HELPER:
        return GIVES, gives
    loose = max(busiest.parts, key=lambda kind: busiest.parts[kind])
    return (loose if loose in (*LOOSE, GIVES, CLOSED, RUNS) else ""), busiest


def _name(threads: Sequence[_Shares], pids: Sequence[int]) -> str:
    row = threads[0].row
    return f"{row.name}[{row.pid}]" if len(pids) == 1 else row.name


def _of_pipe(look: Look, name: str, thread: _Shares, seen: frozenset[int]) -> Cause:
    """The program at the other end of the pipe, or the pipe where both wait for each other."""
    share = thread.parts.get("pipe", 0.0)
    row = thread.rows["pipe"]
    others = " and ".join(_title(look, pid) for pid in thread.feeds)
    why = f"{name} waits {units.share(share)} of the time {waiting.stream(row)}"
    if file := row.object.startswith("/"):
        why += f", which {others} serves"
    found = _followed(look, thread.feeds, seen)
    if found is not None:
        return _behind(found, why, "" if file else "pipe")
    if file:
        stage = "disk-read" if row.kind == "input" else "disk-write"
        return Cause(stage, name, share, why, _carried(look.rate, share, direct=row.direct))
    at = f", whose other end is {others}" if others else ""
    return Cause("pipe", others or name, share, f"{why}{at}")


def _of_lock(look: Look, name: str, thread: _Shares, seen: frozenset[int]) -> Cause:
    """Who holds the lock of a file, and what that one waits for."""
    share, file = thread.parts["held-lock"], thread.rows["held-lock"].object
    why = f"{name} waits {units.share(share)} of the time for the lock of {file}"
    if not thread.holders:
        return Cause("lock", name, share, why)
    held = " and ".join(_title(look, pid) for pid in thread.holders)
    why += f", which {held} {'holds' if len(thread.holders) == 1 else 'hold'}"
    found = _followed(look, thread.holders, seen)
    return Cause("lock", name, share, f"{found.because}; {why}" if found is not None else why)


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


def _of_events(look: Look, name: str, thread: _Shares, seen: frozenset[int]) -> Cause | None:
    """A program that waits for several things at once: for a pipe, a time or a request."""
    share = thread.parts[EVENTS]
    found = _followed(look, thread.feeds, seen)
    if found is not None and found.stage in (SURE if look.sends else SURE[1:]):
        return _behind(found, f"{name} waits {units.share(share)} of the time for events")
    row = thread.rows[EVENTS]
    if row.call.startswith("io_") and (moved := _moved(look, name, thread)) is not None:
        return moved
    asked = _asked(look, name, thread) if len(seen) == 1 else None
    if asked is not None or len(seen) > 1 or not row.ends:
        return asked
    why = f"{name} sleeps {units.share(share)} of the time until a time is over ({row.call})"
    return Cause("timer", name, share, why)


def _moved(look: Look, name: str, thread: _Shares) -> Cause | None:
    """A program that sleeps most of the time, and whose data comes from a device or goes there.

    The samples miss a page fault within a call that sends: the socket is locked, and its own
    reading waits for that.
    """
    pid, share = thread.row.pid, 1.0 - thread.ran
    counter = "read" if look.sends else "written"
    moved = mean(e.rate(counter) for e in look.window.samples(pid).get(pid, ()))
    if share < HELPER or not moved or 8 * moved < COUNTED * look.rate:
        return None
    what = "reads" if look.sends else "writes"
    why = f"{name} {what} {units.scaled(8 * moved, 'b/s')} by devices and waits "
    why += f"{units.share(share)} of the time"
    held = next((row for row in thread.rows.values() if row.throttled), None)
    if held is not None:
        why += f", in part {waiting.place(held)}"
    return Cause("disk-read" if look.sends else "disk-write", name, share, why,
                 _carried(look.rate, share, direct=False),
                 how=waiting.how(held) if held is not None else "")  # fmt: skip


def _asked(look: Look, name: str, thread: _Shares) -> Cause | None:
    """A program that sends, and waits for what the other end asks next."""
    share = thread.parts.get(SOCKET, 0.0) + thread.parts.get(EVENTS, 0.0)
    if not look.sends or not look.rated("bytes_received"):
        return None
    why = f"{name} waits {units.share(share)} of the time for data of the other end"
    return Cause("request", name, share, why)


def _of_core(look: Look, pid: int, name: str, thread: _Shares) -> Cause:
    """A program in the pipe that computes."""
    known = next((one for one in cpus.threads(look, pid) if one.tid == thread.row.tid), None)
    why = f"{name} ran {units.share(thread.ran)} of the time"
    if known is not None and known.throttled >= cpus.USED_UP:
        why = f"{name} is throttled by its cgroup in {units.share(known.throttled)} of periods"
    elif known is not None and known.waited >= 0.05:
        why += f", of which it waited for a core {units.share(known.waited)}"
    capacity = known.carried(look.rate)[0] if known is not None else None
    return Cause("pipe-cpu", name, thread.ran, why, capacity, thread.row.tid)


def _plain(
    look: Look, stage: str, name: str, thread: _Shares, threads: Sequence[_Shares]
) -> Cause:  # fmt: skip
    share, row = thread.parts[stage], thread.rows[stage]
    part = units.share(share)
    if stage in ("disk-read", "disk-write"):
        why = f"{name} waits {part} of the time {waiting.place(row)}"
        return Cause(stage, name, share, why, _carried(look.rate, share, direct=row.direct),
                     how=waiting.how(row))  # fmt: skip
    if stage == "timer":
        return Cause(stage, name, share, f"{name} sleeps {part} of the time by itself ({row.call})")
    if stage == "lock":
        joint = tuple(
            kind for one in threads if one is not thread for kind in LOOSE[:1]
            if one.parts.get(kind, 0.0) >= HELPER
        )  # fmt: skip
        why = f"{name} waits {part} of the time for a lock that another thread or process holds "
        why += f"({row.call})"
        return Cause(stage, name, share, why, joint=joint)
    if stage == "stopped":
        share = min(
            share, 1.0 - max(one.ran for one in threads)
        )  # all threads are stopped together
        part = units.share(share)
        how = f"frozen with its cgroup {row.frozen}" if row.frozen else "stopped by a signal"
        return Cause(stage, name, share, f"{name} is {how} {part} of the time")
    why = (
        f"{name} waits {part} of the time {waiting.place(row)}: what it reads was in memory before"
    )
    return Cause(stage, name, share, f"{why}: {row.memory}" if row.memory else why)


def _carried(rate: float, share: float, *, direct: bool) -> Interval:
    """What a device carries that a stream waits for in this share of the time.

    Past the page cache the device does nothing for the stream in the rest of the time. Through it,
    the kernel reads ahead or writes behind meanwhile, so the rest may be busy as well.
    """
    most = rate / max(share, LEAST)
    return (max(rate, 0.9 * most), 1.1 * most) if direct else (rate, most)
