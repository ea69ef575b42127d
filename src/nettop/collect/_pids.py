"""The processes of this host: the numbers in /proc, listed seldom where there are many.

To list 30,000 processes takes 20 ms, and to read one small file of each of them a third of a
second. So a host with more than `MANY` processes is listed every `LISTED` seconds, and the first
look at its processes is spread over several readings (`Unfinished`).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from itertools import islice
from math import inf
from typing import Final

from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, recall

NEW: Final = 8_000  # processes that are read for the first time in one reading: 0.1 s
TURN: Final = 250  # resting processes that are read for each second since the last reading
TURNS: Final = 5_000  # and at most in one reading: 0.1 s
HOLDING: Final = 1_000  # processes with sockets that are read each time


@dataclass
class Resting:
    """The processes that were never read, and those that rest, the longest unread first."""

    listed: Sequence[str] = ()
    new: list[str] = field(default_factory=list)
    turns: dict[str, None] = field(default_factory=dict)
    whole: bool = False  # each process of the first list was read: what appears now is a new one
    at: float = 0.0  # seconds of the source's clock
    pause: int = 1  # readings until a resting process is read again

    def list(self, listed: Sequence[str], known: Collection[str]) -> list[str]:
        """Take a list of all processes; those of `known` that are not in it any more."""
        self.whole = self.whole or bool(self.listed and not self.new)
        if listed is self.listed:
            return []
        self.listed = listed
        self.new = [pid for pid in listed if pid not in known]
        alive = frozenset(listed)
        gone = [pid for pid in known if pid not in alive]
        for pid in gone:
            self.turns.pop(pid, None)
        return gone

    def due(self, awake: Iterable[str], holding: Collection[str], now: float) -> Iterable[str]:
        """The processes to read now, each once; they leave the list of those that rest.

        The longer ago the last reading was, the more of those that rest: all are read within the
        same time, however seldom the table is read.
        """
        turn = max(TURN, min(TURNS, int(TURN * (now - self.at))))
        self.at, self.pause = now, 1 + len(self.turns) // turn
        new, self.new = self.new[:NEW], self.new[NEW:]
        held = [pid for pid in islice(holding, HOLDING) if pid in self.turns]
        due = dict.fromkeys([*awake, *held, *islice(self.turns, turn), *new])
        for pid in due:
            self.turns.pop(pid, None)
        return due

    def rest(self, pid: str) -> None:
        """It rests, and is read when its turn comes."""
        self.turns[pid] = None


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
