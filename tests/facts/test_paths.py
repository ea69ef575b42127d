"""The stages of a card in both directions, and what is lost at each."""

from __future__ import annotations

import pytest
from nic_tables import Tables, joined, link, stats

from nettop.collect import drvinfo, snmp
from nettop.facts.kinds.path import LINK_ONLY


def test_the_path_says_where_losses_are_not_known_by_kind() -> None:
    still: Tables = {
        "links": [link("eth0", parent="0000:03:00.0")],
        "drvinfo": [drvinfo.Row("eth0", "virtio_net", link_ring="")],
        "link_stats": [stats("eth0")],
    }
    (receive, _) = joined(still, still).paths
    reasons = {stage.name: stage.why for stage in receive.stages}
    assert reasons["ring"] == reasons["port"] == LINK_ONLY


@pytest.mark.parametrize(("local", "told"), [(900, True), (90_000, False)])
def test_losses_of_sockets_are_of_the_card_unless_loopback_moves_far_more(
    local: int, told: bool
) -> None:
    still: Tables = {
        "links": [link("eth0", parent="0000:03:00.0"), link("lo", 2, type=772, loopback=True)]
    }
    moved: Tables = {
        "link_stats": [
            stats("eth0", rx_bytes=1000, tx_bytes=1000),
            stats("lo", rx_bytes=local, tx_bytes=local),
        ],
    }
    none = dict.fromkeys(snmp.Row.__dataclass_fields__)
    facts = joined(
        {
            **still,
            "link_stats": [stats("eth0"), stats("lo")],
            "snmp": [snmp.Row(**{**none, "rcvq_drops": 0})],
        },
        {**still, **moved, "snmp": [snmp.Row(**{**none, "rcvq_drops": 40})]},
    )
    receive = next(path for path in facts.paths if path.direction == "rx")
    assert (receive.worst == "rcvbuf") is told
