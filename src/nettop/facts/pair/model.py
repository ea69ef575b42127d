"""Both ends from moment to moment: the joined flows, and the pairs for the rules of each host."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from ipaddress import ip_address, ip_network
from typing import Final

from ...collect.sockets_tcp import Row as TcpRow
from ...frame.rates import Both, Close, Frame
from ...terms.dataclass import dataclass
from .. import Facts, single
from ..kinds.flow import Flow
from ..kinds.nic import Nic
from ..kinds.pair import Pair, PairEnd
from ..limits import SECONDS, Limit, Reading
from ..limits.following import BINDS
from ..limits.stages import declared
from ..limits.window import share
from . import BETWEEN, HERE, THERE, Joined, Losses, Unmatched, match
from .losses import COUNTED, Counts, FlowRows, arriving, leaving, losses
from .match import Tuple4
from .verdict import Returns, verdict

LEAST: Final = 1.0  # seconds between two looks that are compared


@dataclass(frozen=True, slots=True)
class Sides:
    """What both hosts show of one moment; the facts have the pairs of their side."""

    here: Facts
    there: Facts
    joined: tuple[Joined, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    same: bool = False  # the other host is this one
    ended: tuple[str, ...] = ()  # joined flows that ended in the last ten seconds


@dataclass(frozen=True, slots=True)
class _Moment:
    """The sockets of the joined flows, as this host names them, and what both hosts lost."""

    at: float
    near: dict[Tuple4, tuple[TcpRow, TcpRow]]
    far: dict[Tuple4, TcpRow]
    interfaces: dict[Tuple4, tuple[str | None, str | None]]  # of here and there
    leaving: dict[tuple[str, str | None], Counts]  # by host and interface
    arriving: dict[tuple[str, str | None], Counts]
    programs: dict[Tuple4, tuple[str, str]]  # of here and there


@dataclass(slots=True)
class Model:
    """Remembers ten seconds of both hosts. `hosts`: the names of here and there."""

    hosts: tuple[str, str]
    moments: deque[_Moment] = field(default_factory=deque)
    _seen: dict[Tuple4, tuple[str, float]] = field(default_factory=dict)  # target, last time joined

    def build(self, both: Both, here: Facts, there: Facts) -> Sides:
        """The flows that both hosts see, and those that only this one sees."""
        if match.same_host(both.here.rows("sockets_tcp"), both.there.rows("sockets_tcp")):
            return Sides(here, there, same=True)
        moment = _moment(both, here, there)
        self.moments.append(moment)
        while moment.at - self.moments[0].at > SECONDS:
            self.moments.popleft()
        near = [(name, pair[1], moment.far[name]) for name, pair in moment.near.items()]
        far = [(match.turned(name), row, own) for name, own, row in near]
        ahead = clock_ahead(both.close)
        own = pairs(near, both.here, here, there, self.hosts, ahead)
        other = pairs(far, both.there, there, here, self.hosts[::-1], -ahead)
        joined = tuple(self._joined(moment, here, there))
        return Sides(
            replace(here, more={**here.more, "pair": own}),
            replace(there, more={**there.more, "pair": other}),
            joined,
            match.unmatched(here.limits, moment.near.keys(), there.limits),
            ended=self._ended(moment, joined),
        )

    def _ended(self, moment: _Moment, joined: tuple[Joined, ...]) -> tuple[str, ...]:
        """The flows that were joined at an earlier moment and have no connection any more."""
        self._seen |= {match.parts(one.limit.target): (one.limit.target, moment.at)
                       for one in joined}  # fmt: skip
        for name, (_, at) in list(self._seen.items()):
            if moment.at - at > SECONDS:
                del self._seen[name]
        return tuple(
            target
            for name, (target, at) in self._seen.items()
            if at < moment.at  # one that is half closed is joined while it moves
            and (name not in moment.near or moment.near[name][1].state != "established")
        )

    def _joined(self, moment: _Moment, here: Facts, there: Facts) -> Iterator[Joined]:
        near, far = _by_name(here.limits), _by_name(there.limits)
        for name, programs in moment.programs.items():
            one, other = near.get(name), far.get(match.turned(name))
            if one is None and other is None:
                continue
            sends, sender, receiver = _sides(one, other)
            lost, uncounted = self._losses(name, sends=sends)
            hosts = (HERE, THERE) if sends else (THERE, HERE)
            line = stages(sender, receiver, hosts)
            writer, reader = programs if sends else programs[::-1]
            limit = verdict(
                sender, receiver, lost, sends=sends, line=line, reader=reader,
                returns=self._returns(name, THERE if sends else HERE),
            )  # fmt: skip
            if limit is not None:
                yield Joined(limit, writer, reader, tuple(line), lost, uncounted)

    def _returns(self, name: Tuple4, end: str) -> Returns | None:
        """The queue at the receiver's end in which packets wait in half of the moments or more."""
        place = (HERE, THERE).index(end)
        names = [
            one.leaving[end, one.interfaces[name][place]].waits
            for one in self.moments
            if name in one.interfaces
        ]
        waits = share(bool(queue) for queue in names)
        return Returns(next(filter(None, reversed(names))), waits) if waits >= BINDS else None

    def _losses(self, name: Tuple4, *, sends: bool) -> tuple[Losses | None, str]:
        """What was lost since the flow was first seen by both, at most ten seconds ago.

        Where that is not counted: why.
        """
        known = [one for one in self.moments if name in one.near and name in one.far]
        if len(known) < 2 or known[-1].at - known[0].at < LEAST:
            return None, f"both ends were seen for less than {LEAST:g} s"
        first, last = (_look(one, name, sends=sends) for one in (known[0], known[-1]))
        if first.sender[0].cookie != last.sender[0].cookie:
            return None, "another connection has these addresses now"
        hosts = self.hosts if sends else self.hosts[::-1]
        for host, row, fields in zip(hosts, (last.sender[0], last.receiver[0]), COUNTED,
                                     strict=True):  # fmt: skip
            lacks = [one for one in fields if getattr(row, one) is None]
            if lacks:
                return None, f"the kernel of {host} does not count {', '.join(lacks)}"
        return losses(first, last, sends=sends), ""


