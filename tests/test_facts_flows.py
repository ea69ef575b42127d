"""Flows, processes, captures, cores, host, profile and paths joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nettop import collect
from nettop.collect import _legacy as legacy
from nettop.collect import (
    addresses,
    conntrack,
    cpu,
    drvinfo,
    interrupts,
    kernel,
    link_stats,
    links,
    meself,
    netclass,
    nicqueues,
    packet_sockets,
    processes,
    queues,
    routes,
    rss,
    services,
    snmp,
    socket_owners,
    sockets_tcp,
    sockets_udp,
    softirqs,
    softnet,
    sysctl_files,
    sysctls,
    topology,
)
from nettop.facts import Facts, bottleneck, distance, profile
from nettop.facts.counters import middle
from nettop.facts.joined import NEEDS, Joiner, triple
from nettop.facts.kinds import capture, path
from nettop.facts.kinds.core import Core
from nettop.facts.kinds.flow import Flow
from nettop.facts.kinds.nic import Counters, Nic, Pcie
from nettop.facts.kinds.queue import Queue
from nettop.facts.toeplitz import Packet, hashed, key_bytes, queue_of, toeplitz
from nettop.facts.wiring import Routes
from nettop.frame.rates import Entry, Frame, entries

Tables = Mapping[str, Sequence[Any]]
KEY = bytes.fromhex(
    "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa"
).hex(":")


def frames(*moments: Tables) -> list[Frame]:
    out: list[Frame] = []
    for second, tables in enumerate(moments):
        past = out[-1].tables if out else {}
        made = {name: entries(rows, past.get(name, ()), 1.0) for name, rows in tables.items()}
        out.append(Frame(float(second), 0.0, made))
    return out


def joined(*moments: Tables) -> Facts:
    joiner = Joiner()
    return [joiner.build(frame) for frame in frames(*moments)][-1]


def socket(cookie: int = 1, **more: Any) -> Any:
    plain: dict[str, Any] = {
        "cookie": cookie, "family": 4, "local": "10.0.0.1", "local_port": 5001,
        "remote": "10.0.0.2", "remote_port": 40000 + cookie, "interface": None,
        "state": "established", "recv_q": 0, "send_q": 0, "uid": 0, "inode": 100 + cookie,
    }  # fmt: skip
    unknown = dict.fromkeys(sockets_tcp.Row.__dataclass_fields__)
    return sockets_tcp.Row(**{**unknown, **plain, **more})


def task(pid: int, name: str, on: int, spent: float, **more: Any) -> processes.Row:
    plain: dict[str, Any] = {"tid": pid, "started": 7, "thread": False, "state": "R", "system": 0.0}
    return processes.Row(pid=pid, name=name, cpu=on, user=spent, **{**plain, **more})


def link(name: str, index: int, **more: Any) -> links.Row:
    plain: dict[str, Any] = {
        "type": 1, "kind": "", "loopback": False, "up": True, "running": True, "promisc": False,
    }  # fmt: skip
    return links.Row(interface=name, index=index, **{**plain, **more})


def counted(name: str, **counts: int) -> Any:
    names = [n for n in link_stats.Row.__dataclass_fields__ if n not in ("interface", "index")]
    return link_stats.Row(name, 1, **{**dict.fromkeys(names, 0), **counts})


HOST: Tables = {
    "topology": [
        topology.Row(n, True, n // 2, n, n // 2, (n // 2 * 2, n // 2 * 2 + 1), (n,),
                     (n // 2 * 2, n // 2 * 2 + 1))
        for n in range(4)
    ],
    "links": [link("lo", 1, loopback=True, type=772), link("eth0", 2, parent="p", mtu=1500)],
    "netclass": [netclass.Row("eth0", device="p", speed=10e9, node=1, irqs=("50", "51"))],
    "queues": [queues.Row("eth0", "rx-0", ()), queues.Row("eth0", "rx-1", ())],
    "addresses": [addresses.Row("eth0", "10.0.0.1", 24, 4, "global")],
    "routes": [routes.Row("10.0.0.0/24", "eth0", 0, 254)],
    "sysctls": [sysctls.Row("net.ipv4.tcp_rmem", "4096 131072 6291456"),
                sysctls.Row("net.ipv4.tcp_wmem", "4096 16384 4194304"),
                sysctls.Row("net.core.netdev_max_backlog", "1000")],
}  # fmt: skip


def lines(first: int, second: int) -> list[interrupts.Row]:
    return [
        interrupts.Row("50", "eth0-TxRx-0", "PCI-MSI 1-edge", {2: first}, first),
        interrupts.Row("51", "eth0-TxRx-1", "PCI-MSI 2-edge", {3: second}, second),
    ]


def table_of(number: int) -> rss.Row:
    return rss.Row("eth0", KEY, tuple(n % number for n in range(128)), "toeplitz", False,
                   hash_tcp4="sdfn")  # fmt: skip


def moving(**more: Any) -> tuple[Tables, Tables]:
    """Two moments: a flow sends 100 MB in the second between, its process on CPU 0."""
    still = {
        **HOST,
        "rss": [table_of(2)],
        "socket_owners": [socket_owners.Row(101, 7, "iperf3"), socket_owners.Row(0, None, "", 3)],
    }
    plain: dict[str, Any] = {
        "rtt": 400, "min_rtt": 200, "rttvar": 50, "mss": 1448, "cwnd": 40,
        "delivery_rate": 125_000_000,
    }  # fmt: skip
    start = {"bytes_acked": 0, "bytes_received": 0, "segs_out": 0, "total_retrans": 0,
             "busy_time": 0, "rwnd_limited": 0, "sndbuf_limited": 0}  # fmt: skip
    end = {"bytes_acked": 100_000_000, "bytes_received": 1000, "segs_out": 70_000,
           "total_retrans": 70, "busy_time": 1_000_000, "rwnd_limited": 500_000,
           "sndbuf_limited": 50_000}  # fmt: skip
    return (
        {**still, "sockets_tcp": [socket(**plain, **start)], "interrupts": lines(0, 0),
         "processes": [task(7, "iperf3", 0, 0.0)]},
        {**still, "sockets_tcp": [socket(**{**plain, **end, **more})], "interrupts": lines(50, 50),
         "processes": [task(7, "iperf3", 0, 0.6)]},
    )  # fmt: skip


def test_a_flow_knows_its_way() -> None:
    facts = joined(*moving())
    (flow,) = facts.flows
    assert flow.id == "tcp:10.0.0.1:5001-10.0.0.2:40001"
    assert (flow.nic, flow.pid, flow.process) == ("eth0", 7, "iperf3")
    assert (flow.direction, flow.bulk, flow.tx_per_s) == ("send", True, 1e8)
    assert (flow.rtt, flow.min_rtt, flow.delivery_rate) == (4e-4, 2e-4, 1e9)
    assert flow.retransmit_ratio == pytest.approx(0.001)
    assert (flow.rwnd_limited, flow.sndbuf_limited, flow.busy) == (0.5, 0.05, 1.0)
    assert flow.bdp == pytest.approx(10e9 * 2e-4 / 8)  # its share of the link, without queueing
    assert flow.window_cap == pytest.approx(4194304 / 2 * 8 / 4e-4)
    number = queue_of(
        key_bytes(KEY), table_of(2).table, "toeplitz", "sdfn",
        Packet("10.0.0.2", "10.0.0.1", 40001, 5001),
    )  # fmt: skip
    assert flow.queue == f"rx-{number}"
    assert flow.queue_why == "computed from RSS"
    assert flow.irq_cpu == 2 + (number or 0)
    assert (flow.app_cpu, flow.distance, flow.far) == (0, "other node", True)
    assert flow.limit == "receiver"
    assert "50%" in (flow.limit_why or "")


def test_a_flow_that_moves_little_is_not_limited_and_one_seen_once_is_not_judged() -> None:
    before, after = moving(bytes_acked=1000, bytes_received=0)
    (flow,) = joined(before, after).flows
    assert (flow.bulk, flow.limit) == (False, "none")
    assert flow.limit_why == "moves too little to be limited"
    (flow,) = joined(before).flows
    assert (flow.limit, flow.limit_why) == (None, None)


@pytest.mark.parametrize(
    ("had", "loss", "needless"),
    [(None, 0.001, None), (0, 0.001, 0.0), (63, 0.0001, 0.9), (70, 0.0, 1.0), (90, 0.0, 1.0)],
)
def test_what_the_peer_had_already_was_not_lost(
    had: int | None, loss: float, needless: float | None
) -> None:
    """Segments out of order are sent again for nothing: 70 of 70,000 were sent again."""
    start, end = moving(dsack_dups=had, reord_seen=5)
    before = replace(start["sockets_tcp"][0], dsack_dups=0, reord_seen=0)
    (flow,) = joined({**start, "sockets_tcp": [before]}, end).flows
    assert flow.loss_ratio == pytest.approx(loss)
    assert flow.needless == (None if needless is None else pytest.approx(needless))
    assert (flow.retransmit_ratio, flow.reorderings_per_s) == (0.001, 5)


def test_a_process_with_datagrams_is_not_at_the_end_of_a_path_with_no_bytes() -> None:
    (process,) = joined(*moving()).processes
    silent = replace(process, tx_per_s=0.0)
    assert path._process(silent, "tx").rate == 0.0
    assert path._process(replace(silent, udp=1), "tx").rate is None
    assert path._process(replace(process, udp=1), "tx").rate == 8e8


def test_its_process_and_the_sums() -> None:
    facts = joined(*moving())
    (process,) = facts.processes
    assert (process.pid, process.name, process.cpu, process.node) == (7, "iperf3", 0, 0)
    assert process.user == pytest.approx(60)
    assert (process.tx_per_s, process.tcp) == (1e8, 1)
    assert (process.nic, process.nic_node, process.far, process.networked) == (
        "eth0",
        1,
        True,
        True,
    )
    assert process.irq_cpu == facts.flows[0].irq_cpu
    host = facts.host
    assert (host.tcp_flows, host.bulk_flows, host.max_rtt) == (1, 1, 4e-4)
    assert (host.send_bdp, host.receive_bdp) == (facts.flows[0].bdp, None)
    assert facts.nics[1].flows == 1
    assert facts.cores[0].processes == ("iperf3[7]",)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"rss": []}, "does not tell how"),
        ({"rss": [rss.Row("eth0", None, (0, 1), "toeplitz")]}, "hides its RSS key"),
        (
            {
                "rss": [
                    rss.Row(
                        "eth0", KEY, (0, 1), "toeplitz", hash_tcp4="sdfn", transform="transform 4"
                    )
                ]
            },
            "a transform 4 makes",
        ),
        ({"rss": [rss.Row("eth0", KEY, (0, 1), "toeplitz")]}, "which fields"),
        ({"rss": [rss.Row("eth0", KEY, (0, 1), "xor", hash_tcp4="sdfn")]}, "cannot be computed"),
        ({"routes": [], "addresses": []}, "no route"),
    ],
)
def test_an_unknown_queue_has_its_reason(change: Tables, why: str) -> None:
    first, second = moving()
    (flow,) = joined({**first, **change}, {**second, **change}).flows
    assert flow.queue is None
    assert why in (flow.queue_why or "")
    assert flow.irq_cpu is None


@pytest.mark.parametrize("transform", [None, "symmetric-xor", "symmetric-or-xor"])
def test_a_transform_before_the_hash_is_part_of_the_computation(transform: str | None) -> None:
    first, second = moving()
    row = rss.Row("eth0", KEY, tuple(range(128)), "toeplitz", hash_tcp4="sdfn", transform=transform)
    (flow,) = joined({**first, "rss": [row]}, {**second, "rss": [row]}).flows
    packet = Packet(flow.remote, flow.local, flow.remote_port, flow.local_port)
    data = hashed(packet, "sdfn", transform or "")
    assert data is not None
    assert flow.queue == f"rx-{toeplitz(key_bytes(KEY), data) % 128}"


def queue_counts(first: int, second: int) -> list[nicqueues.Row]:
    return [nicqueues.Row("eth0", "rx-0", 0, first, 0), nicqueues.Row("eth0", "rx-1", 0, second, 0)]


def test_queues_that_never_counted_a_packet_are_not_said_to_be_idle() -> None:
    """A veth without XDP or NAPI moves gigabits and counts none of them by queue."""
    first, second = moving()
    for before, after, rate in (
        ((0, 0), (0, 0), None),
        ((9, 0), (9, 0), 0.0),
        ((0, 0), (9, 0), 0.0),
    ):
        facts = joined(
            {**first, "nicqueues": queue_counts(*before)},
            {**second, "nicqueues": queue_counts(*after)},
        )
        rates = {q.name: q.packets_per_s for q in facts.queues if q.direction == "rx"}
        assert rates == {"rx-0": rate, "rx-1": rate}


@pytest.mark.parametrize("mine", [True, False])
def test_a_queue_that_its_counters_contradict_is_not_named(mine: bool) -> None:
    """The flow receives 100 MB/s; the queue that RSS names counts them, or the other one does."""
    number = queue_of(
        key_bytes(KEY), table_of(2).table, "toeplitz", "sdfn",
        Packet("10.0.0.2", "10.0.0.1", 40001, 5001),
    )  # fmt: skip
    counts = [0, 0]
    counts[number if mine else 1 - (number or 0)] = 103_000_000  # type: ignore[index]
    first, second = moving(bytes_received=100_000_000, bytes_acked=0)
    facts = joined(
        {**first, "nicqueues": queue_counts(0, 0)}, {**second, "nicqueues": queue_counts(*counts)}
    )
    (flow,), (nic,) = facts.flows, [nic for nic in facts.nics if nic.name == "eth0"]
    assert nic.rss_obeyed is mine
    if mine:
        assert (flow.queue, flow.queue_why) == (f"rx-{number}", "computed from RSS")
        assert flow.irq_cpu == 2 + (number or 0)
    else:
        assert flow.queue is None
        assert (flow.queue_why or "").startswith(f"rx-{number} counts 0.0 Mbit/s, but the flows")
        assert flow.irq_cpu is None


def test_the_table_of_an_old_virtio_net_names_no_queue_before_it_is_borne_out() -> None:
    first, second = moving()
    driver: Tables = {"drvinfo": [drvinfo.Row("eth0", driver="virtio_net")]}
    (flow,) = joined({**first, **driver}, {**second, **driver}).flows
    assert flow.queue is None
    assert "before Linux 6.12" in (flow.queue_why or "")


def test_the_only_queue_is_the_queue() -> None:
    first, second = moving()
    one = {"queues": [queues.Row("eth0", "rx-0", ())], "rss": []}
    (flow,) = joined({**first, **one}, {**second, **one}).flows
    assert (flow.queue, flow.queue_why, flow.irq_cpu) == ("rx-0", "the only receive queue", 2)


def test_an_interface_with_one_interrupt_cpu_serves_all() -> None:
    first, second = moving()
    change: Tables = {"rss": [], "interrupts": lines(50, 0)}
    (flow,) = joined({**first, **change, "interrupts": lines(0, 0)}, {**second, **change}).flows
    assert (flow.queue, flow.irq_cpu) == (None, 2)


def test_routes() -> None:
    found = Routes.of(
        [routes.Row("0.0.0.0/0", "eth1", 100, 254), routes.Row("10.0.0.0/8", "eth2", 0, 254),
         routes.Row("10.1.0.0/16", "eth3", 5, 254), routes.Row("10.1.0.0/16", "eth4", 1, 254),
         routes.Row("fd00::/8", "eth5", 0, 254), routes.Row("nonsense", "eth6", 0, 254)],
        [addresses.Row("eth7", "10.9.9.9", 24, 4, "global"),
         addresses.Row("eth8", "fe80::1", 64, 6, "link")],
    )  # fmt: skip
    assert found.interface("8.8.8.8") == "eth1"
    assert found.interface("10.2.0.1") == "eth2"
    assert found.interface("10.1.0.1") == "eth4"  # the lower metric
    assert found.interface("::ffff:10.2.0.1") == "eth2"
    assert found.interface("fd12::1") == "eth5"
    assert found.interface("2001:db8::1") is None
    assert found.interface("2001:db8::1", "10.9.9.9") == "eth7"
    assert found.interface("10.9.9.9") == "lo"
    assert found.interface("127.0.0.5") == "lo"
    assert found.interface("fe80::5", "fe80::1") == "eth8"
    assert found.interface("fe80::5%eth3") == "eth3"
    assert found.interface("*", "") is None


def test_a_route_is_looked_up_by_length_and_not_among_all() -> None:
    many = [routes.Row(f"20.{n >> 8}.{n & 255}.0/24", f"eth{n % 7}", 0, 254) for n in range(9999)]
    found = Routes.of([*many, routes.Row("0.0.0.0/0", "wan", 0, 254)], [])
    assert len(found.prefixes[4]) == 2
    assert found.interface("20.5.9.77") == f"eth{(5 << 8 | 9) % 7}"
    assert found.interface("21.0.0.1") == "wan"


def test_listening_sockets_are_no_flows() -> None:
    facts = joined({**HOST, "sockets_tcp": [socket(state="listen"), socket(2)]})
    assert len(facts.flows) == 1
    assert facts.host.tcp_flows == 1
    assert facts.nics[1].flows == 1
    assert joined({**HOST, "sockets_tcp": []}).nics[1].flows == 0
    assert joined(HOST).nics[1].flows is None


def test_only_the_busiest_flows_are_shown_but_all_are_summed() -> None:
    many = [socket(n, bytes_acked=0, bytes_received=0) for n in range(300)]
    later = [socket(n, bytes_acked=n * 10_000, bytes_received=0) for n in range(300)]
    facts = joined({**HOST, "sockets_tcp": many}, {**HOST, "sockets_tcp": later})
    assert len(facts.flows) == 256
    assert facts.flows[0].tx_per_s == 2_990_000
    assert facts.host.tcp_flows == 300


def test_udp_sockets_that_lose() -> None:
    def at(drops: int) -> Tables:
        quiet = sockets_udp.Row(8, "0.0.0.0", 68, "0.0.0.0", 0, False, 0, 0, 0, 0)
        busy = sockets_udp.Row(9, "0.0.0.0", 4500, "0.0.0.0", 0, False, 0, 212992, 0, drops)
        return {
            **HOST,
            "sockets_udp": [quiet, busy],
            "socket_owners": [socket_owners.Row(9, 7, "wg")],
            "processes": [task(7, "wg", 1, 0)],
        }

    facts = joined(at(0), at(50))
    (flow,) = facts.flows
    assert (flow.protocol, flow.drops_per_s, flow.recv_q, flow.pid) == ("udp", 50, 212992, 7)
    assert flow.queue is None
    assert facts.processes[0].udp_drops == 50


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
        scene = capture.Scene({2: "eth0"}, owners, tasks, nics, cores, {"eth0": queues})
        (one,) = capture.build([Entry(listener(5))], scene)
        return one.on_irq_cpu, one.elsewhere

    assert seen(veth, 1) == (True, (2, 3))
    assert seen(veth, 2) == (False, (0,))
    assert seen(card, 2) == (True, (0, 1))
    assert seen(card, 3) == (False, (0, 1))


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


def core_times(n: int, user: float, softirq: float, idle: float) -> cpu.Row:
    return cpu.Row(n, user, 0.0, 0.0, idle, 0.0, 0.0, softirq, 0.0)


def test_cores_and_host() -> None:
    def at(step: int) -> Tables:
        return {
            **HOST,
            "cpu": [core_times(n, step * n / 10, step / 5, step * (8 - n) / 10) for n in range(4)],
            "softirqs": [softirqs.Row(n, 10 * step, 5 * step) for n in range(4)],
            "softnet": [softnet.Row(n, 1000 * step, n * step, 2 * step, 0, 0) for n in range(4)],
            "snmp": [snmp.Row(**{**dict.fromkeys(snmp.Row.__dataclass_fields__, None),
                                 "tcp_out": 1000 * step, "tcp_retrans": 5 * step, "time_wait": 3})],
            "kernel": [kernel.Row("6.1.0-18-amd64", "vm7", "quiet iommu=pt")],
            "services": [services.Row("irqbalance", False),
                         services.Row("tuned", True, 5, "latency")],
            "meself": [meself.Row(9, 0.01 * step, 0.0, 2)],
            "conntrack": [conntrack.Row(80, 100, drops=step)],
            "interrupts": lines(step, 0),
            "processes": [task(8, "ksoftirqd/2", 2, 0.3 * step, kernel=True)],
        }  # fmt: skip

    facts = joined(at(0), at(1))
    core = facts.cores[1]
    assert [core.user, core.softirq, core.idle] == pytest.approx([10, 20, 70])
    assert (core.net_rx, core.processed, core.backlog_drops, core.squeezed) == (10, 1000, 1, 2)
    assert (core.node, core.siblings, core.l3) == (0, (0,), (0, 1))
    assert facts.cores[2].ksoftirqd == pytest.approx(30)
    host = facts.host
    assert (host.name, host.kernel, host.cpus, host.cores, host.nodes) == ("vm7", (6, 1), 4, 2, 2)
    assert (host.packages, host.smt, host.iommu_pt, host.tuned) == (2, True, True, "latency")
    assert (host.retransmit_ratio, host.time_wait, host.irqbalance) == (0.005, 3, False)
    assert (host.backlog_dropped, host.squeezed) == (6, 8)
    assert (host.conntrack, host.conntrack_max, host.conntrack_drops) == (80, 100, 1)
    assert host.busiest_cpu == 3
    assert host.idle == pytest.approx(65)
    assert host.nettop_cpu == pytest.approx(1)
    assert host.nettop_on_irq_cpu is True
    assert host.max_speed == 10e9
    (rx, tx) = facts.paths
    assert [stage.name for stage in rx.stages] == [
        "wire", "port", "ring", "core", "backlog", "socket", "process",
    ]  # fmt: skip
    backlog = rx.stages[4]
    assert (backlog.detail, backlog.lost) == ("1000", 2)  # of core 2, which serves the NIC
    assert rx.worst == "backlog"
    assert rx.stages[3].detail == "core 2, node 1"
    assert tx.direction == "tx"


def test_the_first_frame_knows_no_rates() -> None:
    facts = joined({**HOST, "cpu": [core_times(0, 1, 1, 1)], "interrupts": lines(5, 5)})
    assert facts.cores[0].idle is None
    assert facts.cores[0].nic_irqs is None
    assert facts.queues[0].irq_per_s is None
    assert facts.host.idle is None
    assert facts.nics[1].per_s == Counters(interrupts=None)


def test_distances() -> None:
    cores = {
        0: Core(0, 0, 0, (1,), (0, 1), (0, 1, 2, 3)),
        1: Core(1, 0, 0, (0,), (0, 1), (0, 1, 2, 3)),
        2: Core(2, 0, 0, (), (2, 3), (0, 1, 2, 3)),
        3: Core(3, 0, 0, (), (2, 3), (0, 1, 2, 3)),
        4: Core(4, 0, 0, (), (4,), (4,)),
        5: Core(5, 1, 1, (), (5,), (0, 5)),
        6: Core(6),
    }
    steps = [distance.between(cores, 0, other) for other in (0, 1, 2, 4, 5, 6, 7, None)]
    assert steps == [
        "same core",
        "SMT sibling",
        "shared L3",
        "same node",
        "other node",
        None,
        None,
        None,
    ]
    assert distance.between(cores, 2, 3) == "shared L2"
    assert [distance.far(cores, 0, other) for other in (0, 5, 6)] == [False, True, None]


def guessed(frame: float, rtt: float | None, packets: float = 50_000.0) -> profile.Guess:
    rates = Counters(
        rx_bytes=frame * packets, rx_packets=packets, tx_bytes=packets * 30, tx_packets=packets / 2
    )
    nic = Nic("eth0", "nic", per_s=rates)
    flow = Flow("f", "tcp", rtt=rtt, rx_per_s=1e6, bulk=True)
    return profile.guess([nic], [flow], [])


@pytest.mark.parametrize(
    ("frame", "rtt", "name"),
    [
        (1448, 0.0002, "bulk-lan"),
        (1448, 0.030, "bulk-wan"),
        (1448, 0.005, "server"),
        (1448, None, "server"),
        (120, 0.0001, "latency"),
        (120, 0.020, "server"),
        (600, 0.0001, "server"),
    ],
)
def test_profiles(frame: float, rtt: float | None, name: str) -> None:
    assert guessed(frame, rtt).name == name
    assert guessed(frame, rtt).why


def test_an_idle_host_is_not_judged() -> None:
    assert guessed(1448, 0.0002, packets=10).sure is False
    assert profile.guess([], [], []).sure is False


def test_a_profile_is_steady_and_the_user_wins() -> None:
    chooser = profile.Chooser()
    lan, wan = profile.Guess("bulk-lan", "a"), profile.Guess("bulk-wan", "b")
    idle = profile.Guess("server", "idle", sure=False)
    assert chooser.choose(None, idle, 0).name == "server"
    assert chooser.choose(None, lan, 1).name == "bulk-lan"
    assert chooser.choose(None, wan, 2).name == "bulk-lan"
    assert chooser.choose(None, lan, 3).name == "bulk-lan"
    assert chooser.choose(None, wan, 4).name == "bulk-lan"
    assert chooser.choose(None, idle, 5).name == "bulk-lan"
    assert chooser.choose(None, wan, 6).name == "bulk-lan"
    assert chooser.choose(None, wan, 11).name == "bulk-wan"
    chosen = chooser.choose("latency", wan, 12)
    assert (chosen.name, chosen.chosen) == ("latency", True)


SENDER = {"id": "f", "protocol": "tcp", "bulk": True, "direction": "send"}
FULL = Core(1, user=2.0, system=40.0, softirq=55.0, irq=1.0, idle=2.0)
BUSY_APP = Core(2, user=90.0, system=8.0, softirq=0.0, irq=0.0, idle=1.0)


@pytest.mark.parametrize(
    ("flow", "nic", "irq", "app", "who"),
    [
        ({}, Nic("e", "nic", per_s=Counters(allowance_bw_out=3)), None, None, "provider"),
        ({}, Nic("e", "nic", tx_load=0.97), None, None, "link"),
        (
            {},
            Nic("e", "nic", per_s=Counters(tx_bytes=7e8), pcie=Pcie(usable=6.4e9)),
            None,
            None,
            "bus",
        ),
        ({}, Nic("e", "nic", per_s=Counters(allowance_bw_out=0.3)), None, None, None),
        ({}, Nic("e", "nic", per_s=Counters(pause_rx=9)), None, None, "receiver"),
        ({}, Nic("e", "nic", per_s=Counters(pause_rx=0.3)), None, None, None),
        ({}, Nic("e", "nic", speed=10e9, per_s=Counters(pause_rx=29)), None, None, None),
        ({}, Nic("e", "nic", speed=10e9, per_s=Counters(pause_rx=31)), None, None, "receiver"),
        ({"rwnd_limited": 0.4}, None, FULL, None, "receiver"),
        ({"sndbuf_limited": 0.4}, None, None, None, "sender"),
        ({"busy": 0.2}, None, None, None, "application"),
        ({"busy": 1.0, "loss_ratio": 0.01}, None, None, None, "network"),
        ({"busy": 1.0, "cwnd": 10, "unacked": 10}, None, None, None, "network"),
        ({"busy": 1.0}, None, FULL, None, "cpu"),
        ({"busy": 1.0}, None, None, BUSY_APP, "application"),
        ({"busy": 1.0}, None, None, None, None),
        ({"direction": "receive"}, None, FULL, None, "cpu"),
        ({"direction": "receive", "recv_q": 50, "rcvbuf": 100}, None, None, None, "application"),
        ({"direction": "receive"}, None, None, None, None),
        (
            {"direction": "receive"},
            Nic("e", "nic", per_s=Counters(allowance_bw_out=3)),
            None,
            None,
            None,
        ),
    ],
)
def test_who_limits_a_flow(
    flow: dict[str, Any], nic: Nic | None, irq: Core | None, app: Core | None, who: str | None
) -> None:
    verdict = bottleneck.judge(Flow(**{**SENDER, **flow}), nic, irq, app)
    assert verdict.who == who
    assert verdict.why


def test_harmful_sysctl_lines() -> None:
    text = "\n\nnet.ipv4.tcp_tw_recycle = 1\nnet.ipv4.tcp_rmem = 4096 131072 134217728\n"
    lines = [
        *sysctl_files.parse(text, "/etc/sysctl.conf"),
        *sysctl_files.parse(
            "net.ipv4.tcp_rmem = 10000000 10000000 10000000", "/etc/sysctl.d/9.conf"
        ),
    ]
    assert joined({"sysctl_files": lines}).host.legacy == (
        "/etc/sysctl.conf:3 net.ipv4.tcp_tw_recycle=1",
        "/etc/sysctl.d/9.conf:1 net.ipv4.tcp_rmem=10000000 10000000 10000000",
    )


@pytest.mark.parametrize(
    ("key", "value", "entry"),
    [
        ("net.ipv4.tcp_low_latency", "1", "n-low-latency-noop"),
        ("net/ipv4/tcp_sack", "0", "v-sack-off"),
        ("net.ipv4.tcp_timestamps", "0", "v-timestamps-off"),
        ("net.ipv4.tcp_mem", "1 2 10000000", "v-tcp-mem-pages"),
        ("net.core.netdev_max_backlog", "250000", "v-backlog-big"),
        ("net.ipv4.tcp_wmem", "4096 134217728 134217728", "v-min-default-equal-max"),
        ("net.ipv4.tcp_sack", "1", None),
        ("net.core.netdev_max_backlog", "30000", None),
        ("net.core.netdev_max_backlog", "many", None),
        ("net.ipv4.tcp_mem", "1 2", None),
        ("kernel.panic", "1", None),
    ],
)
def test_which_sysctl_lines_harm(key: str, value: str, entry: str | None) -> None:
    found = legacy.harmful(key, value)
    assert (found.entry if found else None) == entry


@pytest.mark.parametrize(
    ("missing", "tables", "firewall"),
    [
        ({"conntrack": "No such file or directory: …"}, HOST, False),
        ({"conntrack": "No such file or directory: …"}, {}, None),
        ({"conntrack": "Permission denied: …"}, HOST, None),
        ({}, {**HOST, "conntrack": [conntrack.Row(1)]}, True),
    ],
)
def test_connection_tracking_is_not_guessed(
    missing: dict[str, str], tables: Tables, firewall: bool | None
) -> None:
    (plain,) = frames(tables)
    frame = Frame(plain.at, plain.wall, plain.tables, missing)
    assert Joiner().build(frame).host.firewall is firewall


def test_medians() -> None:
    assert middle([]) is None
    assert middle([3.0, 1.0, 2.0]) == 2
    assert middle([4.0, 1.0, 2.0, 3.0]) == 2.5


def test_triples() -> None:
    assert triple("4096 131072 6291456") == (4096, 131072, 6291456)
    assert triple(None) == triple("x y") == ()


VALUES: dict[str, list[Any]] = {
    "str": ["", "eth0", "eth0-rx-0", "rx-0", "50", "established", "a b", "fe80::1%x", "1 2 3"],
    "text": ["eth0", "toeplitz", "6d:5a", "zz", "sdfn", "bond", "bridge", "0000:03:00.0", "net"],
    "int": [0, 1, 2, 3, 50, 2**63],
    "float": [0.0, 1.5, 1e12],
    "bool": [True, False],
    "tuple[int, ...]": [(), (0,), (0, 1, 9)],
    "tuple[str, ...]": [(), ("eth0",), ("50",), ("a", "b")],
}


def values_of(field: Any) -> st.SearchStrategy[Any]:
    """Ordinary and absurd values of a row's field; None where its type allows it."""
    kind, _, optional = str(field.type).partition(" | ")
    if field.metadata.get("kind") == "vector":
        return st.dictionaries(st.integers(0, 3), st.integers(0, 9), max_size=2)
    if field.metadata.get("kind") == "counter" and kind == "int":
        some: st.SearchStrategy[Any] = st.integers(0, 2**64)
    else:
        some = st.sampled_from(VALUES[kind] + (VALUES["text"] if kind == "str" else []))
    return st.none() | some if optional else some


def rows_of(name: str) -> st.SearchStrategy[list[Any]]:
    kind = collect.collector(name).Row
    fields = {field.name: values_of(field) for field in kind.__dataclass_fields__.values()}
    return st.lists(st.builds(kind, **fields), max_size=3)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_frame_is_too_odd(data: st.DataObject) -> None:
    names = data.draw(st.sets(st.sampled_from(NEEDS)))
    tables = {name: data.draw(rows_of(name)) for name in sorted(names)}
    joiner = Joiner(ssh_peer="10.0.0.9")
    for frame in frames(tables, tables):
        facts = joiner.build(frame)
        assert len({nic.name for nic in facts.nics}) == len(facts.nics)


@pytest.mark.parametrize("absent", ["", *NEEDS])
def test_any_table_may_be_missing(absent: str) -> None:
    first, second = moving()
    moments = [{k: v for k, v in tables.items() if k != absent} for tables in (first, second)]
    assert joined(*moments).host is not None


def test_every_needed_table_has_a_collector() -> None:
    assert set(NEEDS) <= set(collect.names())
