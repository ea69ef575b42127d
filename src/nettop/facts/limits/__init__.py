"""What limits each flow, interface and datagram socket, and what would limit it next.

Takes frames and the facts of each, gives a `Limit` for each target. `window` keeps the last ten
seconds, `looks` builds one `Look` for each target, the modules of `stages` say how full each stage
is, `judge` chooses the stage that binds and orders the others by capacity, `following` says which
comes next, `ladder` keeps a verdict from flapping, `interfaces` gives each interface the verdict of
the flow that stands for it, `bounds` removes capacities that the rate refutes. A new stage is one
new file in `stages`.
"""

from __future__ import annotations

from typing import Final

from ...frame.fields import gauge, label, maybe
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
    utilisation: float | None = maybe("utilisation", "ratio")
    capacity: Interval | None = maybe("capacity, least and most", "bit/s")
    held: float = gauge("share of wall time limited by it", "ratio", default=0.0)
    reach: Interval | None = maybe("rough capacity: a wide interval", "bit/s")
    number: int | None = maybe("number of its core or thread")
    how: str = gauge(
        "how a device is used: throttled synced direct cached files; of a thread: throttled "
        "locked; of a request: late; of small writes: corked delayed; of cores: what takes them",
        default="",
    )  # fmt: skip
    piece: float | None = maybe("data that passes at a time, at most", "bytes")
    cause: str = gauge("the measurement without the rate of losses that it has", default="")
    other: str = gauge("of a relay: the connection for which it waits", default="")


@dataclass(frozen=True, slots=True)
class Limit:
    """The verdict on one direction of one flow, interface or socket."""

    over: str = label("flow nic socket")
    target: str = label(
        "LOCAL>REMOTE, an interface (of another namespace: NAME@NAMESPACE), or a local address"
    )
    direction: str = label("rx or tx")
    rate: float | None = maybe("rate; None: of a UDP socket", "bit/s")
    since: float = gauge("wall clock since when this stage limits", "s", default=0.0)
    stage: Reading = gauge("stage that limits", default=Reading("unknown", "there"))
    joint: tuple[str, ...] = gauge("stages that limit as well", default=())
    next: Reading | None = maybe("stage that limits next")
    ladder: tuple[Reading, ...] = gauge("stages by capacity", default=())
    nic: str | None = maybe("interface")
    pid: int | None = maybe("process")
    process: str | None = maybe("process name")
    namespace: str | None = maybe("other network namespace; None: this one")
    device: str | None = maybe("interface in that namespace")
    flow: str | None = maybe("target of the flow that stands for an interface")
    ended: bool = gauge("the flow ended while nettop looked", default=False)
    doing: str | None = maybe("work of the core or thread that limits")
    relief: str | None = maybe("how to reduce that work")
