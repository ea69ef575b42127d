"""Which links can have full duplex."""

from __future__ import annotations

import pytest
from nic_tables import joined, link, stats

from nettop.collect import linkmodes


@pytest.mark.parametrize(
    ("supported", "full"),
    [
        (("10baseT1S_P2MP/Half", "TP"), False),
        (("10baseT1S/Half", "10baseT1S/Full"), True),
        (("TP", "Autoneg"), None),  # connectors and abilities are no modes
        ((), None),
    ],
)
def test_a_shared_cable_has_no_full_duplex(supported: tuple[str, ...], full: bool | None) -> None:
    row = linkmodes.Row("eth0", 10e6, "half", supported=supported)
    facts = joined({"links": [link("eth0")], "linkmodes": [row], "link_stats": [stats("eth0")]})
    assert facts.nics[0].full_duplex is full
