"""From a source to findings: what `advise`, `watch`, `explain`, `apply` and the screen share."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from .. import config
from ..advice.judge.judge import Judge, Judgement
from ..advice.rules.load import load
from ..facts import Facts
from ..facts.joined import Joiner, needs
from ..frame.rates import Frame
from ..host.session import ssh_peer
from ..host.source import Source
from ..sampling.refresh import RefreshPolicy
from ..sampling.sampler import Sampler

SAMPLES = 4  # intervals a headless command looks at, at the least


@dataclass(frozen=True, slots=True)
class Observation:
    """One moment: what was read, what it means, what is wrong."""

    frame: Frame
    facts: Facts
    judgement: Judgement


class Observer:
    """Steps through a source, one observation each; remembers what rates and `hold` need."""

    def __init__(
        self,
        source: Source,
        *,
        profile: str | None = None,
        interface: str | None = None,
        window: float | None = None,
    ) -> None:
        """`window`: seconds a headless command will look; rules hold no longer than that."""
        settings = config.load()
        self.source = source
        self.profile = profile or settings.get("profile", None)
        self.interface = interface
        self.sampler = Sampler(source)
        self.patience = RefreshPolicy()
        self.joiner = Joiner(ssh_peer=ssh_peer() if source.live else None)
        told = [*settings.faults]
        rules = load(config.rule_folders(), limits=settings.limits, tell=told.append)
        self.faults = tuple(told)  # files of the user's that are wrong and left out
        self.judge = Judge(rules, muted=settings.muted, window=window)
        self._drop_reasons = bool(settings.get("drop_reasons", False)) or _recorded(source)

    @property
    def drop_reasons(self) -> bool:
        """Whether kernel drops are counted by reason; off by default."""
        return self._drop_reasons

    @drop_reasons.setter
    def drop_reasons(self, on: bool) -> None:
        self._drop_reasons = on
        if not on:
            self.source.end_drops()

    def listen(self) -> None:
        """Read the list of muted findings again."""
        self.judge.muted = frozenset(config.muted())

    def tables(self, wanted: Collection[str] = ()) -> set[str]:
        """The tables read for each observation."""
        return {*needs(), *wanted, *(("drop_reasons",) if self._drop_reasons else ())}

    def step(self, wanted: Collection[str] = ()) -> Observation:
        """Sample, join and judge once; `wanted` adds tables to those that facts need."""
        return self._seen(self.sampler.take(self.tables(wanted)))

    def glance(self, shown: Collection[str]) -> Observation:
        """As `step`, for the screen: tables that are not `shown` may be some seconds old."""
        waits = self.patience.of(self.sampler.last, shown)
        return self._seen(self.sampler.take(self.tables(shown), waits))

    def _seen(self, frame: Frame) -> Observation:
        facts = self.joiner.build(frame, profile=self.profile, interface=self.interface)
        return Observation(frame, facts, self.judge.judge(facts))

    def restart(self, wanted: Collection[str] = ()) -> None:
        """The source begins anew (a recording in a loop): what is read now is compared with next.

        Its counters go back, and what stands in them is no rate; what is found stays found.
        """
        self.sampler = self.sampler.anew()
        self.sampler.take(self.tables(wanted))


def watch(
    observer: Observer, seconds: float, wanted: Collection[str] = ()
) -> Iterator[Observation]:
    """Observations over `seconds`, at least four intervals; a recording is seen to its end.

    The first one reads everything there is, on a slow host for longer than that, and no rate is
    known before the second: unless it was quick, the seconds count from its end.
    """
    interval = min(1.0, seconds / SAMPLES)
    source = observer.source
    begun = source.now()
    yield observer.step(wanted)
    now = source.now()
    due = begun if now - begun < interval else now
    end = due + seconds
    while not source.live or source.now() < end - interval / 2:
        due += interval
        if not source.wait(due - source.now()):
            return
        yield observer.step(wanted)
        if not source.live and source.now() >= end and not source.ends:
            return


def _recorded(source: Source) -> bool:
    """Whether a recording has drop reasons."""
    if source.live:
        return False
    try:
        return bool(source.drops())
    except OSError:
        return False
