"""What CPU stages say over whole ranges of what threads and cores did: expected output.

`pytest tests/facts/limits/test_cpu_tables.py --update` writes it anew.
"""

from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flow_tables import Tables, lines, table_of, task
from folded import folded
from golden_text import parts, same
from limit_frames import AWAY, RECEIVES, every, moment
from limit_situations import figure, line, series

from nettop.collect import cpu, link_stats, sockets_udp, softnet, threads, throttling
from nettop.facts.limits.stages import cpu as stage
from nettop.facts.limits.stages._budget import carried
from nettop.facts.limits.stages.cpu import Thread

GOLDEN = Path(__file__).parents[2] / "golden/limits"
RATE = 1e9
WOKEN = (None, 0.0, 0.5, 1.0)  # of the CPU time of a thread


def test_what_a_stage_carries(update: bool) -> None:
    out = []
    for used, ran, gets in product(
        (0.2, 0.499, 0.5, 0.7, 0.849, 0.85, 1.0), (None, 0.1, 0.5), (0.1, 0.25, 0.5, 1.0)
    ):
        found = [(one, " ".join(map(figure, carried(RATE, used, ran, gets, one)))) for one in WOKEN]
        out.append(f"used {used} ran {ran} gets {gets}: {series(found)}")
    assert carried(0.0, 0.5) == (None, None)
    same(GOLDEN / "carried.txt", "\n".join(out) + "\n", update)


THREADS = {
    "half": Thread("a[1]", 0.5, 0.0, 0.0, 0.0, None, None, 2, runs=1000.0),
    "busy": Thread("a[1]", 0.8, 0.1, 0.0, 0.0, None, None, 2, runs=1000.0),
    "quota": Thread("a[1]", 0.2, 0.0, 0.0, 0.3, 0.25, "cpu:/app", 2, runs=1000.0),
}
VALUES: dict[str, tuple[Any, ...]] = {
    "ran": (0.0, 0.1, 0.85, 1.0), "waited": (0.049, 0.05, 0.4, 0.499, 0.5, 0.9),
    "stopped": (0.09, 0.1, 0.3, 0.5, 0.75, 0.79, 0.8, 0.9, 1.0),
    "throttled": (0.0, 0.049, 0.05, 0.2, 0.49, 0.5, 1.0), "quota": (None, 0.2, 0.5, 2.0),
    "group": (None, "a:b:/app"), "interrupts": (0.049, 0.05, 0.3),
    "stolen": (0.049, 0.05, 0.3, 0.5, 0.6), "runs": (None, 0.0, 20_000.0, 32_000.0, 40_000.0),
}  # fmt: skip


def told(one: Thread) -> str:
    """Its shares: used, given, wanted, allowed, woken; then the reading."""
    look: Any = SimpleNamespace(rate=RATE, over="flow", sends=True, tcp=())
    shares = " ".join(
        figure(round(value, 6))
        for value in (one.used, one.given, one.wanted, one.allowed, one.woken)
    )
    return f"{shares}; {line(stage._thread(look, one))}"


@pytest.mark.parametrize("name", THREADS)
def test_what_a_thread_says(name: str, update: bool) -> None:
    base = THREADS[name]
    out = [f"as it is: {told(base)}"]
    out += [
        f"{field} {value}: {told(base._replace(**{field: value}))}"
        for field in Thread._fields
        for value in VALUES.get(field, ())
        if value != getattr(base, field)
    ]
    out += [
        f"ran {ran} waited {waited}: {told(base._replace(ran=ran, waited=waited))}"
        for ran, waited in product((0.0, 0.05, 0.3), (0.0, 0.2, 0.5, 0.84, 0.85))
    ]
    same(GOLDEN / "threads.txt", "\n".join(out) + "\n", update, name)


@pytest.mark.parametrize(("group", "name", "below"), [
    ("/a", "/a", True), ("/a/b", "/a", True), ("/ab", "/a", False), ("/a", "/a/b", False),
])  # fmt: skip
def test_a_group_is_below_itself_and_those_above(group: str, name: str, below: bool) -> None:
    assert stage._below(group, name) == below


def thread(second: float, tid: int = 7, **more: Any) -> threads.Row:
    plain: dict[str, Any] = {"state": "S", "ran": 0.3, "waited": 0.0, "cpu": 0, "cgroup": None,
                             "runs": 1000.0, **more}  # fmt: skip
    return threads.Row(7, tid, 5, f"w{tid}", plain["state"], plain["ran"] * second,
                       plain["waited"] * second, plain["cpu"], plain["cgroup"],
                       runs=int(plain["runs"] * second))  # fmt: skip


def groups(second: float, *known: tuple[str, float, float]) -> list[throttling.Row]:
    """Groups with quota and share of throttled periods."""
    periods = int(10 * second)
    return [throttling.Row(name, quota, periods, int(part * periods))
            for name, quota, part in known]  # fmt: skip


def cores(second: float, **shares: float) -> list[cpu.Row]:
    """CPUs that are all alike."""
    times: dict[str, Any] = {name: share * second for name, share in shares.items()}
    return [cpu.Row(n, **{"user": 0.0, "nice": 0.0, "system": 0.0, **times}) for n in range(4)]


