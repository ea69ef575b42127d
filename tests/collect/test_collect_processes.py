"""Processes and threads: which are read, and how often."""

import os
import threading
from collections.abc import Sequence

from hang import until
from host_files import Counting, archive, host
from hypothesis import given
from hypothesis import strategies as st

from nettop.collect import processes
from nettop.collect._table import Memory
from nettop.host.source import Live


def stat(pid: int, name: str, user: int = 0, flags: int = 0x400000, threads: int = 1) -> str:
    after = f"S 1 1 1 0 -1 {flags} 0 0 0 0 {user} 5 0 0 20 -3 {threads} 0 777 0 0" + " 0" * 14
    return f"{pid} ({name}) {after} 6 0 0 0"


def test_a_name_may_hold_anything() -> None:
    row = processes.parse(stat(42, "a) (b", user=250).encode())
    assert (row.pid, row.name, row.user, row.system) == (42, "a) (b", 2.5, 0.05)
    assert (row.nice, row.threads, row.started, row.cpu) == (-3, 1, 777, 6)


def test_kernel_threads_that_move_no_packets_are_read_seldom() -> None:
    files = {
        "/proc/1/stat": stat(1, "init"),
        "/proc/2/stat": stat(2, "migration/0", flags=0x208040),
        "/proc/3/stat": stat(3, "ksoftirqd/0", flags=0x208040),
        "/proc/4/stat": stat(4, "napi/eth0-5", flags=0x208040),
    }
    memory: Memory = {}
    rows = processes.update(host(files), memory)
    assert [(row.name, row.kernel) for row in rows] == [
        ("init", False), ("ksoftirqd/0", True), ("napi/eth0-5", True),
    ]  # fmt: skip
    del files["/proc/2/stat"]
    files["/proc/2/"] = "gone from view, still listed"
    assert len(processes.update(host(files), memory)) == 3


def test_a_dull_thread_is_looked_at_again() -> None:
    files = {
        "/proc/2/stat": stat(2, "migration/0", flags=0x208040),
        "/proc/3/stat": stat(3, "ptlrpcd_00_01", flags=0x208040),
        "/proc/4/stat": stat(4, "rcu_preempt", flags=0x208040),
    }
    memory: Memory = {}
    assert not processes.update(host(files), memory)
    files["/proc/2/stat"] = stat(2, "iperf3")  # the thread ended, a program has its number
    files["/proc/4/stat"] = stat(4, "rcu_preempt", user=9, flags=0x208040)
    for turn in range(20):
        spent = 900 + 90 * turn
        files["/proc/3/stat"] = stat(3, "ptlrpcd_00_01", user=spent, flags=0x208040)
        rows = processes.update(host(files), memory)
    assert [(row.name, row.user) for row in rows] == [("iperf3", 0.0), ("ptlrpcd_00_01", 26.1)]
    assert len(processes.update(host(files), memory)) == 2
    for _ in range(3):
        rows = processes.update(host(files), memory)
    assert [row.name for row in rows] == ["iperf3"]  # the other rests again


def test_kworkers_rest_when_they_do_nothing() -> None:
    files = {
        f"/proc/{pid}/stat": stat(pid, f"kworker/{pid}:1", flags=0x4208060) for pid in range(64)
    }
    files["/proc/100/stat"] = stat(100, "init")
    memory: Memory = {}
    read, rows = [], []
    for turn in range(24):
        if turn >= 8:  # one of them has work
            spent = 20 * (turn - 8)
            files["/proc/9/stat"] = stat(9, "kworker/9:1", user=spent, flags=0x4208060)
        source = Counting(archive(files))
        rows.append(processes.update(source, memory))
        read.append(len(source.files))
    assert [len(found) for found in rows[:5]] == [65, 65, 65, 1, 1]  # a short look sees them all
    assert read[1:8] == [65, 65, 65, 17, 17, 17, 17]
    assert sum(read[-4:]) == 4 * 17 + 3  # the one with work each time, not only in its turn
    assert [row.name for row in rows[13] if row.kernel] == ["kworker/9:1"]
    assert [row.pid for row in rows[-1]] == [100, 9]


def two_threads() -> dict[str, str]:
    return {
        "/proc/7/stat": stat(7, "iperf3", user=100, threads=2),
        "/proc/7/status": "Name:\tiperf3\nCpus_allowed_list:\t2-3\nThreads:\t2",
        "/proc/7/task/7/stat": stat(7, "iperf3", user=40, threads=2),
        "/proc/7/task/7/schedstat": "1 1500000000 3",
        "/proc/7/task/8/stat": stat(8, "worker", user=60, threads=2),
        "/proc/7/task/8/schedstat": "1 500000000 3",
    }


def test_the_busiest_show_their_threads() -> None:
    files = {**two_threads(), "/proc/self/stat": ""}
    rows = processes.update(host(files), {})
    assert [(row.pid, row.tid, row.name, row.thread) for row in rows] == [
        (7, 7, "iperf3", False), (7, 7, "iperf3", True), (7, 8, "worker", True),
    ]  # fmt: skip
    assert (rows[0].allowed, rows[0].waited, rows[2].waited) == ((2, 3), 2.0, 0.5)


def test_of_what_did_not_run_meanwhile_no_more_is_read() -> None:
    files = two_threads()
    memory: Memory = {}

    def read() -> tuple[Sequence[processes.Row], set[str]]:
        source = Counting(archive(files))
        return processes.update(source, memory), source.files

    first, paths = read()
    assert paths == {*files}
    again, paths = read()
    assert paths == {"/proc/7/stat"}
    assert all(new is old for new, old in zip(again, first, strict=True))
    files["/proc/7/stat"] = stat(7, "iperf3", user=120, threads=2)
    files["/proc/7/task/8/stat"] = stat(8, "worker", user=80, threads=2)
    files["/proc/7/task/8/schedstat"] = "2200 600000000 4"
    rows, paths = read()
    assert paths == {*files} - {"/proc/7/task/7/stat"}
    assert [row.user for row in rows] == [1.2, 0.4, 0.8]
    assert rows[1] is first[1]


def test_threads_are_read_of_the_busiest_first_and_not_without_end() -> None:
    files = {}
    for pid, user in ((7, 10), (8, 90)):
        files[f"/proc/{pid}/stat"] = stat(pid, f"p{pid}", user=user, threads=400)
        for tid in range(400):
            number = pid * 1000 + tid
            files[f"/proc/{pid}/task/{number}/stat"] = stat(number, "t", user=1)
    rows = [row for row in processes.update(host(files), {}) if row.thread]
    assert len(rows) == processes.THREADS
    assert sum(row.pid == 8 for row in rows) == 400


@given(st.binary(max_size=200) | st.text(max_size=120).map(str.encode))
def test_any_line_is_a_process_or_a_value_error(line: bytes) -> None:
    try:
        row = processes.parse(line)
    except ValueError:
        return
    assert row.pid == row.tid


def test_this_process_is_seen_with_its_threads() -> None:
    stop = threading.Event()
    helper = threading.Thread(target=stop.wait)
    helper.start()
    try:
        memory: Memory = {}  # of many processes some are read at each look
        rows = until(lambda: [r for r in processes.update(Live(), memory) if r.pid == os.getpid()])
    finally:
        stop.set()
        helper.join()
    whole = next(row for row in rows if not row.thread)
    assert whole.threads is not None
    assert whole.threads >= 2
    assert {row.tid for row in rows} <= {int(t) for t in os.listdir("/proc/self/task")} | {
        row.tid for row in rows if row.thread
    }
    if whole.allowed is not None:
        assert set(whole.allowed) == os.sched_getaffinity(0)
