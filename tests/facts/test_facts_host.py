"""Cores, host, distances, profiles and sysctl files joined."""

from dataclasses import replace

import pytest
from flow_tables import HOST, Tables, frames, joined, lines, task
from folded import folded

from nettop.collect import (
    conntrack,
    cpu,
    kernel,
    meself,
    services,
    snmp,
    softirqs,
    softnet,
)
from nettop.collect import sysctl_files as legacy
from nettop.facts import place, profile
from nettop.facts.counters import middle
from nettop.facts.joined import Joiner
from nettop.facts.kinds.core import Core, CpuPlace
from nettop.facts.kinds.flow import Flow
from nettop.facts.kinds.nic import Counters, Nic
from nettop.facts.kinds.process import Tasks, mean
from nettop.facts.place import OnlineCpus
from nettop.facts.single import triple
from nettop.frame.rates import Entry, Frame


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
    assert (host.cpu_backlog_drops, host.squeezed) == (6, 8)
    assert (host.conntrack, host.conntrack_max, host.conntrack_drops) == (80, 100, 1)
    assert host.busiest_cpu == 3
    assert host.idle == pytest.approx(65)
    assert host.nettop_cpu == pytest.approx(1)
    assert host.nettop_on_irq_cpu is True
    assert host.max_speed == 10e9
    (rx, tx) = facts.paths
    stages = {stage.name: stage for stage in rx.stages}
    known = ["wire", "port", "ring", "core", "backlog", "rcvbuf", "thread"]
    assert [name for name in stages if name in known] == known
    backlog = stages["backlog"]
    assert (backlog.detail, backlog.lost) == ("1000", 6)
    assert rx.worst == "backlog"
    assert stages["core"].detail == "core 2, node 1"
    assert tx.direction == "tx"


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
    steps = [place.between(cores, 0, other) for other in (0, 1, 2, 4, 5, 6, 7, None)]
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
    assert place.between(cores, 2, 3) == "shared L2"
    assert [place.far(cores, 0, other) for other in (0, 5, 6)] == [False, True, None]


def guessed(frame: float, rtt: float | None, packets: float = 50_000.0) -> profile.Guess:
    rates = Counters(
        rx_bytes=frame * packets, rx_packets=packets, tx_bytes=packets * 30, tx_packets=packets / 2
    )
    nic = Nic("eth0", "nic", per_s=rates)
    flow = Flow("f", "tcp", rtt=rtt, rx_per_s=1e6, bulk=True)
    return profile.guess([nic], [flow], [])


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


@folded(
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
    found = legacy.first_harmful(key, value)
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
    assert triple(None) == triple("x y") == triple("9" * 5000) == ()


def test_the_busiest_programs_of_a_core_are_named_first() -> None:
    rows = [task(pid, name, 2, 0.0) for pid, name in ((7, "small"), (8, "large"), (9, "middle"))]
    entries = [
        Entry(row, replace(row, user=used)) for row, used in zip(rows, (0.1, 0.6, 0.3), strict=True)
    ]
    tasks = Tasks.of(entries)
    assert tasks.on_cpu({}) == {2: ("large[8]", "middle[9]", "small[7]")}
    longer = {2: {"small[7]": 70.0, "gone[6]": 20.0, "large[8]": 9.0}}  # with `middle` not yet
    assert tasks.on_cpu(longer) == {2: ("small[7]", "middle[9]", "large[8]")}


def test_the_threads_of_a_process_are_told_as_that_process_at_the_core_of_each() -> None:
    whole = task(9, "server", 0, 0.0)
    workers = [replace(whole, tid=tid, thread=True, name="worker", cpu=tid % 2) for tid in (10, 11)]
    kernel = task(5, "kworker/1:2", 1, 0.0, kernel=True)
    entries = [
        Entry(row, replace(row, user=used, system=0.0))
        for row, used in zip((whole, *workers, kernel), (0.9, 0.2, 0.6, 0.7), strict=True)
    ]
    tasks = Tasks.of(entries)
    shares = {cpu: {name: round(spent) for name, spent in own.items()}
              for cpu, own in tasks.taken.items()}  # fmt: skip
    assert shares == {0: {"server[9]": 30}, 1: {"server[9]": 60}}  # of 10 %, no thread was read
    assert tasks.on_cpu(tasks.taken)[1] == ("kworker/1:2[5]", "server[9]")


def test_what_programs_took_of_a_core_is_a_mean_of_which_absent_ones_have_less() -> None:
    samples = [{0: {"a[1]": 90.0}, 1: {"b[2]": 50.0}}, {0: {"b[2]": 100.0}}]
    assert mean(samples) == {0: {"b[2]": 50.0, "a[1]": 45.0}, 1: {"b[2]": 25.0}}


def test_the_busiest_thread_of_a_process_is_known_where_its_threads_are_read() -> None:
    whole, other = task(9, "server", 0, 0.0), task(8, "single", 1, 0.0)
    threads = [replace(whole, tid=tid, thread=True) for tid in (9, 10, 11)]
    entries = [
        Entry(row, replace(row, user=used, system=0.0))
        for row, used in zip((whole, *threads, other), (0.9, 0.2, 0.4, 0.3, 0.5), strict=True)
    ]
    tasks = Tasks.of(entries).by_pid
    assert (tasks[9].busiest, tasks[8].busiest) == (40.0, None)


# CPUs by their place: physical cores.


def placed(*spots: CpuPlace) -> OnlineCpus:
    return OnlineCpus(spots, {spot.cpu: spot for spot in spots})


def test_a_core_is_its_first_cpu() -> None:
    known = placed(
        CpuPlace(0, core=(0, 2)), CpuPlace(1, core=(1, 3)), CpuPlace(2, core=(0, 2)),
        CpuPlace(3, core=(1, 3)),
    )  # fmt: skip
    assert known.firsts([3, 2, 1, 0]) == (0, 1)
    assert known.firsts([3, 2]) == (2, 3)
    assert known.firsts([2, 9]) == (2,)  # 9 is offline
    assert known.cores([0, 1, 2]) == 2


def test_cores_are_unknown_where_one_cpu_has_none() -> None:
    known = placed(CpuPlace(0, core=(0,)), CpuPlace(1))
    assert known.firsts([0, 1]) == ()
    assert known.cores([0, 1]) is None
