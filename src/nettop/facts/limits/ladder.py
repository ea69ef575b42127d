"""The limits of a host from frame to frame.

The verdicts are held (`steady`). For a log, the limit that the headline names has one entry per
change. Another owner, direction or stage is a change; other figures are not. The first limit is
reported at once. Another one has to last as long as a held verdict, since flows of about the same
rate take turns as the busiest one, and short connections come and go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from operator import attrgetter, is_
from typing import Final

from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts, work
from ..flow_words import QUIET, end, name
from ..kinds.core import Load
from ..kinds.flow import Flow
from . import Limit, Reading, words
from .following import BINDS
from .interfaces import Interfaces, answered, flow_key, foremost, forwarded, spent, waited
from .judge import judge, paired, relayed
from .looks import FLOWS, Look, looks, of_subflow, wanting
from .senders import sending
from .steady import LASTS, Steady
from .window import INTERFACES, Window, mean


@dataclass(slots=True)
class Headline:
    """Remembers the limit reported last, and the one that would replace it."""

    limit: Limit | None = None  # reported last; None: nothing was reported, or it ended
    _last: Limit | None = None  # of the sample before
    _rival: Limit | None = None
    _since: float | None = None  # monotonic time of the first sample of the rival

    def changes(self, limits: Sequence[Limit], at: float) -> bool:
        """Whether the sample at `at` (monotonic seconds) changes the limit to report."""
        limit = self._last = self._choose(limits)
        if _same(limit, self.limit):
            self._since = None
            return False
        if self._since is None or not _same(limit, self._rival):
            self._rival, self._since = limit, at
        if self.limit is not None and at - self._since < LASTS:
            return False
        self.limit, self._since = limit, None
        return True

    def _choose(self, limits: Sequence[Limit]) -> Limit | None:
        """The flow of the sample before while it moves enough; else the busiest."""
        last = flow_key(self._last) if self._last is not None else None
        return foremost(words.moving(limits), last)


def _same(one: Limit | None, other: Limit | None) -> bool:
    """Whether both are the same stage of one flow or process; a process may get its name later."""
    if one is None or other is None:
        return one is other
    return (one.direction, one.stage.stage, one.stage.end) == (
        other.direction, other.stage.stage, other.stage.end,
    ) and (one.target == other.target or words.owner(one) == words.owner(other))  # fmt: skip


_FIELDS: Final = tuple(f.name for f in fields(Flow))
_VALUES: Final = attrgetter(*_FIELDS)
_AT: Final = _FIELDS.index("limit")  # `limit_why` follows
_DOING: Final = _FIELDS.index("limit_doing")  # `limit_relief` and `limit_how` follow
_THREADS: Final = ("thread", "pipe-cpu")  # stages that are a thread


_Key = tuple[str, str, str, str | None]


@dataclass(slots=True)
class Ladder:
    """Remembers ten seconds, and the verdicts held."""

    window: Window = field(default_factory=Window)
    steady: Steady = field(default_factory=Steady)  # of flows and sockets
    interfaces: Interfaces = field(default_factory=Interfaces)
    steady_nics: Steady = field(default_factory=Steady)
    repeats: bool = False  # the host is quiet, and most tables are read every few seconds only
    resting: dict[_Key, Limit] = field(default_factory=dict)  # verdicts on resting interfaces
    sockets: object = None  # the TCP sockets with which these were judged

    def build(
        self, frame: Frame, facts: Facts, load: Mapping[int, Load] | None = None
    ) -> tuple[Limit, ...]:
        """What limits each flow, interface and datagram socket; none before there are rates.

        `load` is that of each CPU in this frame, where it is already computed.
        """
        drops = facts.host.cpu_backlog_drops
        self.window.add(frame, facts.nics, load, facts.paths, drops)
        every = [*looks(self.window, facts), *looks_elsewhere(self.window, facts),
                 *sending(self.window, frame, facts)]  # fmt: skip
        found = self._judged(sorted(every, key=lambda look: look.over == "nic"))
        both = relayed(paired(found))
        flows = [one for one in both if one.over != "nic"]
        flows = list(self.steady.hold(flows, frame.at, frame.wall))
        read = "sockets_tcp" in frame.tables or "sockets_tcp" not in frame.missing
        ways = [one for one in both if one.over == "nic"]
        forwards = forwarded(facts)
        cpu = spent(self.window, facts) if forwards else None
        nics = self.interfaces.build(
            ways, flows, read=read, forwards=forwards, cpu=cpu, waits=waited(facts),
            answers=answered(self.window, facts),
        )  # fmt: skip
        held = self.steady_nics.hold(nics, frame.at, frame.wall)
        return _told(tuple(map(bounded, (*flows, *held))), frame)

    def _judged(self, every: Sequence[Look]) -> list[Limit]:
        """The verdict on each look.

        On a quiet host, that on an interface at rest and on its flows is repeated until the sockets
        are read again: most of what it depends on is as old.
        """
        if not self.repeats:
            self.resting = {}
            return [judge(look) for look in every]
        if self.window.tcp.last is not self.sockets:
            self.resting, self.sockets = {}, self.window.tcp.last
        before, self.resting = self.resting, {}
        found = []
        for look in every:
            key = look.over, look.target, look.direction, look.namespace
            rests = look.over != "socket" and look.nic is not None and self.window.rests(look.nic)
            known = before.get(key) if rests else None
            if known is None:
                known = judge(look)
            elif known.rate != look.rate:
                known = replace(known, rate=look.rate)
            if rests:
                self.resting[key] = known
            found.append(known)
        return found


def labelled(facts: Facts) -> Facts:
    """The facts with the limit of each TCP flow at the flow; those that want no more have `none`.

    Of the many flows of a busy host only the busiest are judged; the others have no limit. What
    takes the cores for which forwarded packets wait is at the host.
    """
    waits = (one for one in facts.limits if words.spent(one))
    if (first := next(waits, None)) is not None:
        facts = replace(facts, host=replace(facts.host, crowd=first.stage.how))
    known = {(one.namespace, one.target): one for one in facts.limits if one.over == "flow"}
    judged = Counter(namespace is None for namespace, _ in known)
    flows = []
    for flow in facts.flows:
        one = known.get((flow.namespace, name(flow)))
        if one is not None:
            stage = one.stage
            how = stage.how or words.shaper(stage) or None
            flows.append(_limited(flow, stage.stage, stage.because, one.doing, one.relief, how))
        elif flow.limit is not None and judged[flow.namespace is None] >= FLOWS:
            flows.append(_limited(flow, None, None, None, None, None))
        else:
            flows.append(flow)
    same = all(map(is_, flows, facts.flows))
    return facts if same else replace(facts, flows=tuple(flows))


def _limited(flow: Flow, *limit: str | None) -> Flow:
    """The flow with these five: `replace` costs many times more with so many fields."""
    values = list(_VALUES(flow))
    values[_AT : _AT + 2], values[_DOING : _DOING + 3] = limit[:2], limit[2:]
    return Flow(*values)


def _told(limits: tuple[Limit, ...], frame: Frame) -> tuple[Limit, ...]:
    """The limits with what their core or thread does, where that was sampled."""
    samples = frame.tables.get("profiles")
    if not samples:
        return limits
    here = {one.stage.stage for one in limits if one.stage.end == "here"}
    threads = work.threads(samples) if not here.isdisjoint(_THREADS) else {}
    known = dict.fromkeys(_THREADS, threads)
    known["core"] = work.cores(samples) if "core" in here else {}
    return tuple(
        replace(one, doing=doing.text, relief=doing.relief)
        if one.stage.end == "here" and one.stage.number is not None
        and (doing := known.get(one.stage.stage, {}).get(one.stage.number))
        else one
        for one in limits
    )  # fmt: skip


COUNTED: Final = 1.0  # lost packets a second: fewer may be chance


def looks_elsewhere(window: Window, facts: Facts) -> list[Look]:
    """A look for each flow that wants to move, socket that drops, and interface that moves.

    In other network namespaces (pods, containers, `ip netns`): only the busiest. Their sysctls are
    not read; sockets, qdiscs, threads and quotas are as reliable as those of this namespace.
    """
    found = sorted(_streams(window, facts), key=lambda look: -look.rate)
    devices = sorted(_devices(window, facts), key=lambda look: -look.rate)
    return [*found[:FLOWS], *_datagrams(window, facts), *devices[:INTERFACES]]


def _devices(window: Window, facts: Facts) -> Iterator[Look]:
    """A look for each direction of an interface that moves or loses packets."""
    for key in window.netns_links.series:
        entries = window.netns_links.entries(key)
        if not entries:
            continue
        row = entries[-1].now
        device = row.namespace, row.interface
        space = window.spaces.get(row.namespace) or f"net:[{row.namespace}]"
        for direction in ("rx", "tx"):
            rate = 8 * (window.counted_elsewhere(device, f"{direction}_bytes") or 0.0)
            lost = window.counted_elsewhere(device, f"{direction}_dropped") or 0.0
            if rate >= QUIET or lost >= COUNTED:
                yield Look("nic", f"{row.interface}@{space}", direction, rate, window, facts,
                           namespace=space, device=device)  # fmt: skip


def _streams(window: Window, facts: Facts) -> Iterator[Look]:
    devices = window.devices()
    for flow in facts.flows:
        if flow.namespace is None or flow.protocol != "tcp":
            continue
        entries = of_subflow(window.netns_tcp, window.multipath, flow)
        if not entries:
            continue
        row = entries[-1].now
        device = devices.get((row.namespace, row.local))
        yield from wanting(
            Look("flow", name(flow), "tx", 0.0, window, facts, None, flow, entries,
                 namespace=flow.namespace,
                 device=(row.namespace, device) if device is not None else None)
        )  # fmt: skip


def _datagrams(window: Window, facts: Facts) -> Iterator[Look]:
    for flow in facts.flows:
        if flow.namespace is None or flow.protocol != "udp":
            continue
        entries = window.netns_udp.entries(flow.inode)
        if (mean(entry.rate("drops") for entry in entries) or 0.0) > 0.0:
            yield Look("socket", end(flow.local, flow.local_port), "rx", 0.0, window, facts, None,
                       flow, udp=entries, namespace=flow.namespace)  # fmt: skip


ABOUT: Final = 1.5  # rate / capacity up to which both are the same, measured at different times


def bounded(limit: Limit) -> Limit:
    """The limit with capacities that agree with its rate and with one another.

    What passes now can pass: a capacity below the rate has a formula whose assumptions do not hold
    here (losses in bursts, a window that grew), or is of a moment before.
    """
    rate = limit.rate or 0.0
    every = (limit.stage, *limit.ladder, *((limit.next,) if limit.next else ()))
    if not any(one.capacity and one.capacity[1] < rate for one in every):
        return _ordered(limit)
    stage, *ladder = (_carrying(one, rate) for one in (limit.stage, *limit.ladder))
    later = _carrying(limit.next, rate) if limit.next is not None else None
    if later is not None and later.capacity is None:
        later = None
    return _ordered(replace(limit, stage=stage, ladder=tuple(ladder), next=later))


def _carrying(one: Reading, rate: float) -> Reading:
    """The reading of a stage that carries at least this rate."""
    if one.capacity is None or one.capacity[1] >= rate:
        return one
    binds = one.held >= BINDS
    if binds and rate <= ABOUT * one.capacity[1]:
        return replace(one, capacity=(one.capacity[0], rate))
    used = one.utilisation if binds or one.kind != "computed" else None
    return replace(one, capacity=None, utilisation=used)


def _ordered(limit: Limit) -> Limit:
    """The limit, whose stage carries no more than the next one."""
    own, later = limit.stage.capacity, limit.next.capacity if limit.next is not None else None
    if own is None or later is None or sum(own) <= sum(later):
        return limit
    least = replace(limit.stage, capacity=(min(own[0], later[0]), min(own[1], later[1])))
    ladder = tuple(least if one == limit.stage else one for one in limit.ladder)
    return replace(limit, stage=least, ladder=ladder)
