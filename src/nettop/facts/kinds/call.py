"""Network calls of a process that fail with one error: collector `failed_calls`."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from ipaddress import IPv6Network, ip_address
from shlex import quote
from typing import Any, Final

from ...collect import failed_calls
from ...collect._counted import NORMAL, RETURNED, Words
from ...collect.failed_calls import FILE, PEER, SIZE
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Entry, Frame
from ...terms.dataclass import dataclass
from ...terms.text import NAMED, most
from .. import Facts
from ..call_ends import READS
from ..call_reasons import DATAGRAM, exact, valued
from ..connections import CURE, leak
from ..counters import grown
from ..flow_words import total
from ..host_names import named
from ..kind import Kind
from ..peers import called, writer
from ..used_ports import BINDS, NO_ADDRESS, no_source
from ..way.flow import Host

CUT: Final = "tcp_cut"  # the counter of connections that this host ends by a reset
ABORTED: Final = "aborted"  # kind of the words: the other end ended a connection
# of the datagrams: a program that waits for room, and then sends again, has at most one given back
# for each that it sends
HALF: Final = 0.5
SOME: Final = 0.2  # of those to a Unix socket, whose queue no other program's traffic fills
# an attempt that is none: data on a connection that the other end had closed
ENDED: Final = ("connection", "EPIPE")
FEW: Final = 0.2  # of datagrams: fewer that fail are a fault too, and told by their number alone
SENDS: Final = ("sendto", "sendmsg", "sendmmsg", "write", "writev")
# calls that have no destination
PLACELESS: Final = (
    "socket", "socketpair", "setsockopt", "accept", "accept4", "clone", "clone3", "fork", "vfork",
    "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2",
    "epoll_create1", "ioctl", "open", "openat",
)  # fmt: skip
SPARE: Final = 0.05  # of the connections opened meanwhile at the same address or port
MANY: Final = 4  # connections there that carry data for each that fails in a second
AGAIN: Final = 3  # datagrams to one port that ICMP answers: traceroute(8) sends one to each
# processes of one name: a service that is started again and again, or a tool, is one
RESTARTS: Final = 3
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
    called: str = gauge("the call, and what the program gave beside an address", default="")
    addresses: tuple[str, ...] = gauge("of these destinations", default=())
    by: tuple[str, ...] = gauge(
        "rules of the packet filter that refuse it, or the number of the process that reads late",
        default=(),
    )
    peers: tuple[str, ...] = gauge(
        "the ends that it is for and the way out, as `facts.peers`", default=()
    )
    events: int = gauge("calls that failed while nettop looked", "calls", default=0)
    per_s: float | None = maybe("calls that fail", "calls/s")
    share: float | None = maybe(
        "of the attempts to reach the same places, of the connections opened there meanwhile, or "
        "of the datagrams to the same end, those that failed",
        "ratio",
    )
    opened: float | None = maybe(
        "connections opened meanwhile, of which some end so: an end that the other end decides",
        "connections/s",
    )
    beside: bool = gauge(
        "the program opened a connection to the same port elsewhere meanwhile, as one does that "
        "tries several addresses of a name at a time (RFC 8305)", default=False,
    )  # fmt: skip
    gets_on: bool = gauge(
        "the program works on beside these: nearly all of its connections to the same address or "
        "port opened or carry data meanwhile, or, of those that clients reset, no fewer do",
        default=False,
    )
    raises: tuple[str, ...] = gauge("counters of the host that rise with it", default=())
    file: bool = gauge("it is of a file: it, its file system or its device refuses", default=False)


def build(frame: Frame, facts: Facts) -> tuple[Call, ...]:
    """One fact for each process, call and error of this namespace."""
    found: dict[tuple[str, int, str, str], list[Entry[Any]]] = {}
    once = Counter[tuple[str, str, str]]()
    opened, answered = Counter[tuple[str, ...]](), Counter[tuple[str, str]]()
    for row in frame.rows("failed_calls"):
        if row.call == DATAGRAM and row.where == "here":
            answered[row.address, row.port] += row.events
    users = _users(frame)
    for entry in frame.tables.get("failed_calls", ()):
        row = entry.now
        if row.where != "here":
            continue
        process, pid = row.process, row.pid
        if (row.call, row.error) == ENDED:
            process, pid = users.get((row.address, row.port), (process, pid))
        if row.error == failed_calls.OPENED:
            opened[_tried(row)] += row.events
        elif row.call == DATAGRAM and answered[row.address, row.port] < AGAIN:
            continue  # of a program that looks for ports or routes
        elif (said := words(row, frame)).kind == RETURNED or not said.normal:
            found.setdefault((process, pid, row.call, row.error), []).append(entry)
    for process, _, call, error in (key for key in found if key[2] in (*BINDS, DATAGRAM)):
        once[process, call, error] += 1
    for key in [key for key in found if once[key[0], *key[2:]] >= RESTARTS]:
        found.setdefault((key[0], 0, *key[2:]), []).extend(found.pop(key))
    active, passive = facts.host.tcp_active, facts.host.tcp_passive
    every = None if active is None or passive is None else active + passive
    host = Host.of(frame)
    calls = (
        _call(key, entries, opened, every, host, facts)
        for key, entries in found.items() if not _of_clients(key[2:], entries)
    )  # fmt: skip
    return tuple(one for one in calls if one.kind != RETURNED or _lost(one))


def _lost(one: Call) -> bool:
    """Whether so many datagrams are given back that their program loses some, or stands still."""
    least = SOME if failed_calls.UNIX in one.addresses else HALF
    return (one.share or 0.0) > least


def _of_clients(failed: tuple[str, str], entries: list[Entry[Any]]) -> bool:
    """Whether clients ended connections from which the program read: nobody waits for an answer.

    So a balancer ends its health checks, and a browser what it keeps open. Each client has a port
    of its own; a server has one for all.
    """
    if failed != ENDED and not (failed[0] in READS and failed[1] == "ECONNRESET"):
        return False
    return _by_clients(entries)


def _by_clients(entries: list[Entry[Any]]) -> bool:
    """Whether the other ends are clients: each has a port of its own, a server one for all."""
    ports = {entry.now.port for entry in entries}
    events: int = sum(entry.now.events for entry in entries)
    return 2 * len(ports) > events


def _gets_on(
    key: tuple[str, int, str, str], entries: list[Entry[Any]], opened: Counter[tuple[str, ...]],
    facts: Facts, per_s: float | None,
) -> bool:  # fmt: skip
    """Whether these are the end that the program can miss, as one server of several, or a client.

    A balancer asks again and again whether a server is back that it does not use meanwhile. Who
    leaves a page ends what is sent of it: the connections of the others carry data.
    """
    _, pid, call, error = key
    opens = call == "connection" and error not in ("EPIPE", "GIVEN_UP")
    sends = call in SENDS and error in ("ECONNRESET", "EPIPE") and _by_clients(entries)
    if not opens and not sends:
        return False
    ends = {(entry.now.address, entry.now.port) for entry in entries}
    carry = [(one.remote, str(one.remote_port)) for one in facts.flows if one.pid == pid
             and ((one.tx_per_s or 0.0) > 0.0 or (one.rx_per_s or 0.0) > 0.0)]  # fmt: skip
    serves = [one for one in carry if one not in ends]
    if opens:
        addresses, ports = ({one[at] for one in ends} - {""} for at in (0, 1))
        other = sum(count for (how, who, address, port, _), count in opened.items()
                    if (how, who) == (call, str(pid)) and (address, port) not in ends
                    and (address in addresses or port in ports))  # fmt: skip
        alike = [one for one in serves if one[0] in addresses or one[1] in ports]
        events: int = sum(entry.now.events for entry in entries)
        return events < SPARE * other or (per_s or len(alike)) < len(alike) / MANY
    return per_s is not None and len(serves) >= HALF * per_s


def _users(frame: Frame) -> dict[tuple[str, str], tuple[str, int]]:
    """Who has, or opened meanwhile, connections to each end: name and number of the process."""
    rows = frame.rows("failed_calls")
    wanted = {(row.address, row.port) for row in rows if (row.call, row.error) == ENDED}
    ends = {
        row.inode: (row.remote, str(row.remote_port))
        for row in (frame.rows("sockets_tcp") if wanted else ())
        if (row.remote, str(row.remote_port)) in wanted
    }  # fmt: skip
    holders = (row for row in frame.rows("socket_owners") if row.inode in ends and row.pid)
    opened = {
        (row.address, row.port): (row.process, row.pid)
        for row in rows
        if row.error == failed_calls.OPENED and row.pid and (row.address, row.port) in wanted
    }
    return opened | {ends[row.inode]: (row.name, row.pid) for row in holders}


def words(row: failed_calls.Row, frame: Frame | None) -> Words:
    """What the error of a row means.

    What is normal of IPv6 is so only on a host without a global address, and if the program gets
    on by IPv4 (RFC 8305); else, as without a `frame`, the words are those of both families.
    """
    address = row.address if row.address == failed_calls.UNIX else ""
    both = failed_calls.words(row.call, row.error, address, row.argument)
    if frame is None or both.normal or with_ipv6(frame):
        return both
    if (row.call, row.error) == ("socket", "EAFNOSUPPORT") and row.argument.startswith("AF_INET6"):
        asks = not row.by or _otherwise(row, frame)  # programs ask so whether there is IPv6
        return both._replace(kind=NORMAL) if asks else both
    if _four(row.address):
        return both
    six = failed_calls.words(row.call, row.error, row.address)
    normal = six.normal and (row.error != NO_ADDRESS or no_source(row.address, frame))
    return six if normal and _otherwise(row, frame) else both


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


def _tried(row: failed_calls.Row) -> tuple[str, ...]:
    """What a row is about without its error: who tries what, and where.

    What a datagram is given beside an address is told of one that fails alone.
    """
    given = "" if row.call in SENDS and row.port else row.argument
    return row.call, str(row.pid), row.address, row.port, given


def _call(
    key: tuple[str, int, str, str], entries: list[Entry[Any]],
    opened: Counter[tuple[str, ...]], every: float | None, host: Host, facts: Facts,
) -> Call:  # fmt: skip
    frame = host.frame
    process, pid, call, error = key
    places, ends = Counter[str](), Counter[tuple[str, str]]()
    for row in (entry.now for entry in entries):
        told = row.argument.startswith((PEER, FILE))
        place = _given(row) if told else row.address
        place = "a Unix socket" if place == failed_calls.UNIX else place
        places[f"{place} port {row.port}" if row.port else place] += row.events
        ends[row.address, row.port] += row.events
    events = sum(entry.now.events for entry in entries)
    first = max((entry.now for entry in entries), key=lambda row: row.events)
    said, by = exact(words(first, None), call, error, ends, first.argument, first.by, frame)
    said = said._replace(cause=valued(said.cause, frame), advice=valued(said.advice, frame))
    file = first.argument.startswith(FILE)
    peers = [writer(pid)] if file else called(host, call, error, ends)
    given = "" if first.argument.startswith(PEER) else _given(first)
    tried = {_tried(entry.now) for entry in entries}
    answered = sum(opened[one] for one in tried)
    others = {(how, who, at) for how, who, _, at, _ in opened.keys() - tried}
    if (call, error) == ENDED:
        answered = sum(count for one, count in opened.items() if one[2:4] in ends)
    counted = call == "connection" or said.kind == RETURNED or tried <= opened.keys()
    counted = counted and bool(answered or (call, error) != ENDED)
    share = events / (events + answered) if counted else None
    if said.kind != RETURNED and call in SENDS and (share or 0.0) < FEW:
        share = None
    # by a program of this host, whose end of each connection is opened here as well
    here = said.kind == ABORTED and any(host.local(to) for (to, _), _ in ends.most_common(1)
                                        if to and to != failed_calls.UNIX)  # fmt: skip
    every = every / 2 if here and every is not None else every
    who = f"{process}[{pid}]" if pid else process
    pid = pid or entries[-1].now.pid
    addresses = tuple({address: 0 for (address, _), _ in ends.most_common(NAMED) if address})
    means, cause, advice = (
        _exact(text, pid, ends, given) for text in (said.means, said.cause, said.advice)
    )
    per_s = total(grown(entry, "events") for entry in entries)
    if error == "EMFILE" and (held := leak(frame, pid)):
        means, advice = f"{means}: {held}", f"{CURE}. {advice}"
    line = named(frame, first.address.removeprefix("::ffff:"), first.pid)
    return Call(
        id=f"{who}/{call}/{error}", process=process, pid=pid, who=who, call=call, error=error,
        kind=said.kind, means=means, cause=cause, rests=said.rests, rule=said.rule,
        advice=" ".join(filter(None, (advice, line.sentences))),
        to=most(places) or ("the call has none" if call in PLACELESS else "not known"),
        addresses=addresses, peers=tuple(dict.fromkeys(peers)),
        called=call if file else f"{call} {given}".rstrip(), by=by, events=events, file=file,
        per_s=per_s, share=share,
        gets_on=_gets_on(key, entries, opened, facts, per_s),
        opened=every if said.kind == ABORTED else None,
        beside=any((how, who, at) in others for how, who, _, at, _ in tried),
        raises=(*((CUT,) if here else ()), *said.counters.split()),
    )  # fmt: skip


def _given(row: failed_calls.Row) -> str:
    """The argument in words; the other end of a Unix socket by its name, a file by its path.

    A file whose program has closed it is told by where its file system is mounted.
    """
    if row.argument.startswith(PEER):
        return row.argument.partition(",")[2] or row.address
    if row.argument.startswith(FILE):
        place, _, path = row.argument.removeprefix(FILE).partition(",")
        return quote(path or place) if path or place else "a file"  # it stands in commands
    if row.argument.startswith(SIZE):
        size, _, protocol = row.argument.removeprefix(SIZE).partition(",")
        return f"with {size} bytes or more{protocol and ' by '}{protocol}"
    return row.argument.replace(",", ", ")


def _exact(text: str, pid: int, ends: Counter[tuple[str, str]], given: str) -> str:
    """The text with this process, its most frequent address and port, and what it gave."""
    address, port = ends.most_common(1)[0][0]
    address = "" if address == failed_calls.UNIX else address
    known = {"PID": str(pid), "ADDRESS": address, "PORT": port, "ARGUMENT": given,
             "GIVEN": given.partition("=")[2]}  # fmt: skip
    names = r"\b(?:PID|ADDRESS|PORT|ARGUMENT)\b|(?:\b|(?<=_))GIVEN\b"
    return re.sub(names, lambda one: known[one[0]] or one[0], text)


KIND = Kind(
    Call, "calls", build=build, example={"id": "curl[812]/connect/ENETUNREACH"},
    tables={"": "failed_calls"},
)  # fmt: skip
