"""`nettop watch --box`: each sample goes into the ring, and what begins becomes an incident.

The CPU budget of a box decides how often all tables are read and judged. The counters of
interfaces, backlog, protocols and CPUs are read every second. A full look also reads the other
tables, and judges. A quiet host has a full look every `REST` seconds. A busy host, or one that
loses packets, has as many as `PERCENT` of a core allows, at most one a second. Losses that begin
cause one at once. Tables of settings and tables that are expensive to read are read less often.
When a problem begins the kernel counts drops and failed calls for some seconds.

A finding makes an incident by its severity, by its rule or by an expression, and not too often.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Final, Protocol

from ..advice.rules.file import build
from ..advice.rules.rule import LINKS, Finding, Rule
from ..advice.rules.severity import SEVERITIES
from ..advice.rules.written import RuleError
from ..facts.kinds import kinds
from ..files.interrupt import undisturbed
from ..frame.rates import Frame
from ..host import systemd
from ..host.recording import Record
from ..sampling.refresh import Budget
from ..terms.dataclass import dataclass
from ..terms.errors import nearest, sentence
from ..views.observer import Observation, Observer
from .folder import Folder
from .incident import BOOT, Incident, Waiting, read
from .ring import Ring

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


LIGHT: Final = frozenset({"cpu", "link_stats", "netdev", "snmp", "softnet"})
REST: Final = 5.0  # seconds between two full looks at a quiet host
LONGEST: Final = 20.0  # seconds between two full looks that exceed the budget
SELDOM: Final = 10.0  # seconds: a table with this interval or a longer one holds settings
SETTINGS: Final = 30.0  # seconds between two readings of such a table
PERCENT: Final = 0.5  # of a core
SAVED: Final = 10.0  # seconds of unused budget that can be used at once; as much can be borrowed
BUSY: Final = 1_000_000.0  # bytes/s through all interfaces together
_LOST: Final = {
    "link_stats": ("rx_dropped", "tx_dropped", "rx_missed_errors", "rx_fifo_errors"),
    "netdev": ("rx_drop", "tx_drop"),
    "softnet": ("dropped",),
    "snmp": ("udp_errors", "listen_drops", "tcp_retrans"),
}


class Pace:
    """Observes a live host; the last observation is valid until the next full look."""

    def __init__(self, observer: Observer, work: Callable[[], float] = time.process_time) -> None:
        """Nothing was observed yet. `work` gives the CPU seconds spent so far."""
        self._observer, self._work = observer, work
        self._last: Observation | None = None
        self._looked = 0.0  # seconds of the clock: the last full look
        self._soon = False  # whether the next look is a full one: losses have begun
        self._credit = 0.0  # CPU seconds that the box may use now
        self._free = True  # whether the last step is not charged
        self._at = self._spent = 0.0  # seconds of the clock and of the CPU at the last step
        self._budget = Budget(PERCENT)

    def step(self, *, eager: bool, free: bool = False) -> Observation:
        """The next observation; `eager` reads all and judges, whatever it costs.

        `free`: the cost is not made up for later.
        """
        observer, last = self._observer, self._last
        self._pay(observer.source.now(), free=free or last is None)
        if eager or last is None:
            frame, whole = observer.sample({}), True
        else:
            whole = self._due(last.frame, observer.source.now())
            frame = observer.sample(self._waits() if whole else self._resting())
        # the rarely read tables are older than the losses, so they are read in the next second
        sudden = not whole and last is not None and loses(frame) and not loses(last.frame)
        self._soon = sudden and self._credit > -SAVED * PERCENT / 100
        self._budget.read(observer.sampler.spent)
        if whole:
            self._looked = frame.at
        if last is None or whole or self._soon:
            self._last = observer.observation(frame)
        else:
            self._last = replace(last, frame=frame)
        return self._last

    def _due(self, before: Frame, now: float) -> bool:
        """Whether a full look is due now."""
        passed = now - self._looked
        if self._soon or not 0 <= passed < LONGEST - 0.5:
            return True
        busy = passed >= REST * 0.95 or moves(before) or loses(before)
        return self._credit >= 0 and busy

    def _pay(self, at: float, *, free: bool) -> None:
        """Charge all work since the last step began, unless that step was `free`."""
        spent = self._work()
        if not self._free:
            allowed = max(0.0, at - self._at) * PERCENT / 100
            credit = self._credit + allowed - (spent - self._spent)
            self._credit = max(-LONGEST * PERCENT / 100, min(SAVED * PERCENT / 100, credit))
        self._free, self._at, self._spent = free, at, spent

    def _resting(self) -> Mapping[str, float]:
        """Tables that are not read beside the light ones."""
        return dict.fromkeys(self._observer.tables() - LIGHT, float("inf"))

    def _waits(self) -> Mapping[str, float]:
        """The age in seconds that each table of a full look may have."""
        every = {name: self._observer.sampler.every(name) for name in self._observer.tables()}
        slow = {name: max(SETTINGS, one) for name, one in every.items() if one >= SELDOM}
        waits = {name: max(1.0, one) for name, one in every.items()} | slow
        return slow | self._budget.stretched(waits)


def moves(frame: Frame) -> bool:
    """Whether the host moves more than `BUSY`."""
    moved = 0.0
    for entry in frame.tables.get("link_stats") or frame.tables.get("netdev") or ():
        moved += (entry.rate("rx_bytes") or 0.0) + (entry.rate("tx_bytes") or 0.0)
    return moved > BUSY


def loses(frame: Frame) -> bool:
    """Whether the host loses packets, by the tables that are `LIGHT`."""
    return any(
        entry.rate(name) or 0.0
        for table, names in _LOST.items()
        for entry in frame.tables.get(table, ())
        for name in names
    )


AGAIN: Final = 3600.0  # seconds until the same finding makes another incident
APART: Final = 600.0  # seconds until another target of the same rule does
EXPRESSION: Final = "on-expression"
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_RULE: Final = """\
title = {title}
severity = "critical"
over = "{over}"
when = {when}
{links}
why = "The condition of --on is true."
[[source]]
doc = "nettop-watch(1)"
place = "--on"
figure = "the user's own condition"
"""


def expressions(texts: Iterable[str]) -> tuple[Rule, ...]:
    """A rule for each text that is an expression; ValueError (one sentence) for a wrong one."""
    wanted = [text for text in texts if not _NAME.fullmatch(text)]
    return tuple(_rule(text, number) for number, text in enumerate(wanted, 1))


def _rule(text: str, number: int) -> Rule:
    over = next((word for word in re.findall(r"[a-z_]\w*", text) if word in kinds()), None)
    if over is None:
        raise ValueError(f"--on {text!r}: it names none of {', '.join(kinds())}")
    name = EXPRESSION if number == 1 else f"{EXPRESSION}-{number}"
    title = text.replace("{", "{{").replace("}", "}}")
    links = "" if over in ("host", "core") else f"links = {json.dumps(LINKS)}"
    toml = _RULE.format(title=json.dumps(title), over=over, when=json.dumps(text), links=links)
    try:
        (rule,) = build(Path(f"on/{name}.toml"), toml)
        rule.words  # noqa: B018 - an error in them is raised at the first access
    except RuleError as error:
        raise ValueError(f"--on {text!r}: {str(error).partition(': ')[2]}") from None
    return rule


@dataclass
class Trigger:
    """The findings wanted, and the incidents that they made lately."""

    on: Sequence[str]
    rules: Iterable[Rule]
    made: dict[str, float] = field(default_factory=dict)  # by finding and by rule: its seconds
    _before: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """ValueError for a name that is neither a severity nor a rule."""
        rules = {rule.id: rule for rule in self.rules}
        known = (*SEVERITIES, *rules)
        names = {text for text in self.on if _NAME.fullmatch(text)}
        for name in sorted(names - set(known)):
            raise ValueError(f"--on {name!r} is no severity and no rule{nearest(name, known)}")
        levels = [SEVERITIES.index(name) for name in names if name in SEVERITIES]
        self._level = max(levels, default=-1)
        self._names = names | {name for name in rules if name.startswith(EXPRESSION)}

    def wants(self, finding: Finding) -> bool:
        """Whether it can make an incident."""
        return finding.rule in self._names or SEVERITIES.index(finding.severity) <= self._level

    def begun(self, findings: Mapping[str, Finding]) -> list[Finding]:
        """The wanted findings that were not there, or not severe enough, at the sample before."""
        wanted = {name: one for name, one in findings.items() if self.wants(one)}
        begun = [one for name, one in wanted.items() if name not in self._before]
        self._before = frozenset(wanted)
        return begun

    def due(self, finding: Finding, at: float) -> bool:
        """Whether it makes an incident of its own, by the time since the last one of its kind.

        `at` is of a monotonic clock, so that a wall clock that is set makes no incident.
        """
        never = float("-inf")
        again, apart = self.made.get(finding.id, never), self.made.get(finding.rule, never)
        return at - again >= AGAIN and at - apart >= APART

    def note(self, incident: Incident, at: float) -> None:
        """It was made at `at` seconds."""
        for name in (incident.id, incident.rule):
            self.made[name] = max(at, self.made.get(name, at))
