"""Programs of several threads or files: who waits for whom, and what is told of the rest."""

from collections.abc import Sequence
from typing import Any

import pytest
from asleep import asleep
from flow_tables import Tables
from limit_frames import AWAY, flow, limits, moment

from nettop.collect import threads, waits
from nettop.facts.limits import Limit

ROOM = {**AWAY, "wmem_queued": 0}
IDLE = {"busy_time": 50_000}
BYTES = 125_000_000  # a second, of the flow


def row(call: str = "", kind: str = "", *, tid: int = 7, **more: Any) -> waits.Row:
    """One thread: it sleeps in this call."""
    plain: dict[str, Any] = {"state": "S", "call": call, "kind": kind, "name": "iperf3"}
    return asleep(pid=7, tid=tid, started=5, **{**plain, **more})


def sender(*rows: waits.Row | Sequence[waits.Row]) -> Limit:
    """The limit of a sender with room; of a sequence of rows each second takes one."""

    def at(s: float) -> Tables:
        known = [one if isinstance(one, waits.Row) else one[int(s) % len(one)] for one in rows]
        return moment(s, rates=IDLE, gauges=ROOM, ran=0.05, more={"waits": known})

    return flow(limits(at))


def test_a_working_thread_that_waits_for_the_busy_one_is_told_beside_it() -> None:
    """A parked thread of a pool hardly runs: it waits for work."""
    busy, waits_for_it = row(state="R"), row("futex", "lock", tid=70)
    for ran, told in ((0.2, True), (0.001, False)):

        def at(s: float, ran: float = ran) -> Tables:
            tables = moment(
                s, rates=IDLE, gauges=ROOM, ran=0.98, more={"waits": [busy, waits_for_it]}
            )
            own = threads.Row(7, 70, 5, "sender", "S", ran * s, 0.0)
            return {**tables, "threads": [*tables["threads"], own]}

        found = flow(limits(at)).stage
        assert (found.stage, found.how) == ("thread", "locked" if told else "")
        assert ("sender[70] waits 100% of the time for another thread" in found.because) is told


def test_a_program_that_waits_for_another_file_each_time_reads_many() -> None:
    files = [row("read", "input", object=f"/data/{n}", filesystem="ext4", state="D")
             for n in range(6)]  # fmt: skip
    found = sender(files).stage
    assert (found.stage, found.how) == ("disk-read", "files")
    assert found.because.endswith("(ext4), another file in each sample")
    assert sender(files[:2]).stage.how == "cached"


def test_small_writes_of_a_busy_sender_are_told() -> None:
    for each, full, told in ((80, 1448, True), (1000, 1448, False), (700, 1448, True),
                             (4096, 65483, False)):  # fmt: skip

        def at(s: float, each: int = each, full: int = full) -> Tables:
            return moment(
                s,
                rates={**IDLE, "data_segs_out": BYTES / each},
                gauges={**ROOM, "mss": full},
                ran=0.98,
            )

        why = flow(limits(at)).stage.because
        assert (
            f"; its writes are small: {each} B in a segment that has room for 1448" in why
        ) is told


def test_a_runtime_that_moves_its_tasks_waits_for_the_disk_in_one_thread_or_another() -> None:
    parked = row("futex", "lock")
    idle = [row("futex", "lock", tid=tid) for tid in (70, 71, 72)]

    def turns(call: str, **more: Any) -> list[list[waits.Row]]:
        """Three threads, of which one is in this call at a time."""
        return [[row(call, "input" if call else "", tid=one.tid, **more) if n == turn else one
                 for turn in range(3)] for n, one in enumerate(idle)]  # fmt: skip

    read = turns("read", object="/data/big", filesystem="ext4", state="D")
    found = sender(parked, *read).stage
    assert (found.stage, found.how) == ("disk-read", "cached")
    assert "waits 100% of the time in read() of /data/big (ext4), in one of its" in found.because
    assert sender(parked, *turns("", state="R")).stage.stage == "application"
    assert sender(parked, *idle).stage.stage == "lock"


def test_a_timed_wait_of_a_runtime_in_which_nothing_runs_is_a_timer_and_no_lock() -> None:
    """As the sleep of Go; while another thread runs, it may be the lock of an interpreter."""
    timed = row("futex", "lock", word=64, ends=True)
    assert sender(timed).stage.stage == "timer"
    assert sender(row("futex", "lock", word=64)).stage.stage == "lock"
    events = row("epoll_wait", "events", tid=70)
    assert sender(row("futex", "lock"), events).stage.stage == "application"


@pytest.mark.parametrize(("word", "told"), [(0, "application"), (64, "lock")])
def test_a_timed_wait_at_which_no_other_thread_waits_is_no_lock(word: int, told: str) -> None:
    def at(s: float) -> Tables:
        rows = [row("futex", "lock", word=64, ends=True),
                row("futex", "lock", tid=70, word=word, ends=bool(word))]  # fmt: skip
        tables = moment(s, rates=IDLE, gauges=ROOM, more={"waits": rows})
        known = [threads.Row(7, tid, 5, "ship", "S", 0.3 * s, 0.0) for tid in (7, 70)]
        return {**tables, "threads": known}

    assert flow(limits(at)).stage.stage == told


