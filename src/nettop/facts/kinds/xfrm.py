"""A reason for which IPsec drops packets now, from the collector `xfrm`."""

from __future__ import annotations

from ...frame.fields import label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind


@dataclass(frozen=True, slots=True)
class Xfrm:
    """One reason, by the name of its counter."""

    reason: str = label("reason, e.g. XfrmInStateSeqError")
    drops: float | None = maybe("packets dropped by IPsec", "packets/s")


def build(frame: Frame, facts: Facts) -> tuple[Xfrm, ...]:  # noqa: ARG001
    """One fact for each counter that moved."""
    rates = ((entry.now.reason, entry.rate("packets")) for entry in frame.tables.get("xfrm", ()))
    return tuple(Xfrm(reason, drops) for reason, drops in rates if drops)


KIND = Kind(Xfrm, "xfrms", needs=("xfrm",), build=build, example={"reason": "XfrmInStateSeqError"})
