"""What a driver counts means what its table says under the conditions of the host."""

from typing import Any

import pytest
from nic_tables import Tables, joined, link, stats

from nettop.collect import channels, drvinfo, nicstats, pause, pci
from nettop.collect._driver_statistics import DriverStatistics
from nettop.collect._drivers import driver, plan
from nettop.facts.kinds.nic import Counters
from nettop.host.netlink.driver import Info


def rates(
    name: str, statistics: dict[str, int], *, queues: int = 1, paused: bool = False, **counts: int
) -> Counters:
    """The rates of an interface whose statistics grew from 0 to these in a second."""

    def at(grown: int) -> Tables:
        names = tuple(statistics)
        values = tuple(grown * value for value in statistics.values())
        about = driver(name)
        reading = DriverStatistics("eth0", about, plan(about, names), names, values)
        return {
            "links": [link("eth0", 2, parent="0000:03:00.0", bus="pci")],
            "link_stats": [stats("eth0", **{what: grown * n for what, n in counts.items()})],
            "drvinfo": [drvinfo.row("eth0", Info(name, "6.1", "", "0000:03:00.0"))],
            "channels": [channels.Row("eth0", combined=queues)],
            "pause": [pause.Row("eth0", rx=paused, tx=paused)],
            "nicstats": [nicstats.row(reading)],
        }

    (nic,) = joined(at(0), at(1)).nics
    return nic.per_s


@pytest.mark.parametrize(
    ("name", "statistics", "conditions", "lost"),
    [
        ("ixgbe", {"rx_missed_errors": 40}, {"queues": 8}, (0, 40)),
        ("ixgbe", {"rx_missed_errors": 40}, {"queues": 1}, (40, None)),
        ("ixgbe", {"rx_missed_errors": 40}, {"queues": 8, "paused": True}, (40, None)),
        ("ixgbe", {"rx_missed_errors": 40, "rx_no_dma_resources": 7}, {"queues": 8}, (7, 40)),
        ("igb", {"rx_missed_errors": 40, "rx_no_buffer_count": 0}, {"queues": 4}, (0, 40)),
        ("igb", {"rx_missed_errors": 40, "rx_no_buffer_count": 9}, {"queues": 4}, (40, None)),
        ("e1000e", {"rx_missed_errors": 40, "rx_no_buffer_count": 0}, {}, (0, 40)),
        ("e1000e", {"rx_missed_errors": 40, "rx_no_buffer_count": 50}, {}, (40, None)),
        ("tg3", {"rx_discards": 40, "rxbds_empty": 0}, {"queues": 4}, (0, 40)),
        ("tg3", {"rx_discards": 40, "rxbds_empty": 3}, {"queues": 4}, (40, None)),
        ("amd-xgbe", {"rx_fifo_overflow_errors": 40, "rx_buffer_unavailable": 9}, {}, (40, None)),
    ],
)
def test_what_the_fifo_lost_is_the_rings_or_the_ports(
    name: str, statistics: dict[str, int], conditions: dict[str, Any], lost: tuple[int, int | None]
) -> None:
    per_s = rates(name, statistics, **conditions)
    assert (per_s.ring_drops or 0, per_s.phy_discards) == lost


def test_one_loss_that_link_and_driver_count_is_counted_once() -> None:
    per_s = rates("newnic", {"rx_fifo_errors": 40}, rx_fifo_errors=40, rx_errors=40)
    assert (per_s.ring_drops, per_s.phy_discards, per_s.rx_errors) == (None, 40, 0)


def test_cards_below_one_bridge_share_its_link() -> None:
    def at(second: int) -> Tables:
        buses = {"p0": "0000:03:00.0", "p1": "0000:04:00.0", "p2": "0000:41:00.0"}
        alone = pci.Row("p2", 5.0, 1)
        below = [
            pci.Row(name, 5.0, 1, above="0000:01:00.0", above_speed=5.0, above_width=1)
            for name in ("p0", "p1")
        ]
        return {
            "links": [
                link(name, n, carrier=True, parent=bus, bus="pci")
                for n, (name, bus) in enumerate(buses.items(), 1)
            ],
            "pci": [pci.carried(row) for row in (*below, alone)],
            "link_stats": [stats(name, rx_bytes=125_000_000 * second) for name in buses],
        }  # fmt: skip

    (bridge,) = joined(at(0), at(1)).more["card"]
    assert (bridge.bus, bridge.ports) == ("0000:01:00.0", ("p0", "p1"))
    assert (bridge.usable, bridge.rx) == pytest.approx((4e9, 2e9))
