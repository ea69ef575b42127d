"""What feeds a sender and drains a receiver: one table a stage, and who is named."""

from collections.abc import Sequence
from typing import Any

import pytest
from asleep import asleep
from flow_tables import Tables, task
from folded import folded
from limit_frames import AWAY, RECEIVES, flow, limits, moment

from nettop.collect import threads, waits
from nettop.facts.limits import Limit, words

ROOM = {**AWAY, "wmem_queued": 0}
IDLE = {"busy_time": 50_000}
UNREAD = {**AWAY, "recv_q": 3_000_000, "rmem_alloc": 4_000_000, "rcvbuf": 6_000_000}
BYTES = 125_000_000  # a second, of the flow


def row(
    call: str | None = "", kind: str = "", *, pid: int = 7, tid: int = 0, **more: Any
) -> waits.Row:
    """One thread: it sleeps in this call."""
    name = "iperf3" if pid == 7 else f"p{pid}"
    plain: dict[str, Any] = {"name": name, "state": "S", "call": call}
    return asleep(pid=pid, tid=tid or pid, started=5, kind=kind, **{**plain, **more})


READ = row("read", "input", object="/data/big", filesystem="ext4", state="D")
EVENT = row("read", "lock", type="eventfd", object="4")
SIGNAL = row("read", "signal", type="eventfd", object="4", feeds=(8,))
PIPE = row("read", "input", object="pipe:[5]", feeds=(8,))
GROWS = row("poll", "events", pid=8, type="inotify", object="/var/log/app", feeds=(9,))
FILTER = row("poll", "events", object="pipe:[5]", feeds=(8,))
MUTEX = row("futex", "lock", word=9, object="/dev/shm/index", holders=(8,))
SEMAPHORE = row("futex", "lock", object="/dev/shm/sem.a", holders=(8,))
SERVED = row("read", "input", object="/mnt/big", filesystem="fuse", feeds=(8,))
OUT = row("write", "output", object="pipe:[6]", drains=(8,))


def vars_of(one: waits.Row) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__dataclass_fields__}


def sender(
    *rows: waits.Row | Sequence[waits.Row], ran: float = 0.05, others: Sequence[Any] = (),
    evicted: float | None = None, read: float = 0.0, received: float = 0.0,
    times: tuple[float, float] = (0.0, 0.0),
) -> Limit:  # fmt: skip
    """The limit of a sender with room everywhere; of a sequence of rows each second takes one."""

    def at(s: float) -> Tables:
        known = [one if isinstance(one, waits.Row) else one[int(s) % len(one)] for one in rows]
        known = [asleep(**{**vars_of(one), "read": int(read * s), "written": 0,
                              "evicted": None if evicted is None else int(evicted * s)})
                 for one in known]  # fmt: skip
        more = [threads.Row(pid, pid, 5, f"p{pid}", "S", used * s, waited * s)
                for pid, used, waited in others]  # fmt: skip
        tables = moment(s, rates={**IDLE, "bytes_received": received}, gauges=ROOM, ran=ran,
                        more={"waits": known})  # fmt: skip
        spent = [task(7, "iperf3", 0, times[1] * s, system=times[0] * s)]
        return {**tables, "threads": [*tables["threads"], *more], "processes": spent}

    return flow(limits(at))


def receiver(*rows: waits.Row, others: Sequence[Any] = ()) -> Limit:
    """The limit of a receiver whose socket is full."""

    def at(s: float) -> Tables:
        more = [threads.Row(pid, pid, 5, f"p{pid}", "S", used * s, waited * s)
                for pid, used, waited in others]  # fmt: skip
        tables = moment(s, rates=RECEIVES, gauges=UNREAD, ran=0.05, more={"waits": rows})
        return {**tables, "threads": [*tables["threads"], *more]}

    return flow(limits(at))


