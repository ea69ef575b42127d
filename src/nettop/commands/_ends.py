"""The hosts of one recording: each has its source and its file; two of them belong together."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

from ..files.interrupt import undisturbed
from ..host.abreast import Mark
from ..host.record import Record
from ..host.scrub import scrub

if TYPE_CHECKING:
    from ..collect.ways import Question
    from ..frame.rates import Frame
    from ..host.pseudonyms import Names
    from ..host.source import Source


ROUNDED: Final = 5e-5  # seconds: the offset is written with four digits
EXCHANGES: Final = 5  # round trips for the offset of two clocks; the shortest counts
End = tuple["Source", Callable[[str], object]]
"""A source, and the function that writes its samples."""


class Ends:
    """Records one host, or this host and the other end of its flows."""

    def __init__(self, ends: Sequence[End], comment: str, names: Names | None) -> None:
        """With `names`, a name that occurs at both ends has one replacement."""
        from ..sampling.both import CloseSampler
        from ..sampling.sampler import Sampler

        more = pair(ends[0][0], ends[1][0]) if len(ends) > 1 else ("",)
        words = [comment + one for one in more]
        self._tapes = [
            (Record(source, comment=text), write)
            for (source, write), text in zip(ends, words, strict=True)
        ]
        self.source: Source = self._tapes[0][0]  # this host
        self._names = names
        self._samplers = [Sampler(record) for record, _ in self._tapes]
        self._close = CloseSampler(self.source, self._samplers[1]) if len(ends) > 1 else None

    def take(self, wanted: Collection[str]) -> Frame:
        """One sample of the other host, then of this one, whose frame it gives.

        Of two hosts the sockets of both are read once more, close together.
        """
        if self._close is not None:
            self._close.take(wanted)
        return self._samplers[0].take(wanted)

    def ask(self, questions: tuple[Question, ...]) -> None:
        """Record this host's answers to these questions too (`why --to`)."""
        self._samplers[0].ask(questions)

    def put(self) -> None:
        """Write what was read since the last call."""
        with undisturbed():
            for record, write in self._tapes:
                text = record.taken()
                write(text if self._names is None else scrub(text, self._names))


def pair(here: Source, there: Source) -> tuple[str, str]:
    """For the comment of each end: the number of the pair, and the clock of the other host.

    The offset is within half of the round trip in which it was read.
    """
    batches, offsets = there.batches, []
    for _ in range(EXCHANGES):
        sent = time.monotonic()
        if batches is not None:
            batches.fetch(())
        error = (time.monotonic() - sent) / 2
        offsets.append((error, there.wall() - here.wall()))
    error, ahead = min(offsets)
    error += ROUNDED
    number = secrets.token_hex(4)
    own, its = Mark(number, True, ahead, error), Mark(number, False, -ahead, error)
    return own.words(), its.words()