@pytest.mark.parametrize(("asleep", "word", "told"), [
    (False, 0, True), (True, 0, False), (False, 64, False),
])  # fmt: skip
def test_threads_that_compute_in_turn_limit_as_one(asleep: bool, word: int, told: bool) -> None:
    """Unless now and then none of them has work, or a lock lets them run one at a time."""

    def at(s: float) -> Tables:
        turn = int(s) % 3
        rows = [
            row("", state="R", tid=tid) if turn == n else row("futex", "lock", tid=tid, word=word)
            for n, tid in enumerate((70, 71) if asleep else (70, 71, 72))
        ]
        known = [threads.Row(7, one.tid, 5, "pool", "S", 0.33 * s, 0.0) for one in rows]
        tables = moment(s, rates=IDLE, gauges=ROOM, more={"waits": rows})
        return {**tables, "threads": known}

    found = flow(limits(at)).stage
    words = "the threads pool[70] (ran 33%) and pool[71] (ran 33%) and 1 more compute in turn"
    assert (words in found.because) is told
    assert (found.stage == "thread") is told


def test_a_program_that_a_tracer_stops_is_not_limited_by_its_cpu_time() -> None:
    """Each stop puts it behind the others that wait for its core."""
    found = sender([row("", state="R"), row("", state="t", tracer=90)]).stage
    assert (found.stage, found.how) == ("stopped", "traced")
    assert found.because == (
        "iperf3[7] is traced by process 90, which stops it at its calls: it ran 5.0% of the time"
    )


def test_a_tracer_is_told_where_the_time_of_its_program_is_not_known() -> None:
    def at(s: float) -> Tables:
        tables = moment(s, rates=IDLE, gauges=ROOM, more={"waits": [row("", state="t", **by)]})
        return {**tables, "threads": []}

    by: dict[str, Any] = {"tracer": 90}
    assert "is traced by process 90" in flow(limits(at)).stage.because
    by = {}
    assert "is stopped by a tracer 100% of the time" in flow(limits(at)).stage.because


def test_a_thread_without_memory_of_its_cgroup_waits_for_no_device() -> None:
    found = sender(row(state="D", kind="memory", memory="/g/memory.max is 9")).stage
    assert found.stage == "memory"
    assert found.because.endswith("for memory, which its cgroup does not give: /g/memory.max is 9")


@pytest.mark.parametrize(("after", "runs", "told"), [
    (1000, 60, "application"), (1000, 1, "timer"), (None, 60, "timer"), (20, 60, "timer"),
    (1000, None, "application"),  # how often it wakes is not known
])  # fmt: skip
def test_a_wait_with_a_time_that_data_ends_is_no_timer(
    after: int | None, runs: int | None, told: str
) -> None:
    """It wakes many times in the time after which it would wake by itself."""

    def at(s: float) -> Tables:
        polls = row("poll", "events", ends=True, after=after)
        tables = moment(s, rates=IDLE, gauges=ROOM, more={"waits": [polls]})
        known = [threads.Row(7, 7, 5, "curl", "S", 0.05 * s, 0.0,
                             runs=None if runs is None else int(runs * s))]  # fmt: skip
        return {**tables, "threads": known}

    assert flow(limits(at)).stage.stage == told


@pytest.mark.parametrize(("remote", "port", "stage", "words"), [
    ("10.0.0.9", 53, "request", "for datagrams (UDP) of 10.0.0.9:53, a name server"),
    ("10.0.0.9", 5004, "relay", "for datagrams (UDP) of 10.0.0.9:5004"),
    ("", 5004, "relay", "for datagrams (UDP) at port 5004"),
    ("", 0, "application", ""),
])  # fmt: skip
def test_who_sends_the_datagrams_is_told(remote: str, port: int, stage: str, words: str) -> None:
    asks = row("recvfrom", "input", object="socket:[99]", remote=remote, port=port)
    found = sender(asks).stage
    assert found.stage == stage
    assert found.because.endswith(words)


@pytest.mark.parametrize(("gauges", "told"), [
    ({}, "nagle"), ({"unacked": 1}, "application"), ({"notsent": 0}, "application"),
    ({"probes": 2}, "application"), ({"snd_wnd": 100}, "application"),
])  # fmt: skip
def test_data_that_a_cork_holds_is_a_small_write_of_this_end(
    gauges: dict[str, int], told: str
) -> None:
    def at(s: float) -> Tables:
        corked = {**ROOM, "notsent": 200, "unacked": 0, **gauges}
        if s % 3 < 1 and not gauges:  # in each third sample the timer has just sent it
            corked["notsent"] = 0
        return moment(s, rates={**IDLE, "bytes_acked": 40_000}, gauges=corked, ran=0.05)

    found = flow(limits(at)).stage
    assert found.stage == told
    assert (found.how == "corked") is (told == "nagle")
    assert ("TCP_CORK or MSG_MORE" in found.because) is (told == "nagle")


@pytest.mark.parametrize(("limit", "most"), [
    ("/g/io.max allows rbps=130000000 riops=9 on vda (254:0)", 1.04e9),
    ("/g/blkio.throttle.read_bps_device allows 130000000 bytes/s on vda (254:0)", 1.04e9),
    ("/g/blkio.throttle.read_iops_device allows 9 requests/s on vda (254:0)", 8 * BYTES / 0.65),
])  # fmt: skip
def test_a_device_carries_no_more_than_its_cgroup_allows(limit: str, most: float) -> None:
    read = row("read", "input", object="/big", state="D", throttled=limit)

    def at(s: float) -> Tables:
        return moment(s, rates=IDLE, gauges=ROOM, ran=0.35, more={"waits": [read]})

    found = flow(limits(at)).stage
    assert found.stage == "disk-read"
    assert found.capacity == pytest.approx((8 * BYTES, most), rel=0.01)
