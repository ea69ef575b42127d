"""Time as a key: which moment is shown, and the way from one moment to the next."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..box.earlier import Earlier
from ..panes import drawn, pane
from ..panes.parts import clock, when
from ..views.ask import Ask
from ..views.moments import STEP, Found, Moments, at_moment
from ..views.scene import Scene
from ..views.view import View
from .notes import HARMLESS, note, refused

if TYPE_CHECKING:
    from ..box.past import Past

MINUTE: Final = 60.0
ALLOWED: Final = HARMLESS | {"stop"}  # verbs that do not act on the moment shown
SLACK: Final = 1e-3  # seconds: times closer than that are the same moment
FIRST: Final = "this is the first moment that is kept"
READING: Final = "reading the black box"


def moments_of(recording: bool, arrived: Callable[[], None] | None = None) -> Moments:
    """An empty memory; of a recording every moment is kept.

    With `arrived` the box of this host has the time before; it is called when a part was read.
    """
    tables = drawn()
    began = time.time()
    earlier = arrived and Earlier(lambda: _box(began), tables, arrived)
    return Moments(step=0.0 if recording else STEP, tables=tables, earlier=earlier)


def _box(until: float) -> Past | None:
    from ..box.past import of_this_host  # not before the first paint

    return of_this_host(until)


class Scrub:
    """The moments of this run and before it, and the one that is shown."""

    def __init__(self, moments: Moments) -> None:
        """Begin in the present."""
        self.moments = moments
        self.follows = False  # show the next sample of a recording that is held
        self.notice = ""  # message about the last move
        self._reads = False  # whether a note says that the box is read
        self._awaits: tuple[float, float, bool] | None = None  # from, asked for, backwards
        self._at: tuple[float, Scene] | None = None  # the moment shown; it stays when others go
        self._shown: tuple[Scene, Scene, Scene] | None = None  # that moment, the present, the scene

    def add(self, scene: Scene, view: View) -> View:
        """Keep the scene of the present; the view after it."""
        if self.follows and view.moment and scene.wall > view.moment + SLACK:
            self.follows = False
            view = replace(view, moment=scene.wall)
        self.moments.add(scene)
        return self._arrived(view)

    def shown(self, view: View, now: Scene) -> Scene | None:
        """The scene of the moment that the view is at; None in the present."""
        if not view.moment:
            self._at = self._shown = None
            return None
        moment = self._moment(view)
        if pane(view.pane).TIMELINE and not (moment is not None and moment.boxed):
            return replace(now, ago=max(0.0, now.wall - view.moment))
        if moment is None:
            return None
        known = self._shown
        if known is None or known[0] is not moment or known[1] is not now:
            known = self._shown = moment, now, at_moment(moment, now)
        return known[2]

    def _moment(self, view: View) -> Scene | None:
        if self._at is None or self._at[0] != view.moment:
            moment = self.moments.scene(view.moment)
            self._at = (view.moment, moment) if moment is not None else None
        return self._at[1] if self._at is not None else None

    def moved(self, verb: str, view: View, now: Scene) -> View:
        """The view at the moment that a verb of `keys.TIMES` leads to; 0.0 is the present."""
        self.follows, self.notice = False, ""
        times = self.moments.times
        here = self._moment(view) if view.moment else now
        if not times or here is None:
            return view
        back, step = verb.endswith("earlier"), MINUTE if verb.startswith("minute") else 0.0
        wanted = here.wall + (min(-step, -2 * SLACK) if back else max(step, 2 * SLACK))
        if self.moments.earlier is not None and wanted < times[0] - SLACK:
            self._awaits = view.moment, wanted, back
            found = self.moments.earlier.near(wanted, back=back)
            self.notice = READING if found is None else ""
            return view if found is None else self._reached(found, view)
        if verb == "earlier":
            at = bisect_left(times, here.wall - SLACK) - 1
        elif verb == "later":
            at = bisect_right(times, here.wall + SLACK)
        elif verb == "minute_earlier":
            at = bisect_right(times, here.wall - MINUTE + SLACK) - 1
        else:
            at = bisect_right(times, here.wall + MINUTE)
        at = max(0, at)
        present = at >= len(times) or times[at] >= now.wall - SLACK
        after = replace(view, moment=0.0 if present else times[at])
        self.notice = FIRST if after == view and back else ""
        return after

    def noted(self, scene: Scene) -> Scene:
        """The scene with the notice; without that of reading once it is over."""
        if not self.notice and (self._awaits is not None or not self._reads):
            return scene
        self._reads = self.notice == READING
        kept = tuple(one for one in scene.notes if one.text != READING)
        scene = replace(scene, notes=kept)
        text, self.notice = self.notice, ""
        return note(text, "dim")(scene) if text else scene

    def _arrived(self, view: View) -> View:
        """The view after the box was read, unless the user has gone elsewhere meanwhile."""
        found = self.moments.earlier.arrived() if self.moments.earlier is not None else None
        if found is None:
            return view
        if self._awaits is None or self._awaits[:2] != (view.moment, found.asked):
            self._awaits = None
            return view
        return self._reached(found, view)

    def _reached(self, found: Found, view: View) -> View:
        """The view at the moment that the box has, else at the first one of this run."""
        back = self._awaits is not None and self._awaits[2]
        self._awaits = None
        times, wall = self.moments.times, found.wall
        if wall is None or wall >= times[0] - SLACK:
            wall = times[0] if not back or view.moment > times[0] or not view.moment else None
        if back and wall is not None and view.moment and wall >= view.moment - SLACK:
            wall = None
        if found.fault:
            self.notice = f"black box: {found.fault}"
        elif wall is None:
            self.notice = FIRST
        elif found.gap:
            begin, end = sorted((wall, found.asked))
            self.notice = f"no sample between {when(begin)} and {when(end)}"
        return view if wall is None else replace(view, moment=wall)


def forbidden(before: View, after: View, ask: Ask | None) -> str:
    """Why a key does nothing while an earlier moment is shown; empty if it may."""
    if not before.moment or (ask is not None and ask.verb in ALLOWED):
        return ""
    if not refused(before, after, ask):
        return ""
    return f"this is {clock(before.moment)}: nothing is changed from the past; End: the present"
