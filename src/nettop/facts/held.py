"""The states that hold a program up, the first that holds is told, with what helps in each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


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
        "is blocked in {call}() by a full {pipe}: {reader}",
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
        "waits for a CPU {share:.0%} of the time",
        "Give it one: remove its pinning (`taskset -acp`) or the other work of its CPU, and see "
        "its class and priority (`chrt -p {pid}`, nice, cpu.weight)",
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
