"""The recorded other end of a pair for the screen: it follows the recording of this end.

Unlike `peering` there is nothing to wait for: the engine's thread joins each observation itself, so
that the picture of both ends is of the moment that is shown.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from ..facts.kinds.pair import Pair
from ..facts.pair.words import short
from ..host.recording import Mark, Replay
from ..terms.errors import sentence
from ..views.both import names
from ..views.scene import Note, Peer
from .peering import BothEnds

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..views.observer import Observation


class Pairing:
    """Has `shown` and `pairs` as `Peering` has."""

    def __init__(self, near: Replay, far: Replay, mark: Mark, tell: Callable[[Note], None]) -> None:
        """`far` follows `near`; `mark` is that of `near`."""
        self.near, self.far = near, far
        one, other = names(near, far)
        self.hosts = short(one), short(other)
        self.clock = f"recorded at both ends; {mark.clock(self.hosts[1])}"
        self.tell = tell
        self.shown = Peer(self.hosts, clock=self.clock)
        self.pairs: tuple[Pair, ...] = ()
        self._both: BothEnds | None = None
        self._last = -1  # the moment there that was joined last

    def start(self) -> None:
        """Say how far the clocks are apart."""
        self.tell(Note(self.clock, "", time.time()))

    def restart(self) -> None:
        """The recording is at its first moment, which gives no rates; findings stay."""
        before, self._both = self._both, BothEnds(self.near, self.far)
        if before is not None:
            self._both.observer.judge = before.observer.judge
        self._both.begin()
        self._last = self.far.index

    def offer(self, observation: Observation) -> None:
        """Join this observation with the moment of the other end."""
        if self._both is None:
            self.restart()
            return
        if self.far.index == self._last:
            text = f"{self.hosts[1]} was not recorded at this moment"
            self.shown, self.pairs = replace(self.shown, message=text), ()
            return
        self._last = self.far.index
        try:
            shown, self.pairs = self._both.step(observation)
        except Exception as error:
            text = f"{self.hosts[1]} cannot be judged: {sentence(error)}"
            self.shown, self.pairs = replace(self.shown, message=text), ()
        else:
            self.shown = replace(shown, clock=self.clock)

    def refresh(self) -> None:
        """A recording does not change."""

    def stop(self) -> None:
        """Nothing runs."""
