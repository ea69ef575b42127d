"""The interfaces that changed since the last frame: of a thousand, most have no traffic."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from ..collect.nicstats import Row as NicStatsRow
from ..frame.rates import Entry, Frame
from ..terms.dataclass import dataclass
from .kinds.queue import CountedRates

_TABLES: Final = {
    "link_stats": "interface", "netdev": "name", "nicstats": "interface", "pause": "interface",
    "links": "interface", "qdiscs": "interface", "fec": "interface", "queues": "nic",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NicInputs:
    """Values of other tables about interfaces, by interface name."""

    flows: Mapping[str, int] = field(default_factory=dict)
    captured: Container[str] = ()
    ssh: Container[str] = ()
    driver: Mapping[str, Entry[NicStatsRow]] = field(default_factory=dict)
    by_queue: Mapping[tuple[str, str], CountedRates] = field(default_factory=dict)
    # packets lost at receive queues by interface: counted, per second
    queue_drops: Mapping[str, tuple[int, float | None]] = field(default_factory=dict)
    irqbalance: bool | None = None
    flows_known: bool = False
    af_xdp: Container[int] | None = None  # indexes of interfaces; None: unknown
    rdma: Mapping[str, bool] = field(default_factory=dict)  # whether RDMA moves packets


@dataclass(slots=True)
class Changed:
    """The inputs of the last frame."""

    ports: object = None
    tables: dict[str, Sequence[Entry[Any]]] = field(default_factory=dict)
    around: NicInputs | None = None

    def names(self, frame: Frame, ports: object, around: NicInputs) -> set[str] | None:
        """The interfaces whose row is another object, or whose inputs differ.

        None: all may have changed. Rows of an interface that rests are the same objects.
        """
        new = {name: frame.tables.get(name, ()) for name in _TABLES}
        old, self.tables = self.tables, new
        same = self.ports is ports
        was, self.ports, self.around = self.around, ports, around
        if not same or was is None or not _alike(was, around):
            return None
        found: set[str] = set()
        for name, label in _TABLES.items():
            before, after = old[name], new[name]
            if before is after:
                continue
            if len(before) != len(after):
                return None
            found.update(
                getattr(b.now, label) for a, b in zip(before, after, strict=True) if a is not b
            )
        for first, last in ((was.flows, around.flows), (was.rdma, around.rdma),
                            (was.queue_drops, around.queue_drops)):  # fmt: skip
            found |= _differing(first, last)
        return found


def _alike(was: NicInputs, now: NicInputs) -> bool:
    """Whether the inputs that may affect every interface are equal."""
    return (was.captured, was.ssh, was.irqbalance, was.flows_known, was.af_xdp) == (
        now.captured, now.ssh, now.irqbalance, now.flows_known, now.af_xdp,
    )  # fmt: skip


def _differing(first: Mapping[str, object], last: Mapping[str, object]) -> set[str]:
    if first == last:
        return set()
    return {name for name in {**first, **last} if first.get(name) != last.get(name)}
