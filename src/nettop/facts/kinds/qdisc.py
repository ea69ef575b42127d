"""A queueing discipline or traffic class that limits: a configured rate, or drops on ingress.

Queues without a rate are judged by the sum of their interface, `nic.per_s.qdisc_drops`. Policers
(act_police), `drop` actions and BPF programs on ingress count their drops in the qdisc `ingress`
or `clsact` of the interface (net/core/dev.c, sch_handle_ingress()).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from ...frame.fields import gauge, label
from ...frame.rates import Entry, Frame
from ..kind import Kind


@dataclass(frozen=True, slots=True)
class Qdisc:
    """One of them."""

    id: str = label("interface, kind and handle, e.g. eth0/tbf-8001:")
    nic: str = gauge("interface", default="")
    kind: str = gauge("tbf cake netem, htb class, ingress clsact", default="")
    rate: float | None = gauge("configured rate", "bit/s", default=None)
    load: float | None = gauge("rate through it / configured rate", "ratio", default=None)
    queued: int | None = gauge("bytes that wait in it", "bytes", default=None)
    drops_per_s: float | None = gauge("packets dropped", "packets/s", default=None)
    ingress: bool = gauge("filters received packets", default=False)


def build(frame: Frame, facts: object) -> tuple[Qdisc, ...]:  # noqa: ARG001
    """Those with a configured rate, leaf classes of HTB among them, and those on ingress."""
    return tuple(_build(frame))


def _build(frame: Frame) -> Iterator[Qdisc]:
    for entry in frame.tables.get("qdiscs", ()):
        row = entry.now
        if row.rate or row.parent == "ingress":
            yield _one(entry, row.kind, row.rate, ingress=row.parent == "ingress")
    for entry in frame.tables.get("classes", ()):
        rate = entry.now.ceiling or entry.now.rate
        if entry.now.leaf and rate:
            yield _one(entry, "htb class", rate)


def _one(entry: Entry, kind: str, rate: float | None, *, ingress: bool = False) -> Qdisc:  # type: ignore[type-arg]
    row, sent = entry.now, entry.rate("bytes")
    return Qdisc(
        f"{row.interface}/{kind.replace(' ', '-')}-{row.handle}",
        row.interface,
        kind,
        rate,
        8 * sent / rate if rate and sent is not None else None,
        row.backlog,
        entry.rate("drops"),
        ingress,
    )


KIND = Kind(
    name="qdisc", type=Qdisc, plural="qdiscs", key=attrgetter("id"), target=attrgetter("id"),
    parents={"nic": attrgetter("nic")}, names={"qdisc": "qdisc.id"},
    example={"id": "eth0/tbf-8001:", "nic": "eth0", "kind": "tbf"}, tables={"": "qdiscs"},
    needs=("qdiscs", "classes"), build=build,
)  # fmt: skip
