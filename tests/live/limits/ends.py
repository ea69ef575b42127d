"""Both ends of a staged flow as one process sees them, and the true count of a staged loss."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Final

from live.limits.losses import Count, Names, of_backlog

from nettop.facts import Facts
from nettop.facts.joined import needs
from nettop.facts.pair import Losses
from nettop.frame.both import Close
from nettop.frame.rates import Frame
from nettop.host.distant import behind
from nettop.host.source import Live, Source
from nettop.sampling.both import CloseSampler
from nettop.sampling.sampler import Sampler
from nettop.views.both import Observers

Build = Callable[[Frame], Facts]
PATIENCE: Final = 120.0  # seconds: only against hanging
_FORKS: Final = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["live.limits.ends"])


@dataclass(frozen=True, slots=True)
class Seen:
    """What nettop says of the flow, and at least and at most how many segments were lost.

    `backlogs`: packets that the CPUs dropped meanwhile, of all namespaces of this machine.
    """

    losses: Losses | None
    limit: tuple[str, str]  # stage and end
    lost: tuple[float, float]
    backlogs: float


class Counting(CloseSampler):
    """Reads the sockets of both ends, and before and after that the count of what was lost."""

    def __init__(self, here: Source, there: Sampler, lost: Callable[[], float]) -> None:
        super().__init__(here, there)
        self.lost, self.begun, self.ended = lost, 0.0, 0.0
        self.around: list[tuple[float, float]] = []

    def before(self) -> None:
        self.begun = self.lost()
        super().before()

    def after(self) -> None:
        super().after()
        self.ended = self.lost()

    def take(self, wanted: Collection[str]) -> tuple[Frame, Close]:
        taken = super().take(wanted)  # a first frame asks several times: the last one counts
        self.around.append((self.begun, self.ended))
        return taken


def seen(
    names: Names, lost: Count, *, sending: bool = True, ring: bool = False, seconds: float = 3.0
) -> Seen:
    """The busiest flow after so many seconds, seen from the host that sends or from the other."""
    here, there = _FORKS.Pipe(duplex=False)
    work = _FORKS.Process(
        target=_see, args=(there, names, lost, sending, ring, seconds, dict(os.environ))
    )
    work.start()
    there.close()
    try:
        assert here.poll(PATIENCE), f"no answer within {PATIENCE:g} s"
        try:
            found: Seen = here.recv()
        except EOFError:
            raise AssertionError("the look failed: see its traceback") from None
    finally:
        here.close()
        work.kill()
        work.join()
    return found


def _see(
    door: Connection, names: Names, lost: Count, sending: bool, ring: bool, seconds: float,
    environment: Mapping[str, str],
) -> None:  # fmt: skip
    os.environ.update(environment)
    near, far = (names.here, names.there) if sending else (names.there, names.here)
    handle = os.open(f"/run/netns/{near}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(handle, 0):
        raise OSError(ctypes.get_errno(), f"setns {near}")
    dropped = of_backlog(names)
    source = Live(), behind(f"ip netns exec {far}")
    observers = Observers(*source)
    there = observers.sampler.there
    counting = observers.sampler._close = Counting(source[0], there, lambda: lost(names))
    if ring:
        builds = observers._builds
        ringed = _with_ring(builds[sending], lambda: counting.around[-1][0])
        observers._builds = (builds[0], ringed) if sending else (ringed, builds[1])
    *_, (_, sides) = observers.watch(seconds, set(needs()))
    assert sides.joined, sides.unmatched
    flow = max(sides.joined, key=lambda one: one.limit.rate or 0.0)
    stage = flow.limit.stage
    first, last = counting.around[0], counting.around[-1]
    lost_there = last[0] - first[1], last[1] - first[0]
    backlogs = of_backlog(names) - dropped
    door.send(Seen(flow.losses, (stage.stage, stage.end), lost_there, backlogs))


def _with_ring(build: Build, count: Callable[[], float]) -> Build:
    """No virtual device has a receive ring: the interface of the facts counts what was lost."""

    def built(frame: Frame) -> Facts:
        facts = build(frame)
        nics = tuple(
            replace(nic, total=replace(nic.total, ring_drops=count())) if nic.name != "lo" else nic
            for nic in facts.nics
        )
        return replace(facts, nics=nics)

    return built
