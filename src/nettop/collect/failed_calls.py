"""Failed network calls and attempts to connect.

kernel/entry/syscall-common.c (trace_sys_exit) and include/trace/events/sock.h
(inet_sock_set_state). Counted by process, call, error and destination. The first reading loads
programs into the kernel (`bpf.calls`), so the table is read on request only, and needs root. An
attempt to connect that succeeds has the error `0`, and so has a datagram of a process of which
others were given back (EAGAIN).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final
from urllib.parse import unquote

from ..frame.fields import counter, gauge, label, light
from ..host.bpf import ABROAD, DEVICE, FILE, PEER, RANGE, SIZE
from ..terms.dataclass import dataclass
from . import _counted
from ._table import Table

__all__ = ["ABROAD", "DEVICE", "FILE", "PEER", "RANGE", "SIZE"]  # of arguments, for facts

TABLE: Final = Table(every=0.9, counted="calls", absent=True)
OPENED: Final = "0"  # error of an attempt to connect, or of a datagram, that succeeded
UNIX: Final = "unix"  # address of Unix sockets
# calls whose errors mean what those of another one mean
_AS: Final = {"sendfile": "write", "splice": "write", "recvmmsg": "recvmsg", "socketpair": "socket",
                "openat": "open"}  # fmt: skip


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One call with one error, of one process, to one destination."""

    call: str = label("the call as in section 2 of the manual; connection: an attempt to connect")
    error: str = label("errno, e.g. ECONNREFUSED; 0: succeeded; GIVEN_UP: closed before an answer")
    pid: int = label("process")
    where: str = label("network namespace of the process: here or elsewhere")
    address: str = label("address that the program gave; empty without one")
    port: str = label("port that the program gave; empty without one")
    process: str = label("name of the process")
    events: int = counter("calls since nettop started to count", "calls")
    seconds: float = gauge("counted for", "s", default=0.0)
    argument: str = label(
        "what the program gave beside an address, as `bpf.arguments`; of a Unix socket the inode "
        "and the name of the other end, as peer=8213,/dev/log; of a file where it is mounted, and "
        "its path, as file=/srv,/srv/in/a",
        default="",
    )
    by: str = label(
        "what may have refused it: seccomp, BPF programs as NAME@GROUP, confined: a sandbox, or "
        "abroad=NAME[PID]: who listens in another namespace",
        default="",
    )


def parse(text: str) -> Sequence[Row]:
    """The rows of `bpf.calls` lines; ValueError for any other."""
    return _counted.rows(text, _row, "failed calls")


def _row(line: str, seconds: float) -> Row:
    call, error, number, pid, where, address, port, process = line.split(" ", 7)
    if not (call and error and process):
        raise ValueError(f"not a call with its count: {line[:60]!r}")
    labels = _counted.number(pid), where, _counted.told(address), _counted.told(port), process
    call, argument, by = (unquote(one) for one in f"{call};;".split(";")[:3])
    return Row(call, error, *labels, _counted.number(number), seconds, argument, by)


def words(call: str, error: str, address: str = "", argument: str = "") -> _counted.Words:
    """What an error of a call means; one that is not in the table says its name."""
    family = "ip6" if ":" in address else "unix" if address == UNIX else ""
    known = _known()
    given = (argument.partition("=")[0], "any") if argument else ()
    calls = filter(None, (call, _AS.get(call)))
    keys = ((one, error, where, what)
            for one in calls for where in (family, "") for what in (*given, ""))  # fmt: skip
    return next(filter(None, map(known.get, keys)), None) or _counted.Words(
        means=f"A call fails: {call}, {error}",
        kind=_counted.UNKNOWN,
        cause="What this error means depends on the call.",
        advice=f"`man 2 {call}` describes {error}. "
        "`strace -f -e trace=network -p PID` shows the calls of the process.",
        rests=f"{call}(2)",
    )


def case(said: _counted.Words, name: str, **values: object) -> _counted.Words:
    """The words of a case that is seen, with these values in the place of their names."""
    return said._replace(**_counted.case("call-cases.toml", name, {**said._asdict(), **values}))


@cache
def _known() -> Mapping[tuple[str, str, str, str], _counted.Words]:
    table = _counted.entries("failed-calls.toml", "call")
    return {
        (call, one["errno"], one.get("family", ""), argument): words
        for one, words in table
        for call in one["calls"]
        for argument in one.get("argument", "").split() or ("",)
    }
