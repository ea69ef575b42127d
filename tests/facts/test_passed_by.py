"""What the kernel does not count itself: traffic that passes it by, drops of filters of a qdisc."""

from __future__ import annotations

import pytest
from folded import folded
from nic_tables import Tables, joined, link, stats

from nettop.collect import classes, netclass, nicstats, qdiscs
from nettop.facts.counters import passed_by
from nettop.facts.kinds.nic import Counters


def test_the_load_of_a_link_has_what_passes_the_kernel_by() -> None:
    def tables(port: int) -> Tables:
        return {
            "links": [link("eth0", parent="0000:03:00.0", mtu=1500)],
            "netclass": [netclass.Row("eth0", device="0000:03:00.0", speed=1e9)],
            "link_stats": [stats("eth0", rx_packets=port, rx_bytes=60 * port)],
            "nicstats": [nicstats.Row("eth0", "mlx5_core", port_rx_bytes=50_000_000 * port)],
        }

    assert joined(tables(0), tables(1)).nics[0].rx_load == pytest.approx(0.4)


@folded(
    "port, own, passes",
    [(1e9, 1e8, True), (1e9, 6e8, False), (1e6, 0, False), (None, 1, False), (1e9, None, False)],
)
def test_what_passes_the_kernel_by(port: float | None, own: float | None, passes: bool) -> None:
    """Twice of what the kernel counts, in either direction, and more than frames of the port."""
    assert passed_by(Counters(port_rx_bytes=port, rx_bytes=own)) is passes
    assert passed_by(Counters(port_tx_bytes=port, tx_bytes=own)) is passes


@folded("leaf, filtered", [(0, 28.0), (30, 0.0), (20, 8.0)])
def test_what_no_queue_of_a_classful_discipline_dropped_a_filter_did(
    leaf: int, filtered: float
) -> None:
    """The drops of htb include those of its leaves (net/sched/sch_htb.c, htb_enqueue())."""

    def tables(root: int, below: int) -> Tables:
        return {
            "links": [link("eth0", parent="0000:03:00.0")],
            "link_stats": [stats("eth0")],
            "qdiscs": [
                qdiscs.Row("eth0", "root", "1:", "htb", True, 0, 0, drops=root),
            ],
            "classes": [
                classes.Row("eth0", "1:1", "root", False, 1e8, 1e8, drops=below, kind="htb"),
                classes.Row("eth0", "1:17", "1:1", True, 1e8, 1e8, drops=below, kind="htb"),
            ],
        }

    facts = joined(tables(100, 50), tables(128, 50 + leaf))
    assert facts.nics[0].filter_drops == filtered
