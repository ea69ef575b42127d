"""Captures joined: what each misses, and where one could be attached."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from flow_tables import HOST, Tables, joined, lines, task

from nettop.collect import (
    link_stats,
    packet_sockets,
    socket_owners,
)
from nettop.facts.kinds import capture
from nettop.facts.kinds.core import Core
from nettop.facts.kinds.nic import Nic
from nettop.facts.kinds.queue import Queue
from nettop.frame.rates import Entry


def counted(name: str, **counts: int) -> Any:
    names = [n for n in link_stats.Row.__dataclass_fields__ if n not in ("interface", "index")]
    return link_stats.Row(name, 1, **{**dict.fromkeys(names, 0), **counts})


def listener(inode: int, **more: Any) -> packet_sockets.Row:
    return packet_sockets.Row(inode, **{"index": 2, "protocol": 3, "type": "raw", **more})


def test_where_a_capture_could_go() -> None:
    """A card's interrupts take its packets; of a device without any, RPS names who does."""
    queues = [
        Queue("eth0", "rx-0", "rx", 0, rps_cpus=(1,)), Queue("eth0", "tx-0", "tx", 0, rps_cpus=(3,))
    ]  # fmt: skip
    veth, card = Nic("eth0", "veth"), Nic("eth0", "nic", irq_cpus=(2,), local_cpus=(0, 1, 2))
    assert capture.receiving(veth, queues) == (1,)
    assert capture.receiving(card, queues) == (2,)
    assert capture.receiving(Nic("eth0", "nic"), queues) == ()

    def seen(nic: Nic, cpu: int) -> tuple[bool | None, tuple[int, ...]]:
        task = SimpleNamespace(cpu=cpu, row=SimpleNamespace(nice=0))
        cores = {n: Core(n, siblings=(n ^ 1,)) for n in range(4)}
        tasks: Any = SimpleNamespace(by_pid={70: task})
        owners, nics = {5: (70, "tool")}, {"eth0": nic}
        scene = capture.CaptureInputs({2: "eth0"}, owners, tasks, nics, cores, {"eth0": queues})
        (one,) = capture.build([Entry(listener(5))], scene)
        return one.on_irq_cpu, one.elsewhere

    assert seen(veth, 1) == (True, (2, 3))
    assert seen(veth, 2) == (False, ())  # CPU 0 is a sibling of the CPU that receives
    assert seen(card, 2) == (True, (0, 1))
    assert seen(card, 3) == (False, (0, 1))
    two = Nic("eth0", "nic", irq_cpus=(0,), local_cpus=(0, 1, 2, 3))
    assert seen(two, 2) == (False, ())
    assert seen(two, 1) == (False, (2, 3))


def test_captures_and_what_is_none() -> None:
    def at(drops: int, spent: float) -> Tables:
        return {
            **HOST,
            "packet_sockets": [
                listener(5, ring_version=3, ring_bytes=1 << 20, fanout=9, drops=drops),
                listener(6, fanout=9, ring_version=3, index=None),
                listener(7),
                listener(8, protocol=0x88CC),
            ],
            "socket_owners": [
                socket_owners.Row(5, 70, "suricata"), socket_owners.Row(7, 71, "dhclient"),
                socket_owners.Row(8, 72, "tool"),
            ],
            "processes": [task(70, "suricata", 3, spent, nice=5)],
            "interrupts": lines(0, round(spent * 10)),
            "link_stats": [counted("eth0", rx_bytes=round(spent * (1 << 20)))],
        }  # fmt: skip

    facts = joined(at(0, 0.0), at(20, 1.0))
    one, everywhere = facts.captures
    assert (one.nic, one.process, one.pid, one.drops_per_s) == ("eth0", "suricata", 70, 20)
    assert (one.fanout_size, one.cpu, one.node, one.on_irq_cpu, one.nice) == (2, 3, 1, True, 5)
    assert (one.on_irq_sibling, one.off_node) == (False, False)
    assert one.ring_seconds == pytest.approx(1.0)
    assert (everywhere.nic, everywhere.pid) == (None, None)
    assert facts.host.captures == 2
    assert facts.nics[1].capture is True
    assert facts.profile.name == "capture"
    assert facts.processes[0].packet_sockets == 1


@pytest.mark.parametrize(("rate", "lasts"), [(2e6, 0.5), (None, None), (0.0, None)])
def test_a_ring_lasts_as_long_as_what_arrives_takes_to_fill_it(
    rate: float | None, lasts: float | None
) -> None:
    nic = Nic("eth0", "nic")
    nic = replace(nic, per_s=replace(nic.per_s, rx_bytes=rate))
    tasks: Any = SimpleNamespace(by_pid={})
    scene = capture.CaptureInputs({2: "eth0"}, {5: (70, "tool")}, tasks, {"eth0": nic}, {}, {})
    (one,) = capture.build([Entry(listener(5, ring_bytes=1_000_000))], scene)
    assert one.ring_seconds == lasts


@pytest.mark.parametrize(
    ("drops", "more", "unread"),
    [
        (1000, {}, True),  # all that is received and sent
        (900, {}, True),
        (899, {}, False),  # somebody reads a part
        (0, {}, False),
        (1000, {"ring_version": 3}, None),  # the losses of a ring are not known
        (1000, {"fanout": 9}, None),  # each socket sees a part
    ],
)
def test_a_packet_socket_that_drops_all_packets_is_not_read(
    drops: int, more: dict[str, int], unread: bool | None
) -> None:
    def at(seconds: int) -> Tables:
        return {
            **HOST,
            "packet_sockets": [listener(5, drops=drops * seconds, **more)],
            "socket_owners": [socket_owners.Row(5, 70, "tool")],
            "processes": [task(70, "tool", 3, 0.0)],
            "link_stats": [counted("eth0", rx_packets=600 * seconds, tx_packets=400 * seconds)],
        }

    facts = joined(at(1), at(2))
    assert facts.captures[0].unread is unread
    assert facts.processes[0].packet_sockets_unread == bool(unread)


def test_without_packets_nothing_says_that_a_packet_socket_is_not_read() -> None:
    tables = {**HOST, "packet_sockets": [listener(5, drops=7)], "link_stats": [counted("eth0")]}
    assert joined(tables, tables).captures[0].unread is False
