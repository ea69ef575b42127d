"""Threads of processes that move data, and the CPU quotas of their cgroups."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
from flow_tables import socket
from host_files import Counting, archive, host
from hypothesis import given
from hypothesis import strategies as st

from nettop.collect import (
    netns_tcp,
    socket_memory,
    socket_owners,
    sockets_tcp,
    sockets_udp,
    threads,
    throttling,
)
from nettop.collect._table import Memory, recall
from nettop.collect.socket_owners import _ProcessSockets
from nettop.collect.sockets_udp import Row as Datagrams

STAT = "{} (io{}) {} 1 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 2 0 4711 0 0" + " 0" * 14 + " 3\n"
TASK = "/proc/7/task/{}/{}"
FILES = {
    "/proc/7/cgroup": "4:cpu,cpuacct:/box/one\n0::/\n",
    TASK.format(7, "stat"): STAT.format(7, 7, "S"),
    TASK.format(7, "schedstat"): "2500000000 500000000 9\n",
    TASK.format(8, "stat"): STAT.format(8, 8, "T"),
    TASK.format(8, "schedstat"): "0 0 0\n",
    "/proc/9/cgroup": "0::/box/two\n",
    "/proc/9/task/9/stat": STAT.format(9, 9, "R"),
}


def seen(**more: Any) -> Memory:
    """What `sockets_tcp` and `socket_owners` leave in the memory: the socket 101 of process 7."""
    row = socket(**{"bytes_acked": 0, "bytes_received": 0, **more})
    return {
        sockets_tcp.Known: sockets_tcp.Known({b"": (0, 0, row)}),
        socket_owners.Known: socket_owners.Known(
            held={"7": _ProcessSockets(inodes={"3": 101}), "9": _ProcessSockets(inodes={"3": 102})}
        ),
    }


def test_only_processes_that_move_data_are_read() -> None:
    source = Counting(archive(FILES))
    memory = seen(bytes_acked=1000)
    assert threads.update(source, memory) == []
    memory.update(seen(bytes_acked=2000))
    assert threads.update(source, memory) == []
    memory.update(seen(bytes_acked=50_000_000))
    rows = threads.update(source, memory)
    assert [(row.pid, row.tid, row.name, row.state) for row in rows] == [
        (7, 7, "io7", "S"),
        (7, 8, "io8", "T"),
    ]
    assert (rows[0].ran, rows[0].waited, rows[0].cpu, rows[0].threads) == (2.5, 0.5, 3, 2)
    assert not any(path.startswith("/proc/9/") for path in source.files)


@pytest.mark.parametrize(("moved", "read"), [(threads.MOVED - 1, 0), (threads.MOVED, 2)])
def test_less_than_2000_bytes_between_two_readings_are_no_traffic(moved: int, read: int) -> None:
    assert threads.MOVED == 2000
    memory = seen(bytes_acked=0)
    threads.update(host(FILES), memory)
    memory.update(seen(bytes_acked=moved))
    assert len(threads.update(host(FILES), memory)) == read


@pytest.mark.parametrize(("nice", "policy", "lowly"), [
    (0, "0", ""), (0, "5", "SCHED_IDLE"), (1, "0", "nice 1"), (-1, "0", ""), (19, "3", "nice 19"),
])  # fmt: skip
def test_a_thread_that_lets_others_go_first_says_so(nice: int, policy: str, lowly: str) -> None:
    line = STAT.format(9, 9, "R").strip().replace(" 20 0 2 ", f" 20 {nice} 2 ")
    files = {**FILES, "/proc/9/task/9/stat": f"{line} 0 {policy} 0 0 0"}
    memory = seen(notsent=1, inode=102)
    assert [row.lowly for row in threads.update(host(files), memory)] == [lowly]


@pytest.mark.parametrize("name", ["notsent", "recv_q"])
def test_a_process_whose_socket_holds_data_is_read(name: str) -> None:
    assert len(threads.update(host(FILES), seen(**{name: 1}))) == 2


@pytest.mark.parametrize(("client", "read"), [
    ({}, 2), ({"bytes_acked": 9, "last_sent": 9000}, 2), ({"local_port": 40001}, 0),
    ({"bytes_acked": 9, "last_sent": 4000}, 0), ({"last_received": 200}, 0),
    ({"bytes_received": 0}, 0),
])  # fmt: skip
def test_a_process_that_owes_a_client_an_answer_is_read(client: Any, read: int) -> None:
    asked = {"bytes_received": 18, "last_sent": 5000, "last_received": 5000, "local_port": 80}
    memory = seen(**{**asked, **client})
    door = socket(2, state="listen", local_port=80)
    memory[sockets_tcp.Known].seen[b"door"] = (0, 0, door)  # type: ignore[attr-defined]
    assert len(threads.update(host(FILES), memory)) == read


def test_a_connection_younger_than_the_list_of_descriptors_is_of_who_listens() -> None:
    asked = {"bytes_received": 18, "last_sent": 5000, "last_received": 5000, "local_port": 80}
    memory = seen(**asked, inode=103)  # nobody is known to hold it
    listens = sockets_tcp.Known({
        **memory[sockets_tcp.Known].seen,  # type: ignore[attr-defined]
        b"door": (0, 0, socket(2, state="listen", local_port=80, inode=101)),
    }, listening=frozenset((101,)))  # fmt: skip
    memory[sockets_tcp.Known] = listens
    assert {row.pid for row in threads.update(host(FILES), memory)} == {7}


def test_a_process_that_moves_nothing_any_more_is_read_for_some_time() -> None:
    memory = seen(notsent=1)
    threads.update(host(FILES), memory)
    memory.update(seen())
    rounds = [len(threads.update(host(FILES), memory)) for _ in range(60)]
    assert rounds[5] == 2
    assert rounds[-1] == 0


def test_a_process_whose_datagrams_wait_is_read_without_schedstat() -> None:
    row = Datagrams(102, "0.0.0.0", 5, "", 0, ipv6=False, send_q=0, recv_q=9, uid=0, drops=0)
    memory = {**seen(), sockets_udp.Known: sockets_udp.Known([row])}
    (thread,) = threads.update(host(FILES), memory)
    assert (thread.pid, thread.ran, thread.waited, thread.cgroup) == (9, 2.0, None, "/box/two")


def test_the_quota_of_a_cgroup_and_of_those_above_it() -> None:
    old = "/sys/fs/cgroup/cpu,cpuacct/box"
    files = {
        f"{old}/cpu.cfs_quota_us": "20000\n",
        f"{old}/cpu.cfs_period_us": "100000\n",
        f"{old}/cpu.stat": "nr_periods 40\nnr_throttled 30\nthrottled_time 123\n",
        f"{old}/one/cpu.cfs_quota_us": "-1\n",
        f"{old}/one/cpu.cfs_period_us": "100000\n",
        "/sys/fs/cgroup/box/two/cpu.max": "150000 100000\n",
        "/sys/fs/cgroup/box/two/cpu.stat": "usage_usec 1\nnr_periods 8\nnr_throttled 2\n",
        "/sys/fs/cgroup/box/cpu.max": "max 100000\n",
    }
    groups = frozenset({"cpu,cpuacct:/box/one", "/box/two"})
    memory: Memory = {threads.Moving: threads.Moving(cgroups=groups)}
    rows = {row.cgroup: row for row in throttling.update(host(files), memory)}
    assert rows.keys() == {"cpu,cpuacct:/box", "/box/two"}
    assert rows["cpu,cpuacct:/box"].quota == 0.2
    assert (rows["cpu,cpuacct:/box"].periods, rows["cpu,cpuacct:/box"].throttled) == (40, 30)
    assert rows["/box/two"].quota == 1.5
    assert throttling.update(host(files), {threads.Moving: threads.Moving()}) == []


def test_the_memory_of_sockets_in_a_cgroup_and_in_those_above_it() -> None:
    old, most = "/sys/fs/cgroup/memory/box", "9223372036854771712\n"
    files = {
        f"{old}/memory.kmem.tcp.limit_in_bytes": "299008\n",
        f"{old}/memory.kmem.tcp.max_usage_in_bytes": "290816\n",
        f"{old}/one/memory.kmem.tcp.limit_in_bytes": most,
        f"{old}/one/memory.kmem.tcp.max_usage_in_bytes": "290816\n",
        "/sys/fs/cgroup/box/two/memory.events": "low 0\nmax 12\noom 0\nsock_throttled 7\n",
        "/sys/fs/cgroup/box/memory.events": "low 0\nmax 12\noom 0\nsock_throttled 9\n",
        "/sys/fs/cgroup/before/memory.events": "low 0\nmax 12\noom 0\n",
        "/sys/fs/cgroup/kills/memory.events": "max 12\noom 2\noom_kill 2\n",
        "/sys/fs/cgroup/kills/memory.max": "62914560\n",
        "/sys/fs/cgroup/memory/old/memory.oom_control": "oom_kill_disable 0\noom_kill 3\n",
        "/sys/fs/cgroup/memory/old/memory.limit_in_bytes": "62914560\n",
    }
    groups = frozenset({"memory:/box/one", "/box/two", "/before", "/kills", "memory:/old"})
    memory: Memory = {threads.Moving: threads.Moving(memory_cgroups=groups)}
    assert socket_memory.update(host(files), memory) == [
        socket_memory.Row("/box/two", 7),
        socket_memory.Row("/kills", None, None, None, 2, 62914560),
        socket_memory.Row("memory:/box", None, 290816, 299008),
        socket_memory.Row("memory:/old", None, None, None, 3, 62914560),
    ]
    assert socket_memory.update(host(files), {threads.Moving: threads.Moving()}) == []


@pytest.mark.parametrize("pid", [1, 812, 640])
def test_where_sys_hides_cgroups_the_first_process_or_one_above_shows_them(pid: int) -> None:
    group = f"/proc/{pid}/root/sys/fs/cgroup/cpu/box"
    files = {
        "/proc/self/stat": "900 (net (to) p) S 812 900 0 0 -1 4194304 1 0 0 0 1 1 0 0 20\n",
        "/proc/812/stat": "812 (timeout) S 640 812 0 0 -1 4194304 1 0 0 0 1 1 0 0 20\n",
        f"{group}/cpu.cfs_quota_us": "20000\n",
        f"{group}/cpu.cfs_period_us": "100000\n",
        f"{group}/cpu.stat": "nr_periods 40\nnr_throttled 30\nthrottled_time 123\n",
    }
    memory: Memory = {threads.Moving: threads.Moving(cgroups=frozenset({"cpu:/box"}))}
    assert [row.throttled for row in throttling.update(host(files), memory)] == [30]


def test_a_host_without_proc_is_not_one_without_traffic() -> None:
    for read in (threads.update, throttling.update):
        with pytest.raises(FileNotFoundError):
            read(host({"/sys/x": ""}), {})


# Processes that move data are the same whether or not unread sockets are looked at again.


PIDS = range(1, 5)
SMALL = st.sampled_from([0, 0, 1, 1999, 2000, 5000])


@dataclass
class Step:
    """One reading of `threads`: which tables were read before it, and what they found."""

    sockets: bool
    others: bool
    owners: bool
    grown: list[tuple[int, int, int]]  # bytes, unsent and unread bytes of each socket


STEPS = st.lists(
    st.builds(
        Step, st.booleans(), st.booleans(), st.booleans(),
        st.lists(st.tuples(SMALL, SMALL, SMALL), min_size=8, max_size=8),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


def _read(memory: Memory, step: Step, amounts: list[int], number: int) -> None:
    """What the collectors of sockets and owners leave in the memory."""
    here, others = recall(memory, sockets_tcp.Known), recall(memory, netns_tcp.Known)
    rows: dict[bytes, sockets_tcp.Seen] = {
        bytes([n]): (0, 0, socket(n, inode=n + 1, bytes_acked=amounts[n], notsent=a, recv_q=b))
        for n, (_, a, b) in enumerate(step.grown)
    }
    halves = dict(list(rows.items())[:4]), dict(list(rows.items())[4:])
    if step.sockets:
        here.seen = halves[0]
        here.reading += 1
    if step.others:
        others.seen = {7: halves[1]}
        others.reading += 1
    if step.owners:
        owned = {str(p): _ProcessSockets(inodes={"3": p, "4": p + 4}) for p in PIDS}
        owned.pop(str(number % 6), None)
        recall(memory, socket_owners.Known).held = owned
        recall(memory, socket_owners.Known).changes += 1


@given(STEPS)
def test_unread_sockets_need_no_second_look(steps: list[Step]) -> None:
    short: Memory = {}
    amounts = [0] * 8
    for number, step in enumerate(steps):
        amounts = [old + new for old, (new, _, _) in zip(amounts, step.grown, strict=True)]
        _read(short, step, amounts, number)
        whole = deepcopy(short)
        recall(whole, threads.Moving).changes = -1  # then all are looked at
        assert threads._moving(short, 0.0) == threads._moving(whole, 0.0)
        one, other = recall(short, threads.Moving), recall(whole, threads.Moving)
        assert (one.rounds, one.parts) == (other.rounds, other.parts)


class Counted(dict[bytes, sockets_tcp.Seen]):
    """The sockets of a reading; counts how often all of them are looked at."""

    looks = 0

    def items(self) -> Any:
        self.looks += 1
        return super().items()


def test_sockets_that_were_not_read_again_are_not_looked_at() -> None:
    memory: Memory = {}
    grown = [(0, 1, 0)] * 8
    _read(memory, Step(sockets=True, others=True, owners=True, grown=grown), [0] * 8, 0)
    here = recall(memory, sockets_tcp.Known)
    here.seen = counted = Counted(here.seen)
    for number in range(3):
        threads._moving(memory, 0.0)
        _read(memory, Step(sockets=False, others=True, owners=False, grown=grown), [0] * 8, number)
    assert counted.looks == 1
    assert recall(memory, threads.Moving).parts[0].waiting == (1, 2, 3, 4)
