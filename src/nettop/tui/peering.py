"""The other end of the flows for the screen (--peer): a daemon thread of its own, or a recording.

The engine offers each observation of this host. The thread then reads the other host, and the
sockets of both once more, joins the flows and judges the other host. The engine never waits for it:
where the other host is slow or lost, the last picture stays with a sentence beside it.

A recorded other end follows the recording of this end. There is nothing to wait for: the engine's
thread joins each observation itself, so that the picture of both ends is of the moment shown.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..facts.pair.words import short
from ..host import prefix
from ..host.source import NOT_ROOT, HostLostError, Live, Source
from ..terms.errors import sentence
from ..terms.text import safe
from ..views.scene import Note, Peer
from .notes import brief

if TYPE_CHECKING:
    from ..facts.kinds.pair import Pair
    from ..host.distant import Distant
    from ..host.recording import Mark, Replay
    from ..views.observer import Observation

SLOW: Final = 3.0  # seconds without an answer after which a message says so
SAME: Final = "--peer leads to this host itself: give the other end"


class Peering(threading.Thread):
    """Keeps what both ends show, and `pairs`, the flows for the rules of this host."""

    def __init__(
        self, hosts: tuple[str, str], near: Callable[[], Source], far: Callable[[], Distant],
        tell: Callable[[Note], None],
    ) -> None:  # fmt: skip
        """`hosts`: this host and the prefix of the other. `near` and `far` connect to them.

        `near` is a source of this thread alone. `tell` may be called from this thread.
        """
        super().__init__(name="nettop-peer", daemon=True)
        self._shown = Peer((hosts[0], short(hosts[1])), f"connecting to {hosts[1]}")
        self._prefix = safe(" ".join(prefix.parse(hosts[1])))  # as sentences have it
        self.pairs: tuple[Pair, ...] = ()
        self.tell = tell
        self._connect = near, far
        self._both: BothEnds | None = None
        self._offered: Observation | None = None
        self._due = threading.Event()
        self._failed, self._again = 0, 0.0
        self._asked = 0.0  # when the reading that runs began; 0: none runs
        self._stopping = False

    @property
    def shown(self) -> Peer:
        """What both ends showed last; with a message where the other host does not answer."""
        waits = time.monotonic() - self._asked if self._asked else 0.0
        if waits < SLOW or self._shown.message:
            return self._shown
        text = f"{self._shown.hosts[1]} has not answered for {waits:.0f} s"
        return replace(self._shown, message=text)

    @property
    def far(self) -> Distant | None:
        """The other host; None before it is connected."""
        if self._both is None:
            return None
        from ..host.distant import Distant

        source = self._both.observer.source
        return source if isinstance(source, Distant) else None

    def offer(self, observation: Observation) -> None:
        """Join this observation next, in place of one that still waits."""
        self._offered = observation
        self._due.set()

    def restart(self) -> None:
        """A running host does not begin again."""

    def refresh(self) -> None:
        """The other host was changed: read all its tables again."""
        if self._both is not None:
            self._both.fresh = True
        self._due.set()

    def stop(self) -> None:
        """End the thread soon; nobody must wait for it."""
        self._stopping = True
        self._due.set()

    def run(self) -> None:
        """Join each offered observation; a failure is reported once, and the host tried again."""
        while True:
            self._due.wait()
            self._due.clear()
            if self._stopping:
                return
            if self._offered is not None and time.monotonic() >= self._again:
                self._asked = time.monotonic()
                self._try(self._offered)
                self._asked = 0.0

    def _try(self, observation: Observation) -> None:
        try:
            if self._both is None:
                near, far = self._connect[0](), self._connect[1]()
                self._both = BothEnds(near, far)
                if not far.root:
                    text = brief(f"{far.name}: {NOT_ROOT}", far.name)
                    self.tell(Note(text, "bad", time.time()))
            shown, pairs = self._both.step(observation)
        except HostLostError as error:
            self._lost(f"{error}; trying again")
        except Exception as error:
            self._lost(f"{self._shown.hosts[1]} cannot be judged: {sentence(error)}")
        else:
            if self._failed:
                self.tell(Note(f"{shown.hosts[1]}: connected again", "good", time.time()))
            self._failed = 0
            self._shown, self.pairs = shown, pairs

    def _lost(self, message: str) -> None:
        """Keep the picture; the rules of this host judge no flow by what was read before."""
        from ..host.distant import WAITS

        message = brief(message, self._prefix)
        if message != self._shown.message:
            self.tell(Note(message, "bad", time.time()))
        self._again = time.monotonic() + WAITS[min(self._failed, len(WAITS) - 1)]
        self._failed += 1
        self._shown, self.pairs = replace(self._shown, message=message), ()


def of(options: argparse.Namespace, source: Source, tell: Callable[[Note], None]) -> Peering | None:
    """The thread for --peer; None without it. No prefix may ask on the terminal of the screen."""
    peer, host = getattr(options, "peer", None), getattr(options, "host", None)
    if peer is None:
        return None
    from ..host.distant import behind

    near = (lambda: behind(host)) if host else Live
    return Peering((source.host, peer), near, lambda: behind(peer), tell)


class BothEnds:
    """The other host from moment to moment, joined with observations of this one."""

    def __init__(self, near: Source, far: Source) -> None:
        from ..facts.pair.model import Model
        from ..sampling.sampler import CloseSampler
        from ..views.both import names
        from ..views.build import Plans
        from ..views.observer import Observer

        one, other = names(near, far)
        self.hosts = short(one), short(other)
        self.observer = Observer(far)
        self.observer.judge.muted = frozenset()  # the list has names with the host: `views.build`
        self.close = CloseSampler(near, self.observer.sampler)
        self.model = Model(self.hosts)
        self.plans = Plans(far)
        self.fresh = False  # read everything again

    def begin(self) -> None:
        """Sample once at the first moment of a recording."""
        self.close.take(self.observer.tables())

    def step(self, here: Observation) -> tuple[Peer, tuple[Pair, ...]]:
        """What both ends show, and the pairs of this host. HostLostError."""
        from ..frame.rates import Both
        from ..sampling.ahead import prepare
        from ..views.both import named

        if self.fresh:
            self.fresh = False
            self.observer.sampler.refresh()
            self.plans.clear()
        frame, close = self.close.take(self.observer.tables())
        both = Both(here.frame, frame, close)
        sides = self.model.build(both, here.facts, self.observer.facts(frame))
        if sides.same:
            return Peer(self.hosts, SAME), ()
        found = self.observer.judged(frame, sides.there).judgement.findings
        prepare(self.observer.source, lambda: list(self.plans.of(found)))
        host = self.hosts[1]
        plans = {f"{id_} at {host}": steps for id_, steps in self.plans.of(found).items()}
        pairs: tuple[Pair, ...] = sides.here.more["pair"]
        marked = tuple(named(one, host) for one in found)
        shown = Peer(
            self.hosts, "", sides.joined, sides.unmatched, marked, plans, ended=sides.ended,
        )  # fmt: skip
        return shown, pairs


class Pairing:
    """Has `shown` and `pairs` as `Peering` has."""

    def __init__(self, near: Replay, far: Replay, mark: Mark, tell: Callable[[Note], None]) -> None:
        """`far` follows `near`; `mark` is that of `near`."""
        self.near, self.far = near, far
        from ..views.both import names

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
