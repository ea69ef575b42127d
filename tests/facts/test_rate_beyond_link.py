"""A rate that the link cannot carry is of a counter that jumped."""

from __future__ import annotations

from typing import Any

from folded import folded
from nic_tables import Tables, joined, link, stats

from nettop.collect import netclass


@folded(
    ("counted", "known"),
    [
        ({"rx_bytes": 125_000_000, "rx_packets": 81_000}, True),
        ({"rx_bytes": 1_000_000_000_000, "rx_packets": 1_000_000_000}, False),
        ({"rx_bytes": 140_000_000, "rx_packets": 90_000}, False),
        ({"rx_bytes": 125_000, "rx_packets": 1_000_000_000}, False),
    ],
)
@folded(
    ("where", "bounded"),
    [
        ({"links": {"parent": "0000:03:00.0"}}, True),
        ({"links": {"parent": "virtio2", "bus": "virtio"}, "driver": "virtio_net"}, False),
        ({"links": {"parent": "0000:03:00.0"}, "sriov_vfs": 4}, False),
        ({"links": {"kind": "veth"}}, False),
    ],
)
def test_a_rate_beyond_the_link_is_unknown(
    where: dict[str, Any], bounded: bool, counted: dict[str, int], known: bool
) -> None:
    dev = netclass.Row(
        "eth0", device="0000:03:00.0", speed=1e9, driver=where.get("driver", "e1000e"),
        sriov_vfs=where.get("sriov_vfs"),
    )  # fmt: skip
    still: Tables = {"links": [link("eth0", mtu=1500, **where["links"])], "netclass": [dev]}
    sent = {"tx_bytes": 64_000, "tx_packets": 1000}
    moved = stats("eth0", **counted, **sent)
    facts = joined({**still, "link_stats": [stats("eth0")]}, {**still, "link_stats": [moved]})
    (nic,) = facts.nics
    both = (nic.per_s.rx_bytes, nic.per_s.rx_packets)
    expected = (
        (counted["rx_bytes"], counted["rx_packets"]) if known or not bounded else (None, None)
    )
    assert both == expected
    assert nic.per_s.tx_bytes == 64_000
    assert nic.total.rx_bytes == counted["rx_bytes"]
