"""The path of packets through one NIC: rate and loss at each stage from wire to process."""

from __future__ import annotations

from dataclasses import dataclass

from ..frame import gauge, label


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: wire, port, ring, core, backlog, socket or process."""

    name: str = label("stage")
    detail: str = gauge("what it is here, e.g. 256/4096 or core 6", default="")
    rate: float | None = gauge("what passes", default=None)
    unit: str = gauge("of the rate", default="packets/s")
    lost: float | None = gauge("what is lost here; None: not reported", "packets/s", default=None)
    why: str = gauge("where the loss figure comes from, or why it is unknown", default="")


@dataclass(frozen=True, slots=True)
class Path:
    """The stages of one direction of one NIC, outermost first."""

    nic: str = label("interface")
    direction: str = label("rx or tx")
    stages: tuple[Stage, ...] = gauge("stages", default=())
    lost: float | None = gauge("sum of the known losses", "packets/s", default=None)
    worst: str | None = gauge("stage that loses most", default=None)
    reasons: tuple[tuple[str, float], ...] = gauge("kernel drop reasons per second", default=())
