"""Some minutes of a box as scenes: its recording is played through the collectors and the rules."""

import os
import time
from bisect import bisect_left, bisect_right
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from math import ceil
from typing import Final

from ..advice.judge.judge import Judge
from ..files import bounds
from ..host.archive import RecordedMoment, written
from ..host.recording import Replay
from ..sampling.sampler import Sampler
from ..views.build import Plans, merge, scene_of
from ..views.moments import Moments
from ..views.observer import Observer
from ..views.past import History
from ..views.scene import Scene
from .incident import BOOT
from .past import Past

LEAD: Final = 60.0  # seconds before them, for the graphs and for rules that must hold for some time
GAP: Final = 15.0  # seconds without a sample that are reported
MOST: Final = 2 << 20  # bytes of its packed scenes
WORK: Final = 3.0  # seconds of a core for all samples of a part; on a large host some are left out
_TRIED: Final = 5  # samples after which the cost of one is known
_HOST: Final = "/proc/sys/kernel/hostname"
_SPACE: Final = "/proc/self/ns/net"


class Minutes:
    """The scenes of these minutes, in a bounded space."""

    def __init__(self, tables: Collection[str]) -> None:
        """`tables` are those of the frame that panes draw."""
        self.moments = Moments(step=0.0, most=MOST, tables=tables)
        self.past = History()
        self.every = 1  # moments of the box for each scene
        self.other = ""  # another host, whose moments are left out

    def near(self, wall: float, *, back: bool) -> float | None:
        """The latest moment that is not after `wall`, or the earliest that is not before it."""
        times = self.moments.times
        at = bisect_right(times, wall) - 1 if back else bisect_left(times, wall)
        return times[at] if 0 <= at < len(times) else None

    def scene(self, wall: float) -> Scene | None:
        """The latest moment that is not after `wall`, else the oldest, with the time before it."""
        scene = self.moments.scene(wall)
        return scene and replace(scene, past=self.past.until(scene.wall), boxed=True)

    def gap(self, one: float, other: float) -> bool:
        """Whether samples are missing between two neighbouring times."""
        return abs(one - other) > max(GAP, 2.0 * self.every)


def load(past: Past, begin: float, end: float, tables: Collection[str]) -> Minutes:
    """The scenes from `begin` to before `end` (seconds since 1970). OSError."""
    minutes = Minutes(tables)
    since, end = begin - LEAD, min(end, past.until)
    count = past.count(since, end)
    played: _Played | None = None
    spent = 0.0
    for number, moment in enumerate(past.moments(since, end)):
        if played is None:
            played = _Played(moment)
        else:
            played.then(moment)
        if other := played.other():
            minutes.other, played.begins = other, True
        if number % minutes.every and not played.begins:
            continue
        begun = time.thread_time()
        scene = None if other else played.scene()
        if scene is not None and moment.wall >= begin:
            minutes.moments.add(scene)
        minutes.past = played.past
        spent += time.thread_time() - begun
        if number == _TRIED:
            minutes.every = max(1, ceil(spent / _TRIED * count / WORK))
    return minutes


class _Played:
    """The recording as a host that is observed. After a gap or a boot all rates begin anew."""

    def __init__(self, first: RecordedMoment) -> None:
        self.replay = Replay(written(first))
        self.observer = Observer(self.replay)
        self.plans = Plans(self.replay)
        self.past, self.last = History(), Scene()
        self.begins = True  # whether the next sample has no rates
        self._wall = first.wall

    def then(self, moment: RecordedMoment) -> None:
        """Go on by a moment."""
        self.begins |= not 0 <= moment.wall - self._wall <= GAP or BOOT in moment.changed
        self._wall = moment.wall
        self.replay.then(moment)

    def scene(self) -> Scene | None:
        """The scene of this moment; None where rates begin."""
        observer = self.observer
        if self.begins:
            observer.sampler = Sampler(self.replay)
            observer.judge = Judge(observer.judge.rules, observer.judge.muted)
            observer.step()
            self.begins, self.last = False, Scene()
            return None
        observation = observer.step()
        self.past = self.past.add(observation.facts, observation.frame.wall)
        self.last = merge(self.last, scene_of(observation, self.past, self.plans))
        return self.last

    def other(self) -> str:
        """The other host, or namespace, that this moment is of; empty if it is this one."""
        name = (self.replay.body(_HOST) or b"").decode("utf-8", "surrogateescape").strip()
        if name != os.uname().nodename:
            return name or "another host"
        space, boot = self.replay.body(f"{_SPACE}@"), self.replay.body(BOOT)
        if space is None or boot is None or boot.decode("ascii", "replace") != _boot():
            return ""
        here = space.decode("ascii", "replace").strip() == os.readlink(_SPACE)
        return "" if here else "another network namespace"


@cache
def _boot() -> str:
    return bounds.read(BOOT, "state").decode("ascii", "replace")
