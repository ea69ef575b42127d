"""The state of a program: what its threads sleep in, for whom, and what helps.

From `program_states`, the calls in which its threads sleep (`waits`), their CPU time (`threads`),
its connections and the calls that fail (`failed_calls`). Of several states the first of
rules/program-states.toml is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any, Final, NamedTuple

from ..collect import program_states
from ..collect.udp_questions import PORT
from ..frame.rates import Frame
from ..terms.units import many
from . import Facts, contended
from .connections import IDLE_CLIENTS, Connection, connections, openers
from .flow_words import end
from .task_limits import reached

STARTS: Final = ("clone", "clone3", "fork", "vfork")
FULL, STARVED = 0.9, 0.5  # of wall time: on a CPU, waiting for one
STANDS: Final = 0.05  # of wall time on a CPU: a program that waits for one answer has less
LOOPS: Final = ("epoll", "io_")  # calls of an event loop, which serves others meanwhile
UNTIL: Final = ". Until then "  # with it a cure says who waits meanwhile
SLOW: Final = 1.0  # times a second: below, memory.high is touched now and then
_CALLS: Final = {
    "output": "blocked", "sync": "disk", "input": "reads", "timer": "sleeps", "lock": "locked",
    "events": "events",
}  # fmt: skip


class Programs(NamedTuple):
    """What is known of the programs, by process."""

    states: Mapping[int, Any]
    slowed: Mapping[int, float]
    refused: Mapping[int, float]  # processes a second, by their cgroups
    threads: Mapping[int, list[Any]]  # rows of `waits`
    shares: Mapping[int, tuple[float, float]]  # on a CPU and waiting for one, the busiest thread
    woken: frozenset[int]  # threads that ran since the reading before
    forks: Mapping[int, tuple[str, int]]  # call, and how often
    connections: Mapping[int, Connection]  # by inode
    names: Mapping[int, str]  # of the processes that hold sockets
    questions: Mapping[int, Question]  # that wait for an answer, by process
    asked: Mapping[int, Question]  # of attempts to connect and of datagram sockets, by inode
    doors: frozenset[int]  # sockets of datagrams without another end: who reads them is at rest
    kept: Mapping[int, tuple[str, Mapping[str, object]]]  # from a CPU: the state, and its words


class Question(NamedTuple):
    """What a program asked, and who has not answered: no connection has been opened for it."""

    peer: str  # in words
    look: str  # where to look


class Standing(NamedTuple):
    """The first state that a process is in, in words, and what helps; empty: none."""

    state: str = ""
    does: str = ""
    cure: str = ""
    behind: int | None = None  # the process of this host for which it waits


def programs(frame: Frame, facts: Facts) -> Programs:
    """The tables of a frame by process."""
    forks: dict[int, tuple[str, int]] = {}
    threads: dict[int, list[Any]] = {}
    shares: dict[int, tuple[float, float]] = {}
    slowed, refused = ({one.now.pid: one.rate(name) or 0.0 for one in frame.tables.get(
        "program_states", ())} for name in ("slowed", "refused"))  # fmt: skip
    for row in frame.rows("waits"):
        threads.setdefault(row.pid, []).append(row)
    for entry in frame.tables.get("threads", ()):
        share = entry.rate("ran") or 0.0, entry.rate("waited") or 0.0
        shares[entry.now.pid] = max(share, shares.get(entry.now.pid, share), key=sum)
    for row in frame.rows("failed_calls"):
        if row.where == "here" and row.call in STARTS and row.error == "EAGAIN":
            forks[row.pid] = row.call, row.events + forks.get(row.pid, ("", 0))[1]
    woken = frozenset(one.now.tid for one in frame.tables.get("threads", ()) if one.rate("runs"))
    states = {row.pid: row for row in frame.rows("program_states")}
    names = {row.pid: row.name for row in frame.rows("socket_owners") if row.pid}
    doors = frozenset(row.inode for row in frame.rows("sockets_udp") if not row.remote_port)
    return Programs(states, slowed, refused, threads, shares, woken, forks,
                    connections(frame, states), names, *_questions(frame), doors,
                    contended.kept(frame, facts, STARVED))  # fmt: skip


def _questions(frame: Frame) -> tuple[Mapping[int, Question], Mapping[int, Question]]:
    """What waits for a name server or a connection by process, and what each socket may ask."""
    names = {
        pid: Question(
            f"name server {(server := end(row.server, PORT))}",
            f"`nettop why --udp --to {server}` walks the way to it. Bring it back, put another one "
            "before it (/etc/resolv.conf), or look no names up",
        )
        for row in frame.rows("udp_questions") for pid in row.waiters
    }  # fmt: skip
    opening = {
        row.inode: (row.remote, row.remote_port)
        for row in frame.rows("sockets_tcp") if row.state == "syn-sent" and row.inode
    }  # fmt: skip
    attempts = {
        row.inode: Question(
            f"{(to := end(row.remote, row.remote_port))} to its attempt to connect",
            f"`nettop why --to {to}` walks the way",
        )
        for row in frame.rows("sockets_tcp") if row.state == "syn-sent" and row.inode
    }  # fmt: skip
    attempts |= {
        row.inode: Question(
            (to := end(row.remote, row.remote_port)),
            f"`nettop why --udp --to {to}` walks the way to it",
        )
        for row in frame.rows("sockets_udp") if row.remote_port and row.inode
    }  # fmt: skip
    ends = openers(frame)
    holders = {row.inode: row.pid for row in frame.rows("socket_owners") if row.inode in opening}
    asked = {
        pid: attempts[inode] for inode, place in opening.items()
        if (pid := holders.get(inode) or ends.get(place))
    }  # fmt: skip
    return asked | names, attempts


def standing(pid: int, known: Programs, seen: tuple[int, ...] = ()) -> Standing:
    """The first state that the process is in."""
    found = dict(_states(pid, known, seen))
    name = next((one for one in program_states.states() if one in found), "")
    if not name:
        return Standing()
    row = known.states[pid]
    values: dict[str, Any] = {"pid": pid, "who": f"{row.name}[{pid}]", **found[name]}
    does, cure = (text.format_map(values) for text in program_states.states()[name][:2])
    return Standing(name, does, cure, values.get("behind"))


def _states(
    pid: int, known: Programs, seen: tuple[int, ...]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Each state of the process, with what its words need."""
    row, threads = known.states[pid], known.threads.get(pid, ())
    if row.thaw:
        free = "THAWED" if row.thaw.endswith("freezer.state") else "0"
        yield "frozen", {"thaw": row.thaw, "free": free}
    halted = [one.state for one in threads] or [row.state]  # of who moves nothing, the first one
    if set(halted) <= {"T"}:
        yield "stopped", {}
    if row.tracer and "t" in halted:
        yield "traced", {"tracer": row.tracer}
    if pid in known.forks:
        yield "forks", reached(row, known.refused[pid])._asdict()
    if row.high and known.slowed[pid] >= SLOW:
        yield "slowed", {"high": row.high}
    ran, waited = known.shares.get(pid, (0.0, 0.0))
    if ran >= FULL:
        yield "busy", {}
    if waited >= STARVED:
        state, why = known.kept[pid]
        yield state, {"share": min(1.0, waited), **why}
    if ran < STANDS:
        yield from _stands(pid, known, seen)
    if {one.kind for one in threads} == {"pause"}:
        yield "parked", {"call": next(one.call for one in threads)}
    for one in threads:
        yield from _waits(pid, one, known, seen)


