"""The loop behind the screen: a daemon thread that samples, joins, judges and posts scenes.

It reads only the tables that facts and the pane shown need, and sleeps while the screen is paused.
An error becomes a note; the thread goes on.
"""

from __future__ import annotations

import gc
import re
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..facts import Facts
from ..host.session import running
from ..host.source import HostLostError, Source
from ..panes import journey, pane
from ..sampling.refresh import LOOK, QUIET_LOOK, Moves
from ..views.build import Plans, scene_of
from ..views.past import History
from ..views.scene import Note, Scene
from ..views.view import View
from .notes import brief

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..views.observer import Observation, Observer
    from .peering import Pairing, Peering
    from .taping import Taping

Post = Callable[[Scene], None]
REASONS_EVERY: Final = 5.0  # seconds between computing the reasons of silent rules
COLLECT_EVERY: Final = 20  # samples between garbage collections: 4 ms each; garbage raises the peak
SLOW: Final = 3.0  # seconds without an answer of another host after which a note says so
FREEZE_AT: Final = 5  # sample after which all modules are imported and all caches are filled


class Engine(threading.Thread):
    """Posts a scene each interval until stopped or the recording ends."""

    def __init__(self, source: Source, post: Post, interval: float, view: View) -> None:
        """`post` may be called from this thread; `view` is the initial view."""
        super().__init__(name="nettop-engine", daemon=True)
        self.source = source
        self.post = post
        self.interval = interval
        self.view = view
        self.profile: str | None = None
        self.reasons_at = -REASONS_EVERY  # time of the last reasons of silent rules
        self.tape = ""  # the file to record to, until the recording begins
        self.ending = False  # whether the recording is to end
        self.deep = False  # whether drops and failed calls are counted all the time
        self.asked = False  # whether what the next look finds lost is told
        self.telling = False  # the same of the look that runs
        self.recording: Taping | None = None
        self.peering: Peering | Pairing | None = None  # reads the other end of the flows
        self.past = History()
        self.stopping = False
        self.steps = 0  # samples taken
        self.silent = float("-inf")  # until this moment (seconds) a recording posts nothing
        self.looks = False  # whether the page of a core was opened: its work is sampled
        self.own: frozenset[int] = frozenset()  # processes that nettop started, as tests do
        self.single = False  # take one sample of a recording that is held
        self.fresh = False  # read every table again, because the host was changed
        self.pace = 0.0  # seconds between samples that the budget asks for
        self.moves: Moves | None = None  # while the host is quiet
        self.nudge = threading.Event()
        self.plans = Plans(source)

    def set_view(self, view: View) -> None:
        """The view has changed: other tables may be needed."""
        before, self.view = self.view, view
        opened = view.spot.open != before.spot.open and bool(view.spot.open)
        self.looks = self.looks or (opened and "profiles" in (pane(view.pane).DRAWS or ()))
        if (
            opened
            or before.pane != view.pane
            or before.paused != view.paused
            or bool(before.moment) != bool(view.moment)
            or before.profile != view.profile
        ):
            self.wake()

    def wake(self) -> None:
        """Sample now instead of at the end of the interval."""
        self.nudge.set()
        woken = getattr(self.source, "woken", None)
        if woken is not None:
            woken.set()

    def look(self) -> None:
        """Count drops and failed calls for some seconds, and tell what was lost meanwhile."""
        self.asked = self.looks = True
        self.wake()

    def advance(self) -> bool:
        """Go on by one moment in a recording, also if it is held; False for another source."""
        if self.source.ends:
            self.single = True
            self.wake()
        return self.source.ends

    def refresh(self) -> None:
        """The host was changed: read every table again and compute the steps again."""
        self.fresh = True
        if self.peering is not None:
            self.peering.refresh()
        self.wake()

    def record(self, path: str) -> None:
        """Record from the next sample on; an empty path ends it and writes the file."""
        self.tape, self.ending = path, not path
        self.wake()

    def stop(self) -> None:
        """End the loop soon; the thread is a daemon, so nobody must wait for it."""
        self.stopping = True
        self.wake()
        if self.peering is not None:
            self.peering.stop()

    def run(self) -> None:
        """Sample until stopped; a recording that runs then is kept."""
        if self.peering is not None:
            self.peering.start()
        try:
            self._loop()
        finally:
            if self.recording is not None:
                self.recording.end()

    def _loop(self) -> None:
        """Sample; an error is posted once, and sampling goes on."""
        observer: Observer | None = None
        posted, lost = "", False
        while not self.stopping:
            begun = time.monotonic()
            try:
                if observer is None:
                    observer = self._observer()
                self._watched(observer, begun if self.steps else None)
                if self.source.live:
                    observer.budget.percent = self.view.options.budget
                    observer.budget.looked(time.process_time())
                    self.pace = observer.budget.pace(self.interval)
                if lost:
                    self.post(Scene(notes=(Note("connected again", "good", time.time()),)))
                posted, lost = "", False
                self.steps += 1
                if self.steps == FREEZE_AT:  # exclude long-lived objects from collections
                    gc.collect()
                    gc.freeze()
                elif self.steps % COLLECT_EVERY == 0:  # each layout of Textual leaves cycles
                    gc.collect()
            except HostLostError as error:
                far = self.source.batches
                text = brief(str(error), far.name) if far is not None else str(error)
                lost, message = True, f"{text}; trying again"
                if message != posted:
                    self._failed(message)
                posted = message
            except Exception as error:
                from ..terms.errors import sentence

                message = f"sampling failed: {sentence(error)}"
                if message != posted:
                    self._failed(message)
                posted = message
            if not self._rest(begun):
                return

    def _failed(self, message: str) -> None:
        """Say why there is no new picture; a first one stays away with the reason in its place."""
        self.post(Scene(notes=(Note(message, "bad", time.time()),), shortfall=message))

    def _watched(self, observer: Observer, begun: float | None) -> None:
        """One sample; a note if another host is silent meanwhile. `begun`: None of the first."""
        far = self.source.batches
        if far is None or begun is None:
            self._step(observer)
            return
        silent = threading.Event()
        name = brief(far.name, far.name)

        def late() -> None:
            silent.set()
            text = f"{name} does not answer; the picture stays as it was"
            self.post(Scene(notes=(Note(text, "warn", time.time()),)))

        timer = threading.Timer(SLOW, late)
        timer.daemon = True
        timer.start()
        try:
            self._step(observer)
        finally:
            timer.cancel()
        if silent.is_set():
            text = f"{name} answered after {time.monotonic() - begun:.0f} s"
            self.post(Scene(notes=(Note(text, "good", time.time()),)))

    def _observer(self) -> Observer:
        from ..views.observer import Observer

        observer = Observer(self.source)
        self.profile = observer.profile  # as configured
        if self.deep:
            observer.deep = True
        observer.look_shortly()
        if self.source.live and self.source.batches is None:  # rules are read meanwhile
            observer.restart(pane(self.view.pane).NEEDS)
        if observer.faults:
            now = time.time()
            notes = tuple(Note(f"ignored: {fault}", "bad", now) for fault in observer.faults)
            self.post(Scene(notes=notes))
        return observer

    def _rest(self, begun: float) -> bool:
        """Sleep until the next sample is due; False at the end of a recording."""
        source = self.source
        while self._held() and not self.stopping:
            self.nudge.wait(5.0)
            self.nudge.clear()
        self.single = False
        if self.stopping:
            return False
        self.nudge.clear()
        rest = max(self.interval, self.pace)
        if self.moves is not None and rest < QUIET_LOOK:
            self._watch(self.moves, begun + QUIET_LOOK)
            return True
        left = rest - (time.monotonic() - begun)
        if not source.ends:
            if left > 0:
                self.nudge.wait(left)
            return True
        return source.wait(max(0.0, left))

    def _watch(self, moves: Moves, due: float) -> None:
        """Sleep until the next look at a quiet host is due, or until data moves there."""
        moves.begin()
        while (left := due - time.monotonic()) > 0:
            if self.nudge.wait(min(left, self.interval)):
                return
            if time.monotonic() < due and moves.begin():  # else the look is taken anyway
                return

    def _held(self) -> bool:
        """Whether no sample is to be taken: paused, or an earlier moment of a recording shown."""
        if self.view.moment and self.source.ends:
            return not self.single
        return self.view.paused

    def _step(self, observer: Observer) -> None:
        if self.fresh:
            self.fresh = False
            observer.refresh()
            self.plans.clear()
        self._tape(observer)
        view = self.view
        observer.profile = view.profile or self.profile
        if self.looks:
            self.looks = False
            observer.look_soon()
            self.telling, self.asked = self.telling or self.asked, False
        opening = self.source.opening
        if opening and self.peering is not None:
            self.peering.restart()
        if opening and self.past.fine:
            observer.restart(pane(view.pane).NEEDS)
            return
        if self.peering is not None:
            observer.pairs = self.peering.pairs
        shown = pane(view.pane).NEEDS
        observation = observer.glance((*shown, *journey.TABLES) if view.journey else shown)
        if self.recording is not None and not self.recording.add():
            self.recording = None
        quiet = observation.quiet > 0.0 and self.recording is None and self.source.live
        self.moves = (self.moves or Moves(self.source)) if quiet else None
        if opening:
            return
        if self.telling and observation.counting is None:
            self.telling = False
            self.post(Scene(notes=(Note(counted(observation), "good", time.time()),)))
        self.past = self.past.add(observation.facts, observation.frame.wall)
        if self.peering is not None:
            self.peering.offer(observation)
        if not (self.source.ends and self.source.now() < self.silent):
            self.post(self.scene(observation, view))

    def _tape(self, observer: Observer) -> None:
        """Begin or end a recording as `tape` says."""
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
        """The scene of one observation; reasons of silent rules every `REASONS_EVERY` seconds."""
        lazy = pane(view.pane).LAZY
        if "silent" in lazy:
            if abs(observation.frame.at - self.reasons_at) >= REASONS_EVERY:
                self.reasons_at = observation.frame.at
            else:
                lazy = tuple(name for name in lazy if name != "silent")
        if self.pace > self.interval:
            waits = {**observation.stretched, LOOK: self.pace}
            observation = replace(observation, stretched=waits)
        if self.source.live:
            self.own |= running()
            judgement = observation.judgement
            kept = without_own(judgement.findings, observation.facts, self.own)
            if len(kept) < len(judgement.findings):
                observation = replace(observation, judgement=replace(judgement, findings=kept))
        peer = self.peering.shown if self.peering is not None else None
        if peer is not None and peer.joined and not peer.message:
            from ..facts.pair.verdict import with_ends

            observation = replace(observation, facts=with_ends(observation.facts, peer.joined))
        return replace(
            scene_of(observation, self.past, self.plans, lazy),
            interval=self.interval,
            arrived=0.0 if self.source.ends else time.monotonic(),
            recording=self.recording.path if self.recording is not None else "",
            peer=peer,
        )


def counted(seen: Observation) -> str:
    """What a look has found lost, or why there was none."""
    from ..facts.losses import sentences

    why = seen.frame.missing.get("drop_reasons", "")
    if "drop_reasons" in seen.frame.tables:
        lost = sentences(seen.facts.losses, seen.facts.rhythms)
        return "; ".join([*(lost or ["no packet was lost meanwhile"]), why]).removesuffix("; ")
    return f"not counted: {why or 'the configuration forbids it (deep = false)'}"


_NUMBER: Final = re.compile(r"(?:^|\[)(\d+)(?:\]|/|$)")  # 352, iperf3[352], tar[352]/read


def without_own(
    findings: Sequence[Finding], facts: Facts, own: Collection[int]
) -> tuple[Finding, ...]:
    """The findings without those about these processes, their threads and their flows."""
    if not own:
        return tuple(findings)
    flows = {flow.id for flow in facts.flows if flow.pid in own}
    return tuple(one for one in findings if not _about(one.target, flows, own))


def _about(target: str, flows: Collection[str], own: Collection[int]) -> bool:
    known = _NUMBER.search(target)
    return target in flows or (known is not None and int(known[1]) in own)
