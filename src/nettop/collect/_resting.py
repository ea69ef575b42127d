"""Which processes of a host with many are due: those that ran, some that rest, some never read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from itertools import islice
from typing import Final

from ..terms.dataclass import dataclass

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
