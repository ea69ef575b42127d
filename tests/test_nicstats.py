"""Drivers' statistics folded into few names: the right sums, on retyped and on real outputs."""

from __future__ import annotations

import errno
import os
import re
import struct
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from netlink_bytes import Fake, link, message, number, u64

from nettop.collect import _drivers as drivers
from nettop.collect import drvinfo, irqs, nicqueues, nicstats, nicstats_raw
from nettop.collect._driver_statistics import Reading
from nettop.facts.kinds.nic import Counters
from nettop.host.netlink import driver, netdev
from nettop.host.netlink.codec import attribute
from nettop.sampling.sampler import Sampler

SAMPLES = os.environ.get("NETTOP_SAMPLES")
needs_samples = pytest.mark.skipif(not SAMPLES, reason="NETTOP_SAMPLES names no folder of outputs")


def reading(name: str, text: str) -> Reading:
    """What `ethtool -S` printed, as if the driver had just said it."""
    pairs = [match.groups() for match in re.finditer(r"^\s*(\S.*): *(\d+)$", text, re.MULTILINE)]
    names = tuple(name for name, _ in pairs)
    about = drivers.driver(name)
    values = tuple(int(value) for _, value in pairs)
    return Reading("eth0", about, drivers.plan(about, names), names, values)


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
    "virtio_net vmxnet3 hv_netvsc be2net sfc r8169 veth"
).split()


def test_the_table_has_the_drivers_and_only_the_counters_of_the_facts() -> None:
    assert set(NEEDED) <= drivers.table().keys()
    facts = {field.name for field in fields(Counters)}
    rows = {field.name for field in fields(nicstats.Row)} - {"interface", "driver"}
    assert set(drivers.COUNTS) == rows
    assert rows <= facts


@pytest.mark.parametrize("name", NEEDED)
def test_every_driver_counts_some_loss(name: str) -> None:
    about = drivers.driver(name)
    assert about.title
    lossy = {"ring_drops", "alloc_fails", "allowance_pps"} & about.count.keys()
    assert lossy, f"{name} counts no loss"


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


def test_igb_adds_the_two_places_of_loss_and_leaves_out_what_only_waited() -> None:
    text = (
        "rx_no_buffer_count: 100\nrx_missed_errors: 3\nrx_fifo_errors: 7\n"
        "rx_queue_0_drops: 4\nrx_queue_1_drops: 3\nrx_queue_0_packets: 10\n"
    )
    assert counted("igb", text)["ring_drops"] == 10
    assert queues("igb", text) == {"rx-0": (10, None, 4), "rx-1": (None, None, 3)}


def test_virtio_counts_by_queue_and_falls_back_to_the_total() -> None:
    old = "rx_queue_0_drops: 1\nrx_queue_1_drops: 2\nrx_queue_1_packets: 9\n"
    assert counted("virtio_net", old)["ring_drops"] == 3
    assert queues("virtio_net", old)["rx-1"] == (9, None, 2)
    new = "rx_drops: 4\nrx0_drops: 1\nrx1_drops: 3\ntx_tx_timeouts: 2\ntx0_tx_timeouts: 2\n"
    assert counted("virtio_net", new) == {"ring_drops": 4, "tx_timeouts": 2}
    assert counted("virtio_net", "rx_drops: 4\n")["ring_drops"] == 4


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