@folded(("rows", "stage", "name"), [
    ([READ], "disk-read", "iperf3[7]"),
    ([row("sendfile", "input", object="/data/big")], "disk-read", "iperf3[7]"),  # FUSE sleeps as S
    ([row("call 257", state="D")], "disk-read", "iperf3[7]"),  # open() of many small files
    ([row("", state="D")], "disk-read", "iperf3[7]"),  # a page fault of a mapped file
    ([row("fsync", "sync", object="/data/log")], "disk-write", "iperf3[7]"),
    ([row("clock_nanosleep", "timer")], "timer", "iperf3[7]"),
    ([row("epoll_wait", "events", ends=True)], "timer", "iperf3[7]"),
    ([row("epoll_wait", "events")], "application", "iperf3[7]"),  # nobody knows for what
    ([row("futex", "lock")], "lock", "iperf3[7]"),
    ([row("flock", "lock", object="/run/lock")], "lock", "iperf3[7]"),
    ([row("read", "input", object="/dev/random")], "application", "iperf3[7]"),
    # a pipe, followed
    ([PIPE, row("read", "input", pid=8, object="/data/big", state="D")], "disk-read", "p8[8]"),
    ([PIPE, row("clock_nanosleep", "timer", pid=8)], "timer", "p8[8]"),
    ([PIPE, row("read", "input", pid=8, object="pipe:[9]", feeds=(9,)),
      row("read", "input", pid=9, object="/data/big", state="D")], "disk-read", "p9[9]"),
    ([PIPE, row("write", "output", pid=8, object="pipe:[5]", drains=(7,))], "pipe", "p8[8]"),
    ([PIPE], "pipe", "process 8"),  # which may not be looked at
    ([PIPE, row("flock", "lock", pid=8, object="/run/lock", holders=(9,)),
      row("nanosleep", "timer", pid=9)], "lock", "p8[8]"),
    # a shell that waits for its children, which come and go
    ([PIPE, row("wait4", "child", pid=8, children=(20, 21)),
      row("nanosleep", "timer", pid=20, name="sleep"),
      row("nanosleep", "timer", pid=21, name="sleep")], "timer", "sleep"),
    # a loop of events with a pipe: ssh
    ([row("ppoll", "events", feeds=(8,), ends=True),
      row("read", "input", pid=8, object="/data/big", state="D")], "disk-read", "p8[8]"),
    # a filter whose standard input is a pipe: the one behind it is told in any case
    ([FILTER, row("pselect6", "timer", pid=8)], "timer", "p8[8]"),
    ([FILTER, row("call 9", pid=8)], "pipe", "p8[8]"),
    # it waits until a file grows, which another program writes
    ([FILTER, GROWS, row("nanosleep", "timer", pid=9)], "timer", "p9[9]"),
    ([FILTER, GROWS, row("epoll_wait", "events", pid=9)], "pipe", "p8[8]"),
    ([row("semtimedop", "lock", type="semaphore", object="4")], "lock", "iperf3[7]"),
    # a program that serves the file system (FUSE)
    ([SERVED, row("nanosleep", "timer", pid=8)], "timer", "p8[8]"),
    ([SERVED, row("read", "input", pid=8, object="/dev/fuse")], "disk-read", "iperf3[7]"),
    ([SERVED, row("read", "input", pid=8, object="/data/big", state="D")], "disk-read", "p8[8]"),
    # the call in which it was frozen says nothing
    ([row("clock_nanosleep", "timer", frozen="/f")], "stopped", "iperf3[7]"),
    ([row("recvfrom", "input", object="socket:[9]", state="D", frozen="/f")], "stopped",
     "iperf3[7]"),
    ([PIPE, row("nanosleep", "timer", pid=8, frozen="/f")], "stopped", "p8[8]"),
    # a lock in memory that programs share, and an eventfd
    ([MUTEX, row("nanosleep", "timer", pid=8)], "lock", "iperf3[7]"),
    ([SIGNAL, row("nanosleep", "timer", pid=8)],
     "timer", "p8[8]"),
    ([EVENT], "lock", "iperf3[7]"),
    # two programs that wait for each other
    ([PIPE, row("read", "input", pid=8, object="pipe:[9]", feeds=(7,))], "pipe", "iperf3[7]"),
])  # fmt: skip
def test_what_a_sender_waits_for(rows: list[waits.Row], stage: str, name: str) -> None:
    found = sender(*rows)
    assert (found.stage.stage, found.stage.end, found.stage.name) == (stage, "here", name)


