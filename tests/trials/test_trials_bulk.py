"""The far end of `bulk`: connections shared among as many threads as there are cores."""

import os
import socket
import threading
from collections.abc import Iterator

import pytest
from hang import HANG

from nettop.trials.far import bulk

STREAMS = 5
LENGTH = 4096


class Own(threading.local):
    """A clock of each thread's own: a hundredth of a second passes at each look."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += 0.01
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def ends() -> Iterator[tuple[list[bulk.Connection], list[bulk.Connection]]]:
    """Both ends of five connections; two pour here, three there."""
    pairs = [socket.socketpair() for _ in range(STREAMS)]
    near = [bulk.Connection(a, number < 2) for number, (a, _) in enumerate(pairs)]
    far = [bulk.Connection(b, number >= 2) for number, (_, b) in enumerate(pairs)]
    yield near, far
    for a, b in pairs:
        a.close()
        b.close()


@pytest.mark.parametrize(
    ("cores", "pace", "threads"), [(1, 0, 1), (2, 0, 2), (9, 0, 5), (1, 1e6, 5)]
)
def test_every_byte_that_is_poured_is_swallowed(
    ends: tuple[list[bulk.Connection], list[bulk.Connection]],
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    pace: float,
    threads: int,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    monkeypatch.setattr(bulk, "time", Own())
    running = [bulk.begin(end, LENGTH, 1.0, pace) for end in ends]
    assert list(map(len, running)) == [threads, threads]
    for thread in (*running[0], *running[1]):
        thread.join(HANG)
        assert not thread.is_alive()
    for near, far in zip(*ends, strict=True):
        assert near.bytes == far.bytes > 0


@pytest.mark.parametrize("cores", [1, 9])
def test_an_end_that_breaks_off_ends_its_connection_alone(
    ends: tuple[list[bulk.Connection], list[bulk.Connection]],
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
) -> None:
    near, far = ends
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    far[0].sock.close()  # near pours into it
    far[4].sock.close()  # near swallows from it
    monkeypatch.setattr(bulk, "time", Own())
    running = [*bulk.begin(near, LENGTH, 1.0, 0), *bulk.begin(far[1:4], LENGTH, 1.0, 0)]
    for thread in running:
        thread.join(HANG)
        assert not thread.is_alive()
    assert near[0].bytes == near[4].bytes == 0
    assert all(one.bytes == other.bytes > 0 for one, other in zip(near[1:4], far[1:4], strict=True))


def test_who_gets_the_cpu_after_its_time_sends_a_record() -> None:
    for streams in (1, 2):
        pairs = [socket.socketpair() for _ in range(streams)]
        work = [bulk.Connection(one, pours=True) for one, _ in pairs]
        memory = memoryview(bytearray(16))
        if streams == 1:
            bulk.alone(work[0], memory, 0.0, 0.0)
        else:
            bulk.in_turn(work, memory, 0.0)
        for ends in pairs:
            assert ends[1].recv(64) == bytes(16)
            for one in ends:
                one.close()


def test_only_who_had_a_full_record_waits_for_full_records(
    ends: tuple[list[bulk.Connection], list[bulk.Connection]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "time", Own())
    near, far = ends
    for one, size in ((far[2], 10), (far[3], LENGTH)):
        one.sock.send(bytes(size))
        one.sock.shutdown(socket.SHUT_WR)
    bulk.in_turn(near[1:4], memoryview(bytearray(LENGTH)), 0.05)
    assert near[1].bytes > 0
    least = [one.sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) for one in near[1:4]]
    assert least == [1, 1, LENGTH]


@pytest.mark.parametrize(
    ("streams", "pace", "length"),
    [(1, 0.0, 131072), (2, 0.0, 524288), (16, 0.0, 524288), (4, 1e6, 131072)],
)
def test_several_connections_have_larger_records_unless_they_are_paced(
    streams: int, pace: float, length: int
) -> None:
    assert bulk.record(streams, pace) == length
