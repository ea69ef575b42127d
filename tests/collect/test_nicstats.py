"""Drivers' statistics folded into few names: the right sums, on retyped and on real outputs."""

import os
import re
from dataclasses import fields
from pathlib import Path

import pytest
from folded import folded

from nettop.collect import _drivers as drivers
from nettop.collect import nicqueues, nicstats
from nettop.collect._driver_statistics import DriverStatistics
from nettop.facts.kinds.nic import Counters
from nettop.frame.fields import describe

SAMPLES = os.environ.get("NETTOP_SAMPLES")
needs_samples = pytest.mark.skipif(not SAMPLES, reason="NETTOP_SAMPLES names no folder of outputs")


def reading(name: str, text: str) -> DriverStatistics:
    """What `ethtool -S` printed, as if the driver had just said it."""
    pairs = [match.groups() for match in re.finditer(r"^\s*(\S.*): *(\d+)$", text, re.MULTILINE)]
    names = tuple(name for name, _ in pairs)
    about = drivers.driver(name)
    values = tuple(int(value) for _, value in pairs)
    return DriverStatistics("eth0", about, drivers.plan(about, names), names, values)


def counted(name: str, text: str) -> dict[str, int]:
    row = nicstats.row(reading(name, text))
    found = {field: getattr(row, field) for field in drivers.COUNTS}
    return {field: value for field, value in found.items() if value is not None}


def queues(name: str, text: str) -> dict[str, tuple[int | None, ...]]:
    own = nicqueues.own_counts(reading(name, text))
    rows = [nicqueues.row("eth0", queue, counts, {}) for queue, counts in own.items()]
    return {row.queue: (row.packets, row.bytes, row.drops) for row in rows}


NEEDED = (
    "mlx5_core mlx4_en ice i40e iavf ixgbe ixgbevf igb e1000e igc bnxt_en bnx2x tg3 ena gve "
    "virtio_net vmxnet3 hv_netvsc be2net sfc r8169 veth qede mana hns3 hinic nfp atlantic enic "
    "cxgb4 idpf ionic fsl_dpaa2_eth mvneta mvpp2 st_gmac lan78xx r8152 mac80211"
).split()


def test_the_table_has_the_drivers_and_only_the_counters_of_the_facts() -> None:
    assert set(NEEDED) <= drivers.table().keys()
    facts = {field.name for field in fields(Counters)}
    rows = {field.name for field in fields(nicstats.Row)} - {"interface", "driver"}
    assert {*drivers.COUNTS, *drivers.LEVELS} == rows
    decided = {"fifo_drops", "ring_waits"}  # by what facts know of the host
    assert set(drivers.COUNTS) - facts == decided


def test_a_level_is_a_value_of_now_without_a_rate() -> None:
    row = nicstats.row(reading("ena", "conntrack_allowance_available: 76000"))
    kinds = {one["name"]: one["kind"] for one in describe(nicstats.Row)}
    assert (row.connections_left, kinds["connections_left"]) == (76000, "gauge")


# they count no packet that the receive ring, the port or the provider lost
WITHOUT_LOSSES = {"virtio_net", "veth", "idpf", "mac80211"}


@folded("name", NEEDED)
def test_every_driver_counts_some_loss_or_is_known_not_to(name: str) -> None:
    about = drivers.driver(name)
    assert about.title
    lossy = {"ring_drops", "alloc_fails", "phy_discards", "allowance_pps", "fifo_drops"}
    lossy &= about.count.keys()
    assert bool(lossy) == (name not in WITHOUT_LOSSES)


def test_what_is_wrong_in_the_table_is_named() -> None:
    with pytest.raises(ValueError, match=r"\[x\] has an unknown key 'ring'"):
        drivers._driver("x", {"ring": 1})
    with pytest.raises(ValueError, match=r"\[x.count\] has an unknown name 'drops'"):
        drivers._driver("x", {"count": {"drops": ["a"]}})
    with pytest.raises(ValueError, match="wrong pattern"):
        drivers._driver("x", {"count": {"ring_drops": ["("]}})
    with pytest.raises(ValueError, match="para is not a bool"):
        drivers._driver("x", {"para": "yes"})


def test_an_unknown_driver_counts_nothing_rather_than_zero() -> None:
    assert counted("some_new_driver", "rx_dropped: 5\n") == {}


def test_i40e_never_adds_the_ports_losses_to_its_own() -> None:
    text = "rx_dropped: 5\nport.rx_dropped: 9\nport.link_xon_rx: 1\nport.link_xoff_rx: 2\n"
    assert counted("i40e", text) == {"ring_drops": 5, "phy_discards": 9, "pause_rx": 3}


