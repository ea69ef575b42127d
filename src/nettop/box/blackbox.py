"""`nettop watch --box`: each sample goes into the ring, and what begins becomes an incident."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Final, Protocol

from ..advice.rules.rule import Finding
from ..files.interrupt import undisturbed
from ..host import systemd
from ..host.recording import Record
from ..terms.dataclass import dataclass
from ..terms.errors import sentence
from ..views.observer import Observation, Observer
from .folder import Folder
from .incident import BOOT, Incident, read
from .pace import Pace
from .ring import Ring
from .trigger import Trigger
from .waiting import Waiting

RETRY: Final = 10.0  # seconds after which a box that could not be written is tried again
COMMENT: Final = "A segment of the black box of nettop."


class Report(Protocol):
    """What the box reports while it runs."""

    def incident(self, incident: Incident, name: str) -> None:
        """An incident was written to the file `name`."""

    def trouble(self, message: str) -> None:
        """The box cannot be written, or can be again; one sentence."""


@dataclass
class BlackBox:
    """Observes through a source that records. `before` and `after`: seconds around an incident."""

    folder: Folder
    observer: Observer
    record: Record
    trigger: Trigger
    before: float
    after: float
    report: Report
    _trouble: str = ""
    _retry: float = float("-inf")
    _boot: str = field(init=False)
    _ring: Ring = field(init=False)
    _pace: Pace = field(init=False)
    _waiting: Waiting = field(init=False)

    def __post_init__(self) -> None:
        """Take up what the last run left. OSError."""
        self._boot = _boot(self.record)
        self._ring, self._pace = Ring(self.folder), Pace(self.observer)
        self._waiting = Waiting(self.folder, self.before, self.after)
        earlier = (read(path) for path in self.folder.incidents())
        for incident in (*filter(None, earlier), *self._waiting.all.values()):
            age = max(0.0, self.record.wall() - incident.wall)
            self.trigger.note(incident, self.record.now() - age)

    def step(self) -> Observation:
        """Observe once, write the sample, and complete the incidents that are due."""
        fresh = self._ring.full(self.record.now())
        if fresh:
            self.record.anew()
            self.observer.sampler.memory.clear()  # what is read once must be in each segment
            self.observer.sampler.refresh()
        # the cost of a segment's first moment is charged to later ones, that of an incident is not
        wanted = bool(self._waiting.all) or not self.record.live
        observation = self._pace.step(eager=fresh or wanted, free=wanted)
        text = self.record.taken().encode("utf-8", "surrogateescape")
        at = observation.frame.at
        with undisturbed(), self._troubled(at) as able:
            if able:
                self._ring.add(at, text, new=fresh)
                self._begin(observation)
                self._complete(at)
        systemd.notify("READY=1\nWATCHDOG=1")
        return observation

    def end(self) -> None:
        """Complete what waits with the time that there is, and end the segment."""
        with undisturbed(), self._troubled(self.record.now()):
            self._complete(float("inf"))
            self._ring.close()
        self.folder.close()

    def _begin(self, observation: Observation) -> None:
        frame = observation.frame
        begun = self.trigger.begun({one.id: one for one in observation.judgement.findings})
        for finding in begun:
            if self.trigger.due(finding, frame.at):
                incident = self._incident(finding, frame.at, frame.wall)
                self.trigger.note(incident, frame.at)
                self._waiting.add(incident)
        for finding in begun:
            self._waiting.join(finding.id)

    def _incident(self, finding: Finding, at: float, wall: float) -> Incident:
        return Incident(
            finding.rule, finding.target, finding.severity, finding.title, at - finding.held,
            wall - finding.held, self._boot, held=finding.held,
        )  # fmt: skip

    def _complete(self, at: float) -> None:
        for path in self._waiting.due(at, self._boot):
            incident = self._waiting.all[path]
            if name := self._waiting.complete(path):
                self.report.incident(incident, name)
            else:
                self.report.trouble(f"no incident of {incident.id}: its time is not in the box")

    @contextmanager
    def _troubled(self, at: float) -> Iterator[bool]:
        """Report an error of the box once; whether it is to be tried now."""
        able = at >= self._retry
        try:
            yield able
        except OSError as error:
            self._retry = at + RETRY
            message = f"cannot write the box: {sentence(error)}"
            if message != self._trouble:
                self.report.trouble(f"{message}; trying again")
            self._trouble = message
        else:
            if able and self._trouble:
                self._trouble = ""
                self.report.trouble("the box is written again")


def _boot(record: Record) -> str:
    try:
        return record.inner.text(BOOT).strip()
    except OSError:
        return ""
