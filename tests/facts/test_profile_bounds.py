"""The profile of traffic at, below and above each of its bounds."""

from dataclasses import MISSING, fields
from typing import Any

import pytest
from folded import folded

from nettop.advice.judge.inline_facts import facts
from nettop.collect import threads
from nettop.facts.flows import _bulk
from nettop.facts.kinds.capture import Capture
from nettop.facts.kinds.flow import Flow
from nettop.facts.kinds.nic import Counters, Nic
from nettop.facts.kinds.thread import Thread, build
from nettop.facts.profile import Chooser, Guess, guess
from nettop.frame.rates import Entry, Frame


def nic(size: float, frame: float, kind: str = "nic", **more: Any) -> Nic:
    """An interface that receives so many bytes a second in packets of that size."""
    rates = Counters(rx_bytes=size, rx_packets=size / frame, tx_bytes=1.0, tx_packets=0.0)
    return Nic(name="eth0", kind=kind, per_s=rates, **more)


def flow(trip: float | None, **more: Any) -> Flow:
    plain: dict[str, Any] = {"id": "f", "protocol": "tcp", "min_rtt": trip, "bulk": True}
    missing = dict.fromkeys((one.name for one in fields(Flow) if one.default is MISSING), "")
    return Flow(**{**missing, **plain, **more})


def name(size: float, frame: float, trip: float | None, flows: int = 1) -> str:
    found = guess([nic(size, frame)], [flow(trip)] * flows, [])
    return f"{found.name}{'' if found.sure else ' not sure'}"


@folded(("size", "frame", "trip", "expected"), [
    (124_999.0, 1400.0, 0.05, "server not sure"), (125_000.0, 1400.0, 0.05, "bulk-wan"),
    (1e8, 1000.0, 0.05, "server"), (1e8, 1001.0, 0.05, "bulk-wan"),
    (1e8, 1400.0, 0.010, "server"), (1e8, 1400.0, 0.0101, "bulk-wan"),
    (1e8, 1400.0, 0.002, "server"), (1e8, 1400.0, 0.00199, "bulk-lan"),
    (1e8, 1000.0, 0.001, "server"), (1e8, 1400.0, None, "server"),
    (1e8, 300.0, 0.0005, "server"), (1e8, 299.0, 0.0005, "latency"),
    (1e8, 299.0, 0.001, "server"), (1e8, 299.0, 0.00099, "latency"),
    (100_000.0, 100.0, 0.0005, "latency"), (99_900.0, 100.0, 0.0005, "server not sure"),
])  # fmt: skip
def test_the_profile_at_its_bounds(
    size: float, frame: float, trip: float | None, expected: str
) -> None:
    assert name(size, frame, trip) == expected


@pytest.mark.parametrize(("flows", "expected"), [(64, "latency"), (65, "server")])
def test_few_flows_are_for_latency(flows: int, expected: str) -> None:
    assert name(1e8, 200.0, 0.0005, flows) == expected


def test_no_packet_is_no_profile() -> None:
    little = Guess("server", "the default while there is little traffic", sure=False)
    assert guess([], [], []) == little
    still = Nic(name="eth0", kind="nic", per_s=Counters(rx_bytes=1e9, rx_packets=0.0))
    assert not guess([still], [flow(0.05)], []).sure


def test_ports_count_and_without_them_what_is_not_made_of_others() -> None:
    bond = nic(1e8, 1400.0, "bond")
    veth = nic(1e8, 200.0, "veth")
    flows = [flow(0.05)]
    assert guess([bond], flows, []).sure is False
    assert guess([bond, veth], flows, []).why.startswith("mean packet 200 bytes")
    port = nic(1e8, 1400.0)
    assert guess([bond, veth, port], flows, []).why.startswith("mean packet 1400 bytes")


@folded(("more", "counts"), [
    ({"bulk": True}, True), ({"bulk": False}, False), ({"bulk": False, "rx_per_s": 1.0}, True),
    ({"bulk": False, "tx_per_s": 1.0}, True), ({"bulk": False, "rx_per_s": 0.0}, False),
])  # fmt: skip
def test_round_trips_are_those_of_flows_that_move(more: dict[str, Any], counts: bool) -> None:
    found = guess([nic(1e8, 1400.0)], [flow(0.05, **more)], [])
    assert ("median least round trip" in found.why) is counts


