"""Dropped packets of the whole host by reason: skb:kfree_skb (Linux 5.17).

include/net/dropreason-core.h. Not every drop is a loss: the kernel also drops frames for other
hosts, late duplicates and answers without a receiver. The first reading loads a program into the
kernel (`bpf.drops`), so the table is read on request only, and needs root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..files.bounds import count
from ..frame.fields import counter, label, light
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _lines

EVERY: Final = 0.9
ON_REQUEST: Final = True


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One reason as the running kernel calls it, e.g. NO_SOCKET, SOCKET_RCVBUFF."""

    reason: str = label("kernel name of the drop reason; OTHER: reasons of subsystems")
    packets: int = counter("packets dropped since nettop started to count", "packets")


def read(source: Source) -> Sequence[Row]:
    """Every reason of this kernel, also those with a count of 0; OSError as in `bpf.drops`."""
    return parse(source.drops())


def parse(text: str) -> Sequence[Row]:
    """The rows of `REASON COUNT` lines; ValueError for any other."""
    return _lines.rows(text.splitlines(), _row, "drop reasons")


def _row(line: str) -> Row:
    reason, _, number = line.partition(" ")
    if not reason or not (number.isascii() and number.isdigit()):
        raise ValueError(f"not a reason with its count: {line[:60]!r}")
    return Row(reason, count(number))