# real outputs: sample file, driver, values read from it by hand
REAL: list[tuple[str, str, dict[str, int]]] = [
    ("ethq/bnx2", "bnx2", {"ring_drops": 0, "pause_rx": 0, "pause_tx": 306 + 332}),
    ("ethq/e1000e", "e1000e", {"ring_drops": 0, "phy_errors": 0, "alloc_fails": 0}),
    ("ethq/mlx5_core", "mlx5_core", {"ring_drops": 0, "alloc_fails": 0, "phy_discards": 0}),
    ("ethq/r8169", "r8169", {"ring_drops": 0, "phy_errors": 0}),
    ("ethtool-exporter/_S_i40e21_int_tp", "i40e", {"ring_drops": 0, "phy_errors": 341}),
    # named after ixgbe, but these are an i40e's statistics
    ("ethtool-exporter/_S_ixgbe418_sfp_10gsr85", "i40e", {"ring_drops": 363}),
    ("ethtool-exporter/_S_igb56_int_tp", "igb", {"ring_drops": 0, "tx_timeouts": 0}),
    ("ethtool-exporter/_S_tg3_418_int_tp", "tg3", {"ring_drops": 0, "pause_tx": 0}),
    ("insights-core/ethtool.TEST_ETHTOOL_S_DOCS", "tg3", {"phy_errors": 0, "pause_rx": 0}),
    ("insights-core/ethtool.ETHTOOL_S_eth0_1", "be2net", {"ring_drops": 10000}),
    ("insights-core/ethtool.SUCCEED_ETHTOOL_S", "igb", {"ring_drops": 0}),
    ("lab-qemu-debian6.1-8cpu/ethtool_-S_eth0", "e1000e", {"ring_drops": 0, "pause_rx": 0}),
    ("lab-qemu-debian6.1-8cpu/ethtool_-S_eth2", "vmxnet3", {"ring_drops": 0, "alloc_fails": 0}),
    ("lab-qemu-debian6.1-8cpu/ethtool_-S_eth3", "virtio_net", {"ring_drops": 0, "tx_timeouts": 0}),
    ("lab-qemu-debian6.1-8cpu/ethtool_-S_eth4", "8139cp", {"ring_drops": 0, "phy_errors": 0}),
    ("small-vm-6.18/ethtool-S.eth0", "virtio_net", {"ring_drops": 0, "tx_timeouts": 0}),
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


def names_answer(names: list[str]) -> dict[str, bytes | int]:
    raw = b"".join(name.encode().ljust(32, b"\0") for name in names)
    return {
        "count/1/eth0": struct.pack("=IIQI", 0x37, 0, 2, len(names)),
        "names/1/eth0": struct.pack("=III", 0x1B, 1, len(names)) + raw + bytes(32 * 64),
        "drvinfo/eth0": struct.pack("=I32s32s32s32s64x", 3, b"virtio_net", b"1.0", b"N/A", b"pci"),
    }


def values_answer(values: list[int]) -> bytes:
    return struct.pack(f"=II{len(values)}Q", 0x1D, len(values), *values)


def host(names: list[str], values: list[int]) -> Fake:
    answers = {**names_answer(names), "statistics/eth0": values_answer(values)}
    return Fake({"route/links": link(2, "eth0")}, answers)


def test_one_frame_asks_the_driver_once() -> None:
    source, memory = host(["rx0_drops", "rx0_packets"], [3, 4]), dict[str, Any]()
    assert nicqueues.update(source, memory)[0] == nicqueues.Row("eth0", "rx-0", 4, None, 3)
    assert nicstats.update(source, memory)[0].ring_drops == 3
    assert [(row.name, row.value) for row in nicstats_raw.update(source, memory)] == [
        ("rx0_drops", 3),
        ("rx0_packets", 4),
    ]
    assert source.asked.count("statistics/eth0") == 1
    source.at = 1.0
    source.ioctls["statistics/eth0"] = values_answer([5, 4])
    assert nicstats.update(source, memory)[0].ring_drops == 5
    assert source.asked.count("names/1/eth0") == 1


@pytest.mark.parametrize("told", [4, 0])
def test_when_queues_change_the_names_are_read_again(told: int) -> None:
    """Old kernels say the new number (and write so many); those of 2026 say 0."""
    source, memory = host(["rx0_drops", "rx0_packets"], [3, 4]), dict[str, Any]()
    nicstats.update(source, memory)
    names = ["rx0_drops", "rx0_packets", "rx1_drops", "rx1_packets"]

    class Changed(Fake):
        def statistics(self, interface: str, request: bytes, name: str) -> bytes:
            asked = struct.unpack_from("=I", request, 4)[0]
            if name == "statistics/eth0" and asked != 4:
                return struct.pack("=II", 0x1D, told) + request[8:]
            return super().statistics(interface, request, name)

    changed = Changed(source.netlinks, source.ioctls)
    changed.at = 0.5
    assert (
        nicstats.update(changed, memory) == []
    )  # three of the driver's names, but another number of values
    changed.ioctls |= {**names_answer(names), "statistics/eth0": values_answer([3, 4, 7, 8])}
    changed.at = 1.0
    assert nicstats.update(changed, memory)[0].ring_drops == 10
    assert [row.queue for row in nicqueues.update(changed, memory)] == ["rx-0", "rx-1"]


def test_the_kernel_counts_by_queue_what_the_driver_no_longer_does() -> None:
    def queue(kind: int, which: int, *counts: bytes) -> bytes:
        head = struct.pack("=BBH", 12, 1, 0)
        return message(
            30, head + number(1, 2) + number(2, kind) + number(3, which) + b"".join(counts)
        )

    source = host(["rx0_drops", "rx1_drops"], [3, 4])
    source.netlinks["netdev/queues"] = (
        queue(0, 0, attribute(8, u64(1 << 40)), attribute(9, u64(50)))
        + queue(0, 1, number(8, 7), number(14, 9))
        + queue(1, 0, number(10, 6), number(11, 60))
    )
    found = {row.queue: row for row in nicqueues.update(source, {})}
    assert [(row.packets, row.bytes, row.drops) for row in found.values()] == [
        (1 << 40, 50, 3),
        (7, None, 4),  # the driver's own count of drops, not the kernel's
        (6, 60, None),
    ]
    assert list(found) == ["rx-0", "rx-1", "tx-0"]


def test_an_old_kernel_is_asked_for_its_queues_once() -> None:
    source, memory = host(["rx0_drops"], [3]), dict[str, Any]()
    assert nicqueues.update(source, memory)[0].drops == 3
    nicqueues.update(source, memory)
    assert source.asked.count("netdev/queues") == 1


def queue_counts(index: int, packets: int) -> bytes:
    head = struct.pack("=BBH", 12, 1, 0)
    return message(30, head + number(1, index) + number(2, 0) + number(3, 0) + number(8, packets))


def test_a_driver_s_error_leaves_the_queues_of_the_others() -> None:
    source = Fake({"route/links": link(2, "eth0") + link(3, "eth1"), "netdev/queues": errno.EAGAIN})
    source.netlinks["netdev/queues/eth0"] = errno.EIO
    source.netlinks["netdev/queues/eth1"] = queue_counts(3, 7)
    memory: dict[str, Any] = {}
    for _ in range(2):
        (row,) = nicqueues.update(source, memory)
        assert (row.interface, row.queue, row.packets) == ("eth1", "rx-0", 7)


def test_a_kernel_that_answered_late_is_asked_again() -> None:
    source = Fake({"route/links": link(2, "eth0"), "netdev/queues": errno.ETIMEDOUT})
    memory: dict[str, Any] = {}
    assert nicqueues.update(source, memory) == []
    source.netlinks["netdev/queues"] = queue_counts(2, 7)
    assert nicqueues.update(source, memory) == []  # not at once: each question may take a second
    source.wait(10.0)
    assert [row.packets for row in nicqueues.update(source, memory)] == [7]


def _napi(*values: tuple[int, int]) -> bytes:
    return message(30, struct.pack("=BBH", 11, 1, 0) + b"".join(number(k, v) for k, v in values))


def _queue(index: int, queue: int, kind: int, napi: int | None) -> bytes:
    told = [] if napi is None else [(4, napi)]
    return _napi((2, index), (1, queue), (3, kind), *told)


def test_what_is_no_counter_has_a_level_and_no_rate() -> None:
    source = host(["peer_ifindex", "rx_queue_0_drops"], [7, 3])
    source.ioctls["drvinfo/eth0"] = struct.pack("=I32s32s32s32s64x", 3, b"veth", b"1.0", b"", b"")
    frames = Sampler(source)
    frames.take(["nicstats_raw"])
    source.wait(2.0)
    entries = frames.take(["nicstats_raw"]).tables["nicstats_raw"]
    assert [(e.now.name, e.now.value, e.now.level, e.rate("value")) for e in entries] == [
        ("peer_ifindex", None, 7, None), ("rx_queue_0_drops", 3, None, 0.0),
    ]  # fmt: skip


def test_the_kernel_tells_the_queues_of_an_interrupt() -> None:
    source = Fake(
        {
            "route/links": link(2, "eth0") + link(3, "eth1"),
            # eth1's driver does not tell its interrupt: virtio_net of 6.18
            "netdev/napis": _napi((1, 2), (2, 257), (3, 41)) + _napi((1, 3), (2, 300)),
            "netdev/queue-napis": _queue(2, 0, 0, 257)
            + _queue(2, 0, 1, 257)
            + _queue(2, 1, 1, None)
            + _queue(3, 0, 0, 300),
        }
    )
    assert netdev.interrupts(source) == {41: ((2, "rx-0"), (2, "tx-0"))}
    assert irqs._queues(source) == {41: ("eth0/rx-0", "eth0/tx-0")}


def test_where_no_driver_tells_its_queues_are_not_asked() -> None:
    source = Fake({"netdev/napis": _napi((1, 3), (2, 300))})
    assert irqs._queues(source) == {}
    assert source.asked == ["netdev/napis"]
    assert irqs._queues(Fake()) == {}  # a kernel without the question


@given(st.binary(max_size=120), st.binary(max_size=120))
def test_answers_about_queues_may_be_any_bytes(napis: bytes, told: bytes) -> None:
    good = _napi((1, 2), (2, 257), (3, 41))
    for source in (
        Fake({"netdev/napis": napis, "netdev/queue-napis": told}),
        Fake({"netdev/napis": good, "netdev/queue-napis": told}),
    ):
        assert irqs._queues(source) == {}


def test_an_interface_that_goes_leaves_the_others() -> None:
    source, memory = host(["rx0_drops"], [3]), dict[str, Any]()
    source.netlinks["route/links"] = link(2, "eth0") + link(3, "gone")
    assert [row.interface for row in nicstats.update(source, memory)] == ["eth0"]
    source.at = 1.0
    source.ioctls["statistics/eth0"] = 19  # ENODEV: renamed
    assert nicstats.update(source, memory) == []


def test_hundreds_of_software_interfaces_are_not_asked() -> None:
    source = Fake({"route/links": b"".join(link(i, f"v{i}") for i in range(2, 40))})
    memory: dict[str, Any] = {}
    for i in range(2, 40):
        described = struct.pack("=I32s32s32s32s64x", 3, b"veth", b"1.0", b"", b"")
        source.ioctls[f"drvinfo/v{i}"] = described
    assert nicstats.update(source, memory) == []
    assert not any(name.startswith("count/") for name in source.asked)


def test_a_device_on_a_bus_is_asked_among_hundreds() -> None:
    source, memory = host(["rx0_drops"], [3]), dict[str, Any]()
    source.netlinks["route/links"] = b"".join(link(i, f"v{i}") for i in range(3, 50)) + link(
        2, "eth0"
    )
    assert [row.interface for row in nicstats.update(source, memory)] == ["eth0"]


def test_drvinfo_says_what_the_table_knows() -> None:
    row = drvinfo.read(host([], []))[0]
    assert (row.driver, row.version, row.firmware, row.bus) == ("virtio_net", "1.0", None, "pci")
    assert (row.para, row.arfs, row.fcs_counted) == (True, False, False)
    unknown = drvinfo.row("eth0", driver.Info("new_one", "", "", ""))
    assert (unknown.title, unknown.para, unknown.version) == (None, None, None)


@given(st.lists(st.text(max_size=40), max_size=30))
def test_any_names_make_a_plan(names: list[str]) -> None:
    for about in drivers.table().values():
        found: Any = drivers.plan(about, names)
        assert all(0 <= place < len(names) for places in found.counts.values() for place in places)


@given(st.binary(max_size=200))
def test_any_bytes_of_queue_statistics_are_a_value_error_or_queues(raw: bytes) -> None:
    try:
        netdev.parse(raw)
    except ValueError:
        return


@pytest.mark.parametrize(("count", "told"), [(22_927, None), (131_073, "131,073 are more than")])
def test_a_driver_of_many_statistics_is_read_or_its_bound_is_told(
    count: int, told: str | None
) -> None:
    names = ["rx_packets", *(f"rx{n}_xdp_drop" for n in range(count - 1))]
    source = host(names, list(range(count)))
    sampler = Sampler(source)
    for _ in range(2):  # of the second frame, what is not read again is still told
        frame = sampler.take(["nicstats", "nicstats_raw", "nicqueues"])
    raw = frame.rows("nicstats_raw")
    assert len(raw) == (0 if told else count)
    for table in ("nicstats", "nicstats_raw", "nicqueues"):
        assert table in frame.tables
        assert frame.missing.get(table, "").startswith(f"eth0: {told}") == bool(told)


def test_one_interface_that_is_not_understood_does_not_hide_the_others() -> None:
    source = host(["rx_queue_0_drops"], [7])
    source.netlinks["route/links"] = link(2, "eth0") + link(3, "eth1")
    more = {name.replace("eth0", "eth1"): said for name, said in source.ioctls.items()}
    source.ioctls |= {**more, "names/1/eth1": b"cut"}
    frame = Sampler(source).take(["nicstats"])
    assert [(row.interface, row.ring_drops) for row in frame.rows("nicstats")] == [("eth0", 7)]
    assert frame.missing == {"nicstats": "eth1: the driver's names are cut off"}
