"""What the kernel does not count itself: traffic that passes it by, drops of filters of a qdisc."""

from types import SimpleNamespace
from typing import Any

import pytest
from folded import folded
from nic_tables import Tables, joined, link, stats

from nettop.collect import classes, netclass, nicstats, qdiscs
from nettop.facts.kinds.outlet import Hairpin
from nettop.facts.kinds.outlet import hairpins as build
from nettop.frame.rates import Frame


def test_the_load_of_a_link_has_what_passes_the_kernel_by() -> None:
    def tables(port: int) -> Tables:
        return {
            "links": [link("eth0", parent="0000:03:00.0", mtu=1500)],
            "netclass": [netclass.Row("eth0", device="0000:03:00.0", speed=1e9)],
            "link_stats": [stats("eth0", rx_packets=port, rx_bytes=60 * port)],
            "nicstats": [nicstats.Row("eth0", "mlx5_core", port_rx_bytes=50_000_000 * port)],
        }

    assert joined(tables(0), tables(1)).nics[0].rx_load == pytest.approx(0.4)


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


# Forwarded packets that came and left by one interface, from counters of all interfaces.


LOOP = {"lan": (150.0, 1.0), "wan": (4700.0, 4850.0)}
LO = {"lo": (9e6, 9e6)}


def hairpins(forwarded: float | None, nics: Any) -> Any:
    rows = tuple(
        SimpleNamespace(name=name, kind="loopback" if name == "lo" else "veth",
                        per_s=SimpleNamespace(rx_packets=came, tx_packets=left,
                                              tx_dropped=0.0, qdisc_drops=gone[0] if gone else 0.0))
        for name, (came, left, *gone) in nics.items()
    )  # fmt: skip
    facts: Any = SimpleNamespace(host=SimpleNamespace(ip_forwarded=forwarded), nics=rows)
    return build(Frame(0.0, 0.0, {}), facts)


def test_what_other_interfaces_cannot_have_carried_returned() -> None:
    assert hairpins(4800.0, LOOP | LO) == (Hairpin("wan", 4700.0 - 151.0, 150.0),)


@pytest.mark.parametrize(("forwarded", "nics"), [
    (None, LOOP), (0.0, LOOP),
    (4800.0, {"lan": (4800.0, 1.0), "wan": (1.0, 4800.0)}),  # from one to the other
    (4800.0, {"mgmt": (0.5, 0.5), "wan": (4700.0, 4700.0)}),  # a router with one arm
    (4800.0, {"lan": (None, None), "wan": (None, None)}),  # the first frame
    (4800.0, {"lan": (150.0, None), "wan": (4700.0, 4850.0)}),  # a driver that does not count
    (4800.0, {"lan": (150.0, 1.0, 4700.0), "wan": (4700.0, 4850.0)}),  # a queue that drops it all
    (4800.0, {"eth0": (4800.0, 4800.0), "eth0.5": (4800.0, 0.0), "eth0.6": (0.0, 4800.0)}),
])  # fmt: skip
def test_a_router_of_two_networks_returns_nothing(forwarded: float | None, nics: Any) -> None:
    assert hairpins(forwarded, nics) == ()


# A rate that the link cannot carry is of a counter that jumped.


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
