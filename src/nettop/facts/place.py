"""The online CPUs: their nodes and caches, and the physical cores of a set of CPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from ..terms.dataclass import dataclass
from .kinds.core import CpuPlace

if TYPE_CHECKING:
    from .rows import TopologyRow


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