def test_who_waits_for_a_file_or_a_semaphore_says_for_which() -> None:
    found = sender(FILTER, GROWS, row("epoll_wait", "events", pid=9)).stage
    assert "until /var/log/app grows, which p9[9] writes; iperf3[7] waits" in found.because
    assert found.how == "grows"
    found = sender(row("semtimedop", "lock", type="semaphore", object="4")).stage
    assert "for semaphore 4 of System V, until another process raises it" in found.because


@folded(("rows", "stage", "name"), [
    ([row("write", "output", object="/data/out", state="D")], "disk-write", "iperf3[7]"),
    ([row("fsync", "sync", object="/data/out")], "disk-write", "iperf3[7]"),
    ([OUT, row("write", "output", pid=8, object="/data/out", state="D")], "disk-write", "p8[8]"),
    ([row("nanosleep", "timer")], "timer", "iperf3[7]"),
    ([row("flock", "lock", object="/run/lock")], "lock", "iperf3[7]"),
    ([row("recvfrom", "input", object="socket:[101]")], "application", "iperf3[7]"),
])  # fmt: skip
def test_what_a_receiver_waits_for(rows: list[waits.Row], stage: str, name: str) -> None:
    found = receiver(*rows)
    assert (found.stage.stage, found.stage.name) == (stage, name)


LIMIT = "/sys/fs/cgroup/u/io.max allows rbps=9 on vda (254:0)"
THROTTLES = f"which a cgroup throttles: {LIMIT}"


@pytest.mark.parametrize(("rows", "words", "how"), [
    ([row("read", "input", object="/dev/loop0", state="D", direct=True, throttled=LIMIT)],
     f"in read() of /dev/loop0 (past the page cache), {THROTTLES}",
     "throttled"),
    ([row("sendto", "output", object="socket:[9]", state="D", mapped="/data/m", throttled=LIMIT)],
     f"in sendto() for a mapped file (the largest of these files: /data/m), {THROTTLES}",
     "throttled"),
    ([PIPE, row("read", "input", pid=8, object="/data/b", state="D", throttled=LIMIT)],
     f"{THROTTLES}; iperf3[7] waits 95% of the time for a pipe", "throttled"),
    ([SERVED, row("nanosleep", "timer", pid=8)],
     "iperf3[7] waits 95% of the time in read() of /mnt/big (fuse), which p8[8] serves", ""),
    ([row("recvfrom", "input", object="socket:[9]", feeds=(8,)),
      row("nanosleep", "timer", pid=8)], "waits 95% of the time for a Unix socket", ""),
    ([row("futex", "lock", word=9)], "for a lock that another thread or process holds (futex)", ""),
    ([MUTEX, row("nanosleep", "timer", pid=8)],
     "for a lock in /dev/shm/index, which p8[8] maps as well", ""),
    ([row("futex", "lock", object="/dev/shm/index")], "for a futex in /dev/shm/index (futex)", ""),
    ([SEMAPHORE, row("nanosleep", "timer", pid=8)],
     "itself (nanosleep); iperf3[7] waits 95% of the time for a futex in /dev/shm/sem.a, w", ""),
    ([row("semop", "lock", type="semaphore", object="4", holders=(8, 9, 10, 11))],
     "(it shares memory with process 8 and process 9 and process 10 and 1 more) (semop)", ""),
    ([EVENT], "95% of the time for an eventfd (read)", ""),
    ([SIGNAL, row("nanosleep", "timer", pid=8)],
     "; iperf3[7] waits 95% of the time for an eventfd", ""),
    ([row("wait4", "child", children=(8,)), row("nanosleep", "timer", pid=8)],
     "; iperf3[7] waits for it to end", ""),
    ([row("clock_nanosleep", "timer", object="/data/rows.db", holders=(8,))],
     "or tries again for the lock of /data/rows.db, held by process 8", ""),
    ([row("futex", "lock")], "iperf3[7] waits 95% of the time for another thread (futex)", ""),
    ([row("nanosleep", "timer", frozen="/f")], "is frozen with its cgroup /f 95% of the time", ""),
    ([row("", state="T")], "is stopped by a signal 95% of the time", ""),
])  # fmt: skip
def test_the_words_for_what_a_sender_waits_for(rows: list[waits.Row], words: str, how: str) -> None:
    found = sender(*rows).stage
    assert words in found.because
    assert found.how == how


