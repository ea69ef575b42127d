"""The loop behind the screen: a daemon thread that samples, joins, judges and posts scenes.

It reads only the tables that facts and the pane shown need, and sleeps while the screen is paused.
An error becomes a note; the thread goes on.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..host.source import Source
from ..panes import pane
from ..views.build import Plans, scene_of
from ..views.past import Past
from ..views.scene import Note, Scene, View

if TYPE_CHECKING:
    from ..views.observer import Observation, Observer
    from .taping import Taping

Post = Callable[[Scene], None]
LISTEN: Final = 5.0  # seconds between asking the silent rules why
CLEARED: Final = 100  # samples after which cycles are looked for: some milliseconds
SETTLED: Final = 5  # samples after which everything is imported and remembered


class Engine(threading.Thread):
    """Posts a scene each interval until stopped or the recording ends."""

    def __init__(self, source: Source, post: Post, interval: float, view: View) -> None:
        """`post` may be called from this thread; `view` says which pane is shown first."""
        super().__init__(name="nettop-engine", daemon=True)
        self.source = source
        self.post = post
        self.interval = interval
        self.view = view
        self.profile: str | None = None
        self.listened = -LISTEN  # when the silent rules were last asked why
        self.tape = ""  # the file to record to, until the recording begins
        self.ending = False  # whether the recording is to end
        self.reasons = False  # whether drops are counted by reason, as last asked by key
        self.recording: Taping | None = None
        self.past = Past()
        self.stopping = False
        self.fresh = False  # read everything anew, for what a change did
        self.nudge = threading.Event()
        self.plans = Plans(source)

    def look(self, view: View) -> None:
        """Take note of a changed view: other tables may be needed."""
        before, self.view = self.view, view
        if (
            before.pane != view.pane
            or before.paused != view.paused
            or before.profile != view.profile
        ):
            self.wake()

    def wake(self) -> None:
        """Sample now instead of at the end of the interval."""
        self.nudge.set()
        woken = getattr(self.source, "woken", None)
        if woken is not None:
            woken.set()

    def refresh(self) -> None:
        """The host was changed: read every table anew and plan again."""
        self.fresh = True
        self.wake()

    def record(self, path: str) -> None:
        """Record from the next sample on; an empty path ends it and writes the file."""
        self.tape, self.ending = path, not path
        self.wake()

    def stop(self) -> None:
        """End the loop soon; the thread is a daemon, so nobody need wait for it."""
        self.stopping = True
        self.wake()

    def run(self) -> None:
        """Sample until stopped; a recording that runs then is kept."""
        try:
            self._loop()
        finally:
            if self.recording is not None:
                self.recording.end()

    def _loop(self) -> None:
        """Sample; an error is noted once and the sample tried again."""
        observer: Observer | None = None
        told = ""
        steps = 0
        while not self.stopping:
            begun = time.monotonic()
            try:
                if observer is None:
                    observer = self._observer()
                self._step(observer)
                told = ""
                steps += 1
                if steps == SETTLED:  # what lives now lives on: the collector need not walk it
                    gc.collect()
                    gc.freeze()
                elif steps % CLEARED == 0:  # Textual leaves cycles whenever it lays out
                    gc.collect()
            except Exception as error:
                from ..terms.errors import sentence

                say = f"sampling failed: {sentence(error)}"
                if say != told:
                    self.post(Scene(notes=(Note(say, "bad", time.time()),)))
                told = say
            if not self._rest(begun):
                return

    def _observer(self) -> Observer:
        from ..views.observer import Observer

        observer = Observer(self.source)
        self.profile = observer.profile  # as configured
        if observer.faults:
            now = time.time()
            notes = tuple(Note(f"left out: {one}", "bad", now) for one in observer.faults)
            self.post(Scene(notes=notes))
        return observer

    def _rest(self, begun: float) -> bool:
        """Sleep until the next sample is due; False at the end of a recording."""
        source = self.source
        while self.view.paused and not self.stopping:
            self.nudge.wait(5.0)
            self.nudge.clear()
        if self.stopping:
            return False
        self.nudge.clear()
        left = self.interval - (time.monotonic() - begun)
        if not source.ends:
            if left > 0:
                self.nudge.wait(left)
            return True
        return source.wait(max(0.0, left))

    def _step(self, observer: Observer) -> None:
        if self.fresh:
            self.fresh = False
            observer.sampler.refresh()
            observer.listen()
            self.plans.clear()
        self._tape(observer)
        view = self.view
        observer.profile = view.profile or self.profile
        if view.reasons != self.reasons:
            self.reasons = observer.drop_reasons = view.reasons
        opening = self.source.opening
        if opening and self.past.fine:
            observer.restart(pane(view.pane).NEEDS)
            return
        observation = observer.glance(pane(view.pane).NEEDS)
        if self.recording is not None and not self.recording.add():
            self.recording = None
        if opening:
            return
        self.past = self.past.add(observation.facts, observation.frame.wall)
        self.post(self.scene(observation, view))

    def _tape(self, observer: Observer) -> None:
        """Begin or end a recording, as asked."""
        if self.tape and self.recording is None:
            from .taping import Taping

            path, self.tape = self.tape, ""
            try:
                self.recording = Taping(path, observer, self.post)
            except OSError as error:
                self.post(Scene(notes=(Note(f"cannot write {path}: {error.strerror}", "bad"),)))
        elif self.ending and self.recording is not None:
            self.recording.end()
            self.recording = None
        self.ending = False

    def scene(self, observation: Observation, view: View) -> Scene:
        """The scene of one observation; reasons of silent rules every `LISTEN` seconds at most."""
        lazy = pane(view.pane).LAZY
        if "silent" in lazy:
            if abs(observation.frame.at - self.listened) >= LISTEN:
                self.listened = observation.frame.at
            else:
                lazy = tuple(name for name in lazy if name != "silent")
        return replace(
            scene_of(observation, self.past, self.plans, lazy),
            interval=self.interval,
            recording=self.recording.path if self.recording is not None else "",
        )