def _stands(
    pid: int, known: Programs, seen: tuple[int, ...]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """What the program waits for at connections on which nothing moves.

    Where its threads wait for events or for each other, at those that it opened; a thread that
    sleeps at one of them tells more.
    """
    own = [one for one in known.connections.values() if one.pid == pid and one.still]
    asleep = _asleep(pid, known)
    locks = [one for one in asleep if _of_another(one)]
    if locks and (_owed(pid, known) or all(one.kind == "lock" for one in asleep)):
        yield "flock", {"call": locks[0].call, "lock": _lock(locks[0], known),
                        "release": _release(locks[0], known, (*seen, pid)),
                        "behind": next(one for one in locks[0].holders if one != pid)}  # fmt: skip
    threads = {_inode(one.object): one for one in asleep}
    others = any(one.kind in ("events", "lock") for one in asleep)
    for one in own:
        thread = threads.get(one.inode)
        kind = thread.kind if thread is not None else "events" if others and one.opened else ""
        where = f" in {thread.call}()" if thread is not None else ""
        if one.sends and (kind == "output" or (kind == "events" and one.shut)):
            why = "its window is closed" if one.shut else "it acknowledges nothing"
            yield "sends", {"where": where, "why": why, **_other_end(pid, one, known, seen)}
        elif one.opened and (one.asked or (one.asked is None and kind == "input")) and kind:
            yield "asks", {"where": where, **_other_end(pid, one, known, seen)}
    for thread in asleep:
        question = known.asked.get(_inode(thread.object))
        alone = thread.kind == "events" and thread.ends and not thread.call.startswith(LOOPS)
        reads = thread.kind == "input" and _inode(thread.object) not in known.connections
        if question is None and (alone or reads):
            question = known.questions.get(pid)
        if question is not None:
            yield "asks", {"where": f" in {thread.call}()", **question._asdict()}


def _other_end(
    pid: int, one: Connection, known: Programs, seen: tuple[int, ...]
) -> Mapping[str, object]:  # fmt: skip
    """Who is at the other end of a connection, what that one does, and where to look."""
    if one.other is None or one.other in seen:
        host, _, port = one.remote.rpartition(":")
        if one.sends and not one.shut:
            return {"peer": one.remote, "look": f"`nettop why --to {one.remote}` walks the way"}
        if one.other is not None or ip_address(host.strip("[]").partition("%")[0]).is_loopback:
            return {"peer": one.remote, "look": "`ss -tlnp sport = :" + port + "` shows who does "
                    "not answer on this host"}  # fmt: skip
        return {
            "peer": one.remote,
            "look": f"On {host}, see what holds the program at port {port}, its load, its disk "
            "and its locks (`nettop advise` there)",
        }
    who = _who(one.other, known)
    _, does, cure, _ = _told(one.other, known, (*seen, pid))
    cure = cure.partition(UNTIL)[0]  # who waits for that one waits behind this one
    return {
        "peer": f"{one.remote}, {who}" + (f", which {does}" if does else ""),
        "look": cure or f"See what holds {who}: `sudo nettop why {one.other}`",
        "behind": one.other,
    }


def _waits(
    pid: int, one: Any, known: Programs, seen: tuple[int, ...]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The state of one thread that sleeps in a call."""
    if one.state != "R" and one.call is not None:
        file = f" of {one.object}" if one.type == "file" else ""
        name = _CALLS.get(one.kind, "")
        name = "disk" if one.state == "D" or (file and name != "locked") else name
        name = "" if name == "reads" and _inode(one.object) in known.doors else name
        if name == "blocked":
            # else by the end of its connection; who runs between goes on: its reader is only slow
            if one.tid not in known.woken and (one.drains or one.type == "pipe"):
                words = _reader(pid, one, known, seen)
                name = "outrun" if "works" in words else name
                yield name, {"call": one.call, **words}
        elif name and (name != "reads" or one.type == "socket"):
            writer = _writer(pid, one, known, seen) if name == "reads" else {}
            yield name, {"call": one.call, "file": file, "lock": _lock(one, known), **writer}


def _asleep(pid: int, known: Programs) -> list[Any]:
    """The threads of a process that sleep."""
    return [one for one in known.threads.get(pid, ()) if one.state != "R"]


def _owed(pid: int, known: Programs) -> list[Connection]:
    """The connections of clients that got no answer for long."""
    return [one for one in known.connections.values() if one.pid == pid and one.owed]


def unanswered(pid: int, known: Programs) -> int:
    """Its clients that wait for an answer while it is held up by another program, or does not run.

    Those whose data or end it does not read, and as many of the others as it waits for things: who
    sends only wants no answer, and a question that is answered late by design waits for nobody.
    """
    owed, stuck = _owed(pid, known), _stuck(pid, known)
    unread = sum(one.unread for one in owed)
    return unread + min(stuck, len(owed) - unread) if stuck else 0


def _stuck(pid: int, known: Programs, seen: tuple[int, ...] = ()) -> int:
    """The locks for which it waits, and the programs here that are held up and owe it an answer."""
    state = _told(pid, known, seen)[0]
    if state and program_states.states()[state].held and state not in ("flock", "asks", "sends"):
        return len(known.connections)
    return sum(_of_another(one) for one in _asleep(pid, known)) + sum(
        bool(_stuck(one.other, known, (*seen, pid)))
        for one in known.connections.values()
        if one.pid == pid and one.opened and one.asked and one.still
        and one.other is not None and one.other not in (*seen, pid)
    )  # fmt: skip


def _of_another(row: Any) -> bool:
    """Whether a thread waits for the lock of a file that another process is known to hold."""
    return row.kind == "lock" and any(pid != row.pid for pid in row.holders)


def _release(row: Any, known: Programs, seen: tuple[int, ...]) -> str:
    """What releases the lock of a file: what its holder does, and how to end it."""
    pid = next(pid for pid in row.holders if pid != row.pid)
    who = _who(pid, known)
    state, does, cure, _ = Standing() if pid in seen else _told(pid, known, seen)
    does = f" {who} {does}: {cure}." if state and program_states.states()[state].held else ""
    return f"`lslocks -p {pid}` shows the lock.{does} Let {who} release it, or end it"


def _lock(row: Any, known: Programs) -> str:
    """What a thread waits for that has a lock to come: of a file with its holder, or not known."""
    if row.type != "file":
        return "a lock or another thread"
    names = [_who(pid, known) for pid in row.holders]
    return f"the lock of {row.object}" + (f", held by {' and '.join(names)}" if names else "")


def _who(pid: int, known: Programs) -> str:
    """The process with its number, by its name where that is known."""
    told = known.states.get(pid)
    name = told.name if told is not None else known.names.get(pid)
    return f"{name}[{pid}]" if name else f"process {pid}"


def _told(pid: int, known: Programs, seen: tuple[int, ...]) -> Standing:
    """The state of another program; empty if it was not looked at."""
    return standing(pid, known, seen) if pid in known.states else Standing()


def _writer(pid: int, row: Any, known: Programs, seen: tuple[int, ...]) -> Mapping[str, object]:
    """Whose data a thread waits for, if that is a program of this host, and what that one does."""
    first = next((one for one in row.feeds if one not in seen), None)
    if first is None:
        one = known.connections.get(_inode(row.object))
        if one is None or not one.opened:
            return {"writer": _clients(pid, known) or "one connection", "idle": IDLE_CLIENTS}
        there = _other_end(pid, one, known, seen)
        return {**there, "writer": f"{there['peer']}, to which it is connected",
                "idle": there["look"]}  # fmt: skip
    _, does, cure, _ = _told(first, known, (*seen, pid))
    who = _who(first, known)
    cure = cure or f"See what holds {who}: `sudo nettop why {first}`"
    return {"writer": f"{who}, which {does}" if does else who, "idle": cure, "behind": first}


def _clients(pid: int, known: Programs) -> str:
    """The clients for whose data its threads wait, the one with most connections first."""
    held = (known.connections.get(_inode(one.object)) for one in _asleep(pid, known)
            if one.kind == "input")  # fmt: skip
    idle = [one for one in held if one is not None and one.still and not one.opened]
    hosts = Counter(one.remote.rpartition(":")[0] for one in idle)
    if not hosts:
        return ""
    (first, count), *others = hosts.most_common()
    rest = sum(number for _, number in others)
    told = f"{many(count, 'idle connections')} of {first.strip('[]')}"
    return told + (f" and of {many(rest, 'connections')} of others" if rest else "")


def _inode(target: str) -> int:
    """The inode of `socket:[INODE]`; -1 of another form."""
    number = target.removeprefix("socket:[").removesuffix("]")
    return int(number) if number.isdecimal() else -1


def _works(pid: int, known: Programs) -> bool:
    """Whether a thread of it runs now, or runs or waits for a CPU for most of the time."""
    runs = any(one.state == "R" for one in known.threads.get(pid, ()))
    return runs or sum(known.shares.get(pid, (0.0, 0.0))) >= STARVED


def _hands_on(pid: int, known: Programs) -> bool:
    """Whether it has the pipe only for its child, for which it waits: `timeout`, a shell."""
    threads = known.threads.get(pid, ())
    return bool(threads) and all(one.kind == "child" for one in threads)


def _reader(pid: int, row: Any, known: Programs, seen: tuple[int, ...]) -> Mapping[str, object]:
    """Who does not read the pipe into which a thread writes, and what that one does."""
    if row.call.startswith("open"):
        path = (
            f"dd if=/proc/{pid}/mem bs=1 skip={row.word} count=200 2>&- | tr '\\0' '\\n' | head -1"
        )
        return {"pipe": "named pipe", "reader": "nobody has opened it to read",
                "free_it": f"`{path}` shows its path: start what reads it"}  # fmt: skip
    pipe = "pipe" if row.type == "pipe" else "Unix socket"
    at = f"`ls -l /proc/{pid}/fd` shows the {pipe}"
    pipe = f"full {pipe}"
    left = (one for one in row.drains if one not in seen)
    readers = sorted(left, key=lambda one: _hands_on(one, known))
    if not readers:
        return {"pipe": pipe, "reader": "nobody reads it", "free_it": at}
    first = readers[0]
    who = _who(first, known)
    state, does, cure, _ = _told(first, known, (*seen, pid))
    if state and program_states.states()[state].held:
        return {"pipe": pipe, "reader": f"{who}, which reads it, {does}", "free_it": cure,
                "behind": first}  # fmt: skip
    if _works(first, known):
        does, cure = (does, cure) if state in ("busy", "throttled", "starved") else ("", "")
        return {"pipe": pipe, "reader": who + (f", which {does}" if does else ""),
                "free_it": cure or f"`nettop profile {first}` shows what {who} does",
                "behind": first, "works": True}  # fmt: skip
    does = f", which {does}," if state else ""
    return {"pipe": pipe, "reader": f"{who}{does} does not read it",
            "free_it": f"{at}; restart {who}, or let it read"}  # fmt: skip
