"""Counters that a card refreshes every few seconds only (be2net, bnx2x and others fetch them so).

Between two refreshes such counters stand still though packets pass, and then they jump: read once
a second, an interface is idle and then carries several times its rate. What betrays it is what the
kernel itself counts meanwhile: interrupts of the card, packets that its queueing discipline handed
on, or, of a card without known interrupts, packets that the CPUs took (softnet_stat) and that no
interface counts; these may also be of another network namespace. Rates are then those between
refreshes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Final, TypeAlias

from ..frame.rates import Entry, Frame
from ..terms.dataclass import dataclass
from .port import Port

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
