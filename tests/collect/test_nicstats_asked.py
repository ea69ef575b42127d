"""Which questions the kernel is asked about statistics, how often, and what its answers may be."""

import errno
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from netlink_bytes import Fake, link, message, number, u64

from nettop.collect import _drivers as drivers
from nettop.collect import drvinfo, irqs, nicqueues, nicstats, nicstats_raw
from nettop.collect._table import Memory
from nettop.host.netlink import driver, netdev
from nettop.host.netlink.codec import attribute
from nettop.sampling.sampler import Sampler


def names_answer(names: list[str]) -> dict[str, bytes | int]:
    raw = b"".join(name.encode().ljust(32, b"\0") for name in names)
    return {
        "count/1/eth0": struct.pack("=IIQI", 0x37, 0, 2, len(names)),
        "names/1/eth0": struct.pack("=III", 0x1B, 1, len(names)) + raw + bytes(32 * 64),
        "drvinfo/eth0": struct.pack("=I32s32s32s32s64x", 3, b"igb", b"1.0", b"N/A", b"pci"),
    }


def values_answer(values: list[int]) -> bytes:
    return struct.pack(f"=II{len(values)}Q", 0x1D, len(values), *values)


def host(names: list[str], values: list[int]) -> Fake:
    answers = {**names_answer(names), "statistics/eth0": values_answer(values)}
    return Fake({"route/links": link(2, "eth0")}, answers)


def test_one_frame_asks_the_driver_once() -> None:
    source, memory = host(["rx_queue_0_drops", "rx_queue_0_packets"], [3, 4]), Memory()
    assert nicqueues.update(source, memory)[0] == nicqueues.Row("eth0", "rx-0", 4, None, 3)
    assert nicstats.update(source, memory)[0].ring_drops == 3
    assert [(row.name, row.value) for row in nicstats_raw.update(source, memory)] == [
        ("rx_queue_0_drops", 3),
        ("rx_queue_0_packets", 4),
    ]
    assert source.asked.count("statistics/eth0") == 1
    source.at = 1.0
    source.ioctls["statistics/eth0"] = values_answer([5, 4])
    assert nicstats.update(source, memory)[0].ring_drops == 5
    assert source.asked.count("names/1/eth0") == 1


@pytest.mark.parametrize("told", [4, 0])
def test_when_queues_change_the_names_are_read_again(told: int) -> None:
    """Old kernels say the new number (and write so many); those of 2026 say 0."""
    source, memory = host(["rx_queue_0_drops", "rx_queue_0_packets"], [3, 4]), Memory()
    nicstats.update(source, memory)
    names = ["rx_queue_0_drops", "rx_queue_0_packets", "rx_queue_1_drops", "rx_queue_1_packets"]

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

    source = host(["rx_queue_0_drops", "rx_queue_1_drops"], [3, 4])
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


def test_packets_that_the_device_filtered_are_no_full_ring() -> None:
    mixed = {"rx_hw_drops": 9}
    assert nicqueues.row("eth0", "rx-0", {}, {**mixed, "rx_hw_drop_overruns": 2}).drops == 2
    assert nicqueues.row("eth0", "rx-0", {}, mixed).drops is None


def test_an_old_kernel_is_asked_for_its_queues_once() -> None:
    source, memory = host(["rx_queue_0_drops"], [3]), Memory()
    assert nicqueues.update(source, memory)[0].drops == 3
    nicqueues.update(source, memory)
    assert source.asked.count("netdev/queues") == 1


def queue_counts(index: int, packets: int) -> bytes:
    head = struct.pack("=BBH", 12, 1, 0)
    return message(30, head + number(1, index) + number(2, 0) + number(3, 0) + number(8, packets))


def test_a_kernel_that_answered_late_is_asked_again() -> None:
    source = Fake({"route/links": link(2, "eth0"), "netdev/queues": errno.ETIMEDOUT})
    memory: Memory = {}
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
    source, memory = host(["rx_queue_0_drops"], [3]), Memory()
    source.netlinks["route/links"] = link(2, "eth0") + link(3, "gone")
    assert [row.interface for row in nicstats.update(source, memory)] == ["eth0"]
    source.at = 1.0
    source.ioctls["statistics/eth0"] = 19  # ENODEV: renamed
    assert nicstats.update(source, memory) == []


def test_hundreds_of_software_interfaces_are_not_asked() -> None:
    source = Fake({"route/links": b"".join(link(i, f"v{i}") for i in range(2, 40))})
    memory: Memory = {}
    for i in range(2, 40):
        described = struct.pack("=I32s32s32s32s64x", 3, b"veth", b"1.0", b"", b"")
        source.ioctls[f"drvinfo/v{i}"] = described
    assert nicstats.update(source, memory) == []
    assert not any(name.startswith("count/") for name in source.asked)


def test_the_driver_of_a_software_interface_among_hundreds_is_asked_once() -> None:
    source = Fake({"route/links": b"".join(link(i, f"v{i}") for i in range(2, 40))})
    memory: Memory = {}
    described = struct.pack("=I32s32s32s32s64x", 3, b"veth", b"1.0", b"", b"")
    source.ioctls.update({f"drvinfo/v{i}": described for i in range(2, 40)})
    nicstats.update(source, memory)
    source.asked.clear()
    source.at += 100.0
    renewed = [link(i, f"v{i}") for i in range(3, 40)] + [link(50, "new"), link(51, "v2")]
    source.netlinks["route/links"] = b"".join(renewed)  # v2 is made anew
    source.ioctls["drvinfo/new"] = described
    nicstats.update(source, memory)
    assert sorted(name for name in source.asked if "drvinfo" in name) == [
        "drvinfo/new",
        "drvinfo/v2",
    ]


def test_drvinfo_says_what_the_table_knows() -> None:
    row = drvinfo.update(host([], []), {})[0]
    assert (row.driver, row.version, row.firmware, row.bus) == ("igb", "1.0", None, "pci")
    assert (row.para, row.arfs, row.fcs_counted) == (False, False, False)
    assert drvinfo.row("eth0", driver.Info("virtio_net", "", "", "")).para
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