def test_the_least_round_trip_counts_before_the_mean() -> None:
    assert "50 ms" in guess([nic(1e8, 1400.0)], [flow(0.05, rtt=0.9)], []).why
    assert "900 ms" in guess([nic(1e8, 1400.0)], [flow(None, rtt=0.9)], []).why


@folded(("more", "port", "captures"), [
    ({}, {}, False), ({"ring_version": 3}, {}, True), ({"fanout": 0}, {}, True),
    ({"drops_per_s": 0.0}, {}, False), ({"drops_per_s": 0.1}, {}, True),
    ({}, {"promisc": True}, True), ({}, {"promisc": True, "master": "br0"}, False),
    ({"nic": None, "ring_version": 3}, {}, True), ({"nic": "gone", "ring_version": 3}, {}, False),
    ({"nic": None}, {"promisc": True}, False),
    ({"ring_version": 3}, {"kind": "loopback"}, False),
])  # fmt: skip
def test_who_captures(more: dict[str, Any], port: dict[str, Any], captures: bool) -> None:
    plain: dict[str, Any] = {"inode": 9, "nic": "eth0", "process": "tcpdump", **more}
    seen = Capture(**plain)
    given = {"kind": "nic", **port}
    found = guess([nic(1e8, 1400.0, **given)], [], [seen])
    assert (found.name == "capture") is captures
    if captures:
        where = plain["nic"] or "every interface"
        assert found.why == f"tcpdump captures on {where}"


def test_another_profile_is_in_force_after_five_seconds() -> None:
    chooser = Chooser()
    lan, wan, quiet = Guess("bulk-lan", "a"), Guess("bulk-wan", "b"), Guess("server", "c", False)
    steps = [(0, quiet, "server"), (1, lan, "bulk-lan"), (2, wan, "bulk-lan"),
             (6.9, wan, "bulk-lan"), (7, wan, "bulk-wan"), (8, lan, "bulk-wan"),
             (9, quiet, "bulk-wan"), (13, lan, "bulk-wan"), (17.9, lan, "bulk-wan"),
             (18, lan, "bulk-lan"), (19, quiet, "bulk-lan"),
             (20, wan, "bulk-lan"), (24, lan, "bulk-lan"), (26, wan, "bulk-lan")]  # fmt: skip
    for at, found, expected in steps:
        assert chooser.choose(None, found, at).name == expected, at
    own = chooser.choose("latency", wan, 99.0)
    assert (own.name, own.why, own.chosen) == ("latency", "chosen", True)


@folded(("moved", "speed", "bulk"), [
    (1_250_000.0, None, False), (1_250_001.0, None, True), (1_250_000.0, 10e9, False),
    (1_250_001.0, 10e9, True), (125_000.0, 100e6, False), (125_001.0, 100e6, True),
    (1_250_001.0, 0.0, True), (125_001.0, 0.0, False),
])  # fmt: skip
def test_what_is_a_bulk_flow(moved: float, speed: float | None, bulk: bool) -> None:
    assert _bulk(moved, speed) == bulk


# Threads of one name: how many they are, and how busy the busiest other one is.


def thread(tid: int, name: str, ran: float, pid: int = 7) -> Entry[threads.Row]:
    before = threads.Row(pid, tid, 1, name, "S", 0.0, 0.0, 0)
    after = threads.Row(pid, tid, 1, name, "S", ran, 0.0, 0)
    return Entry(after, before=before, seconds=1.0)


def built(*entries: Entry[threads.Row]) -> dict[int, Thread]:
    around = facts({"processes": [{"pid": 7, "name": "app", "nic": "eth0"}]}, "server", 0.0)
    return {one.tid: one for one in build(Frame(1.0, 1.0, {"threads": list(entries)}), around)}


def test_workers_with_a_number_are_of_one_group() -> None:
    found = built(
        thread(1, "worker-1", 0.97), thread(2, "worker-2", 0.05), thread(3, "worker-11", 0.02),
        thread(4, "logger", 0.4), thread(5, "worker-1", 0.6, pid=8),
    )  # fmt: skip
    assert [found[tid].group for tid in range(1, 6)] == [3, 3, 3, 1, 1]
    assert found[1].rest == 5.0
    assert found[2].rest == found[3].rest == 97.0
    assert found[4].rest is None
    assert (found[1].nic, found[5].nic) == ("eth0", None)


def test_what_a_thread_used_may_be_unknown() -> None:
    found = built(Entry(threads.Row(7, 1, 1, "w1", "S", None, None, 0)), thread(2, "w2", 0.3))
    assert found[1].rest is None
    assert found[2].rest == 0.0
