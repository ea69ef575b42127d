"""The loop behind the screen: a daemon thread that samples, joins, judges and posts scenes.

It reads only the tables that the facts and the pane shown want, sleeps while the screen is paused,
and never dies: what goes wrong becomes a note.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from ..host.source import Source
from ..panes import pane
from ..panes.listed import ending
from ..views.past import Past
from ..views.scene import Note, Scene, Step, View
from ..views.steps import step
from .mutes import sorted_by_mutes

if TYPE_CHECKING:
    from ..host.recording import Record
    from ..views.observer import Observation, Observer

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
        self.tape = ""  # the file wanted
        self.reasons = False  # whether drops are counted by reason, as last asked by key
        self.recording: tuple[str, Record] | None = None
        self.past = Past()
        self.stopping = False
        self.fresh = False  # read everything anew, for what a change did
        self.nudge = threading.Event()
        self.plans: dict[tuple[Any, ...], tuple[Step, ...]] = {}

    def look(self, view: View) -> None:
        """The reader looks at something else: other tables may be wanted."""
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
        """Something was changed: read the dear tables afresh and plan again."""
        self.fresh = True
        self.wake()

    def record(self, path: str) -> None:
        """Record from the next sample on; an empty path ends it and writes the file."""
        self.tape = path
        self.wake()

    def stop(self) -> None:
        """End the loop soon; the thread is a daemon, so nobody need wait for it."""
        self.stopping = True
        self.wake()

    def run(self) -> None:
        """Sample for ever; what cannot be done is said once and tried again."""
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

                say = f"the host could not be looked at: {sentence(error)}"
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
        if opening:
            return
        self.past = self.past.add(observation.facts, observation.frame.wall)
        self.post(self.scene(observation, view))

    def _tape(self, observer: Observer) -> None:
        """Begin or end a recording, as asked."""
        if self.tape and self.recording is None:
            from ..host.recording import Record

            tape = Record(self.source)
            self.recording = self.tape, tape
            observer.sampler.source = cast("Source", tape)  # its name and kind are read only
            observer.sampler.memory.clear()  # what is read once must be on the tape too
            observer.sampler.refresh()
        elif not self.tape and self.recording is not None:
            from ..host.scrub import scrub
            from ..host.tape import save

            path, tape = self.recording
            self.recording = None
            observer.sampler.source = self.source
            save(path, scrub(tape.archive()))
            self.post(Scene(notes=(Note(f"recorded to {path}, names scrubbed", "good"),)))

    def scene(self, observation: Observation, view: View) -> Scene:
        """One moment as a pane wants it; why rules are silent only where it is shown."""
        judgement = observation.judgement
        silent: tuple[Any, ...] = ()
        if view.pane == "advisor" and abs(observation.frame.at - self.listened) >= LISTEN:
            silent = tuple(judgement.silent())
            self.listened = observation.frame.at
        return Scene(
            facts=observation.facts,
            frame=observation.frame,
            findings=judgement.findings,
            muted=judgement.muted,
            silent=silent,
            plans=self._plan((*judgement.findings, *judgement.muted)),
            past=self.past,
            interval=self.interval,
            recording=self.recording[0] if self.recording is not None else "",
            wall=observation.frame.wall,
        )

    def _plan(self, findings: Iterable[Any]) -> dict[str, tuple[Step, ...]]:
        """What each finding would change here; worked out once while it wishes the same."""
        wishes = {(f.id, f.wanted): f for f in findings if f.wanted}
        self.plans = {
            wish: self.plans.get(wish)
            or tuple(step(w.setting, w.value, self.source) for w in finding.wanted)
            for wish, finding in wishes.items()
        }
        return {finding: steps for (finding, _), steps in self.plans.items()}


def merge(old: Scene, new: Scene) -> Scene:
    """The new moment with what others keep: journal, results, progress, countdowns, notes.

    A finding that held in the old one and holds no longer is listed as ended.
    """
    if new.facts is None:
        return replace(old, notes=(*old.notes, *new.notes)[-20:])
    new = sorted_by_mutes(replace(new, mutes=old.mutes))
    return replace(
        new,
        ended=ending(old, new),
        journal=old.journal,
        results=old.results,
        studies=old.studies,
        about=old.about,
        progress=old.progress,
        pending=old.pending,
        notes=(*old.notes, *new.notes)[-20:],
        question=old.question,
        origin=old.origin,
        units=old.units,
        version=old.version,
        tools=old.tools,
        silent=new.silent or old.silent,
    )
