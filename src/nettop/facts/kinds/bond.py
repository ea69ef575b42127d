"""A bond: its aggregation, and how evenly its ports carry what this host sends."""

from __future__ import annotations

from operator import attrgetter

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..flow_words import part, total
from ..kind import Kind


@dataclass(frozen=True, slots=True)
class Bond:
    """One bond."""

    nic: str = label("bond interface")
    mode: str = gauge("mode: 802.3ad active-backup balance-xor …", default="")
    policy: str | None = maybe("transmit hash policy")
    partner: bool | None = maybe("an LACP partner answers")
    ports: int = gauge("ports with a link", "ports", default=0)
    outside: int | None = maybe("ports with a link that are not in the active aggregator", "ports")
    busiest: str | None = maybe("port that sends most")
    busiest_share: float | None = maybe("share of the busiest port in what the bond sends", "ratio")
    busiest_load: float | None = maybe("transmit load of the busiest port", "ratio")


def build(frame: Frame, facts: Facts) -> tuple[Bond, ...]:
    """One fact for each bond."""
    nics = {nic.name: nic for nic in facts.nics}
    found = []
    for row in frame.rows("bonds"):
        own = nics.get(row.interface)
        ports = [nics[name] for name in (own.lower if own is not None else ()) if name in nics]
        top = max(ports, key=lambda nic: nic.per_s.tx_bytes or 0.0, default=None)
        sent = total(nic.per_s.tx_bytes for nic in ports)
        found.append(
            Bond(
                row.interface, row.mode, row.policy, row.partner, row.ports, row.outside,
                top.name if top is not None else None,
                part(top.per_s.tx_bytes or 0.0, sent) if top is not None else None,
                top.tx_load if top is not None else None,
            )
        )  # fmt: skip
    return tuple(found)


KIND = Kind(
    Bond, "bonds", needs=("bonds",), build=build, parents={"nic": attrgetter("nic")},
    example={"nic": "bond0", "mode": "802.3ad"},
)  # fmt: skip
