"""From a source to findings, for `advise`, `watch`, `explain`, `apply` and the screen."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING

from .. import collect, config
from ..facts import Facts
from ..facts.accounting import COUNTERS, account
from ..facts.joined import Joiner, needs
from ..facts.kinds.pair import Pair
from ..facts.limits.ladder import Ladder
from ..facts.losses import Accounting
from ..facts.rhythm import Rhythm
from ..facts.way import trouble
from ..frame.rates import Frame
from ..host.session import ssh_peer
from ..host.source import Source
from ..sampling.refresh import (
    BUDGET,
    LONGEST,
    SHORT,
    UNSEEN,
    Budget,
    RefreshPolicy,
    ShortLook,
    Stillness,
)  # fmt: skip
from ..sampling.sampler import SAMPLES, Sampler, paced
from ..terms.dataclass import dataclass
from .counted import BURSTS, countable, recorded, rhythms

if TYPE_CHECKING:
    from ..advice.judge.judge import Judge, Judgement
    from ..advice.rules.rule import Rule
    from ..facts.limits.following import Calibration

SLOW = 0.5  # of the interval: a table that takes longer is not read in each sample
NO_WAITS: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Observation:
    """One sample: the tables, the facts joined from them, and the judgement of the rules."""

    frame: Frame
    facts: Facts
    judgement: Judgement
    stretched: Mapping[str, float] = field(default_factory=dict)
    """Seconds between readings of tables that are too expensive to be read in each sample."""
    ages: Mapping[str, float] = field(default_factory=dict)
    """Seconds since these tables were read."""
    quiet: float = 0.0
    """Seconds between readings of most tables while no data moves; 0: they are read as usual."""
    counting: float | None = None
    """CPU seconds that the short look which runs takes here; None: none runs."""


class Observer:
    """Makes observations of a source; remembers the state that rates and `hold` need."""

    def __init__(
        self,
        source: Source,
        *,
        profile: str | None = None,
        interface: str | None = None,
        window: float | None = None,
        extra: tuple[Rule, ...] = (),
    ) -> None:
        """`window`: seconds that a command observes; the `hold` of rules is limited to it.

        A recording is observed to its end: of a shorter one, `window` is its length.
        `extra` are rules beside those of nettop and of the user.
        """
        settings = config.load()
        self.source = source
        self.profile = profile or settings.get("profile", None)
        self.interface = interface
        self.sampler = Sampler(source)
        self.refresh_policy = RefreshPolicy()
        self.stillness = Stillness()
        self.budget = Budget(float(settings.get("budget", BUDGET)))
        self.seldom: Mapping[str, float] = NO_WAITS  # tables too slow for each sample of `watch`
        self.passed = 0.0  # seconds between the last two frames
        self.pairs: tuple[Pair, ...] = ()  # flows with the settings of both ends (--peer)
        self._settings, self._window, self._extra = settings, window, extra
        if window and source.ends and (length := _length(source)):
            self._window = min(window, length)
        self._counted = frozenset[str]()
        self.short_look: ShortLook | None = None
        self._looks = self._ends = False  # whether it runs, or ended with the last frame
        self._begins = self._reads = 0.0  # CPU seconds: its begin, and the end of the last one
        self._begun: tuple[Frame, Facts] | None = None  # the first frame of the look
        self._losses: Accounting | None = None  # of the last look
        self._rhythms: tuple[Rhythm, ...] = ()  # the same
        if settings.get("drop_reasons", False):
            self.deep = True

    # A command waits a second after its first sample. What only judging needs is loaded then.

    @cached_property
    def joiner(self) -> Joiner:
        """Joins the tables of a frame."""
        return Joiner(ssh_peer=ssh_peer() if self.source.live else None)

    @cached_property
    def _loaded(self) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
        """The rules, and a sentence for each file of the user that is ignored."""
        from ..advice.rules.load import load

        faults = [*self._settings.faults]
        rules = load(config.rule_folders(), limits=self._settings.limits, tell=faults.append)
        return self._extra + rules, tuple(faults)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of nettop and of the user. RuleError if a packaged rule is wrong."""
        return self._loaded[0]

    @property
    def faults(self) -> tuple[str, ...]:
        """A sentence for each invalid file of the user, which is ignored."""
        return self._loaded[1]

    @cached_property
    def judge(self) -> Judge:
        """Judges the facts. RuleError if a packaged rule is wrong."""
        from ..advice.judge.judge import Judge

        # a recording is of another host, or of another time
        earlier = _earlier if self.source.live else None
        muted, window = self._settings.muted, self._window
        return Judge(self.rules, muted=muted, window=window, earlier=earlier)

    @property
    def _counts(self) -> frozenset[str]:
        """The tables of what the kernel counts, or has counted in the recording so far."""
        return self._counted or recorded(self.source)

    @property
    def deep(self) -> bool:
        """Whether the kernel counts drops and failed calls and samples cores all the time."""
        return bool(self._counts) and self.short_look is None

    @deep.setter
    def deep(self, on: bool) -> None:
        self._counted = frozenset(collect.deep() if on else ())
        self.short_look, self._looks = None, False
        self._begun = self._losses = None
        self._rhythms = ()
        if not on:
            self._end_counting()

    def look_deep(self) -> None:
        """Count them on the host of the process, unless the configuration forbids it."""
        if countable(self.source, self._settings):
            self.deep = True

    def look_shortly(self, short: float = SHORT) -> None:
        """The same for so many seconds of each minute, and for longer when a problem begins.

        What was counted in a look stays until the end of the next one.
        """
        if countable(self.source, self._settings) and not self.deep:
            self.short_look = ShortLook(self.source.now(), short)

    def look_soon(self) -> None:
        """Begin the next short look now, if one is not running."""
        if self.short_look is not None and not self._looks:
            self.short_look.changed(self.source.now())

    def _end_counting(self) -> None:
        for what in collect.deep().values():
            self.source.end_counting(what)

    def _looked(self) -> bool:
        """Begin a short look that is due; whether one ends with the frame that is taken now."""
        look, counted = self.short_look, collect.deep()
        if look is None:
            return False
        if not look.runs(self.source.now()):
            if self._looks:
                self._counted = frozenset(counted)
                self.sampler.refresh((*counted, *COUNTERS))
            return self._looks
        if not self._looks:
            self._looks, begun = True, time.thread_time()
            self.sampler.refresh(COUNTERS)
            for what in counted.values():
                with suppress(OSError):  # its table says why
                    self.source.counted(what)
            self._begins = time.thread_time() - begun
        return False

    def _look_ended(self, frame: Frame) -> None:
        self._looks, begun = False, time.thread_time()
        self._rhythms = rhythms(self.source, *BURSTS)
        self._end_counting()
        read = sum(cost for name, cost in self.sampler.spent.items() if name in self._counted)
        self._reads = read + time.thread_time() - begun
        if self.short_look is not None and not frame.tables.keys() & self._counted:
            self.short_look.refused()

    def _accounted(self, seen: Observation, *, ends: bool) -> Observation:
        """The observation with the losses of the last look, or since the kernel counts always."""
        now = seen.frame, seen.facts
        if self._begun is None and (self._looks or self.deep):
            self._begun = now
        elif self._begun is not None and (ends or self.deep) and self.interface is None:
            self._losses = account(self._begun, now)
        if ends:
            self._begun = None
        facts = replace(seen.facts, losses=self._losses, rhythms=self._rhythms)
        return replace(seen, facts=facts)

    def refresh(self) -> None:
        """The host was changed: read all tables and judge all facts in the next frame.

        What limits is judged by what comes from now on, not by the seconds before the change.
        """
        self.joiner.ladder = Ladder()
        self.sampler.refresh({*self.sampler.taken} - collect.deep().keys())
        if self.short_look is not None:
            self.short_look.changed(self.source.now())
        self.judge.anew()
        self.judge.muted = frozenset(config.muted())

    def tables(self, wanted: Collection[str] = ()) -> set[str]:
        """The tables to read for one observation."""
        return {*needs(), *wanted, *self._counts}

    def step(
        self, wanted: Collection[str] = (), waits: Mapping[str, float] = NO_WAITS
    ) -> Observation:
        """Sample, join and judge once; `wanted` adds tables to those that facts need.

        Tables in `waits` may be that many seconds old.
        """
        return self.observation(self.sampler.take(self.tables(wanted), waits))

    def glance(self, shown: Collection[str]) -> Observation:
        """As `step`, for the screen: tables that are not in `shown` may be some seconds old.

        What is counted on request only ends when it is no longer shown.
        """
        for name in collect.counted().keys() - collect.deep().keys() - {*shown}:
            self.source.end_counting(collect.counted()[name])
        tables, before = self.tables(shown), self.sampler.last
        waits = dict(self.refresh_policy.of(before, shown, rest=self.source.live))
        unseen = self.refresh_policy.unseen
        quiet = unseen if unseen > UNSEEN else 0.0
        self.joiner.ladder.repeats = quiet > 0.0
        stretched: Mapping[str, float] = {}
        if self.source.live and self.budget.expensive:
            passed = self.passed
            pace = {
                name: max(passed, self.sampler.every(name, waits))
                for name in tables - collect.prompt()
            }
            stretched = self.budget.stretched(pace, self.stillness.longest(before))
            waits.update(stretched)
        frame = self.sample(waits, shown)
        self.judge.quiet = quiet > 0.0
        begun = time.thread_time()
        observation = self._accounted(self.observation(frame), ends=self._ends)
        if before is not None:
            self.passed = frame.at - before.at
            self.budget.read(self.sampler.spent)
            self.budget.spent(time.thread_time() - begun, self.passed, self.sampler.spent)
        if not stretched and not quiet:
            return observation
        taken = self.sampler.taken
        ages = {name: frame.at - taken[name][0] for name in stretched if name in taken}
        return replace(observation, stretched=stretched, ages=ages, quiet=quiet)

    def sample(self, waits: Mapping[str, float], wanted: Collection[str] = ()) -> Frame:
        """Sample without a judgement; the tables in `waits` may be that many seconds old.

        A short look that is due begins or ends with it.
        """
        self._ends = self._looked()
        if self.short_look is not None:
            waits = {**waits, **dict.fromkeys(self._counted, inf)}
        frame = self.sampler.take(self.tables(wanted), waits)
        if self._ends:
            self._look_ended(frame)
        return frame

    def facts(self, frame: Frame) -> Facts:
        """The facts of a frame, with the profile and the interface of this observer."""
        facts = self.joiner.build(frame, profile=self.profile, interface=self.interface)
        self.sampler.ask(trouble.asked(frame, facts), trouble.processes(frame))
        return replace(facts, more={**facts.more, "pair": self.pairs}) if self.pairs else facts

    def observation(self, frame: Frame) -> Observation:
        """Join and judge a frame of `sample`."""
        return self.judged(frame, self.facts(frame))

    def judged(self, frame: Frame, facts: Facts) -> Observation:
        """The frame and its facts with the judgement of the rules."""
        judgement = self.judge.judge(facts)
        if self.short_look is not None:
            self.short_look.judged(frame.at, judgement.problems())
        cost = self._begins + self._reads if self._looks else None
        return Observation(frame, facts, judgement, self.seldom, counting=cost)

    def restart(self, wanted: Collection[str] = ()) -> None:
        """Sample once, so that the next sample has rates: at the start, or again.

        Where a recording in a loop starts again its counters decrease. Findings stay.
        """
        self.sampler, self._begun = self.sampler.anew(), None
        self.sampler.take(self.tables(wanted))


