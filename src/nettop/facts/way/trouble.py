"""The destinations in trouble: failed calls, connections without an answer, vain arrivals.

Their ways are walked. A few distinct destinations are enough: more fail for the same reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from ipaddress import ip_address
from itertools import islice
from typing import Final, TypeAlias

from ...collect import failed_calls
from ...collect.ways import Question
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..device_causes import GROUPS, UNFILLED
from ..drop_causes import BACK, DISCARDED, HOPS
from ..elsewhere import names
from ..filter_causes import SUMS
from ..flow_words import owners
from ..kinds.call import words
from ..kinds.flow import Flow as Connection
from ..kinds.metric import main_routes
from ..peers import LED
from . import questions
from .arrivals import UNHEARD, arrivals, dropped, sought, witnessed
from .arrivals import asked as sought_for
from .flow import FILTERED, Flow, Host, Trouble, address, inside
from .inner import ABROAD, entrance, forwarded
from .legs import unreplied
from .lookup import REFUSED, Senders, by_marks

MOST: Final = 4  # destinations
# calls with a destination, and the protocol if the call tells it
CALLS: Final = {
    "connection": "tcp", "connect": "", "sendto": "udp", "sendmsg": "udp", "sendmmsg": "udp",
}  # fmt: skip
WALKED: Final = 16  # of other namespaces those of whom it is looked up how they come here
SILENCE: Final = "gets no answer"  # an attempt that its program gave up
RETRIES: Final = 2  # repetitions of a segment without an answer: one may be lost by chance
TOGETHER: Final = 3  # sockets of one client that wait for one end: attempts may end before a repeat


_Place: TypeAlias = tuple[str, int, str]
"""A destination, its port, and the interface by which what goes there comes; empty: of this one."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One row about a destination."""

    to: str
    port: int
    words: str = ""
    id: str = ""
    events: int = 0
    sockets: int = 0
    answered: int = 0
    opened_by: str = ""  # process of connections that were answered
    local: tuple[str, int] = "", 0  # address and port of a connection that is open
    bound: str = ""  # interface to which its socket is bound
    pid: int | None = None  # process of a failed call
    arrives: str = ""  # interface of this namespace by which it comes from another one
    space: str = ""  # that one
    user: int = 0  # who sends, where rules of policy routing look at it
    source: str = ""  # the address of the socket that waits, where they look at it


def troubles(frame: Frame, facts: Facts | None = None) -> tuple[Trouble, ...]:
    """The destinations in trouble, those with most failures first, then those of drops.

    Without facts those of failed calls and of packets.
    """
    found: dict[_Place, list[_Part]] = {}
    bound = {
        (row.remote.removeprefix("::ffff:"), row.remote_port): row.interface
        for row in frame.rows("sockets_tcp") if row.interface and row.state == "syn-sent"
    }  # fmt: skip
    who, host = Senders.of(frame), Host.of(frame)
    for part in (*_calls(frame), *(() if facts is None else (*_attempts(facts), *_flows(facts)))):
        place = part.to, part.port
        told = replace(
            part, bound=bound.get(place, ""), user=who.user(place, part.pid),
            source=who.sources.get(place, ""),
        )  # fmt: skip
        found.setdefault((*place, ""), []).append(told)
    for part in _elsewhere(host, facts):
        found.setdefault((part.to, part.port, part.arrives), []).append(part)
    _gather(found)
    every = [_trouble(to, port, parts) for (to, port, _), parts in found.items()]
    known = _most(every + list(arrivals(host)))
    seen = {one.flow.name for one in known}
    entered = {one.flow.arrives for one in known if one.space}
    return (
        *known, *_most(one for one in _packets(host) if one.flow.name not in seen),
        *_most(one for one in forwarded(host) if one.flow.arrives not in entered),
    )  # fmt: skip


def _packets(host: Host) -> Iterator[Trouble]:
    """Those of which single packets are known."""
    yield from witnessed(host)
    yield from sought(host)
    yield from unreplied(host)


def _most(found: Iterable[Trouble]) -> tuple[Trouble, ...]:
    """Those with most failures."""
    failed = [one for one in found if one.failed]
    return tuple(sorted(failed, key=lambda one: (-one.failed, one.flow.name))[:MOST])


def _gather(found: dict[_Place, list[_Part]]) -> None:
    """Join single failures of one process at many destinations: the first stands for all.

    So does what opens of the same process meanwhile, which tells the share of its failures.
    """
    single: dict[str, list[_Place]] = {}
    for place, parts in found.items():
        if len(parts) == 1 and parts[0].id and parts[0].events == 1:
            single.setdefault(parts[0].id, []).append(place)
    for known, places in single.items():
        if len(places) >= RETRIES:
            who = known.partition("/")[0]
            opened = [one for parts in found.values() for one in parts
                      if one.opened_by == who and one.answered]  # fmt: skip
            (first,) = found[places[0]]
            words = f"{first.words}, and so do those to {len(places) - 1} others"
            rest = [replace(one, words="") for place in places[1:] for one in found.pop(place)]
            found[places[0]] = [replace(first, words=words), *rest, *opened]


