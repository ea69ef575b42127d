"""Whether the queues count what RSS would bring them: the NIC's own counters against the hash.

The table that a driver shows need not be the one in force. Accelerated RFS, an RSS context or a
driver's own filters steer past it, and Linux's virtio_net made a table at probe that it did not
send to the device before 6.12 (commit dc749b7b0608): until somebody writes it, a tap behind the
device steers by itself. A queue that counts fewer bytes than its flows received cannot be theirs.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from .kinds.queue import Queue

EXCESS: Final = 1.25  # times the queue's count; headers and repeats are in the count only
TRICKLE: Final = 125_000.0  # bytes/s; less of a queue proves nothing
MOST: Final = 0.8  # of all that the queues count: then their agreement is proof
SENDS_ITS_TABLE: Final = (6, 12)  # Linux, whose virtio_net gives the device the table it shows


class Verdict(NamedTuple):
    """`obeyed`: the NIC spreads as its table says; None: nothing tells. `why` when it does not."""

    obeyed: bool | None = None
    why: str = ""


NOTHING: Final = Verdict()
UNSENT: Final = Verdict(
    None,
    "virtio_net before Linux 6.12 shows a table that the device may never have got, "
    "and no counters bear it out yet",
)


@dataclass(slots=True)
class Witness:
    """Remembers the last verdict on each interface, for as long as its RSS stays the same."""

    known: dict[str, tuple[Any, Verdict]] = field(default_factory=dict)

    def hear(
        self, nic: str, rss: Any, flows: Mapping[str, float], queues: Sequence[Queue],
        otherwise: Verdict = NOTHING,
    ) -> Verdict:  # fmt: skip
        """The verdict now; `otherwise` is held as long as the counters say nothing."""
        told = weigh(flows, queues)
        old = self.known.get(nic)
        if told is NOTHING:
            told = old[1] if old is not None and old[0] == rss else otherwise
        self.known[nic] = rss, told
        return told

    def forget(self, names: Container[str]) -> None:
        """Forget the interfaces that are not among `names`."""
        for name in [name for name in self.known if name not in names]:
            del self.known[name]


def weigh(flows: Mapping[str, float], queues: Sequence[Queue]) -> Verdict:
    """Compare what flows received, by the queue that RSS gives them, with what the queues count.

    Sockets and counters are read one after the other, so that a rate of one may stand above the
    other's for all flows alike: then the flows are taken for all that was counted.
    """
    counted = {
        one.name: one.bytes_per_s
        for one in queues
        if one.direction == "rx" and one.bytes_per_s is not None
    }
    whole, received = sum(counted.values()), sum(flows.values())
    if len(counted) < 2 or not whole or not received:
        return NOTHING
    scale = min(1.0, whole / received)
    for name in sorted(flows, key=lambda name: (-flows[name], name)):
        rate = flows[name] * scale
        if name in counted and rate > max(TRICKLE, EXCESS * counted[name]):
            return Verdict(
                False,
                f"{name} counts {_rate(counted[name])}, but the flows that RSS would bring it "
                f"receive {_rate(rate)}: another table is in force than the one shown",
            )
    return Verdict(True) if received * scale >= max(TRICKLE, MOST * whole) else NOTHING


def suspected(driver: str, kernel: tuple[int, int] | None) -> Verdict:
    """What to hold of a table before any counter was heard."""
    return UNSENT if driver == "virtio_net" and (kernel or (0, 0)) < SENDS_ITS_TABLE else NOTHING


def _rate(size: float) -> str:
    return f"{8 * size / 1e6:.1f} Mbit/s"