def test_the_thread_that_sends_counts_not_the_one_that_accepts() -> None:
    """The loop that accepts connections wakes now and then, and runs more than who sleeps."""
    loop = row("poll", "events", ends=True)
    for inode, stage in ((101, "application"), (99, "timer")):  # of this flow, of another one
        blocked = row("sendto", "output", tid=8, object=f"socket:[{inode}]")
        assert sender(loop, blocked).stage.stage == stage


def test_a_thread_that_is_stopped_has_used_no_core() -> None:
    """It is stopped 80 % of the time, and runs in the rest."""
    stopped = row("", state="T")
    found = sender([stopped, stopped, stopped, stopped, row("", state="R")], ran=0.2)
    assert (found.stage.stage, "thread" in found.joint) == ("stopped", False)
    thread = next(one for one in found.ladder if one.stage == "thread")
    assert thread.utilisation == pytest.approx(0.2)


@folded(("system", "user", "again", "stage"), [
    (0.9, 0.05, 0.9, "memory"),  # the kernel evicts, and reads again
    (0.1, 0.85, 0.9, "thread"),  # it computes
    (0.9, 0.05, 0.2, "thread"),  # most of what it sends was in memory
])  # fmt: skip
def test_a_busy_thread_whose_data_is_evicted_before_it_is_used_lacks_memory(
    system: float, user: float, again: float, stage: str
) -> None:
    busy = row("", state="R", memory="/sys/fs/cgroup/u/memory.max is 9")
    found = sender(busy, ran=0.95, evicted=again * BYTES / 4096, times=(system, user))
    assert found.stage.stage == stage
    if stage == "memory":
        assert "/sys/fs/cgroup/u/memory.max is 9" in found.stage.because


@folded(("asked", "waits_for", "stage"), [
    (1200, row("clock_nanosleep", "timer"), "timer"),
    (1200, row("write", "output", object="/data/out", state="D"), "disk-write"),
    (1200, row("recvfrom", "input", object="socket:[101]"), "peer"),  # for the answer
    (0, row("clock_nanosleep", "timer"), "peer"),  # it only looks from time to time
])  # fmt: skip
def test_what_a_reader_does_before_it_asks_for_more(
    asked: int, waits_for: waits.Row, stage: str
) -> None:
    """It reads each answer at once, so that no data waits."""

    def at(s: float) -> Tables:
        rates = {**RECEIVES, "bytes_acked": asked}
        return moment(s, rates=rates, gauges=AWAY, ran=0.05, more={"waits": [waits_for]})

    assert flow(limits(at)).stage.stage == stage


def test_who_reads_the_messages_of_a_receiver_does_not_limit_it() -> None:
    """It is paced by its own timer; the shell that started it waits for its output."""
    loop = row("poll", "events", drains=(8,), ends=True)
    for idle in (row("futex", "lock", pid=8), row("nanosleep", "timer", pid=8),
                 row("epoll_wait", "events", pid=8)):  # fmt: skip
        found = receiver(loop, idle)
        assert (found.stage.stage, found.stage.name) == ("timer", "iperf3[7]")
    writes = row("write", "output", pid=8, object="/data/out", state="D")
    assert receiver(loop, writes).stage.stage == "disk-write"
    idle = row("futex", "lock", pid=8)
    assert sender(row("poll", "events", feeds=(8,), ends=True), idle).stage.name == "iperf3[7]"


