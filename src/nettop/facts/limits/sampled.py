"""What each thread of a program waited for in the samples of `waits`, as shares of wall time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ...frame.rates import Entry
from ...terms import units
from ...terms.dataclass import dataclass
from . import Interval
from .looks import Look
from .stages import cpu as cpus
from .window import mean

LEAST: Final = 0.3  # of wall time: a program that waits less for each thing waits for none
HELPER: Final = 0.5  # the same of one thread of several: a helper may sleep often
COPIED: Final = 400e9  # bit/s: a core copies less between a program and its socket
HIDDEN: Final = 0.02  # of a core: the least time that every kernel counts
PAGE: Final = 4096
LINE: Final = 64  # bytes: a condition variable has several futexes beside one another
MOST: Final = 3  # programs that are named
AGAIN: Final = 0.5  # of what is read, was in memory a short time before

# in place of a stage: what it does for the way, and not what it waits for
RUNS, GIVES, CHILD, EVENTS, SOCKET, OTHER, CLOSED = (
    "runs", "gives", "child", "events", "socket", "other", "closed",
)  # fmt: skip
FIRM: Final = ("stopped", "memory", "disk-read", "disk-write", "held-lock", "pipe", RUNS, CHILD)
LOOSE: Final = ("timer", "lock", EVENTS, SOCKET)

_KINDS: Final = {"timer": "timer", "events": EVENTS, "child": CHILD, "signal": "pipe"}


class Shares(NamedTuple):
    """Of one thread: shares of wall time by what it waits for, and a sample of each."""

    row: Any  # the last sample
    ran: float
    parts: Mapping[str, float]
    rows: Mapping[str, Any]
    feeds: tuple[int, ...] = ()
    holders: tuple[int, ...] = ()
    children: tuple[int, ...] = ()
    gives: float = 0.0  # of wall time: the network does not take more of this flow
    words: frozenset[int] = frozenset()  # lines of memory with the futexes at which it waits
    kinds: Sequence[str] = ()  # of each sample, the oldest first
    files: Sequence[str] = ()  # for which it waited, of each sample that has one


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
    other: str = ""  # of a relay: the connection for which it waits, LOCAL>REMOTE
    reads: bool = False  # it sleeps in the call that reads the socket: it has nothing to send


def threads(look: Look, pids: Sequence[int]) -> list[Shares]:
    """Each thread of a process; of children that come and go, one for all of them.

    None of the program of a flow that moves more than it could in the time in which it ran: the
    samples do not say what it does.
    """
    own = look.flow is not None and pids == (look.flow.pid,)
    found = [*_threads(look, pids)]
    ran = min(1.0, sum(one.ran for one in found))
    return [] if own and look.rate * (1.0 - ran) > COPIED * (ran + HIDDEN) else found


def _threads(look: Look, pids: Sequence[int]) -> Iterator[Shares]:
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


def _shares(look: Look, entries: Sequence[Entry[Any]], thread: cpus.Thread | None) -> Shares:
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
    return Shares(
        rows[-1], ran, {**parts, RUNS: ran}, dict(zip(kinds, rows, strict=True)),
        tuple(dict.fromkeys(pid for row in rows for pid in getattr(row, way))),
        tuple(dict.fromkeys(pid for row in rows for pid in row.holders)),
        tuple(dict.fromkeys(pid for row in rows for pid in row.children)),
        parts.get(GIVES, 0.0) if any(row.object == socket for row in rows) else 0.0,
        frozenset(row.word // LINE for row in rows if row.word), kinds,
        [row.object for row in rows if row.type == "file"],
    )  # fmt: skip


def _kind(look: Look, entry: Entry[Any]) -> str:
    """What a thread waited for in one sample: a stage, or one of the words above."""
    row = entry.now
    waits = row.state == "D"
    if row.state in ("T", "t") or row.frozen:
        return "stopped"
    if row.state == "R":
        return RUNS
    if row.kind == "memory":
        return "memory"
    if row.call is None:
        return _device(look, entry) if waits else CLOSED
    if row.kind in ("input", "output") and row.type == "file":
        return _file(look, entry)
    if row.kind == "sync":
        return "disk-write"
    if waits:
        return _device(look, entry)
    if row.kind in ("input", "output"):
        if row.type not in ("pipe", "socket"):
            return OTHER
        if row.kind != _way(look):
            return GIVES
        return "pipe" if row.type == "pipe" or row.feeds or row.drains else SOCKET
    if row.kind == "lock":
        known = row.type == "file" and (row.call != "futex" or row.word)  # else it may idle
        return "held-lock" if known else "lock"
    return _KINDS.get(row.kind, OTHER)


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


def chosen(threads: Sequence[Shares]) -> tuple[str, Shares]:
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


SERVED: Final = ("fuse", "nfs", "cifs", "smb", "9p", "virtiofs", "ceph", "afs")  # without a device


def how(row: Any) -> str:
    """How it uses the device; empty where that is not known, or where a program serves the file."""
    if row.throttled:
        return "throttled"
    if row.filesystem.startswith(SERVED):
        return ""
    if row.kind == "sync" or (row.kind == "output" and row.synced):
        return "synced"
    return "direct" if row.direct else "cached" if row.type == "file" else ""


def place(row: Any) -> str:
    """`in read() of /data/big (ext4, past the page cache)`."""
    if row.kind == "memory":
        file = f", in {row.call}() of {row.object}" if row.type == "file" else ""
        return f"for memory, which its cgroup does not give{file}"
    if row.call is None:
        return "for a device (state D); the call may not be read"
    limited = f", which a cgroup throttles: {row.throttled}" if row.throttled else ""
    if row.type != "file":
        what = "a mapped file" if row.object or not row.call else "a mapped file or a folder"
        place = f"in {row.call}() for {what}" if row.call else f"for {what}"
        largest = f" (the largest of these files: {row.mapped})" if row.mapped else ""
        return f"{place}{largest}{limited}"
    told = (
        row.filesystem,
        "past the page cache" if row.direct else "",
        "open for synchronous writes" if row.synced and row.kind != "input" else "",
    )
    kind = ", ".join(filter(None, told))
    return f"in {row.call}() of {row.object}" + (f" ({kind})" if kind else "") + limited


def disk(look: Look, row: Any) -> str:
    """` (vda: in use 97% of the time, by 1.2 requests at once, 0.8 ms for each)`; else empty."""
    entries = look.window.disks.entries(row.device)
    busy, queued = (mean(one.rate(name) for one in entries) for name in ("busy", "queued"))
    if busy is None or queued is None:
        return ""
    told = [f"{entries[-1].now.name}: in use {units.share(min(1.0, busy))} of the time"]
    if busy:
        told.append(f"by {units.amount(max(1.0, queued / busy), 'requests')} at once")
    number, time = ("reads", "reading") if row.kind == "input" else ("writes", "writing")
    requests, spent = (mean(one.rate(name) for one in entries) for name in (number, time))
    if requests and spent is not None:
        told.append(f"{units.seconds(spent / requests)} for each")
    return f" ({', '.join(told)})"


def stream(row: Any) -> str:
    """`for a pipe`, `for a Unix socket`, or the file of a program that serves a file system."""
    if row.type == "file":
        return place(row)
    if row.type != "socket":
        return "for an eventfd" if row.type == "eventfd" else "for a pipe"
    return f"for the Unix socket {row.path}" if row.path else "for a Unix socket"


def lock(row: Any, who: Sequence[str] = ()) -> str:
    """What a thread waits for that another one holds, or that another one has to do; and who may.

    A semaphore has no owner: the programs that share memory with the one that waits may raise it.
    """
    if row.type == "eventfd":
        return "an eventfd"
    if row.type == "file":
        return f"a futex in {row.object}{_others('map', who, ' as well')}"
    if row.type == "semaphore":
        with_whom = f" (it shares memory with {_several(who)})" if who else ""
        return f"semaphore {row.object} of System V, until another process raises it{with_whom}"
    if row.call == "futex" and not row.word:  # it may be idle
        return "another thread"
    return "a lock that another thread or process holds"


def held(row: Any, who: Sequence[str]) -> str:
    """For which lock of a file, or in a file that is mapped; and who holds it, or maps that."""
    if row.call == "futex":
        return f"a lock in {row.object}{_others('map', who, ' as well')}"
    return f"the lock of {row.object}{_others('hold', who)}"


def _others(verb: str, who: Sequence[str], what: str = "") -> str:
    """`, which store[7] maps as well`; empty without a program."""
    return f", which {_several(who)} {verb}{'s' * (len(who) == 1)}{what}" if who else ""


def _several(who: Sequence[str]) -> str:
    more = (f"{len(who) - MOST} more",) if len(who) > MOST else ()
    return " and ".join((*who[:MOST], *more))


def tries(thread: Shares, who: Sequence[str]) -> str:
    """The file that others have locked in most samples of a thread that sleeps; else empty."""
    if not who or 2 * len(thread.files) < len(thread.kinds):
        return ""
    return f", or tries again for the lock of {thread.files[-1]}, held by {' and '.join(who)}"


def allowed(row: Any) -> float | None:
    """The bit/s that a cgroup allows of the device; None: it limits nothing, or only requests."""
    words = row.throttled.partition(" allows ")[2].split()
    found = [word.partition("=")[2] for word in words if word.partition("=")[0] in ("rbps", "wbps")]
    found += words[:1] if words[1:2] == ["bytes/s"] else []
    return min((8.0 * int(one) for one in found if one.isdecimal()), default=None)


def carried(rate: float, share: float, row: Any, *, direct: bool) -> Interval:
    """What a device carries that a stream waits for in this share of the time.

    Past the page cache the device does nothing for the stream in the rest of the time. Through it,
    the kernel reads ahead or writes behind meanwhile, so the rest may be busy as well. A cgroup
    that throttles the device lets no more pass than it allows.
    """
    bound = allowed(row) if row is not None else None
    most = rate / max(share, LEAST)
    least, most = (max(rate, 0.9 * most), 1.1 * most) if direct else (rate, most)
    most = most if bound is None else max(rate, min(most, bound))
    return min(least, most), most
