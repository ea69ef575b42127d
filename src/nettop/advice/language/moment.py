"""One moment as rules see it: facts, sysctls as numbers, offloads by name, cores by number.

There is one `Moment` for each frame. `Past` holds earlier values of this run, for
`worst(field, seconds)`, `increase(field, seconds)`, and the sums of rates over a look.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Final, TypeAlias

from ...facts import Facts
from ...facts.kinds import kinds
from ...facts.kinds.core import Core
from ...facts.kinds.nic import Feature, Nic
from ...facts.kinds.process import Process
from ...facts.kinds.queue import Queue
from ...terms.dataclass import dataclass
from .syntax import Limits
from .values import Value, setting

_IDLE: Final = 80.0  # percent idle: a core with less is busy
_UNKNOWN: Final = float("-inf")  # a value that is not known, less than any other
LOOK: Final = 10.0  # seconds over which events are counted
Rates: TypeAlias = tuple[float | None, ...]
_Span: TypeAlias = tuple[float, float, Rates]  # its end, its seconds, and the rates meanwhile
Sum: TypeAlias = "tuple[tuple[float, str, float | None], ...]"  # sign, field and its rate now


class Past:
    """Earlier values by call and target, each kept for the seconds that the call names.

    Of the values of a target only those are kept that are larger than all later ones. For
    `increase`, which needs the smallest, they are kept with the opposite sign.
    """

    def __init__(self) -> None:
        """Empty: no frame was judged yet."""
        self._values: dict[str, dict[str, deque[tuple[float, float]]]] = {}
        self._spans: dict[tuple[str, ...], dict[str, deque[_Span]]] = {}
        self._places: dict[str, tuple[dict[str, deque[_Span]], int]] = {}  # of each field in these
        self._at: dict[object, float] = {}  # time of the last values of a call or of fields

    def add(
        self, call: str, at: float, seconds: float, now: Mapping[str, float | None],
        *, rest: bool = False,
    ) -> None:  # fmt: skip
        """Add the value of `call` on each target at `at` (s); drop old values and gone targets.

        `rest`: a target that is not in `now` is not gone but has the value that it had last.
        """
        targets = self._values.setdefault(call, {})
        last = self._at.get(call, at)
        self._at[call] = at
        for target, value in now.items():
            values = targets.get(target)
            if values is None:
                values = targets[target] = deque()
            elif values and values[-1][0] < last:  # it rested: its value was the same until then
                values[-1] = last, values[-1][1]
            while values and values[-1][1] <= (_UNKNOWN if value is None else value):
                values.pop()  # they cannot be the largest again
            values.append((at, _UNKNOWN if value is None else value))
            while values[0][0] < at - seconds:
                values.popleft()
        if not rest and len(targets) > len(now):
            for target in [target for target in targets if target not in now]:
                del targets[target]

    def count(
        self, fields: tuple[str, ...], at: float, now: Mapping[str, Rates], *, rest: bool = False
    ) -> None:
        """Add the rates of all `fields` of a kind on each target since the last time.

        `rest` as for `add`. The first rates of all are those of a second: how long they were
        measured is not known here.
        """
        if fields not in self._spans:
            self._spans[fields] = {}
            self._places |= {one: (self._spans[fields], at) for at, one in enumerate(fields)}
        targets, last = self._spans[fields], self._at.get(fields)
        self._at[fields] = at
        for target, rates in now.items():
            spans = targets.setdefault(target, deque())
            if last is not None and spans and spans[-1][0] < last:  # it rested until then
                until, _, before = spans[-1]
                spans.append((last, last - until, before))
            if last is not None and last >= at and spans:  # the same moment again
                spans[-1] = at, spans[-1][1], rates
            else:
                spans.append((at, 1.0 if last is None else at - last, rates))
            while spans[0][0] <= at - LOOK:
                spans.popleft()
        if not rest and len(targets) > len(now):
            for target in [target for target in targets if target not in now]:
                del targets[target]

    def counted(self, field: str, target: str) -> tuple[float, float] | None:
        """Events of a rate in the last `LOOK` seconds, and the seconds; None if not known."""
        if field not in self._places:
            return None
        targets, place = self._places[field]
        events = seconds = 0.0
        for _, span, rates in targets.get(target, ()):
            if (rate := rates[place]) is not None:
                events, seconds = events + span * rate, seconds + span
        return (events, seconds) if seconds else None

    def worst(self, call: str, target: str) -> float | None:
        """The largest value kept; None if there is none."""
        values = self._values.get(call, {}).get(target)
        return values[0][1] if values and values[0][1] != _UNKNOWN else None


class Moment:
    """The facts of one frame with the lookups that expressions need."""

    def __init__(self, facts: Facts, past: Past | None = None) -> None:
        """`past` is the judge's; without one, the worst value is the current one."""
        self.facts = facts
        self.profile = facts.profile.name
        self.past = past or Past()
        self._features: dict[int, dict[str, Feature]] = {}  # by the object that has them
        self._indexed: dict[str, Mapping[Hashable, object]] = {}
        self._targets: dict[str, list[tuple[str, object]]] = {}

    @cached_property
    def nics(self) -> Mapping[str, Nic]:
        """The interfaces by name."""
        return {nic.name: nic for nic in self.facts.nics}

    @cached_property
    def queues(self) -> Mapping[tuple[str, str], Queue]:
        """The queues by interface and name."""
        return {(queue.nic, queue.name): queue for queue in self.facts.queues}

    @cached_property
    def cores(self) -> Mapping[int, Core]:
        """The cores by CPU number."""
        return {core.cpu: core for core in self.facts.cores}

    @cached_property
    def processes(self) -> Mapping[int, Process]:
        """The processes by pid."""
        return {process.pid: process for process in self.facts.processes}

    def sysctl(self, name: str) -> Value | None:
        """A sysctl as number, tuple or text; None when this kernel has none of that name."""
        text = self.facts.sysctls.get(name)
        return None if text is None else setting(text)

    def feature(self, nic: Nic, name: str) -> Feature | None:
        """An offload of the interface; None when the driver does not list it."""
        known = self._features.get(id(nic.features))  # interfaces that are alike share it
        if known is None:
            known = self._features[id(nic.features)] = {one.name: one for one in nic.features}
        return known.get(name)

    def on(self, nic: Nic | None, name: str) -> bool | None:
        """Whether the offload is on."""
        feature = None if nic is None else self.feature(nic, name)
        return None if feature is None else feature.on

    def fixed(self, nic: Nic | None, name: str) -> bool | None:
        """Whether the offload cannot be changed."""
        feature = None if nic is None else self.feature(nic, name)
        return None if feature is None else feature.fixed

    def core(self, cpu: float) -> Core | None:
        """The core with that number."""
        return self.cores.get(int(cpu))

    def beside(self, cpu: float) -> int | None:
        """The best CPU for the application that reads what `cpu` receives: a core near in cache.

        In order: shared L2, shared L3, same node; then without NIC interrupts, then idle. None when
        there is no other core on the node, or the topology is not known.
        """
        here = self.core(cpu)
        if here is None:
            return None
        near = [
            one
            for one in self.facts.cores
            if one.node == here.node and one.cpu != here.cpu and one.cpu not in here.siblings
        ]

        def rank(one: Core) -> tuple[bool, bool, bool, bool, int]:
            busy = (one.idle or 0.0) < _IDLE
            return (one.cpu not in here.l2, one.cpu not in here.l3, bool(one.nics), busy, one.cpu)

        return min(near, key=rank).cpu if near else None

    def spread(self, cpus: tuple[int, ...], index: float) -> int | None:
        """The index-th CPU, modulo their number; each physical core comes before any sibling."""
        first: list[int] = []
        rest: list[int] = []
        taken: set[int] = set()
        for cpu in cpus:
            core = self.cores.get(cpu)
            if core is None:  # offline
                continue
            (rest if cpu in taken else first).append(cpu)
            taken.update(core.siblings)
        order = first + rest
        return order[int(index) % len(order)] if order else None

    def own_cpus(self, number: float, count: float) -> tuple[int, ...] | None:
        """The CPUs of transmit queue `number` of `count`: CPU i sends on queue i modulo `count`."""
        if count < 1:
            return None
        online = sorted(self.cores)
        return tuple(cpu for at, cpu in enumerate(online) if at % int(count) == number) or None

    def worst(self, call: str, target: str, now: float | None) -> float | None:
        """The largest of the kept values and the current one; None where all are unknown."""
        before = self.past.worst(call, target)
        known = [value for value in (before, now) if value is not None]
        return max(known) if known else None

    def increase(self, call: str, target: str, now: float | None) -> float | None:
        """How far the current value is above the smallest kept one; None if it is unknown."""
        if now is None:
            return None
        before = self.past.worst(call, target)
        return 0.0 if before is None else max(0.0, now + before)

    def events(self, target: str, counted: Sum) -> float | None:
        """Events of a sum of rates in the last `LOOK` seconds; None if one of them is unknown."""
        known = [(sign, self._counted(target, field, now)) for sign, field, now in counted]
        return _sum((sign, one and one[0]) for sign, one in known)

    def mean(self, target: str, counted: Sum) -> float | None:
        """The mean of a sum of rates in the last `LOOK` seconds; None if one is unknown."""
        known = [(sign, self._counted(target, field, now)) for sign, field, now in counted]
        return _sum((sign, one and one[0] / one[1]) for sign, one in known)

    def counted(self, target: str, field: str) -> float:
        """The seconds of that mean; 0 without earlier moments."""
        return (self.past.counted(field, target) or (0.0, 0.0))[1]

    def share(self, target: str, lost: Sum, through: Sum) -> float | None:
        """Events of `lost` / those of both, in the last `LOOK` seconds; 0 if there were none.

        Of two counters that are read one after the other the difference may be below zero.
        """
        part, rest = self.events(target, lost), self.events(target, through)
        if part is None or rest is None:
            return None
        return part / (part + max(0.0, rest)) if part > 0 else 0.0

    def _counted(self, target: str, field: str, now: float | None) -> tuple[float, float] | None:
        """Events and seconds; without earlier moments, those of a second at the rate of now."""
        known = self.past.counted(field, target)
        return known or (None if now is None else (now, 1.0))

    def indexed(self, kind: str) -> Mapping[Hashable, object]:
        """The facts of a kind by their key."""
        index = self._indexed.get(kind)
        if index is None:
            known = kinds()[kind]
            index = self._indexed[kind] = {known.key(one): one for one in self.facts.of(known)}
        return index

    def targets(self, over: str) -> list[tuple[str, object]]:
        """The facts of a kind, each with the name that findings have for it."""
        if over not in self._targets:
            kind = kinds()[over]
            self._targets[over] = [(kind.target(fact), fact) for fact in self.facts.of(kind)]
        return self._targets[over]

    def scope(self, over: str, fact: object) -> dict[str, object]:
        """The names of a rule on that target: the fact, its parents (None: not known), the host."""
        names = ("host", over, *kinds()[over].parents)
        return {name: self.named(name, over, fact) for name in names}

    def named(self, name: str, over: str, fact: object) -> object:
        """The fact of that name in the scope of a rule on that target; None: not known."""
        if name == over:
            return fact
        if name == "host":
            return self.facts.host
        return self.indexed(name).get(kinds()[over].parents[name](fact))


def _sum(parts: Iterable[tuple[float, float | None]]) -> float | None:
    """The sum with signs; None if a part is unknown."""
    total = 0.0
    for sign, part in parts:
        if part is None:
            return None
        total += sign * part
    return total


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names of an expression stand for on one target.

    The facts by name, the moment around them, the rule's limits and the target's name.
    """

    facts: Mapping[str, object]  # a parent that is not known is None
    moment: Moment
    limits: Limits
    target: str = ""
