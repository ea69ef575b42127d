"""The programs that send and count datagrams: what they send, count and say."""

import ctypes
import errno
import os
import socket
import struct
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from calls import keeping
from far_program import Clock, inside
from hang import HANG

from nettop.trials.far import listener, protocol, udp_sink, udp_source
from nettop.trials.far.schema import HelperOptions

TOKEN = "00112233445566778899aabbccddeeff"
SECRET = bytes.fromhex(TOKEN)
ENDS: HelperOptions = {"at": "127.0.0.1", "of": "127.0.0.1", "token": TOKEN}


@pytest.fixture(autouse=True)
def no_session(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    yield
    protocol.stopping.clear()


def numbered(point: int, sequence: int, size: int = 8) -> bytes:
    return struct.pack("!II", point, sequence).ljust(size, b"\0")


def test_points_are_counted_each_by_itself_until_stop() -> None:
    """Over loopback: a repeated token and what is too short have no point."""
    with inside(udp_sink) as program:
        opened = threading.Event()
        program.heard = lambda _message: opened.set()
        thread = threading.Thread(target=udp_sink.main, args=({**ENDS, "cpus": [0]},), daemon=True)
        thread.start()
        assert opened.wait(HANG)
        first = program.messages[0]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near:
            near.connect(("127.0.0.1", first["port"]))
            assert listener.knock(near, SECRET)
            sequences = {0: (0, 1, 2, 3), 5: (1, 0, 2), 2: (7,)}
            near.send(SECRET)
            near.send(b"1234567")
            for point, numbers in sequences.items():
                for number in numbers:
                    near.send(numbered(point, number, 100))
                near.send(SECRET if point != 2 else b"")
            protocol.stopping.set()
            thread.join(HANG)
            assert not thread.is_alive()
        assert first["room"] >= 1 << 12
        assert (program.pinned, program.watched) == ([[0]], 1)
        told = {one["point"]: one for one in program.messages[1:]}
        assert list(told) == [0, 2, 5]
        assert {n: (one["received"], one["reordered"]) for n, one in told.items()} == {
            0: (4, 0), 2: (1, 0), 5: (3, 1),
        }  # fmt: skip
        assert {n: sum(c for _, c in one["gaps"]) for n, one in told.items()} == {0: 3, 2: 0, 5: 2}
        assert told[2]["lasted"] == 0
        assert 0 < told[0]["lasted"] < 100  # from the kernel's own time stamps
        assert all(0 <= one["busy"] <= 100 for one in told.values())


def test_a_sink_that_is_deaf_holds_its_port_and_asks_for_no_time() -> None:
    with inside(udp_sink) as program:
        protocol.stopping.set()
        udp_sink.main({**ENDS, "deaf": True})
        assert [sorted(one) for one in program.messages] == [["port", "room"]]


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken, inside(udp_sink) as program:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        udp_sink.main({**ENDS, "port": port})
        assert program.messages == [{"error": f"port {port}: Address already in use"}]
    with inside(udp_sink) as program, pytest.MonkeyPatch.context() as patch:
        patch.setattr(udp_sink, "open_socket", lambda *_: (_ for _ in ()).throw(OSError("odd")))
        udp_sink.main(ENDS)
        assert program.messages == [{"error": "odd"}]


def test_who_is_not_admitted_has_no_points() -> None:
    with inside(udp_sink) as program, pytest.MonkeyPatch.context() as patch:
        patch.setattr(udp_sink, "admit", lambda *_: False)
        udp_sink.main(ENDS)
        assert [sorted(one) for one in program.messages] == [["port", "room"]]


class Receiving:
    """A socket that receives these datagrams, each with the kernel's time or none, then none."""

    def __init__(self, datagrams: list[tuple[bytes, float | None] | None]) -> None:
        self.datagrams = datagrams

    def recvmsg_into(self, rooms: list[bytearray], size: int) -> Any:
        assert size >= socket.CMSG_SPACE(16)
        if not self.datagrams:
            protocol.stopping.set()
            raise TimeoutError
        one = self.datagrams.pop(0)
        if one is None:
            raise TimeoutError
        data, at = one
        rooms[0][: len(data)] = data
        stamp = b"" if at is None else struct.pack("qq", int(at), round(at % 1 * 1e9))
        cut = stamp[:8] if at == 0 else stamp
        return len(data), [(1, 35, cut)] if stamp else [], 0, None


def gathered(
    datagrams: list[tuple[bytes, float | None] | None], stats: list[str] | None = None
) -> dict[int, udp_sink.PointCount]:
    points: dict[int, udp_sink.PointCount] = {}
    texts = iter(stats or [])
    sock: Any = Receiving(datagrams)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(udp_sink, "time", SimpleNamespace(time=Clock(50.0)))
        patch.setattr(udp_sink, "read", lambda _path: next(texts, ""))
        udp_sink.gather(sock, points, SECRET)
    return points


def test_times_are_the_kernels_and_gaps_are_in_half_microseconds() -> None:
    data = numbered(3, 0)
    points = gathered([(data, 10.0), (numbered(3, 1), 10.5), (numbered(3, 2), 11.0)])
    assert (points[3].first, points[3].last) == (10.0, 11.0)
    assert points[3].gaps == {1_000_000: 2}
    without = gathered([(data, None), (numbered(3, 1), 0)])  # no stamp, and one of another size
    assert (without[3].first, without[3].last, without[3].gaps) == (50.0, 50.0, {0: 1})


def test_the_order_is_that_of_the_highest_number_so_far() -> None:
    point = udp_sink.PointCount()
    for sequence in (0, 3, 1, 2, 3, 4):  # 3 again is no older one
        point.take(sequence, 1.0)
    assert (point.received, point.reordered, point.highest) == (6, 2, 4)


def test_a_point_ends_when_nothing_comes_and_its_load_with_it() -> None:
    texts = [f"cpu0 {busy} 0 0 {100 - busy} 0 0 0 0\n" for busy in (0, 10, 20, 40)]
    found = gathered([(numbered(1, 0), 1.0), None, None, (numbered(2, 0), 2.0)], texts)
    assert [(found[n].before["0"][0], found[n].after["0"][0]) for n in (1, 2)] == [
        (0, 10),
        (20, 40),
    ]
    assert udp_source.busy(found[1].before, found[1].after) == pytest.approx(0)  # idle fell too


def test_a_token_between_points_is_no_datagram_but_inside_one_it_may_be() -> None:
    point, sequence = struct.unpack("!II", SECRET[:8])
    mixed: list[tuple[bytes, float | None] | None] = [
        (SECRET, 1.0),
        (numbered(1, 0), 2.0),
        (SECRET, 3.0),
    ]
    found = gathered(mixed)
    assert list(found) == [1]
    same = gathered([(numbered(point, sequence), 1.0), (SECRET, 2.0)])
    assert same[point].received == 2


def test_the_room_is_as_large_as_permitted() -> None:
    asked: list[tuple[int, ...]] = []

    class Room:
        def __init__(self, refused: int) -> None:
            self.refused = refused

        def setsockopt(self, *words: int) -> None:
            asked.append(words)
            if len(asked) <= self.refused:
                raise PermissionError

        def getsockopt(self, *words: int) -> int:
            assert words == (socket.SOL_SOCKET, socket.SO_RCVBUF)
            return 4711

    for refused, names in ((0, [33]), (1, [33, socket.SO_RCVBUF]), (2, [33, socket.SO_RCVBUF])):
        asked.clear()
        sock: Any = Room(refused)
        assert udp_sink.room_of(sock) == 4711
        assert asked == [(socket.SOL_SOCKET, name, 64 << 20) for name in names]


# the sender


class Sending:
    """A datagram socket; a send takes `took` seconds, and every third is refused if `refuses`."""

    def __init__(self, clock: Clock, took: float = 0.0, refuses: bool = False) -> None:
        self.clock, self.took, self.refuses = clock, took, refuses
        self.sent: list[tuple[float, bytes]] = []

    def send(self, data: memoryview) -> int:
        self.sent.append((self.clock.now, bytes(data)))
        self.clock.now += self.took
        if self.refuses and len(self.sent) % 3 == 0:
            raise ConnectionRefusedError
        return len(data)


class Spinning(Clock):
    """A clock that moves an eighth of a second with each reading."""

    def __call__(self) -> float:
        self.now += 0.125
        return self.now


@pytest.mark.parametrize(("size", "length"), [(1, 8), (8, 8), (9, 9), (100, 100)])
def test_paced_datagrams_are_numbered_and_never_early(
    monkeypatch: pytest.MonkeyPatch, size: int, length: int
) -> None:
    clock = Spinning()
    monkeypatch.setattr(udp_source, "time", SimpleNamespace(perf_counter=clock))
    sock: Any = Sending(clock)
    assert udp_source.paced(sock, size, 7, 4, 1.0) == 4
    assert [data for _, data in sock.sent] == [numbered(7, n, length) for n in range(4)]
    times = [at for at, _ in sock.sent]
    assert times == [0.25, 1.125, 2.125, 3.125]
    refusing: Any = Sending(clock, refuses=True)
    assert udp_source.paced(refusing, size, 7, 7, 0.0) == 5


def test_a_flood_has_its_size_and_ends_in_its_seconds() -> None:
    """Through the kernel's own sendmmsg, over loopback."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near,
    ):
        far.bind(("127.0.0.1", 0))
        far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        near.connect(far.getsockname())
        for size in (0, 1, 63, 100):
            assert udp_source.flood(near, size, 0.002, 0) >= 1
            assert len(far.recv(65536)) == size
            listener.empty(far)
        assert udp_source.flood(near, 8, 0.0, 0) == 0
        protocol.stopping.set()
        assert udp_source.flood(near, 8, 60.0, 0) == 0


def test_the_kernel_takes_a_whole_batch_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With another layout than struct mmsghdr it takes the first ones only, without an error."""
    real = ctypes.CDLL(None, use_errno=True).sendmmsg
    taken: list[tuple[int, int]] = []

    def sendmmsg(number: int, batch: Any, want: int, flags: int) -> int:
        taken.append((want, real(number, batch, want, flags)))
        assert all(one.sent == 100 for one in batch[:want])
        protocol.stopping.set()
        return taken[-1][1]

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace(sendmmsg=sendmmsg))
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near,
    ):
        far.bind(("127.0.0.1", 0))
        near.connect(far.getsockname())
        assert udp_source.flood(near, 100, 60.0, 0) == udp_source.BATCH
        assert taken == [(64, 64)]
        assert {len(far.recv(65536)) for _ in range(8)} == {100}