def test_igb_tells_what_its_queues_lost_from_what_its_fifo_lost() -> None:
    text = (
        "rx_no_buffer_count: 100\nrx_missed_errors: 3\nrx_fifo_errors: 7\n"
        "rx_queue_0_drops: 4\nrx_queue_1_drops: 3\nrx_queue_0_packets: 10\n"
    )
    assert counted("igb", text) == {"ring_drops": 7, "fifo_drops": 3, "ring_waits": 100}
    assert queues("igb", text) == {"rx-0": (10, None, 4), "rx-1": (None, None, 3)}


def test_vmxnet3_repeats_each_name_for_each_queue() -> None:
    text = (
        "  Tx Queue#: 0\n  ucast pkts tx: 5\n  bcast pkts tx: 1\n  pkts tx discard: 2\n"
        "  Tx Queue#: 1\n  ucast pkts tx: 7\n"
        "  Rx Queue#: 0\n  ucast pkts rx: 3\n  ucast bytes rx: 300\n  pkts rx OOB: 10\n"
        "  Rx Queue#: 1\n  ucast pkts rx: 4\n  pkts rx OOB: 20\n  rx buf alloc fail: 1\n"
    )
    assert counted("vmxnet3", text) == {"ring_drops": 30, "alloc_fails": 1}
    assert queues("vmxnet3", text) == {
        "tx-0": (6, None, 2),
        "tx-1": (7, None, None),
        "rx-0": (3, 300, 10),
        "rx-1": (4, None, 20),
    }


def test_ena_tells_what_the_provider_shaped() -> None:
    text = (
        "bw_in_allowance_exceeded: 1\nbw_out_allowance_exceeded: 2\npps_allowance_exceeded: 3\n"
        "conntrack_allowance_exceeded: 4\nqueue_0_rx_cnt: 5\nqueue_0_rx_bytes: 6\n"
        "queue_0_tx_cnt: 7\nqueue_0_rx_page_alloc_fail: 8\nqueue_1_rx_skb_alloc_fail: 1\n"
    )
    assert counted("ena", text) == {
        "allowance_bw_in": 1, "allowance_bw_out": 2, "allowance_pps": 3,
        "allowance_conntrack": 4, "alloc_fails": 9,
    }  # fmt: skip
    assert queues("ena", text) == {"rx-0": (5, 6, None), "tx-0": (7, None, None)}


def test_bnxt_adds_the_kinds_of_packets_of_a_queue() -> None:
    text = (
        "[0]: rx_ucast_packets: 1\n[0]: rx_mcast_packets: 2\n[0]: rx_bcast_packets: 4\n"
        "[0]: rx_ucast_bytes: 100\n[0]: rx_discards: 8\n[1]: rx_discards: 16\n"
        "rx_total_discard_pkts: 24\nrx_pause_frames: 3\n"
    )
    assert queues("bnxt_en", text) == {"rx-0": (7, 100, 8), "rx-1": (None, None, 16)}
    assert counted("bnxt_en", text) == {"ring_drops": 24, "pause_rx": 3}


@folded(
    ("driver", "received", "sent"),
    [
        ("mlx5_core", "rx_bytes_phy", "tx_bytes_phy"), ("ice", "rx_bytes.nic", "tx_bytes.nic"),
        ("i40e", "port.rx_bytes", "port.tx_bytes"), ("bnxt_en", "rx_bytes", "tx_bytes"),
    ],
)  # fmt: skip
def test_the_ports_own_bytes(driver: str, received: str, sent: str) -> None:
    text = f"{received}: 9\n{sent}: 4\n"
    assert counted(driver, text) == {"port_rx_bytes": 9, "port_tx_bytes": 4}


def test_stalls_of_the_bus_are_counts_and_their_share_of_time_is_not() -> None:
    text = (
        "outbound_pci_buffer_overflow: 7\noutbound_pci_stalled_wr_events: 3\n"
        "outbound_pci_stalled_rd_events: 9\noutbound_pci_stalled_wr: 41\n"
    )
    assert counted("mlx5_core", text) == {"bus_overflows": 7, "bus_stalls": 3}


