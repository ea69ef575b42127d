"""The states that hold a program up: the first that holds is told, with what helps in each.

A program that cannot start another one has reached a limit of processes or threads. Which one:
kernel/fork.c, copy_process(), and kernel/cgroup/pids.c: pids.max of its cgroup or of one above,
RLIMIT_NPROC of its user, kernel.threads-max and kernel.pid_max end alike with EAGAIN. What the
cgroups count decides; a limit above twice the threads of the whole host is not the one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ..collect.program_states import Row


class State(NamedTuple):
    """One state. The words are templates: `pid`, `who`, and what decides the state."""

    means: str  # behind the name of the program
    cure: str  # what shows it, and who must do what
    held: bool = False  # until then nothing goes on


STATES: Final[Mapping[str, State]] = {
    "frozen": State(
        "is frozen with its cgroup",
        "`cat {thaw}` shows it, and `echo {free} > {thaw}` lets it go on. `docker pause`, "
        "`systemctl freeze` or a backup has frozen it", held=True,
    ),
    "stopped": State(
        "is stopped by a signal (state T)",
        "`ps -o pid,stat,cmd -p {pid}` shows it, and `kill -CONT {pid}` lets it go on. A shell "
        "(Ctrl-Z) or a script has stopped it", held=True,
    ),
    "traced": State(
        "is held by a debugger (state t): process {tracer}",
        "`ps -p {tracer}` shows the debugger: let it go on or detach", held=True,
    ),
    "forks": State(
        "cannot start a process or thread: {limit}",
        "{raise_it}. `ps -eo pid,nlwp,user,cmd --sort=-nlwp | head` shows who has them; if their "
        "number only rises, the program does not end or reap them", held=True,
    ),
    "slowed": State(
        "is slowed by memory.high of {high}",
        "`cat {high}/memory.current {high}/memory.high` shows both: raise the limit (systemd: "
        "MemoryHigh=), or let the program use less memory", held=True,
    ),
    "blocked": State(
        "is blocked in {call}() by a {pipe}: {reader}",
        "{free_it}. Until the other end reads, {who} does nothing else: let it not wait for what "
        "it logs", held=True,
    ),
    "flock": State(
        "waits for {lock} ({call})",
        "{release}. Until then the clients of {who} wait: let it try without waiting (LOCK_NB), or "
        "for a time only", held=True,
    ),
    "asks": State(
        "waits{where} for an answer of {peer}",
        "{look}. Until then the clients of {who} wait: give its requests a timeout. More threads "
        "or a longer backlog only fill later", held=True,
    ),
    "sends": State(
        "waits{where} until {peer} takes more: {why}",
        "{look}. Until then {who} does nothing else: let it send without waiting, or with a "
        "timeout (SO_SNDTIMEO)", held=True,
    ),
    "busy": State(
        "uses a whole CPU",
        "Spread the work over more threads or processes, or find what uses the CPU: "
        "`nettop profile`, `perf top -p {pid}`",
    ),
    "starved": State(
        "waits for a CPU {share:.0%} of the time{crowd}",
        "{give} it one: remove its pinning, if `taskset -acp {pid}` shows one, or the other work "
        "of its CPU, and see its class and priority (`chrt -p {pid}`, nice, cpu.weight)",
    ),
    "outrun": State(
        "waits in {call}() until a {pipe} has room: its reader {reader} is at work",
        "{free_it}",
    ),
    "disk": State(
        "waits for a device in {call}(){file}",
        "`iostat -x 1` shows the device. Let the program write in another thread, or less often",
    ),
    "reads": State(
        "waits in {call}() for data of {writer}",
        "{idle}",
    ),
    "sleeps": State(
        "sleeps by itself in {call}()",
        "The program pauses: a fixed sleep, a limit of its rate, a retry. A larger buffer or "
        "backlog only fills later; `strace -f -p {pid}` shows how long each pause is",
    ),
    "locked": State(
        "waits for {lock} ({call})",
        "`cat /proc/{pid}/task/*/stack` and `gdb -p {pid}` show who holds it: all threads wait for "
        "that one",
    ),
    "events": State(
        "waits for events in {call}()",
        "It does not take what waits: its limit of connections or of workers is reached, or its "
        "event loop no longer watches the socket. Raise the limit, or restart it",
    ),
}  # fmt: skip

UNTIL: Final = ". Until then "  # with it a cure says who waits meanwhile
IDLE_CLIENTS: Final = (
    "Clients that keep a connection open and idle hold its threads: set a limit of idle time, use "
    "more threads or processes, or one thread that accepts only"
)


NEAR: Final = 0.5  # of a limit: with fewer threads on the whole host it is not reached


class Limit(NamedTuple):
    """A limit in words, and what shows and raises it."""

    limit: str
    raise_it: str


_GROUP: Final = Limit(
    "pids.max of {row.full} is {row.tasks}",
    "`cat {row.full}/pids.current {row.full}/pids.max` shows both, and `echo 4096 > "
    "{row.full}/pids.max` raises it (systemd: TasksMax=, docker: --pids-limit)",
)
_UNSEEN: Final = Limit(
    "pids.max of cgroup {row.unseen}",
    "`cat /proc/{row.pid}/cgroup` on the host names the cgroup: see pids.max of it and of those "
    "above (systemd: TasksMax=, docker: --pids-limit)",
)
_USER: Final = Limit(
    "RLIMIT_NPROC of its user, {row.tasks_of_user},",
    "`prlimit --nproc --pid {row.pid}` shows that of the user: raise LimitNPROC= of systemd, or "
    "nproc in /etc/security/limits.conf",
)
_NONE: Final = Limit(
    "a limit that is not visible here",
    "`cat /proc/{row.pid}/cgroup /proc/{row.pid}/limits` shows where it may be (pids.max, Max "
    "processes)",
)


def reached(row: Row, refused: float) -> Limit:
    """The limit that is reached; of several that may be, each.

    `refused`: processes a second that its cgroup or one above refused.
    """
    if row.full and (row.room == 0 or refused):
        return Limit(*(text.format(row=row) for text in _GROUP))
    found = [_UNSEEN] if row.unseen else []
    if not refused:
        if row.tasks_of_user is not None and _near(row, row.tasks_of_user):
            found.append(_USER)
        for name, most in (("pid_max", row.pid_max), ("threads-max", row.threads_max)):
            if _near(row, most):
                found.append(
                    Limit(f"kernel.{name}", f"`sysctl kernel.{name}` shows that of the host")
                )
    limits, cures = zip(*(found or [_NONE]), strict=True)
    return Limit(
        " or ".join(limits).format(row=row) + " is reached", ". ".join(cures).format(row=row)
    )


def _near(row: Row, most: int | None) -> bool:
    """Whether the host has so many threads that the limit may be reached."""
    return most is None or row.all_tasks is None or row.all_tasks >= most * NEAR
