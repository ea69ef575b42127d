"""From a source to findings: what `advise`, `watch`, `explain`, `apply` and the screen share."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from . import config
from .advice.judge import Judge, Judgement
from .advice.load import load
from .facts import Facts
from .facts.joined import NEEDS, Joiner
from .frame import Frame
from .sampler import Sampler
from .source import Source

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
        self.joiner = Joiner(ssh_peer=ssh_peer() if source.live else None)
        rules = load(config.rule_folders(), limits=settings.limits)
        self.judge = Judge(rules, muted=settings.muted, window=window)

    def step(self, wanted: Collection[str] = ()) -> Observation:
        """Sample, join and judge once; `wanted` adds tables to those that facts need."""
        frame = self.sampler.take({*NEEDS, *wanted})
        facts = self.joiner.build(frame, profile=self.profile, interface=self.interface)
        return Observation(frame, facts, self.judge.judge(facts))


def watch(
    observer: Observer, seconds: float, wanted: Collection[str] = ()
) -> Iterator[Observation]:
    """Observations over `seconds`, at least four intervals; a recording is seen to its end."""
    interval = min(1.0, seconds / SAMPLES)
    source = observer.source
    end = source.now() + seconds
    yield observer.step(wanted)
    due = source.now()
    while not source.live or source.now() < end - interval / 2:
        due += interval
        if not source.wait(due - source.now()):
            return
        yield observer.step(wanted)
        if not source.live and source.now() >= end and not hasattr(source, "moments"):
            return


def ssh_peer() -> str | None:
    """The address at the other end of this SSH session; None outside one."""
    for variable in ("SSH_CONNECTION", "SSH_CLIENT"):
        words = os.environ.get(variable, "").split()
        if words:
            return words[0]
    return None