def _moment(both: Both, here: Facts, there: Facts) -> _Moment:
    close = both.close
    before = match.flows(close.before.rows("sockets_tcp"))
    after = match.flows(close.after.rows("sockets_tcp"))
    there_too = match.flows(close.there.rows("sockets_tcp"))
    far = {name: row for row_name, row in there_too.items()
           if (name := match.turned(row_name)) in before and name in after}  # fmt: skip
    near = {name: (before[name], after[name]) for name in far}
    flows = {name: (_flow(here, near[name][1]), _flow(there, row)) for name, row in far.items()}
    interfaces = {name: (_nic(pair[0]), _nic(pair[1])) for name, pair in flows.items()}
    sides = [
        (end, frame, facts, nic)
        for end, frame, facts, place in ((HERE, both.here, here, 0), (THERE, both.there, there, 1))
        for nic in {pair[place] for pair in interfaces.values()}
    ]
    programs = {
        name: (_program(pair[0], name[:2]), _program(pair[1], name[2:]))
        for name, pair in flows.items()
    }
    return _Moment(
        close.before.at, near, far, interfaces,
        {(end, nic): leaving(frame, facts, nic) for end, frame, facts, nic in sides},
        {(end, nic): arriving(frame, facts, nic) for end, frame, facts, nic in sides},
        programs,
    )  # fmt: skip


def _sides(one: Limit | None, other: Limit | None) -> tuple[bool, Limit | None, Limit | None]:
    """Whether this host sends, and the limits of sender and receiver.

    Where both hosts send, or both receive, the direction with the higher rate counts.
    """
    if one is None or other is None:
        known = one or other
        sends = known is not None and (known.direction == "tx") == (one is not None)
        return sends, *((one, other) if sends else (other, one))
    if one.direction != other.direction:
        sends = one.direction == "tx"
        return sends, *((one, other) if sends else (other, one))
    more = (one.rate or 0.0) >= (other.rate or 0.0)
    if one.direction == "tx":
        return more, one if more else other, None
    return not more, None, one if more else other


def _by_name(limits: tuple[Limit, ...]) -> dict[Tuple4, Limit]:
    return {
        match.parts(one.target): one
        for one in limits
        if one.over == "flow" and one.namespace is None
    }


def _flow(facts: Facts, row: TcpRow) -> Flow | None:
    return next((one for one in facts.flows if one.inode == row.inode), None)


def _nic(flow: Flow | None) -> str | None:
    return flow.nic if flow is not None else None


def _program(flow: Flow | None, end: tuple[str, int]) -> str:
    """The program that has the socket, or the address where it is not known."""
    if flow is not None and flow.pid is not None:
        return f"{flow.process}[{flow.pid}]"
    return f"{end[0]}:{end[1]}"


def _look(moment: _Moment, name: Tuple4, *, sends: bool) -> FlowRows:
    near, far = moment.near[name], moment.far[name]
    here, there = zip((HERE, THERE), moment.interfaces[name], strict=True)
    if sends:
        return FlowRows(moment.at, near, (far, far), moment.leaving[here], moment.arriving[there])
    return FlowRows(moment.at, (far, far), near, moment.leaving[there], moment.arriving[here])