def test_a_program_in_the_pipe_without_time_left_on_its_core() -> None:
    cipher = row(pid=8, state="R")
    found = sender(PIPE, cipher, others=[(8, 0.9, 0.05)])
    assert (found.stage.stage, found.stage.name, found.stage.number) == ("pipe-cpu", "p8[8]", 8)
    assert "pipe" in found.joint
    assert found.stage.capacity is not None
    assert found.stage.capacity[0] == pytest.approx(8 * BYTES)
    drains = receiver(OUT, cipher, others=[(8, 0.9, 0.05)])
    assert (drains.stage.stage, drains.stage.name) == ("pipe-cpu", "p8[8]")


def test_the_end_that_waits_for_requests() -> None:
    asks = row("recvfrom", "input", object="socket:[101]")
    assert sender(asks, received=4000).stage.stage == "request"
    assert sender(row("epoll_wait", "events"), received=4000).stage.stage == "request"
    assert sender(asks).stage.stage == "application"  # nothing comes: it is no question
    assert sender(asks, received=4000).stage.how == ""  # a round trip is all that it takes


def test_an_end_that_asks_late_is_told_from_a_long_way() -> None:
    asks = row("recvfrom", "input", object="socket:[101]")

    def at(s: float) -> Tables:
        rates = {"busy_time": 50_000, "bytes_received": 400, "data_segs_in": 4}
        return moment(s, rates=rates, gauges={**ROOM, "rtt": trip}, ran=0.05,
                      more={"waits": [asks]})  # fmt: skip

    trip = 1_000
    found = flow(limits(at))
    assert words.limited(found) == "waiting between requests"
    assert found.stage.because.endswith("the path takes 1 ms: the program there takes the rest")
    trip = 200_000
    assert flow(limits(at)).stage.how == ""


def test_pages_that_are_read_again_are_a_lack_of_memory() -> None:
    fault = row("", state="D")
    assert sender(fault, read=4096 * 100, evicted=90).stage.stage == "memory"
    assert sender(fault, read=4096 * 100, evicted=20).stage.stage == "disk-read"
    assert sender(READ, read=4096 * 100, evicted=90).stage.stage == "memory"
    assert sender(fault).stage.stage == "disk-read"  # its memory cgroup may not be read


def test_a_program_that_is_stopped_now_and_then() -> None:
    found = sender([row("", state="T"), row("", state="T"), row("", state="R")], ran=0.3)
    assert (found.stage.stage, found.stage.name) == ("stopped", "iperf3[7]")


def test_a_helper_thread_that_reads_decides_and_one_that_sleeps_does_not() -> None:
    waits_for_it = row("futex", "lock")
    reads = row("pread64", "input", tid=70, object="/data/big", state="D")
    assert sender(waits_for_it, reads).stage.stage == "disk-read"
    cleaner = row("clock_nanosleep", "timer", tid=70)
    found = sender(waits_for_it, cleaner)
    assert (found.stage.stage, "timer" in found.joint) == ("lock", True)


def test_without_the_calls_a_thread_that_waits_for_a_device_is_seen_by_its_state() -> None:
    assert sender(row(state="D", call=None)).stage.stage == "disk-read"
    assert receiver(row(state="D", call=None)).stage.stage == "disk-write"
    assert sender(row(state="S", call=None)).stage.stage == "application"


def test_samples_that_miss_each_wait_leave_the_bytes_of_the_device() -> None:
    """A page fault within send() holds the socket: whoever reads that socket sees it run."""
    runs = row(state="R")
    assert sender(runs, read=BYTES).stage.stage == "disk-read"
    assert sender(runs, read=BYTES / 10).stage.stage == "application"
    asks = row("io_getevents", "events", object="/data/big", direct=True)
    found = sender(asks, read=BYTES).stage
    assert (found.stage, found.how) == ("disk-read", "direct")
    assert "waits 95% of the time in io_getevents() of /data/big" in found.because
    assert sender(asks, read=BYTES / 10).stage.stage == "application"


