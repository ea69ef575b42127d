"""Both ends of a test during its load: which end limits, at which stage, and which end loses.

A thread reads both hosts once a second while a trial runs with a peer, in every run of an
experiment alike. On a virtual machine with 2 CPUs and few sockets it took 20 % of a core here and
8 % there; `--no-ends` leaves it out. What it cannot read is left out: the trial does not fail.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from math import isfinite
from typing import Final

from ..facts.joined import Joiner, needs
from ..facts.pair import Joined, Losses, match
from ..facts.pair.model import Model, Sides
from ..host.distant import Distant, behind
from ..host.source import HostLostError, Live, Source
from ..sampling.sampler import BothSampler, Sampler
from .result import Document, Options

INTERVAL: Final = 1.0  # seconds between two readings
LEAST: Final = 3.0  # seconds of load from which both ends are read
LOCAL: Final = "env"  # the peer of a test inside this host
SHARE: Final = 0.5  # of the highest rate seen: below it the load begins or ends


class Ends(threading.Thread):
    """Reads both ends until it is stopped."""

    def __init__(self, options: Options) -> None:
        """Flows from or to the address of the test count."""
        super().__init__(name="nettop-ends", daemon=True)
        self.options = options
        self.stopping = threading.Event()
        self.hosts = ("", "")
        self.looks: list[Joined] = []  # the busiest flow, while it carries the load

    def run(self) -> None:
        """Read both ends until stopped; a host that cannot be read ends this early."""
        with suppress(HostLostError, OSError, ValueError):
            far = behind(str(self.options.peer))
            try:
                self._watch(far)
            finally:
                far.close()

    def _watch(self, far: Distant) -> None:
        near = behind(self.options.host) if self.options.host else Live()
        try:
            self._follow(near, far)
        finally:
            if isinstance(near, Distant):
                near.close()

    def _follow(self, near: Source, far: Distant) -> None:
        self.hosts = near.host, far.host if far.host != near.host else far.name
        sampler = BothSampler(Sampler(near), Sampler(far))
        here, there, model, wanted = Joiner(), Joiner(), Model(self.hosts), set(needs())
        while not self.stopping.is_set():
            both = sampler.take(wanted)
            sides = model.build(both, here.build(both.here), there.build(both.there))
            if sides.same:
                return
            self._choose(sides)
            self.stopping.wait(INTERVAL)

    def _choose(self, sides: Sides) -> None:
        """Keep the busiest flow of the test while it carries the load."""
        known = [one for one in sides.joined if self._tests(one.limit.target)]
        one = max(known, key=_rate, default=None)
        if one is not None:
            least = SHARE * max(map(_rate, (*self.looks, one)))
            self.looks = [look for look in (*self.looks, one) if _rate(look) >= least]

    @property
    def joined(self) -> Joined | None:
        """The last look at the stage that limited in most looks: the last of all shows the end."""
        stages = Counter((one.limit.stage.end, one.limit.stage.stage) for one in self.looks)
        most = max(stages.values(), default=0)
        often = {stage for stage, count in stages.items() if count == most}
        return next(
            (one for one in reversed(self.looks)
             if (one.limit.stage.end, one.limit.stage.stage) in often), None
        )  # fmt: skip

    def _tests(self, target: str) -> bool:
        """Whether a flow leads to the address of the test; to a name, any flow may."""
        to, name = match.plain(self.options.to), match.parts(target)
        return to in (name[0], name[2]) or not is_address(to)

    def document(self) -> Document | None:
        """What was seen; None where no flow of the test was seen at both ends."""
        one = self.joined
        if one is None:
            return None
        stage = one.limit.stage
        found: Document = {
            "here": self.hosts[0], "there": self.hosts[1], "writer": one.writer,
            "reader": one.reader, "end": stage.end, "stage": stage.stage, "name": stage.name,
            "because": stage.because,
        }  # fmt: skip
        return {**found, **_lost(one.losses)} if one.losses is not None else found


def _rate(one: Joined) -> float:
    return one.limit.rate or 0.0


def _lost(losses: Losses) -> Document:
    place = losses.place
    lost = {"sent": losses.sent, "lost": [value for value in losses.between if isfinite(value)]}
    if losses.refused >= 1:
        lost["refused"] = round(losses.refused)
    if place is not None:
        lost |= {"lost_end": place.end, "lost_stage": place.stage}
    return lost


def is_address(text: str) -> bool:
    """Whether it is an address, not a name."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


@contextmanager
def watching(options: Options) -> Iterator[Ends | None]:
    """Read both ends during the block; None without a peer, or where the load is too short.

    None also for `no_ends`.
    """
    local = options.peer is None or options.peer == LOCAL
    if local or options.no_ends or options.seconds < LEAST:
        yield None
        return
    ends = Ends(options)
    ends.start()
    try:
        yield ends
    finally:
        ends.stopping.set()
        ends.join(INTERVAL)  # one that hangs ends with its process: see `run`


def line(ends: Mapping[str, object]) -> str:
    """`the thread at web2 limits (rsyncd[9]); 12 to 14 of 120,000 segments lost, most at …`."""
    names = {"here": ends["here"], "there": ends["there"], "between": "the network between"}
    text = f"{ends['stage']} at {names[str(ends['end'])]} limits"
    if ends["name"] != ends["stage"]:
        text += f" ({ends['name']})"
    lost = ends.get("lost")
    if not isinstance(lost, list) or len(lost) < 2 or "lost_end" not in ends:
        return text
    least, most = lost
    text += f"; {least:,.0f} to {most:,.0f} of {ends['sent']:,} segments lost between both stacks"
    if "refused" in ends:
        text += f", {ends['refused']:,} refused by the sender's queues"
    return f"{text}, most at {names[str(ends['lost_end'])]} ({ends['lost_stage']})"


def rows(seen: Iterable[Document]) -> list[Document]:
    """How often each stage limited, over the runs of an experiment, the most frequent first."""
    counts = Counter((one["end"], one["stage"]) for one in seen)
    return [
        {"end": end, "stage": stage, "runs": runs} for (end, stage), runs in counts.most_common()
    ]


def summary(found: Iterable[Document]) -> str:
    """`thread at the other end in 8 runs, path between both in 2`."""
    names = {"here": "at this end", "there": "at the other end", "between": "between both"}
    return ", ".join(
        f"{one['stage']} {names[one['end']]} in {one['runs']} run{'s' * (one['runs'] != 1)}"
        for one in found
    )
