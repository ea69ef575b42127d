"""The interfaces that changed since the last frame: of a thousand, most have no traffic.

Some cards refresh their counters every few seconds only (be2net, bnx2x and others fetch them so).
Between two refreshes such counters stand still though packets pass, and then they jump: read once a
second, an interface is idle and then carries several times its rate. What betrays it is what the
kernel itself counts meanwhile: interrupts of the card, packets that its queueing discipline handed
on, or, of a card without known interrupts, packets that the CPUs took (softnet_stat) and that no
interface counts; these may also be of another network namespace. Rates are then those between
refreshes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, TypeAlias

from ..collect.nicstats import Row as NicStatsRow
from ..frame.rates import Entry, Frame
from ..terms.dataclass import dataclass
from .kinds.queue import CountedRates
from .port import Port

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


LOOK: Final = 10.0  # seconds that a rate covers, and holds, at most
LEAST: Final = 1000.0  # packets a second that the card does not count: fewer may be other work
INTERRUPTS: Final = 100.0  # a second, of a card that counts nothing
PART: Final = 0.15  # of the rate known before, which may be that of a jump, still pass
QUICK: Final = 4  # frames in a row in which the counters moved: they are refreshed at once

Links: TypeAlias = Mapping[str, Entry[Any]]  # by interface: of `link_stats` or `netdev`


@dataclass(slots=True)
class _Card:
    """When the counters of an interface moved, and the rates that hold until they move again."""

    moved: list[tuple[float, Any]] = field(default_factory=list)  # the last times, with the row
    known: Entry[Any] | None = None
    late: bool = False  # its counters were seen to stand still while packets passed
    quick: int = 0  # frames in a row in which they moved
    held: bool = False  # the rates of this frame or of the last one are not those of its rows


@dataclass(slots=True)
class Refreshed:
    """Kept between frames, for each physical interface."""

    cards: dict[str, _Card] = field(default_factory=dict)

    def rated(
        self, frame: Frame, links: Links, ports: Mapping[str, Port],
        interrupts: Callable[[str], float | None],
    ) -> Links:  # fmt: skip
        """The entries; of a late card with its rates over whole periods, or without any yet.

        `interrupts`: those of an interface per second; None: not known.
        """
        own = [name for name in links if name in ports and ports[name].kind == "nic"]
        self.cards = {name: self.cards.get(name) or _Card() for name in own}
        replaced = {}
        for name in own:
            entry, card = links[name], self.cards[name]
            card.held = card.late
            if not entry.rated:  # the first reading: when it was refreshed is not known
                self.cards[name] = _Card()
            elif entry.rate("rx_packets") or entry.rate("tx_packets"):
                replaced[name] = _moved(card, entry, frame.at)
            else:
                card.quick = 0
                old = bool(card.moved) and frame.at - card.moved[-1][0] > LOOK
                card.late = not old and _passes(frame, links, name, card.known, interrupts(name))
                if card.late:
                    replaced[name] = card.known or Entry(entry.now)
            card.held |= card.late
        return {**links, **replaced}

    def held(self, name: str) -> bool:
        """Whether the rates of an interface may differ though its rows are those of before."""
        card = self.cards.get(name)
        return card is not None and card.held


def _moved(card: _Card, entry: Entry[Any], at: float) -> Entry[Any]:
    """The entry of counters that moved at this time."""
    card.quick += 1
    card.late = card.late and card.quick < QUICK
    if card.late:
        base = next(((since, row) for since, row in card.moved if at - since <= LOOK), None)
        entry = Entry(entry.now, before=base[1], seconds=at - base[0]) if base else Entry(entry.now)
        card.moved = [*card.moved[-7:], (at, entry.now)]
    else:
        card.moved = [(at, entry.now)]
    card.known = entry if entry.rated else None
    return entry


def _passes(
    frame: Frame, links: Links, name: str, known: Entry[Any] | None, interrupts: float | None
) -> bool:
    """Whether packets pass an interface that counts none."""
    if _sent(frame, name) >= LEAST:
        return True
    if interrupts is not None:
        return interrupts >= INTERRUPTS
    before = known.rate("rx_packets") if known is not None else None
    return bool(before) and _uncounted(frame, links) >= max(LEAST, PART * (before or 0.0))


def _uncounted(frame: Frame, links: Links) -> float:
    """Packets a second that the CPUs took and that no interface counts."""
    taken = sum(entry.rate("processed") or 0.0 for entry in frame.tables.get("softnet", ()))
    return taken - sum(entry.rate("rx_packets") or 0.0 for entry in links.values())


def _sent(frame: Frame, name: str) -> float:
    """Packets a second that the root qdisc of an interface handed to it."""
    rates = (
        entry.rate("packets") or 0.0
        for entry in frame.tables.get("qdiscs", ())
        if entry.now.interface == name and entry.now.root
    )
    return sum(rates)
