"""Threads of one name: how many they are, and how busy the busiest other one is."""

from __future__ import annotations

from nettop.advice.judge.inline_facts import facts
from nettop.collect import threads
from nettop.facts.kinds.thread import Thread, build
from nettop.frame.rates import Entry, Frame


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
