"""The distance between two CPUs: the caches and memory that they share.

From near to far: `same core` (the very same CPU), `SMT sibling`, `shared L2`, `shared L3`,
`same node`, `other node`. Source: /sys/devices/system/cpu/cpuN/topology and cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

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
