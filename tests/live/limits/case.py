"""A staged limit: how it is made, and which stages are right at either end.

A limit is known by construction. Where two stages are a right answer both are listed: a small
congestion window and the path that makes it small, two limits close together. `quiet` marks those
that are right only while nothing else needs the CPUs of this machine.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from live.limits.stage import LOCAL, NEAR, Stage

from nettop.facts.limits.stages import having

FAR: Final = "10.97.0.2"  # over the router
THERE: Final = frozenset({"path", "peer", "rwnd"})  # stages of the other end, or beyond this one
PATH: Final = "path cwnd"


@dataclass(frozen=True, slots=True)
class Case:
    """One staged limit. `sends` and `receives`: the right stages seen from either end."""

    name: str
    sends: str = ""
    receives: str = ""
    to: str = NEAR
    writer: str = ""
    reader: str = ""
    link: str | None = None  # delay in seconds, then options of the link
    run: tuple[str, ...] = ()  # END: COMMAND of the shell, before the queues
    tc: tuple[str, ...] = ()
    sysctls: Mapping[str, str] = field(default_factory=dict)  # END:NAME
    more: Callable[[Stage], None] | None = None  # once both programs run
    lift: str = ""  # tc: that command; writer or reader: its signal
    quiet: bool = False
    writers: int = 1
    cpus: tuple[int | None, int | None] = (None, None)  # of writer and reader

    def make(self, stage: Stage) -> None:
        """Stage it."""
        if self.link is not None:
            delay, *options = self.link.split()
            stage.link(float(delay), *options)
        if self.to == FAR:
            stage.chain()
        ends = {"here": stage.here, "there": stage.there, "middle": stage.middle}
        for place, value in self.sysctls.items():
            end, _, name = place.partition(":")
            stage.sysctl(ends[end], name, value)
        for words in self.run:
            end, _, rest = words.partition(": ")
            stage.run(ends[end], rest)
        for words in self.tc:
            end, _, rest = words.partition(": ")
            stage.tc(rest, ends[end])
        local = stage.here if self.to == LOCAL else ""
        many = (f"flows={self.writers}",) if self.writers > 1 else ()
        stage.reader(*self.reader.split(), *many, space=local, cpu=self.cpus[1])
        for _ in range(self.writers):
            stage.writer(*self.writer.split(), to=self.to, cpu=self.cpus[0])
        if self.more is not None:
            self.more(stage)  # may set what lifts it; the case's own comes first
        if ": " in self.lift:
            end, _, rest = self.lift.partition(": ")
            stage.lift = lambda: stage.tc(rest, ends[end])
        elif self.lift:
            process = stage.near if self.lift == "writer" else stage.far
            if process is not None:
                stage.lifted(process)

    @property
    def target(self) -> str:
        """The address of the reading end in `nettop why`."""
        return "::" if "datagrams" in self.reader else self.to


def named(expected: str, stage: str) -> bool:
    """Whether it is one of these; what feeds or drains the application stands for it."""
    feeds = having("feeds") if "application" in expected.split() else ()
    return stage in expected.split() or stage in feeds


def right(expected: str, stage: str, end: str) -> bool:
    """Whether the stage is one of those expected, at the end where it is."""
    return named(expected, stage) and end == ("there" if stage in THERE else "here")
