"""Two hosts from moment to moment, for `--peer`, and the document of what both ends see."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..facts import Facts
from ..facts.joined import Joiner
from ..facts.pair import Losses
from ..facts.pair.model import Model, Sides
from ..facts.pair.words import called
from ..frame.rates import Both, Frame
from ..host.source import Source
from ..sampling.sampler import BothSampler, Sampler, paced
from ..terms.dataclass import picked
from ..terms.errors import Refused

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from .observer import Observation, Observer

SAMPLES: Final = 10  # least number of intervals
OTHER: Final = "peer"  # the name of the other host in a recording without names


class SameHostError(Refused):
    """The other host is this one."""


def named(finding: Finding, host: str) -> Finding:
    """A finding of the other host: its id, target, title and cause name that host."""
    return replace(
        finding, host=host, id=f"{finding.id} at {host}", target=f"{host} {finding.target}",
        title=f"{host}: {finding.title}",
        cause=f"{finding.cause} at {host}" if finding.cause else "",
    )  # fmt: skip


class Observers:
    """Frames and facts of two hosts, with what both see."""

    def __init__(
        self, here: Source, there: Source, judging: tuple[Observer, Observer] | None = None
    ) -> None:
        """The sources of this host and of the other, and the observers that judge them."""
        self.hosts = names(here, there)
        self._builds: tuple[Callable[[Frame], Facts], ...]
        if judging is None:
            self.sampler = BothSampler(Sampler(here), Sampler(there))
            self._builds = Joiner().build, Joiner().build
        else:
            self.sampler = BothSampler(judging[0].sampler, judging[1].sampler)
            self._builds = judging[0].facts, judging[1].facts
        self.model = Model(self.hosts)
        self._judging = judging

    def step(self, wanted: Collection[str]) -> tuple[Both, Sides]:
        """One moment of both hosts."""
        both = self.sampler.take(wanted)
        here, there = self._builds
        return both, self.model.build(both, here(both.here), there(both.there))

    def watch(self, seconds: float, wanted: Collection[str]) -> Iterator[tuple[Both, Sides]]:
        """Moments over `seconds`, of a recording to its end.

        SameHostError where the other host is this one.
        """
        clock, other = self.sampler.here.source, self.sampler.there.source
        interval = min(0.5, seconds / SAMPLES)
        yield self.step(wanted)
        there = other.now()
        for _ in paced(clock, seconds, interval):
            if clock.ends and other.now() == there:
                return  # the end of the recording of the other
            frames, sides = self.step(wanted)
            if sides.same:
                raise SameHostError(
                    f"--peer leads to this host itself ({self.hosts[0]}): give the other end", 2
                )
            yield frames, sides
            there = other.now()
        asks = self.sampler.here.unanswered or self.sampler.there.unanswered
        if asks and not clock.ends and clock.wait(interval):
            yield self.step(wanted)

    def judged(self, seconds: float) -> Iterator[tuple[Both, Sides, tuple[Observation, ...]]]:
        """As `watch`, with the judgement of both hosts; for observers that judge them."""
        assert self._judging is not None  # noqa: S101
        here, there = self._judging
        for frames, sides in self.watch(seconds, here.tables()):
            judged = here.judged(frames.here, sides.here), there.judged(frames.there, sides.there)
            yield frames, sides, judged


def names(here: Source, there: Source) -> tuple[str, str]:
    """The names of both hosts; where they are equal, the other one by its command prefix.

    In a recording names are replaced, so that both may be equal.
    """
    if there.host != here.host:
        return here.host, there.host
    if there.batches is None:
        return here.host, OTHER
    prefix, name = there.batches.name, called(there.batches.name)
    return here.host, prefix if name == here.host else name


def document(sides: Sides, host: str, frame: Frame) -> dict[str, object]:
    """What --json adds with --peer."""
    from ..facts.limits.words import document as limit_document

    return {
        "host": host, "flows": flows(sides),
        "limits": [limit_document(one) for one in sides.there.limits],
        "missing": dict(frame.missing),
        "unmatched": [
            picked(one, "target candidates") for one in sides.unmatched
        ],
    }  # fmt: skip


def flows(sides: Sides) -> list[dict[str, object]]:
    """The joined flows as data, for --json."""
    from ..facts.limits.words import document as limit_document

    return [
        {
            "limit": limit_document(one.limit), **picked(one, "writer reader"),
            "line": [picked(step, "stage end") for step in one.line],
            "losses": None if one.losses is None else _losses(one.losses),
        }
        for one in sides.joined
    ]  # fmt: skip


def _losses(losses: Losses) -> dict[str, object]:
    return {
        **picked(losses, "seconds sent retransmitted refused between known merged"),
        "places": [picked(one, "end stage name segments because") for one in losses.places],
    }
