"""The moments of this run that the screen can go back to, packed, in a bounded space.

The last few are references to scenes. Of older ones a moment is packed every `STEP` seconds, more
often when findings begin or end, less often on a host whose scenes are large: packing costs about a
thousandth of a core. When the bound is exceeded, the moment that is closest to its neighbours for
its age is dropped, so that the steps grow with the age.
"""

from __future__ import annotations

import pickle
import zlib
from bisect import bisect_right
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final, Protocol

from ..frame.rates import Frame
from ..terms.dataclass import dataclass
from .build import passed
from .past import History
from .scene import Scene

STEP: Final = 5.0  # seconds between packed moments
QUIET: Final = 2.0  # steps between packed moments of a host on which no data moves
OFTEN: Final = 0.25  # of a step: the least time between two packed moments
SLOW: Final = 12_000.0  # bytes of a scene, before compression, for each second of the step
RECENT: Final = 10  # moments that are not packed
LIVE: Final = 500_000  # bytes of all these together, before compression
MOST: Final = 4 << 20  # bytes of all packed moments
WINDOW: Final = 32_768  # bytes: how far deflate looks back (RFC 1951)
_PACKED: Final = ("facts", "frame", "findings", "muted", "plans", "ended", "peer")


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a memory about the time `asked` (wall seconds)."""

    asked: float
    wall: float | None = None  # of the moment; None: there is none
    gap: bool = False  # nothing was sampled for some time between both
    fault: str = ""  # what could not be read; one sentence


class Memory(Protocol):
    """Moments before those of this run, such as those of a black box; it reads them on demand."""

    def near(self, wall: float, *, back: bool) -> Found | None:
        """The latest moment that is not after `wall`, or the earliest that is not before it.

        Backwards, the oldest moment of all if none is so early. None if it has to be read first;
        then `arrived` has the answer some time later.
        """

    def arrived(self) -> Found | None:
        """The answer that `near` did not have; given once."""

    def scene(self, wall: float) -> Scene | None:
        """The moment of that time, with its own `past`; None if it is not in memory."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """One packed moment: `data` has some fields of its scene, `rest` the others, not packed."""

    wall: float
    rest: Scene
    data: bytes
    dictionary: bytes  # preset for deflate (RFC 1950): moments are alike


class Moments:
    """The moments of this run, and those of an `earlier` memory before them."""

    def __init__(
        self,
        *,
        step: float = STEP,
        most: int = MOST,
        tables: Collection[str] = (),
        earlier: Memory | None = None,
    ) -> None:
        """`tables` are those of the frame that panes draw; the others are not kept."""
        self.step = step
        self.most = most
        self.tables = frozenset(tables)
        self.earlier = earlier
        self.packed: list[_Moment] = []
        self.recent: deque[Scene] = deque(maxlen=RECENT)
        self.size = 0  # bytes of all packed moments
        self._raw = 0  # bytes of the last one before compression
        self._dictionary = b""  # the first moment with rates
        self._ids: frozenset[str] = frozenset()  # the findings of the last packed moment
        self._opened: tuple[_Moment, Scene] | None = None  # the one that was unpacked last

    @property
    def times(self) -> Sequence[float]:
        """The times of the moments of this run (wall seconds), the oldest first."""
        first = self.recent[0].wall if self.recent else 0.0
        packed = [one.wall for one in self.packed if one.wall < first]
        return packed + [scene.wall for scene in self.recent]

    def add(self, scene: Scene) -> None:
        """Keep the scene of a new sample; one of the same sample is ignored."""
        if scene.facts is None or (self.recent and scene.wall == self.recent[-1].wall):
            return
        if self.recent and scene.wall < self.recent[-1].wall:
            self._forget(scene.wall)
        if self._due(scene):
            self._pack(scene)
        self.recent.append(replace(scene, frame=self._drawn(scene.frame), past=History()))
        while len(self.recent) > max(1, LIVE // max(1, self._raw)):
            self.recent.popleft()

    def scene(self, wall: float) -> Scene | None:
        """The latest moment that is not after `wall`, else the oldest; None without moments."""
        for scene in reversed(self.recent):
            if scene.wall <= wall:
                return scene
        at = bisect_right(self.packed, wall, key=lambda one: one.wall) - 1
        if at >= 0:
            return self._open(self.packed[at])
        before = self.earlier.scene(wall) if self.earlier is not None else None
        if before is None and self.packed:
            return self._open(self.packed[0])
        return before or (self.recent[0] if self.recent else None)

    def _forget(self, wall: float) -> None:
        """The clock was set back: drop the moments that are later than the present."""
        self.packed = [one for one in self.packed if one.wall < wall]
        self.size = sum(len(one.data) for one in self.packed)
        self.recent.clear()

    def _due(self, scene: Scene) -> bool:
        if not self.packed:
            return True
        step = self.step * (QUIET if scene.quiet else 1.0)
        step = max(step, self._raw / SLOW if self.step else 0.0)
        since = scene.wall - self.packed[-1].wall
        changed = frozenset(finding.id for finding in scene.findings) != self._ids
        return since >= step * OFTEN if changed else since >= step

    def _pack(self, scene: Scene) -> None:
        """Add a packed moment; if the space is used up, others are dropped."""
        frame = self._drawn(scene.frame)
        values = {name: getattr(scene, name) for name in _PACKED} | {"frame": frame}
        raw = pickle.dumps(values, pickle.HIGHEST_PROTOCOL)
        packer = zlib.compressobj(3, zdict=self._dictionary)
        data = packer.compress(raw) + packer.flush()
        empty = {name: getattr(_EMPTY, name) for name in _PACKED}
        rest = replace(scene, **empty, silent=(), past=History())
        self.packed.append(_Moment(scene.wall, rest, data, self._dictionary))
        if len(self.packed) == 2:
            self._dictionary = raw[-WINDOW:]
        self.size += len(data)
        self._raw = len(raw)
        self._ids = frozenset(finding.id for finding in scene.findings)
        while self.size > self.most and len(self.packed) > 2:
            self.size -= len(self.packed.pop(self._densest()).data)

    def _drawn(self, frame: Frame | None) -> Frame | None:
        """The frame with the tables that panes draw; ten thousand sockets take 15 MB."""
        if frame is None:
            return None
        tables = {name: rows for name, rows in frame.tables.items() if name in self.tables}
        return replace(frame, tables=tables)

    def _densest(self) -> int:
        """The moment, but for the first and the last, whose neighbours are nearest for its age."""
        walls = [one.wall for one in self.packed]
        now = walls[-1]
        return min(
            range(1, len(walls) - 1),
            key=lambda at: (walls[at + 1] - walls[at - 1]) / (now - walls[at] + self.step + 1.0),
        )

    def _open(self, moment: _Moment) -> Scene:
        if self._opened is None or self._opened[0] is not moment:
            data = zlib.decompressobj(zdict=moment.dictionary).decompress(moment.data)
            values = pickle.loads(data)  # noqa: S301 - packed by this process
            self._opened = moment, replace(moment.rest, **values)
        return self._opened[1]


_EMPTY: Final = Scene()


def at_moment(moment: Scene, now: Scene) -> Scene:
    """The scene of an earlier moment for the screen of `now`.

    Notes, questions and settings of the screen are those of now, also the countdown of changes.
    """
    ago = now.wall - moment.wall
    past, journal, results = now.past.until(moment.wall), moment.journal, moment.results
    if moment.boxed:
        past = moment.past
        journal = tuple(one for one in now.journal if one.wall <= moment.wall)
        results = tuple(one for one in now.results if one.wall <= moment.wall)
    shown = replace(moment, past=past, recording=now.recording)
    shown = passed(replace(shown, interval=now.interval), now)
    return replace(shown, journal=journal, progress=moment.progress, results=results, ago=ago)
