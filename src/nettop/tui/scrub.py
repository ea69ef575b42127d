"""Time as a key: which moment is shown, and the way from one moment to the next."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from typing import Final

from ..panes import names, pane
from ..panes.clock import clock
from ..views.ask import Ask
from ..views.moments import STEP, Moments, at_moment
from ..views.scene import Scene, View
from .read_only import HARMLESS, refused

MINUTE: Final = 60.0
ALLOWED: Final = HARMLESS | {"stop"}  # what acts on nothing of the moment shown
SLACK: Final = 1e-3  # seconds: times closer than that are the same moment
EXTRA: Final = ("drvinfo",)  # tables that panes draw and that are read for facts anyway
FIRST: Final = "this is the first moment that is kept"


def moments_of(recording: bool) -> Moments:
    """An empty memory; of a recording every moment is kept."""
    tables = {*EXTRA, *(table for name in names() for table in pane(name).NEEDS)}
    return Moments(step=0.0 if recording else STEP, tables=tables)


class Scrub:
    """The moments of this run, and the one that is shown."""

    def __init__(self, moments: Moments) -> None:
        """Begin in the present."""
        self.moments = moments
        self.follows = False  # show the next sample of a recording that is held
        self._at: tuple[float, Scene] | None = None  # the moment shown; it stays when others go
        self._shown: tuple[Scene, Scene, Scene] | None = None  # that moment, the present, the scene

    def add(self, scene: Scene, view: View) -> View:
        """Keep the scene of the present; the view after it."""
        if self.follows and view.moment and scene.wall > view.moment + SLACK:
            self.follows = False
            view = replace(view, moment=scene.wall)
        self.moments.add(scene)
        return view

    def shown(self, view: View, now: Scene) -> Scene | None:
        """The scene of the moment that the view is at; None in the present."""
        if not view.moment:
            self._at = self._shown = None
            return None
        if pane(view.pane).TIMELINE:
            return replace(now, ago=max(0.0, now.wall - view.moment))
        moment = self._moment(view)
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
        self.follows = False
        times = self.moments.times
        here = self._moment(view) if view.moment else now
        if not times or here is None:
            return view
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
        return replace(view, moment=0.0 if present else times[at])


def forbidden(before: View, after: View, ask: Ask | None) -> str:
    """Why a key does nothing while an earlier moment is shown; empty if it may."""
    if not before.moment or (ask is not None and ask.verb in ALLOWED):
        return ""
    if not refused(before, after, ask):
        return ""
    return f"this is {clock(before.moment)}: nothing is changed from the past; End: the present"