def test_each_point_is_sent_its_way_and_told() -> None:
    made: list[Any] = []
    clock = Clock()

    def moved(name: str) -> Any:
        def send(_sock: Any, *words: Any) -> int:
            made.append((name, *words))
            clock.now += 0.5
            return len(made)

        return send

    stats = iter(f"cpu0 {n * n} 0 0 {n} 0 0 0 0" for n in range(8))
    points: Any = [
        {"size": 100, "count": 5, "spacing": 0.1},
        {"size": 8, "seconds": 2, "rate": 9},
        {"size": 9, "seconds": 1},
    ]
    waits: list[float] = []
    for stop, count in ((False, 3), (True, 1)):
        with inside(udp_source) as program, pytest.MonkeyPatch.context() as patch:
            waiting = SimpleNamespace(wait=keeping(waits, stop))
            patch.setattr(udp_source, "stopping", waiting)
            patch.setattr(udp_source, "time", SimpleNamespace(perf_counter=clock))
            patch.setattr(udp_source, "paced", moved("paced"))
            patch.setattr(udp_source, "flood", moved("flood"))
            patch.setattr(
                udp_source, "read", lambda path: next(stats) if path == "/proc/stat" else ""
            )
            patch.setattr(udp_source, "connect", lambda *words: made.append(words))
            options: Any = {"to": "192.0.2.1", "port": 9, "points": points, "cpus": [1]}
            udp_source.main(options | {"pause": 0.25} if stop else options)
        assert len(program.messages) == count
        assert (program.pinned, program.watched) == ([[1]], 1)
        if not stop:
            assert made == [
                ("192.0.2.1", 9, False), ("paced", 100, 0, 5, 0.1), ("flood", 8, 2.0, 9.0),
                ("flood", 9, 1.0, 0.0),
            ]  # fmt: skip
            assert program.messages == [
                {"point": 0, "size": 100, "sent": 2, "lasted": 0.5, "busy": 50.0},
                {"point": 1, "size": 8, "sent": 3, "lasted": 0.5, "busy": 83.3},
                {"point": 2, "size": 9, "sent": 4, "lasted": 0.5, "busy": 90.0},
            ]
    assert waits == [0.1, 0.1, 0.1, 0.25]


