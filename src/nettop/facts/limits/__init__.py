"""What limits each flow, interface and datagram socket, and what would limit it next.

Takes frames and the facts of each, gives a `Limit` for each target. `window` keeps the last ten
seconds, `looks` builds one `Look` for each target, the modules of `stages` say how full each stage
is, `judge` chooses the stage that binds and orders the others by capacity, `following` says which
comes next, `steady` keeps a verdict from flapping, `interfaces` gives each interface the verdict of
the flow that stands for it, `bounds` removes capacities that the rate refutes. A new stage is one
new file in `stages`.
"""

from __future__ import annotations

from typing import Final

from ...frame.fields import gauge, label
from ...terms.dataclass import dataclass

SECONDS: Final = 10.0  # over which limits are judged, at the most
KINDS: Final = ("reported", "measured", "computed", "inferred")

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Reading:
    """How full one stage is for one target.

    `held` is the share of wall time in which work waited before this stage and not behind it.
    """

    stage: str = label("stage")
    end: str = label("here or there")
    name: str = gauge("name of the stage", default="")
    kind: str = gauge("kind of evidence: reported measured computed inferred", default="inferred")
    because: str = gauge("measurement behind it", default="")
    utilisation: float | None = gauge("utilisation", "ratio", default=None)
    capacity: Interval | None = gauge("capacity, least and most", "bit/s", default=None)
    held: float = gauge("share of wall time limited by it", "ratio", default=0.0)
    reach: Interval | None = gauge("rough capacity: a wide interval", "bit/s", default=None)
    number: int | None = gauge("number of its core or thread", default=None)
    how: str = gauge("how a device is used: throttled synced direct cached", default="")
    piece: float | None = gauge("data that passes at a time, at most", "bytes", default=None)


@dataclass(frozen=True, slots=True)
class Limit:
    """The verdict on one direction of one flow, interface or socket."""

    over: str = label("flow nic socket")
    target: str = label(
        "LOCAL>REMOTE, an interface (of another namespace: NAME@NAMESPACE), or a local address"
    )
    direction: str = label("rx or tx")
    rate: float | None = gauge("rate; None: of a UDP socket", "bit/s", default=None)
    since: float = gauge("wall clock since when this stage limits", "s", default=0.0)
    stage: Reading = gauge("stage that limits", default=Reading("unknown", "there"))
    joint: tuple[str, ...] = gauge("stages that limit as well", default=())
    next: Reading | None = gauge("stage that limits next", default=None)
    ladder: tuple[Reading, ...] = gauge("stages by capacity", default=())
    nic: str | None = gauge("interface", default=None)
    pid: int | None = gauge("process", default=None)
    process: str | None = gauge("process name", default=None)
    namespace: str | None = gauge("other network namespace; None: this one", default=None)
    device: str | None = gauge("interface in that namespace", default=None)
    flow: str | None = gauge("target of the flow that stands for an interface", default=None)
    ended: bool = gauge("the flow ended while nettop looked", default=False)
    doing: str | None = gauge("what the core or thread that limits does", default=None)
    relief: str | None = gauge("what relieves it of that work", default=None)
