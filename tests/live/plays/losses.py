"""Where segments of a flow are lost, beside the kernel's count of what was lost there.

The count of the place lies in the bound that is printed, within 2 % or one segment. The count and
the sockets of both ends are read one after the other, so the truth has two counts: what was lost at
least and at most between the first and the last reading. The backlogs of the CPUs serve all
namespaces of the machine: only while they dropped packets may a backlog be a place as well.
"""

import ctypes
import multiprocessing
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from hang import HANG, until
from live.limits.losses import LOSSES, Count, Loss, Names, names, of_backlog
from live.limits.stage import Stage
from live.play import RIGHT, SILENT, WRONG, Outcome, Play, Truth
from live.plays.ends import files, flow

from nettop.facts import Facts
from nettop.facts.joined import Joiner
from nettop.frame.rates import Close, Frame
from nettop.sampling import sampler as sampling
from nettop.views import both as views

TRIES: Final = 6  # recordings, until one has seen losses without a pause between its readings
ENOUGH: Final = 5  # losses of a recording: of fewer, a pause between two readings hides most
PAUSE: Final = 0.25  # of the losses, that may happen between the readings that belong together
_FORKS: Final = multiprocessing.get_context("forkserver")
QUICK: Final = (
    "own-tbf", "own-htb", "own-ring-20", "police-20mbit", "loss-30", "router-queue",
    "router-polices", "far-ring-30", "far-socket", "far-filter",
)  # fmt: skip


def stage(loss: Loss, sending: bool, folder: Path) -> Truth:
    """Make the loss and record both ends; the counts around each sample."""
    with Stage("lost") as made:
        loss.case.make(made)
        counted = names(made)
        first = loss.lost(counted)
        until(lambda: loss.lost(counted) > first, "nothing is lost")
        truth: dict[str, Any] = {}
        for _ in range(TRIES):
            truth = _recorded(
                folder / f"loss-{loss.case.name}.host.gz", counted, loss.lost, sending
            )
            least, most = _lost(truth)
            if least >= ENOUGH and most - least <= PAUSE * least and not truth["backlogs"]:
                break
        return truth


def judge(loss: Loss, sending: bool, folder: Path, truth: Truth) -> Outcome:
    """The place, and its bound beside the count."""
    ring = truth["around"] if loss.ring else ()
    with _ring(ring, there=sending):
        found = flow(folder / f"loss-{loss.case.name}.host.gz")
    losses = found and found["losses"]
    if not losses:
        return Outcome(SILENT, "no loss is known")
    elsewhere = truth["backlogs"] > 0 and not loss.place.endswith("backlog")
    places = [
        one for one in losses["places"] if not (elsewhere and one["stage"] == "backlog")
    ]  # fmt: skip
    if not places:
        return Outcome(SILENT, "no place")
    place, (lost_least, lost_most) = places[0], _lost(truth)
    least, most = place["segments"]
    good = (place["end"], place["stage"]) == loss.where(sending=sending)
    if loss.exact:
        good = good and least - max(1, 0.02 * least) <= lost_most
        good = good and lost_least <= most + max(1, 0.02 * most)
    said = f"{place['end']} {place['stage']}: {least:g} to {most:g}"
    lost = f"lost {lost_least:g} to {lost_most:g}"
    return Outcome(RIGHT if good else WRONG, f"{said}; {lost}")


def _lost(truth: Truth) -> tuple[float, float]:
    """At least and at most, between the first sample and the last."""
    (begun, ended), *_, (last_begun, last_ended) = truth["around"]
    return last_begun - ended, last_ended - begun


class Counting(sampling.CloseSampler):
    """Reads the sockets of both ends, and before and after that the count of what was lost."""

    lost: Callable[[], float]
    around: list[tuple[float, float]]

    def before(self) -> None:
        self.begun = self.lost()
        super().before()

    def after(self) -> None:
        super().after()
        self.ended = self.lost()

    def take(self, wanted: Collection[str]) -> tuple[Frame, Close]:
        taken = super().take(wanted)  # a first frame asks several times: the last one counts
        self.around.append((self.begun, self.ended))
        return taken


def _recorded(path: Path, counted: Names, lost: Count, sending: bool) -> dict[str, Any]:
    """Record in a process of its own, which enters the namespace of one end."""
    here, there = _FORKS.Pipe(duplex=False)
    work = _FORKS.Process(
        target=_record, args=(there, path, counted, lost, sending, dict(os.environ))
    )
    work.start()
    there.close()
    try:
        assert here.poll(HANG), "no recording"
        truth: dict[str, Any] = here.recv()
    finally:
        here.close()
        work.kill()
        work.join()
    return truth


def _record(
    door: Any, path: Path, counted: Names, lost: Count, sending: bool, env: Mapping[str, str]
) -> None:
    from nettop.cli import main

    os.environ.update(env)
    near, far = (counted.here, counted.there) if sending else (counted.there, counted.here)
    handle = os.open(f"/run/netns/{near}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(handle, 0):
        raise OSError(ctypes.get_errno(), f"setns {near}")
    around: list[tuple[float, float]] = []
    Counting.lost, Counting.around = staticmethod(lambda: lost(counted)), around
    sampling.CloseSampler = Counting  # type: ignore[misc]
    dropped = of_backlog(counted)
    code = main(["record", str(path), "--seconds", "3", "--interval", "0.5", "--keep-addresses",
                 "--comment", f"{path.name.partition('.')[0]}.",
                 "--peer", f"ip netns exec {far}"])  # fmt: skip
    assert code == 0
    door.send({"around": around, "backlogs": of_backlog(counted) - dropped})


@contextmanager
def _ring(around: Collection[tuple[float, float]], *, there: bool) -> Iterator[None]:
    """No virtual device has a receive ring: the interface of the facts counts what was lost."""
    if not around:
        yield
        return
    joiners: list[Joiner] = []

    class Ringed(Joiner):
        """The joiner of an end; that of the receiver adds the count."""

        def __init__(self) -> None:
            super().__init__()
            self.counts = iter(around) if len(joiners) == there else None
            joiners.append(self)

        def build(self, frame: Frame, *more: Any, **told: Any) -> Facts:
            facts = super().build(frame, *more, **told)
            if self.counts is None:
                return facts
            count = next(self.counts)[0]
            nics = tuple(
                nic
                if nic.name == "lo"
                else replace(nic, total=replace(nic.total, ring_drops=count))
                for nic in facts.nics
            )
            return replace(facts, nics=nics)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(views, "Joiner", Ringed)
        yield


def _plays() -> Iterator[Play]:
    for at, (name, loss) in enumerate(LOSSES.items()):
        sending = at % 2 == 0
        yield Play(
            f"loss-{name}", partial(stage, loss, sending), partial(judge, loss, sending),
            files(f"loss-{name}"), quick=name in QUICK, alone=loss.quiet,
        )  # fmt: skip


PLAYS: Final = tuple(_plays())