def test_an_end_that_cannot_be_reached_or_does_not_answer_is_one_sentence() -> None:
    def told(error: OSError | None, knocks: bool, **options: Any) -> list[dict[str, Any]]:
        def connect(*_: Any) -> Any:
            if error is not None:
                raise error

        with inside(udp_source) as program, pytest.MonkeyPatch.context() as patch:
            patch.setattr(udp_source, "connect", connect)
            patch.setattr(udp_source, "knock", lambda _sock, token: knocks and token == SECRET)
            job: Any = {"to": "192.0.2.1", "port": None, "points": [], **options}
            udp_source.main(job)
        return program.messages

    unreachable = OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))
    assert told(unreachable, True) == [{"error": "cannot reach 192.0.2.1: Network is unreachable"}]
    assert told(OSError("odd"), True) == [{"error": "cannot reach 192.0.2.1: odd"}]
    silent = [{"error": "192.0.2.1 does not answer: is there a firewall?"}]
    assert told(None, False, token=TOKEN) == silent
    assert told(None, True, token=TOKEN) == []
    assert told(None, False) == []  # captured: nobody answers


@pytest.mark.parametrize("v6", [False, True])
def test_a_sender_has_the_family_of_its_address_and_room(v6: bool) -> None:
    family, address = (socket.AF_INET6, "::1") if v6 else (socket.AF_INET, "127.0.0.1")
    try:
        sock = udp_source.connect(address, 9, v6)
    except OSError:
        assert v6  # a host without IPv6
        return
    with sock:
        assert (sock.family, sock.type) == (family, socket.SOCK_DGRAM)
        assert sock.getpeername()[:2] == (address, 9)
        with socket.socket(family, socket.SOCK_DGRAM) as plain:
            before = plain.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) >= before
