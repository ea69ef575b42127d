"""Check of the RSS table against the counters of the queues.

The table that a driver shows may not be in force. Accelerated RFS, an RSS context or filters of the
driver override it, and before Linux 6.12 virtio_net did not send the table that it created at probe
to the device (commit dc749b7b0608): until the table is written, a tap behind the device steers by
itself. A queue that counts fewer bytes than the flows assigned to it received is not their queue.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import field
from typing import Final, NamedTuple

from ..terms.dataclass import dataclass
from .kinds.queue import Queue

EXCESS: Final = 1.25  # times the count of the queue, which includes headers and retransmissions
TRICKLE: Final = 125_000.0  # bytes/s; a lower rate of a queue proves nothing
MOST: Final = 0.8  # of all bytes of the queues: from this share on, agreement is proof
SENDS_ITS_TABLE: Final = (6, 12)  # Linux, from which virtio_net sends its table to the device


class Verdict(NamedTuple):
    """`obeyed`: the NIC follows its table; None: unknown. `why` gives the reason if not True."""

    obeyed: bool | None = None
    why: str = ""


NOTHING: Final = Verdict()
UNSENT: Final = Verdict(
    None,
    "virtio_net before Linux 6.12 shows a table that the device may never have received, "
    "and no counters confirm it yet",
)


@dataclass(slots=True)
class Witness:
    """Remembers the last verdict on each interface while its RSS settings stay the same."""

    known: dict[str, tuple[object, Verdict]] = field(default_factory=dict)

    def hear(
        self, nic: str, rss: object, flows: Mapping[str, float], queues: Sequence[Queue],
        otherwise: Verdict = NOTHING,
    ) -> Verdict:  # fmt: skip
        """The present verdict; `otherwise` applies until the counters give one."""
        verdict = weigh(flows, queues)
        old = self.known.get(nic)
        if verdict is NOTHING:
            verdict = old[1] if old is not None and old[0] == rss else otherwise
        self.known[nic] = rss, verdict
        return verdict

    def forget(self, names: Container[str]) -> None:
        """Forget the interfaces that are not among `names`."""
        for name in [name for name in self.known if name not in names]:
            del self.known[name]


def weigh(flows: Mapping[str, float], queues: Sequence[Queue]) -> Verdict:
    """Compare the bytes/s of flows, by the queue that RSS assigns, with those of the queues.

    Sockets and counters are read one after the other, so the sum of the flows may exceed that of
    the queues; the rates of the flows are then scaled down to it.
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
                f"{name} counts {_rate(counted[name])}, but the flows that RSS assigns to it "
                f"receive {_rate(rate)}: the table shown is not in force",
            )
    return Verdict(True) if received * scale >= max(TRICKLE, MOST * whole) else NOTHING


def suspected(driver: str, kernel: tuple[int, int] | None) -> Verdict:
    """The verdict on a table before any counter was read."""
    return UNSENT if driver == "virtio_net" and (kernel or (0, 0)) < SENDS_ITS_TABLE else NOTHING


def _rate(size: float) -> str:
    return f"{8 * size / 1e6:.1f} Mbit/s"