def asked(frame: Frame, facts: Facts) -> tuple[Question, ...]:
    """What the kernel is to be asked about them."""
    found = _asked(frame, troubles(frame, facts))
    # who sends to neighbours that do not answer, and where the port of one that is asked for is,
    # is in the tables that are read with the answers
    found += [Question(one.address) for one in facts.more.get("absent", ())[:MOST]]
    return tuple(dict.fromkeys(found))


def processes(frame: Frame) -> tuple[int, ...]:
    """The processes whose calls for destinations fail, those with most first."""
    rows = [row for row in frame.rows("failed_calls")
            if row.where == "here" and row.call in CALLS and row.error in LED]  # fmt: skip
    return tuple(dict.fromkeys(row.pid for row in sorted(rows, key=lambda one: -one.events)))[:MOST]


def asked_of_packets(frame: Frame) -> tuple[Question, ...]:
    """The part of it that needs no facts: about failed calls, and packets dropped or repeated."""
    return tuple(dict.fromkeys(_asked(frame, troubles(frame))))


def _asked(frame: Frame, found: Iterable[Trouble]) -> list[Question]:
    asks = [flow for each in found for flow in flows(each, frame)]
    return [
        *(one for flow in asks for one in questions(flow, frame)),
        *(Question(one) for one in islice(sought_for(frame), MOST)),
        *islice(_beside(frame), MOST),
    ]


def _beside(frame: Frame) -> Iterator[Question]:
    """About packets that are no flow in trouble, though their drop is told by what is read so.

    The way back to sources that the reverse path filter rejects; what the packet filter dropped, or
    a rule may have written into, for its rules are read with these, as are the groups that are
    joined; and datagrams that no socket took although one has the port, whose device is read with
    these, or for the address of another host, whose route is. And ports of a bridge that do not
    flood: whether they have entries is read so too.
    """
    if any(row.floods is False for row in frame.rows("links")):
        yield Question(ABROAD)
    own = {address(row.address) for row in frame.rows("addresses")}
    open_ = {str(row.local_port) for row in frame.rows("sockets_udp")}
    for row in frame.rows("drop_reasons"):
        if (row.reason, row.where) == (BACK, "here") and row.source:
            yield Question(row.source, protocol=row.protocol)
        # the rules, the IPsec policies, or the forwarding entries that it met
        met = row.reason in (FILTERED, UNFILLED, *SUMS, *HOPS) or row.place == DISCARDED
        met = met or (row.place in GROUPS and bool(row.to) and address(row.to).is_multicast)
        if met and row.where == "here" and row.to:
            yield Question(row.to)
        missed = (row.reason, row.where, row.protocol) == (UNHEARD, "here", "udp")
        if missed and row.to and (row.port in open_ or address(row.to) not in own):
            yield Question(row.to)


def flows(trouble: Trouble, frame: Frame) -> Iterator[Flow]:
    """The flow; where a route refused it, also with each mark, user and source of routing rules.

    Those of a socket that is gone are not known. A source is an address of this host, of a rule
    that refuses with the error of the call, or looks into a table. What a hook dropped a rule may
    have marked, and the route of that mark refused.
    """
    yield trouble.flow
    kinds = {REFUSED[one] for one in trouble.errors if one in REFUSED}
    rules = [row for row in frame.rows("routing_rules")
             if row.source and row.action in ("lookup", *kinds)]  # fmt: skip
    own = (one.address for row in rules for one in frame.rows("addresses")
           if address(one.address).version == address(trouble.flow.to).version
           and inside(one.address, row.source))  # fmt: skip
    unknown = kinds and not trouble.flow.origin
    for source in islice(dict.fromkeys(own if unknown else ()), MOST):
        yield replace(trouble.flow, origin=source)
    if kinds or dropped(frame, trouble.flow):
        yield from by_marks(trouble.flow, frame)
    users = dict.fromkeys(row.users[0] for row in frame.rows("routing_rules") if row.users)
    for user in islice(users if kinds else (), MOST):
        yield replace(trouble.flow, user=user)


def _calls(frame: Frame) -> Iterator[_Part]:
    for row in frame.rows("failed_calls"):
        if (
            row.where != "here"
            or row.call not in CALLS
            or row.error not in (*LED, failed_calls.OPENED)
        ):
            continue
        try:
            to, port = ip_address(row.address), int(row.port or 0)
        except ValueError:  # none, or a socket of another family
            continue
        if to.version == 6 and to.is_link_local:  # its interface is not told: no way can be walked
            continue
        place = str(getattr(to, "ipv4_mapped", None) or to), port
        if row.error == failed_calls.OPENED and row.call != "connection":
            continue
        if row.error == failed_calls.OPENED:
            who = f"{row.process}[{row.pid}]"
            yield _Part(*place, answered=row.events, opened_by=who, pid=row.pid)
        elif not words(row, frame).normal:
            who, name = f"{row.process}[{row.pid}]", Flow(*place).name
            call, ends = row.call, f"fails with {row.error}"
            if call == "connection":
                call, ends = "a connection", f"ends with {row.error}"
            if row.error == "GIVEN_UP":
                ends = SILENCE
            said, known = f"{call} of {who} to {name} {ends}", f"{who}/{row.call}/{row.error}"
            yield _Part(*place, said, known, row.events, pid=row.pid)