def test_a_stage_of_the_network_comes_first() -> None:
    """Data waits in the socket: what the program does meanwhile does not limit."""
    full = {"notsent": 3_000_000, "wmem_queued": 3_900_000, "sndbuf": 4_000_000}
    timer = row("clock_nanosleep", "timer")

    def at(s: float) -> Tables:
        rates = {"sndbuf_limited": 900_000}
        return moment(s, rates=rates, gauges=full, ran=0.05, more={"waits": [timer]})

    assert flow(limits(at)).stage.stage == "sndbuf"


def test_the_sentence_names_the_program_and_not_the_way_to_it() -> None:
    found = sender(PIPE, row("read", "input", pid=8, object="/data/big", state="D"))
    assert words.limited(found) == "limited by the disk reads of p8[8]"
    why = "p8[8] waits 100% of the time in read() of /data/big; iperf3[7] waits 95% of the time"
    assert found.stage.because == f"{why} for a pipe"


@folded(("one", "how"), [
    (row("read", "input", object="/big", state="D", throttled=LIMIT, direct=True), "throttled"),
    (row("read", "input", object="/data/big", state="D", direct=True), "direct"),
    (row("read", "input", object="/data/big", state="D"), "cached"),
    (row("fsync", "sync", object="/data/big", state="D"), "synced"),
    (row("write", "output", object="/data/big", state="D", synced=True), "synced"),
    (row("", state="D"), ""),  # a mapped file
])  # fmt: skip
def test_how_a_device_is_used_is_told_to_rules(one: waits.Row, how: str) -> None:
    assert sender(one).stage.how == how
    assert sender(PIPE, asleep(**{**vars_of(one), "pid": 8, "tid": 8})).stage.how == how


RELAY = row("poll", "events", feeds=(8,), ends=True)


@folded(("relay", "ran", "behind", "others", "stage"), [
    (RELAY, 0.6, row(pid=8, state="R"), [(8, 0.55, 0.45)], "pipe-cpu"),
    (PIPE, 0.6, row("read", "input", pid=8, object="/data/big", state="D"), [], "disk-read"),
    (RELAY, 0.6, row(pid=8, state="R"), [(8, 0.3, 0.1)], "application"),  # the relay is busier
    (RELAY, 0.9, row(pid=8, state="R"), [(8, 0.9, 0.1)], "thread"),  # and hardly waits
])  # fmt: skip
def test_a_relay_that_runs_for_a_part_of_the_time_does_not_hide_the_program_behind_it(
    relay: waits.Row, ran: float, behind: waits.Row, others: Any, stage: str
) -> None:
    found = sender(relay, behind, ran=ran, others=others)
    assert found.stage.stage == stage
    if stage == "pipe-cpu":
        why = "p8[8] ran 55% of the time and waited for a core 45%; iperf3[7] waits 40%"
        assert why in found.stage.because


def test_a_program_behind_a_pipe_limits_a_receiver_whose_socket_is_seldom_full() -> None:
    """The protocol of the flow has windows of its own: in one sample of five data is unread."""
    loop, busy = row("ppoll", "events", drains=(8,)), row(pid=8, state="R")

    def at(s: float) -> Tables:
        unread = {**AWAY, "recv_q": 5000 * (int(s) % 5 == 1)}
        tables = moment(s, rates={**RECEIVES, "bytes_acked": 1200}, gauges=unread, ran=0.1,
                        more={"waits": [loop, busy]})  # fmt: skip
        return {**tables, "threads": [*tables["threads"], threads.Row(8, 8, 5, "p8", "S", s, 0.0)]}

    assert flow(limits(at)).stage.stage == "pipe-cpu"