# real outputs: sample file, driver, values read from it by hand
REAL: list[tuple[str, str, dict[str, int]]] = [
    ("ethq/bnx2", "bnx2", {"ring_drops": 0, "pause_rx": 0, "pause_tx": 306 + 332}),
    ("ethq/e1000e", "e1000e", {"fifo_drops": 0, "phy_errors": 0, "alloc_fails": 0}),
    ("ethq/mlx5_core", "mlx5_core", {"ring_drops": 0, "alloc_fails": 0, "phy_discards": 0}),
    ("ethq/r8169", "r8169", {"ring_drops": 0, "phy_errors": 0}),
    ("ethtool-exporter/_S_i40e21_int_tp", "i40e", {"ring_drops": 0, "phy_errors": 341}),
    # named after ixgbe, but these are an i40e's statistics
    ("ethtool-exporter/_S_ixgbe418_sfp_10gsr85", "i40e", {"ring_drops": 363}),
    ("ethtool-exporter/_S_igb56_int_tp", "igb", {"ring_drops": 0, "tx_timeouts": 0}),
    ("ethtool-exporter/_S_tg3_418_int_tp", "tg3", {"fifo_drops": 0, "pause_tx": 0}),
    ("insights-core/ethtool.TEST_ETHTOOL_S_DOCS", "tg3", {"phy_errors": 0, "pause_rx": 0}),
    ("insights-core/ethtool.ETHTOOL_S_eth0_1", "be2net", {"ring_drops": 10000}),
    ("insights-core/ethtool.SUCCEED_ETHTOOL_S", "igb", {"ring_drops": 0}),
    ("lab-qemu-debian6.1-8cpu/ethtool_-S_eth0", "e1000e", {"fifo_drops": 0, "pause_rx": 0}),
    ("lab-qemu-debian6.1-8cpu/ethtool_-S_eth2", "vmxnet3", {"ring_drops": 0, "alloc_fails": 0}),
    ("lab-qemu-debian6.1-8cpu/ethtool_-S_eth3", "virtio_net", {"tx_timeouts": 0}),
    ("lab-qemu-debian6.1-8cpu/ethtool_-S_eth4", "8139cp", {"ring_drops": 0, "phy_errors": 0}),
    ("small-vm-6.18/ethtool-S.eth0", "virtio_net", {"tx_timeouts": 0}),
]


def sample(path: str) -> str:
    return (Path(SAMPLES or "") / path).read_text(errors="replace")


@needs_samples
@pytest.mark.parametrize(("path", "name", "wanted"), REAL, ids=[path for path, _, _ in REAL])
def test_real_outputs_are_summed_right(path: str, name: str, wanted: dict[str, int]) -> None:
    found = counted(name, sample(path))
    assert {key: found.get(key) for key in wanted} == wanted


@needs_samples
def test_real_queues_have_their_packets() -> None:
    i40e = queues("i40e", sample("ethtool-exporter/_S_i40e28_sfp_10gsr85"))
    assert i40e["rx-0"] == (3929417099, 4034128482410, None)
    assert i40e["tx-0"] == (9652980690, 9027235655988, None)
    older = queues("i40e", sample("ethq/i40e"))
    assert older["rx-0"] == (64128515158, 4974745040637, None)
    bnxt = queues("bnxt_en", sample("ethtool-exporter/_S_bnxten418_sfp_10gwtf1"))
    assert bnxt["rx-0"][:2] == (19121609 + 8020285 + 24307130, 1539479713 + 994515340 + 1458437510)
    assert sorted(bnxt) == sorted(f"{way}-{i}" for way in ("rx", "tx") for i in range(8))
    bnx2x = queues("bnx2x", sample("ethq/bnx2x"))
    assert bnx2x["rx-0"] == (194386668 + 1977213 + 1314918, 209487403324, 0)
    virtio = queues("virtio_net", sample("ethq/virtio_net"))
    assert virtio["tx-1"] == (3493740, 18293525171, None)
    vmxnet3 = queues("vmxnet3", sample("ethq/vmxnet3"))
    assert vmxnet3["rx-0"] == (40863 + 112048 + 79384, 75776304 + 38879727 + 9352174, 0)
    assert vmxnet3["tx-1"][0] == 64809 + 6
    be2net = queues("be2net", sample("insights-core/ethtool.ETHTOOL_S_eth0_1"))
    assert be2net == {"rx-0": (5000000, None, 5000), "rx-1": (5000000, None, 5000)}


@needs_samples
def test_the_queues_of_a_real_nic_make_up_its_packets() -> None:
    text = sample("insights-core/ethtool.SUCCEED_ETHTOOL_S")
    found = queues("igb", text)
    assert sum(values[0] or 0 for name, values in found.items() if name[0] == "r") == 912398
    text = sample("ethq/mlx5_core")
    found = queues("mlx5_core", text)
    assert sum(values[0] or 0 for name, values in found.items() if name[0] == "r") == 845320277