def _flows(facts: Facts) -> Iterator[_Part]:
    """Connections whose segments have no answer any more."""
    for one in facts.flows:
        if one.protocol == "tcp" and one.namespace is None and _stuck(one):
            place = one.remote.removeprefix("::ffff:"), one.remote_port
            who = f"{one.process}[{one.pid}]" if one.pid is not None else "a process"
            said = f"the connection of {who} to {Flow(*place).name} gets no answer any more"
            local = one.local.removeprefix("::ffff:"), one.local_port
            yield _Part(*place, said, one.id, sockets=1, local=local)


def _elsewhere(host: Host, facts: Facts | None) -> Iterator[_Part]:
    """Connections of other namespaces without an answer, if they enter this one."""
    frame = host.frame
    every = frame.rows("netns_tcp")
    stuck = {one.inode: one.id for one in (facts.flows if facts is not None and every else ())
             if one.protocol == "tcp" and one.namespace is not None and _stuck(one)}  # fmt: skip
    waits = Counter((row.namespace, row.local, row.remote, row.remote_port) for row in every
                    if row.state == "syn-sent")  # fmt: skip
    rows = [
        row for row in every if row.inode in stuck or (
            row.state == "syn-sent" and ((row.total_retrans or 0) >= RETRIES or waits[
                row.namespace, row.local, row.remote, row.remote_port] >= TOGETHER)
        )
    ]  # fmt: skip
    if not rows:
        return
    networks, spaces, who = main_routes(frame), names(frame), owners(frame)
    answered = Counter((row.namespace, row.remote, row.remote_port) for row in every
                       if row.state == "established" and row.inode not in stuck)  # fmt: skip
    alike = Counter((row.namespace, row.local, row.remote, row.remote_port) for row in rows)
    first = {(row.namespace, row.local, row.remote, row.remote_port): row for row in rows}
    for (inode, own, remote, port), sockets in alike.most_common(WALKED):
        local, to = own.removeprefix("::ffff:"), remote.removeprefix("::ffff:")
        link_local = address(to).version == 6 and address(to).is_link_local
        arrives = "" if link_local else entrance(host, networks, local, inode)
        if not arrives:
            continue
        row, space = first[inode, own, remote, port], spaces.get(inode) or f"net:[{inode}]"
        more = " any more" * (row.inode in stuck)
        whose = f"{who.get(row.inode, 'a process')} in {space} to {Flow(to, port).name}"
        yield _Part(
            to, port, f"the connection of {whose} gets no answer{more}",
            stuck.get(row.inode, ""), sockets=sockets,
            answered=answered.pop((inode, remote, port), 0), arrives=arrives, space=space,
            local=(local, row.local_port * bool(more)), source=local,
        )  # fmt: skip


def _stuck(flow: Connection) -> bool:
    """Whether segments, or probes, have no answer.

    A peer with a closed window answers the probes, and the timer doubles all the same. What this
    host itself refuses to send does not double it (net/ipv4/tcp_timer.c).
    """
    opened = flow.window is None or not flow.mss or flow.window >= flow.mss
    refused = bool(flow.lost and flow.send_q and flow.tx_per_s == 0.0)
    late = max(flow.probes or 0, (flow.backoff or 0) if opened else 0)
    return refused or late >= RETRIES


def _attempts(facts: Facts) -> Iterator[_Part]:
    for one in facts.more.get("attempt", ()):
        if one.retries >= RETRIES:
            to, _, port = one.id.rpartition(":")
            place = to.strip("[]").removeprefix("::ffff:"), int(port)
            said = f"a connection to {Flow(*place).name} gets no answer"
            yield _Part(*place, said, sockets=one.sockets, answered=one.open)


def _trouble(to: str, port: int, parts: list[_Part]) -> Trouble:
    parts.sort(key=lambda part: -part.events)
    said = dict.fromkeys(part.words for part in parts if part.words)
    ids = dict.fromkeys(part.id for part in parts if part.id)
    datagrams = any(CALLS.get(one.split("/")[-2]) == "udp" for one in ids if "/" in one)
    flow = Flow(to, port, protocol="udp" if datagrams else "tcp")
    if all(part.local[1] for part in parts):  # a new connection may take another way
        origin, source_port = parts[0].local
        flow = replace(flow, origin=origin, source_port=source_port)
    elif parts[0].bound:
        flow = replace(flow, leaves=parts[0].bound)
    flow = replace(flow, user=parts[0].user, origin=flow.origin or parts[0].source,
                   arrives=parts[0].arrives)  # fmt: skip
    return Trouble(
        flow, tuple(said), tuple(ids),
        sum(part.events for part in parts), sum(part.sockets for part in parts),
        sum(part.answered for part in parts if part.user == flow.user), space=parts[0].space,
        pid=parts[0].pid or 0,
    )  # fmt: skip
