"""One moment as rules see it: facts, sysctls as numbers, offloads by name, cores by number.

Made anew for each frame; the past (`Past`) is what one run has seen, for `worst(field, seconds)`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from ...facts import Facts
from ...facts.kinds import kinds
from ...facts.kinds.core import Core
from ...facts.kinds.nic import Feature, Nic
from ...facts.kinds.queue import Queue
from .values import setting

_IDLE: Final = 80.0  # percent: a core with less has work of its own


class Past:
    """Values seen earlier, by call and target; each kept as long as the call asks for."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._seen: dict[tuple[str, str], deque[tuple[float, float]]] = {}

    def add(self, call: str, at: float, seconds: float, now: Mapping[str, float | None]) -> None:
        """Remember what `call` is on each target now; forget what is older, and targets gone."""
        for target, value in now.items():
            values = self._seen.setdefault((call, target), deque())
            if value is not None:
                values.append((at, value))
            while values and values[0][0] < at - seconds:
                values.popleft()
        for key in [key for key in self._seen if key[0] == call and key[1] not in now]:
            del self._seen[key]

    def worst(self, call: str, target: str) -> float | None:
        """The largest value remembered."""
        values = self._seen.get((call, target))
        return max(value for _, value in values) if values else None


class Moment:
    """The facts of one frame with the lookups that expressions need."""

    def __init__(self, facts: Facts, past: Past | None = None) -> None:
        """`past` is the judge's; without one, the worst is what is now."""
        self.facts = facts
        self.profile = facts.profile.name
        self.past = past or Past()
        self._features: dict[str, dict[str, Feature]] = {}
        self._indexed: dict[str, Mapping[Any, Any]] = {}

    @property
    def nics(self) -> Mapping[str, Nic]:
        """The interfaces by name."""
        return self.indexed("nic")

    @property
    def queues(self) -> Mapping[tuple[str, str], Queue]:
        """The queues by interface and name."""
        return self.indexed("queue")

    @property
    def cores(self) -> Mapping[int, Core]:
        """The cores by CPU number."""
        return self.indexed("core")

    @property
    def processes(self) -> Mapping[int, Any]:
        """The processes by pid."""
        return self.indexed("process")

    def sysctl(self, name: str) -> Any:
        """A sysctl as number, tuple or text; None when this kernel has none of that name."""
        text = self.facts.sysctls.get(name)
        return None if text is None else setting(text)

    def feature(self, nic: Nic, name: str) -> Feature | None:
        """An offload of the interface; None when the driver does not list it."""
        known = self._features.get(nic.name)
        if known is None:
            known = self._features[nic.name] = {one.name: one for one in nic.features}
        return known.get(name)

    def on(self, nic: Nic | None, name: str) -> bool | None:
        """Whether the offload is on."""
        found = None if nic is None else self.feature(nic, name)
        return None if found is None else found.on

    def fixed(self, nic: Nic | None, name: str) -> bool | None:
        """Whether the offload cannot be changed."""
        found = None if nic is None else self.feature(nic, name)
        return None if found is None else found.fixed

    def core(self, cpu: float) -> Core | None:
        """The core with that number."""
        return self.cores.get(int(cpu))

    def beside(self, cpu: float) -> int | None:
        """The best CPU for the reader of what `cpu` receives: another core near it in cache.

        Shared L2 first, then shared L3, then the node; there, one without NIC interrupts, then an
        idle one. None when there is no other core, or the topology is not known.
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
        """The index-th of the CPUs, going round: one of each physical core before any sibling."""
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
        """The CPUs of transmit queue `number` of `count`: CPU i sends on queue i, going round."""
        if count < 1:
            return None
        online = sorted(self.cores)
        return tuple(cpu for at, cpu in enumerate(online) if at % int(count) == number) or None

    def worst(self, call: str, target: str, now: float | None) -> float | None:
        """The largest value of the time asked for: the past and what is now."""
        before = self.past.worst(call, target)
        known = [value for value in (before, now) if value is not None]
        return max(known) if known else None

    def indexed(self, kind: str) -> Mapping[Any, Any]:
        """The facts of a kind by their key."""
        found = self._indexed.get(kind)
        if found is None:
            known = kinds()[kind]
            found = self._indexed[kind] = {known.key(one): one for one in self.facts.of(known)}
        return found

    def scope(self, over: str, fact: Any) -> dict[str, Any]:
        """The names of a rule on that target: the fact, its parents (None: not known), the host."""
        found: dict[str, Any] = {"host": self.facts.host, over: fact}
        for parent, key in kinds()[over].parents.items():
            found[parent] = self.indexed(parent).get(key(fact))
        return found
