"""Network calls of a process that fail with one error: collector `failed_calls`."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from ipaddress import IPv6Network, ip_address
from typing import TYPE_CHECKING, Any, Final

from ...collect import failed_calls
from ...frame.fields import gauge, label
from ...frame.rates import Entry, Frame
from ...terms.dataclass import dataclass
from ..counters import grown, total
from ..kind import Kind
from ..ports import Holder, holder
from .drop import most

if TYPE_CHECKING:
    from ...collect._words import Words
    from .. import Facts

ABORTED: Final = "aborted"  # kind of the words: the other end ended a connection
BINDS: Final = ("bind", "listen")  # what a service begins with
RESTARTS: Final = 3  # processes of one name: a service that is started again and again is one
GLOBAL: Final = IPv6Network("2000::/3")  # global unicast: RFC 4291 section 2.4, IANA


@dataclass(frozen=True, slots=True)
class Call:
    """Calls of one process that fail with one error, in the network namespace of nettop."""

    id: str = label("process, call and error, e.g. curl[812]/connect/ENETUNREACH")
    process: str = gauge("name of the process", default="")
    pid: int = gauge("number of the process", default=0)
    who: str = gauge("process with its number", default="")
    call: str = gauge("the call; connection: an attempt to connect", default="")
    error: str = gauge("errno; GIVEN_UP: closed before an answer", default="")
    kind: str = gauge("kind of the error", default="")
    means: str = gauge("what the error says", default="")
    cause: str = gauge("what decides it", default="")
    advice: str = gauge("how to find out more, and what helps", default="")
    rests: str = gauge("the source that defines it", default="")
    rule: str = gauge("the rule that explains it", default="")
    to: str = gauge("destinations", default="")
    events: int = gauge("calls that failed while nettop looked", "calls", default=0)
    per_s: float | None = gauge("calls that fail", "calls/s", default=None)
    share: float | None = gauge(
        "of the attempts to reach the same places, those that failed", "ratio", default=None
    )
    opened: float | None = gauge(
        "connections opened meanwhile, of which some end so: an end that the other end decides",
        "connections/s", default=None,
    )  # fmt: skip


def build(frame: Frame, facts: Facts) -> tuple[Call, ...]:
    """One fact for each process, call and error of this namespace."""
    found: dict[tuple[str, int, str, str], list[Entry[Any]]] = {}
    once = Counter[tuple[str, str, str]]()
    opened = Counter[tuple[int, str, str]]()
    for entry in frame.tables.get("failed_calls", ()):
        row = entry.now
        if row.where != "here":
            continue
        if row.error == failed_calls.OPENED:
            opened[row.pid, row.address, row.port] += row.events
        elif not words(row, frame).normal:
            found.setdefault((row.process, row.pid, row.call, row.error), []).append(entry)
    for process, _, call, error in (key for key in found if key[2] in BINDS):
        once[process, call, error] += 1
    for key in [key for key in found if once[key[0], *key[2:]] >= RESTARTS]:
        found.setdefault((key[0], 0, *key[2:]), []).extend(found.pop(key))
    active, passive = facts.host.tcp_active, facts.host.tcp_passive
    every = None if active is None or passive is None else active + passive
    return tuple(_call(key, entries, opened, every, frame) for key, entries in found.items())


def words(row: failed_calls.Row, frame: Frame | None) -> Words:
    """What the error of a row means.

    What is normal of IPv6 is so only on a host without a global address, and if the program gets
    on by IPv4 (RFC 8305); else, as without a `frame`, the words are those of both families.
    """
    both = failed_calls.words(row.call, row.error)
    if frame is None or both.normal or _four(row.address) or with_ipv6(frame):
        return both
    six = failed_calls.words(row.call, row.error, row.address)
    return six if six.normal and _otherwise(row, frame) else both


def _four(address: str) -> bool:
    """Whether it is an address of IPv4, also as sockets of IPv6 have it; none is not of IPv6."""
    return ":" not in address or address.startswith("::ffff:")


def _otherwise(row: failed_calls.Row, frame: Frame) -> bool:
    """Whether the program tries IPv4 as well, or has connections by it."""
    calls = (one for one in frame.rows("failed_calls")
             if (one.process, one.where) == (row.process, row.where))  # fmt: skip
    if any(one.port and _four(one.address) for one in calls):
        return True
    own = {one.inode for one in frame.rows("socket_owners") if one.pid == row.pid}
    sockets = (one for table in ("sockets_tcp", "sockets_udp") for one in frame.rows(table))
    return any(one.inode in own and one.remote_port and _four(one.remote) for one in sockets)


def with_ipv6(frame: Frame) -> bool:
    """Whether the host has a global address; without, programs try IPv6 in vain (RFC 6724)."""
    return any(_global(one.address) for one in frame.rows("addresses") if one.family == 6)


@cache
def _global(address: str) -> bool:
    return ip_address(address) in GLOBAL


def _call(
    key: tuple[str, int, str, str], entries: list[Entry[Any]],
    opened: Counter[tuple[int, str, str]], every: float | None, frame: Frame,
) -> Call:  # fmt: skip
    process, pid, call, error = key
    said = words(entries[0].now, None)
    places, ends = Counter[str](), Counter[tuple[str, str]]()
    for row in (entry.now for entry in entries):
        places[f"{row.address} port {row.port}" if row.port else row.address] += row.events
        ends[row.address, row.port] += row.events
    events = sum(entry.now.events for entry in entries)
    tried = {(pid, entry.now.address, entry.now.port) for entry in entries}
    answered = sum(opened[one] for one in tried)
    share = events / (events + answered) if call == "connection" else None
    who = f"{process}[{pid}]" if pid else process
    pid = pid or entries[-1].now.pid
    holds = _holder(call, error, ends, frame)
    if holds is not None:
        means, advice = f"{said.means}: {holds.saw}", holds.change[0].upper() + holds.change[1:]
        said = said._replace(means=means, advice=f"{advice}.")
    return Call(
        id=f"{who}/{call}/{error}", process=process, pid=pid, who=who, call=call, error=error,
        kind=said.kind, means=said.means, cause=said.cause,
        advice=_exact(said.advice, pid, ends), rests=said.rests, rule=said.rule,
        to=most(places), events=events,
        per_s=total(grown(entry, "events") for entry in entries), share=share,
        opened=every if said.kind == ABORTED else None,
    )  # fmt: skip


def _holder(
    call: str, error: str, ends: Counter[tuple[str, str]], frame: Frame
) -> Holder | None:  # fmt: skip
    """Who has the port that cannot be bound."""
    port = ends.most_common(1)[0][0][1]
    if call not in BINDS or error != "EADDRINUSE" or not port.isdecimal():
        return None
    return holder(frame, "tcp", int(port)) or holder(frame, "udp", int(port))


def _exact(advice: str, pid: int, ends: Counter[tuple[str, str]]) -> str:
    """The advice with this process and its most frequent address and port in its commands."""
    address, port = ends.most_common(1)[0][0]
    known = {"PID": str(pid), "ADDRESS": "" if address == "unix" else address, "PORT": port}
    return re.sub(r"\b(PID|ADDRESS|PORT)\b", lambda one: known[one[0]] or one[0], advice)


KIND = Kind(
    Call, "calls", build=build, example={"id": "curl[812]/connect/ENETUNREACH"},
    tables={"": "failed_calls"},
)  # fmt: skip