def watch(
    observer: Observer, seconds: float, wanted: Collection[str] = ()
) -> Iterator[Observation]:
    """Observations over `seconds`, at least `SAMPLES` intervals; of a recording, up to its end.

    The first sample reads all tables, which can take longer than an interval, and has no rates. If
    it was slow, `seconds` counts from its end. It is judged in the time until the next one. What
    the last one asks about ways is answered by one more.
    """
    interval = min(1.0, seconds / SAMPLES)
    source = observer.source
    begun = source.now()
    first = observer.sampler.take(observer.tables(wanted))
    now = source.now()
    slow = observer.seldom = _slow(observer, interval)
    yield observer.observation(first)
    due = begun if now - begun < interval else now
    end = due + seconds
    judged = source.now()
    if judged - due > interval:  # short intervals: none without length, and no longer wait
        due, end = judged, max(end, judged + seconds / 2)
        interval = min(1.0, (end - due) / SAMPLES)
    last = False
    for last in paced(source, end - due, interval, due):
        yield observer.step(wanted, {} if last else slow)
    asks = source.live and observer.sampler.unanswered and source.wait(interval)
    if asks or (slow and not last):
        yield observer.step(wanted)


def _slow(observer: Observer, interval: float) -> dict[str, float]:
    """The tables of this machine whose first reading took too long to repeat in each sample.

    They are read again after `LONGEST` seconds, and in the last one: rates need two readings. The
    first reading of what the kernel counts begins it, and says nothing of those to come.
    """
    if not observer.source.live:
        return {}
    spent = observer.sampler.spent
    begun = collect.counted()
    slow = (name for name, cost in spent.items() if cost > SLOW * interval)
    return {name: LONGEST for name in slow if name not in begun}


def _earlier(rule: str) -> Calibration | None:
    """How right the predictions of a rule were, by the proofs of this user on this host."""
    from ..trials.results import earlier  # only a finding with a prediction needs it

    return earlier(rule)


def _length(source: Source) -> float:
    """Seconds of a recording; 0 for one moment."""
    from ..host.recording import Replay  # only a recording needs it

    return source.length if isinstance(source, Replay) else 0.0
