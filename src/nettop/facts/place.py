"""The online CPUs: their nodes and caches, the physical cores of a set of CPUs, and distances.

Distances are those of caches and memory that two CPUs share, from near to far: `same core` (the
very same CPU), `SMT sibling`, `shared L2`, `shared L3`, `same node`, `other node`. Source:
/sys/devices/system/cpu/cpuN/topology and cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, Protocol

from ..collect.topology import Row as TopologyRow
from ..terms.dataclass import dataclass
from .kinds.core import CpuPlace


@dataclass(frozen=True, slots=True)
class OnlineCpus:
    """The online CPUs of a host."""

    spots: tuple[CpuPlace, ...] = ()
    by_cpu: Mapping[int, CpuPlace] = field(default_factory=dict)
    nodes: int = 1  # with CPUs
    known: bool = False  # the topology was read; else only the numbers are known

    @classmethod
    def of(cls, topology: Sequence[TopologyRow], cpus: Iterable[int] = ()) -> OnlineCpus:
        """From the rows of the topology table; without any, from the CPU numbers `cpus`."""
        spots = [
            CpuPlace(
                row.cpu,
                row.node,
                row.package,
                tuple(cpu for cpu in row.siblings or () if cpu != row.cpu),
                row.l2 or (),
                row.l3 or (),
                row.siblings or (),
            )
            for row in topology
            if row.online and row.cpu is not None
        ]
        known = bool(spots)
        if not spots:
            spots = [CpuPlace(cpu) for cpu in cpus]
        spots.sort(key=lambda spot: spot.cpu)
        nodes = {spot.node for spot in spots if spot.node is not None}
        return cls(tuple(spots), {spot.cpu: spot for spot in spots}, max(1, len(nodes)), known)

    def node(self, cpu: int | None) -> int | None:
        """The NUMA node of a CPU."""
        spot = self.by_cpu.get(cpu) if cpu is not None else None
        return spot.node if spot is not None else None

    def cores(self, cpus: Iterable[int]) -> int | None:
        """The number of physical cores of these CPUs; None if their siblings are not known."""
        found: set[tuple[int, ...]] = set()
        for cpu in cpus:
            spot = self.by_cpu.get(cpu)
            if spot is None:
                continue
            if not spot.core:
                return None
            found.add(spot.core)
        return len(found) or None

    def firsts(self, cpus: Iterable[int]) -> tuple[int, ...]:
        """The lowest CPU number of each physical core of these CPUs; () if not known."""
        found: dict[tuple[int, ...], int] = {}
        for cpu in sorted(cpus):
            spot = self.by_cpu.get(cpu)
            if spot is None:
                continue
            if not spot.core:
                return ()
            found.setdefault(spot.core, cpu)
        return tuple(found.values())

    def near(self, node: int | None) -> tuple[int, ...]:
        """The CPUs of a node."""
        return tuple(spot.cpu for spot in self.spots if node is not None and spot.node == node)

    @property
    def packages(self) -> int | None:
        """The number of processor packages; None if not known."""
        return len({s.package for s in self.spots if s.package is not None}) or None

    @property
    def smt(self) -> bool | None:
        """Whether some core has more than one online thread; None if not known."""
        if not any(spot.core for spot in self.spots):
            return None
        return any(other in self.by_cpu for spot in self.spots for other in spot.siblings)


STEPS: Final = ("same core", "SMT sibling", "shared L2", "shared L3", "same node", "other node")


class Placed(Protocol):
    """The place of a CPU; a Core fact has these attributes."""

    @property
    def node(self) -> int | None:
        """NUMA node."""

    @property
    def siblings(self) -> tuple[int, ...]:
        """SMT siblings."""

    @property
    def l2(self) -> tuple[int, ...]:
        """CPUs that share its L2."""

    @property
    def l3(self) -> tuple[int, ...]:
        """CPUs that share its L3."""


def between(cores: Mapping[int, Placed], one: int | None, other: int | None) -> str | None:
    """The step from one CPU to another; None if either CPU or its place is unknown."""
    if one is None or other is None:
        return None
    if one == other:
        return STEPS[0]
    here, there = cores.get(one), cores.get(other)
    if here is None or there is None:
        return None
    if here.node is not None and there.node is not None and here.node != there.node:
        return STEPS[5]  # first, because some guests report a cache shared across nodes
    for step, near in zip(STEPS[1:4], (here.siblings, here.l2, here.l3), strict=True):
        if other in near:
            return step
    return STEPS[4] if here.node is not None and here.node == there.node else None


def far(cores: Mapping[int, Placed], one: int | None, other: int | None) -> bool | None:
    """Whether two CPUs are on different NUMA nodes; None if unknown."""
    step = between(cores, one, other)
    return None if step is None else step == STEPS[5]
