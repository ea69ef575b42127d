"""The processes of this host: the numbers in /proc, listed seldom where there are many.

To list 30,000 processes takes 20 ms, and to read one small file of each of them a third of a
second. So a host with more than `MANY` processes is listed every `LISTED` seconds, and the first
look at its processes is spread over several readings (`Unfinished`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, recall

MEMORY: Final = "sockets"  # of all collectors that read processes: they share this list
MANY: Final = 2_000  # processes: up to this number all are listed and read each time
LISTED: Final = 10.0  # seconds between two lists of more: a new process is seen so much later


@dataclass
class _Listed:
    at: float = -inf  # seconds of the source's clock
    pids: Sequence[str] = ()


def pids(source: Source, memory: Memory) -> Sequence[str]:
    """The process numbers as text; the same object as before if not listed again. OSError."""
    last, now = recall(memory, _Listed), source.now()
    if len(last.pids) <= MANY or not 0 <= now - last.at < LISTED:
        last.pids = [name for name in source.listing("/proc") if name.isdecimal()]
        last.at = now
    return last.pids


def left(count: int, whole: int, what: str) -> str:
    """The sentence of a table that is `Unfinished`."""
    return f"{what} of {count:,} of {whole:,} processes not read yet"