def stages(sender: Limit | None, receiver: Limit | None, ends: tuple[str, str]) -> list[Reading]:
    """The stages of both hosts in one line, from the thread that writes to the one that reads.

    `ends` are the hosts of sender and receiver, `here` or `there`.
    """
    known = declared()
    near = list(_own(sender, "tx", ends[0]))
    far = [one for one in _own(receiver, "rx", ends[1]) if one.stage != "path"]
    windows = [one for one in (sender.ladder if sender is not None else ()) if one.stage == "rwnd"]
    buffers = [one for one in far if one.stage == "rcvbuf"]
    if buffers:  # the window is what is free of it: one stage, as full as the fuller of both
        used = max((one.utilisation or 0.0 for one in (*buffers, *windows)), default=0.0)
        far = [replace(one, utilisation=used) if one in buffers else one for one in far]
    else:
        far += [replace(one, end=ends[1]) for one in windows]
    near.sort(key=lambda one: known[one.stage].sending)
    far.sort(key=lambda one: known[one.stage].receiving)
    return [*near, *far]


def _own(limit: Limit | None, direction: str, end: str) -> Iterator[Reading]:
    """The stages of one end that are on the way, with the host at which they are."""
    for one in limit.ladder if limit is not None else ():
        stage = declared()[one.stage]
        if stage.place(direction) and (one.end == "here" or stage.between):
            yield replace(one, end=end if one.end == "here" else BETWEEN)


def pairs(
    names: Iterable[tuple[Tuple4, TcpRow, TcpRow]], frame: Frame, here: Facts, there: Facts,
    hosts: tuple[str, str], ahead: float | None = None,
) -> tuple[Pair, ...]:  # fmt: skip
    """The pairs as the facts `here` see them; each by name, with the sockets of here and there.

    `ahead`: seconds by which the clock there is ahead of the one here, at the least.
    """
    out = []
    for name, near, far in names:
        own, other = _end_of(here, near), _end_of(there, far)
        if own is None or other is None:
            continue
        first, last = _end(hosts[0], here, own, near), _end(hosts[1], there, other, far)
        sends = None if own.direction is None else own.direction == "send"
        rate = 8 * max(own.rx_per_s or 0.0, own.tx_per_s or 0.0)
        out.append(
            Pair(f"{_shown(name[0])}:{name[1]}>{_shown(name[2])}:{name[3]}", own.nic, sends, rate,
                 _direct(frame, name), near.timestamps, near.sack, near.wscale,
                 near.ecn, ahead, first, last)
        )  # fmt: skip
    return tuple(out)


def clock_ahead(close: Close) -> float:
    """Seconds by which the clock of the other host is ahead at the least; below 0: behind.

    It was read between the two frames of this host, so the difference is known within a range.
    """
    least, most = close.there.wall - close.after.wall, close.there.wall - close.before.wall
    return 0.0 if least <= 0.0 <= most else min(least, most, key=abs)


def _shown(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _end_of(facts: Facts, row: TcpRow) -> Flow | None:
    return next(
        (one for one in facts.flows if one.inode == row.inode and one.protocol == "tcp"), None
    )


def _end(host: str, facts: Facts, flow: Flow, row: TcpRow) -> PairEnd:
    nic = next((one for one in facts.nics if one.name == flow.nic), None)
    rmem = single.triple(facts.sysctls.get("net.ipv4.tcp_rmem"))
    return PairEnd(
        host, flow.nic,
        nic.mtu if nic else None, nic.speed if nic else None, nic.duplex if nic else None,
        _on(nic, "tx-tcp-segmentation"), _on(nic, "rx-gro"),
        nic.per_s.pause_tx if nic else None, nic.per_s.pause_rx if nic else None,
        flow.congestion, row.pmtu, flow.rcvbuf, flow.rcvbuf_fixed,
        rmem[2] if len(rmem) == 3 else None, flow.recv_q, flow.window, flow.rwnd_limited,
        flow.min_rtt, flow.retransmits_per_s,
        _switch(facts, "tcp_timestamps"), _switch(facts, "tcp_sack"),
        _switch(facts, "tcp_window_scaling"), _whole(facts, "tcp_ecn"),
    )  # fmt: skip


def _on(nic: Nic | None, name: str) -> bool | None:
    return next((one.on for one in (nic.features if nic else ()) if one.name == name), None)


def _whole(facts: Facts, name: str) -> int | None:
    text = facts.sysctls.get(f"net.ipv4.{name}", "").strip()
    return int(text) if text.isdecimal() else None


def _switch(facts: Facts, name: str) -> bool | None:
    value = _whole(facts, name)
    return None if value is None else value > 0


def _direct(frame: Frame, name: Tuple4) -> bool | None:
    """Whether the other end is in the network of this end's address; None if not known."""
    own = next((row for row in frame.rows("addresses") if row.address == name[0]), None)
    if own is None:
        return None
    return ip_address(name[2]) in ip_network(f"{own.address}/{own.prefix}", strict=False)