def receives(second: float, **tables: Any) -> dict[str, Any]:
    """A flow that receives, with the interrupts of its queue."""
    counted = lines(int(9000 * second), int(10 * second))
    more = {"interrupts": counted, "rss": [table_of(2)], **tables}
    return {"gauges": AWAY, "rates": RECEIVES, "more": more}


def udp(second: float, drops: float) -> Tables:
    row = sockets_udp.Row(101, "10.0.0.1", 53, "0.0.0.0", 0, False, 0, 900, 0, int(drops * second))
    return {"sockets_udp": [row], "sockets_tcp": []}


def card(second: float) -> Tables:
    names = dict.fromkeys(link_stats.Row.__dataclass_fields__, 0)
    size = int(1e9 / 8 * second)
    row: dict[str, Any] = {**names, "interface": "eth0", "index": 2, "rx_bytes": size,
                           "rx_packets": size // 1448}  # fmt: skip
    return {"link_stats": [link_stats.Row(**row)]}


CASES: dict[str, Any] = {
    "two threads": lambda s: {"more": {"threads": [thread(s, ran=0.2), thread(s, 8, ran=0.6)]}},
    "a stopped thread": lambda s: {"more": {"threads": [thread(s, ran=0.1, state="T")]}},
    "a traced thread": lambda s: {"more": {"threads": [thread(s, ran=0.1, state="t")]}},
    "a process of one thread": lambda s: {"more": {
        "threads": [], "processes": [task(7, "iperf3", 0, 0.6 * s, threads=1, waited=0.3 * s)]}},
    "a process of two threads": lambda s: {"more": {
        "threads": [], "processes": [task(7, "iperf3", 0, 0.6 * s, threads=2)],
        "cpu": cores(s, idle=0.05, user=0.95)}},
    "no thread known": lambda s: {"more": {
        "threads": [], "processes": [task(7, "iperf3", 1, 0.6 * s, threads=2)],
        "cpu": cores(s, idle=0.02, iowait=0.01, user=0.97)}},
    "no owner": lambda s: {"more": {"socket_owners": [], "threads": []}},
    "a group": lambda s: {"more": {"threads": [thread(s, cgroup="/a/b")],
                                   "throttling": groups(s, ("/a", 0.5, 0.2), ("/x", 0.1, 1.0))}},
    "two groups": lambda s: {"more": {
        "threads": [thread(s, cgroup="/a/b")],
        "throttling": groups(s, ("/a", 2.0, 0.2), ("/a/b", 4.0, 0.7))}},
    "two quotas": lambda s: {"more": {"threads": [thread(s, cgroup="/a/b")],
                                      "throttling": groups(s, ("/a", 2.0, 0.0), ("/a/b", 4.0, 0.0),
                                                           ("/a/b/c", 0.1, 1.0))}},
    "steal": lambda s: {"more": {"cpu": cores(s, idle=0.3, user=0.2, steal=0.5)}},
    "interrupts of a full core": lambda s: {"more": {
        "cpu": cores(s, idle=0.0, user=0.6, softirq=0.3, irq=0.1)}},
    "interrupts of a core with time": lambda s: {"more": {
        "cpu": cores(s, idle=0.2, user=0.4, softirq=0.3, irq=0.1)}},
    "iowait": lambda s: {"more": {"cpu": cores(s, idle=0.0, iowait=0.3, softirq=0.7)}},
    "backlog": lambda s: receives(s, softnet=[softnet.Row(0, 1, int(40 * s), 0)]),
    "receives": receives,
    "receives with interrupts": lambda s: receives(s, cpu=cores(s, idle=0.1, softirq=0.9)),
    "receives with some": lambda s: receives(
        s, cpu=cores(s, idle=0.3, user=0.4, softirq=0.25, irq=0.05)
    ),
    "receives with few": lambda s: receives(s, cpu=cores(s, idle=0.5, user=0.4, softirq=0.1)),
    "receives with a quarter": lambda s: receives(s, cpu=cores(s, idle=0.02, user=0.7, irq=0.28)),
    "a datagram socket": lambda s: {"more": udp(s, 50)},
    "an interface": lambda s: receives(
        s, **card(s), cpu=cores(s, idle=0.2, softirq=0.8),
        softnet=[softnet.Row(0, 1, int(40 * s), 0)],
    ),
}  # fmt: skip


@folded("case", CASES)
def test_what_limits_as_cores_and_threads_do(case: str, update: bool) -> None:
    limits = every(lambda second: moment(second, **CASES[case](second)), 4)[-1].limits
    out = []
    for one in limits:
        out.append(f"{one.over} {one.target} {one.direction} {one.process} {one.joint}")
        out += [f"    {line(step)}" for step in one.ladder]
    same(GOLDEN / "cpu.txt", "\n".join(out) + "\n", update, case)


def test_no_case_is_left_that_is_gone() -> None:
    assert set(parts(GOLDEN / "cpu.txt")) == set(CASES)
    assert set(parts(GOLDEN / "threads.txt")) == set(THREADS)
