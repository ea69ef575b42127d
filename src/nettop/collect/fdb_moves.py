"""Forwarding entries of bridges that move between ports: `host.bpf.moves` (net/bridge/br_fdb.c).

A host that moved, or a standby that takes over, moves its entry once. The first reading opens a
socket, so the table is read on request only.
"""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import counter, gauge, label
from ..terms.dataclass import dataclass
from . import _counted
from ._table import Table

TABLE: Final = Table(every=0.9, counted="moves", absent=True, optional=True)


@dataclass(frozen=True, slots=True)
class Row:
    """One entry that moved."""

    bridge: str = label("the bridge")
    hardware: str = label("hardware address")
    vlan: int = label("VLAN of the entry; 0: none")
    ports: tuple[str, ...] = gauge("ports at which it was")
    moves: int = counter("moves since nettop started to listen", "events")
    seconds: float = gauge("listened for", "s", default=0.0)


def parse(text: str) -> Sequence[Row]:
    """The rows of a text; ValueError for any other."""
    return _counted.rows(text, _row, "moves of forwarding entries")


def _row(line: str, seconds: float) -> Row:
    words = line.split(" ")
    if len(words) < 6:  # it has two ports at least
        raise ValueError(f"not an entry with its moves: {line[:60]!r}")
    count, bridge, hardware, vlan, *ports = words
    number = _counted.number
    return Row(bridge, hardware, number(vlan), tuple(ports), number(count), seconds)
