"""The program of `udp-latency`: what it sends, counts and measures, by a clock of the test."""

import errno
import socket
import struct
import sys
import threading
from types import SimpleNamespace
from typing import Any, Self

import pytest
from far_program import Clock, inside
from hang import HANG

from nettop.trials.far import protocol, udp_latency
from nettop.trials.far.listener import knock
from nettop.trials.far.schema import HelperOptions

TOKEN = "00112233445566778899aabbccddeeff"
ENDS: HelperOptions = {"at": "127.0.0.1", "of": "127.0.0.1", "token": TOKEN}


class Wire:
    """A socket whose other end answers after so many seconds; None: not at all."""

    def __init__(self, clock: Clock, answers: list[Any]) -> None:
        self.clock = clock
        self.answers = answers  # seconds, None, or bytes that come instead
        self.sent: list[bytes] = []

    def send(self, data: bytes) -> int:
        self.sent.append(bytes(data))
        return len(data)

    def recv_into(self, room: bytearray) -> int:
        assert len(room) >= 65535  # the longest datagram
        answer = self.answers.pop(0) if self.answers else 0.25
        if answer is None:
            self.clock.now += udp_latency.PATIENCE
            raise TimeoutError
        data = answer if isinstance(answer, bytes) else self.sent[-1]
        self.clock.now += 0.25 if isinstance(answer, bytes) else answer
        room[: len(data)] = data
        return len(data)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(10.0)
    fake = SimpleNamespace(perf_counter=clock, time=clock)
    monkeypatch.setattr(udp_latency, "time", fake)
    monkeypatch.setattr(udp_latency, "stamped", lambda *_: [3.5])
    monkeypatch.setattr(udp_latency, "empty", lambda _sock: None)
    return clock


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 64, 65, 100, 1472])
def test_requests_have_their_size_and_their_number(clock: Clock, size: int) -> None:
    wire: Any = Wire(clock, [0.25, 0.125, 0.25])
    found = udp_latency.exchange(wire, size, 60.0, 3)
    assert list(map(len, wire.sent)) == [size] * 3
    if size >= 4:
        assert [struct.unpack("I", one[:4])[0] for one in wire.sent] == [1, 2, 3]
    else:
        assert len(set(wire.sent)) == 1
    assert found == {
        "size": size, "requests": 3, "lost": 0, "histogram": [(1_250_000, 1), (2_500_000, 2)],
        "stamped": [3.5],
    }  # fmt: skip


@pytest.mark.parametrize(("seconds", "requests"), [(1.0, 5), (0.9, 4), (0.0, 1), (0.25, 2)])
def test_the_last_request_begins_within_its_seconds(
    clock: Clock, seconds: float, requests: int
) -> None:
    wire: Any = Wire(clock, [])
    for count in (None, 0, 100):
        assert udp_latency.exchange(wire, 8, seconds, count)["requests"] == requests


def test_what_is_late_or_never_comes_is_lost_and_ends_the_stamps(clock: Clock) -> None:
    wire: Any = Wire(clock, [0.25, None, b"\xff" * 8, 0.25])
    found = udp_latency.exchange(wire, 8, 60.0, 4)
    assert (found["requests"], found["lost"], found["stamped"]) == (4, 2, [])
    assert found["histogram"] == [(2_500_000, 2)]


def test_a_late_answer_empties_the_socket(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    emptied: list[Any] = []
    monkeypatch.setattr(udp_latency, "empty", emptied.append)
    wire: Any = Wire(clock, [b"\xff" * 8, 0.25])
    udp_latency.exchange(wire, 8, 60.0, 2)
    assert emptied == [wire]
    short: Any = Wire(clock, [b"abc", 0.25])  # without room for a number, any answer is one
    assert udp_latency.exchange(short, 3, 60.0, 2)["lost"] == 0
    assert emptied == [wire]


def test_nothing_is_sent_after_stop(clock: Clock) -> None:
    wire: Any = Wire(clock, [])
    protocol.stopping.set()
    try:
        assert udp_latency.exchange(wire, 8, 60.0, None)["requests"] == 0
    finally:
        protocol.stopping.clear()
    assert wire.sent == []


class Switches:
    """The socket options that were set."""

    def __init__(self) -> None:
        self.switched: list[tuple[int, int, int]] = []

    def setsockopt(self, *words: int) -> None:
        level, name, value = words
        self.switched.append((level, name, value))


def test_stamps_are_from_the_send_to_the_kernels_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(100.0)
    monkeypatch.setattr(udp_latency, "time", SimpleNamespace(time=clock))
    kind, level = udp_latency.TIMESTAMPNS, socket.SOL_SOCKET
    assert kind == 35  # asm-generic/socket.h
    stamp = struct.pack("qq", 100, 12_500)
    late = struct.pack("qq", 101, 0)
    others = [
        (level, kind, stamp[:8]),  # of another kernel
        (level, kind + 1, stamp),
        (level + 1, kind, stamp),
    ]
    told = [[(level, kind, late)], others, OSError(), [(level, kind, stamp), others[0]]]

    class Stamped(Switches):
        sent = 0

        def send(self, _data: bytes) -> None:
            self.sent += 1

        def recvmsg_into(self, rooms: list[bytearray], size: int) -> Any:
            assert size >= socket.CMSG_SPACE(16)
            found = told[self.sent - 1] if self.sent <= len(told) else []
            if isinstance(found, OSError):
                raise found
            return 8, found, 0, None

    sock: Any = Stamped()
    assert udp_latency.stamped(sock, bytearray(8), bytearray(64)) == [12.5, 1e6]
    assert sock.sent == 2000
    assert sock.switched == [(level, kind, 1), (level, kind, 0)]  # only these are stamped


@pytest.mark.parametrize(("trip", "exchanges"), [(0.0361, 14), (0.0729, 7), (0.6, 1)])
def test_a_long_path_has_fewer_stamps(
    monkeypatch: pytest.MonkeyPatch, trip: float, exchanges: int
) -> None:
    clock = Clock(100.0)
    monkeypatch.setattr(udp_latency, "time", SimpleNamespace(time=clock))

    class Path(Switches):
        sent = 0

        def send(self, _data: bytes) -> None:
            self.sent += 1

        def recvmsg_into(self, _rooms: list[bytearray], _size: int) -> Any:
            clock.now += trip
            return 8, [], 0, None

    sock: Any = Path()
    assert udp_latency.stamped(sock, bytearray(8), bytearray(64)) == []
    assert sock.sent == exchanges


def test_every_datagram_of_the_other_end_is_sent_back() -> None:
    """A real socket on loopback; the program ends with the process, here with its socket."""

    class Ended(BaseException):
        pass

    replies: list[Any] = []

    class Sock(socket.socket):
        def send(self, data: Any, flags: int = 0) -> int:
            if bytes(data) == b"end":
                raise Ended
            if bytes(data) == b"refused":
                raise ConnectionRefusedError  # the sender has gone: not the end
            replies.append(data)
            return super().send(data, flags)

    bound = Sock(socket.AF_INET, socket.SOCK_DGRAM)
    bound.bind(("127.0.0.1", 0))
    ended = threading.Event()

    def run() -> None:
        with pytest.raises(Ended):
            udp_latency.main({**ENDS, "cpus": [0]})
        ended.set()

    with inside(udp_latency) as program, pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            udp_latency, "open_socket", lambda _options, kind: {socket.SOCK_DGRAM: bound}[kind]
        )
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near:
            near.connect(bound.getsockname())
            assert knock(near, bytes.fromhex(TOKEN))
            near.settimeout(HANG)
            near.send(b"refused")
            for data in (b"", b"a", b"b" * 9000, b"c" * 9000, b"d", b""):
                near.send(data)
                assert near.recv(65536) == data
            near.send(b"end")
        assert ended.wait(HANG)
        _knock, _empty, _a, b, c, _d, _last = replies
        assert c is b  # no new view for a datagram of the same size
        assert program.messages == [{"port": program.messages[0]["port"]}]
        assert (program.pinned, program.watched) == ([[0]], 1)


@pytest.mark.parametrize(("code", "said"), [(errno.EACCES, "Permission denied"), (None, "gone")])
def test_no_socket_is_one_sentence(code: int | None, said: str) -> None:
    error = OSError(code, said) if code else OSError(said)

    def refuse(*_: Any) -> Any:
        raise error

    with inside(udp_latency) as program, pytest.MonkeyPatch.context() as patch:
        patch.setattr(udp_latency, "open_socket", refuse)
        udp_latency.main(ENDS)
    assert program.messages == [{"error": said}]


def test_nobody_is_answered_after_stop() -> None:
    with inside(udp_latency) as program, pytest.MonkeyPatch.context() as patch:
        patch.setattr(udp_latency, "admit", lambda _sock, _options: False)
        udp_latency.main(ENDS)
        assert list(program.messages[0]) == ["port"]
        assert len(program.messages) == 1


class Asking:
    """The socket of the asking end; it cannot connect to 192.0.2.9."""

    def __init__(self, family: int, kind: int) -> None:
        self.family, self.kind = family, kind
        self.options: list[Any] = []
        self.timeout: Any = 0.25
        ASKED.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def connect(self, to: tuple[str, int]) -> None:
        self.to = to
        if to[0] == "192.0.2.9":
            raise OSError(errno.ENETUNREACH, "Network is unreachable")
        if to[0] == "192.0.2.8":
            raise OSError("odd")

    def settimeout(self, seconds: float | None) -> None:
        self.timeout = seconds

    def setsockopt(self, *words: Any) -> None:
        self.options.append(words)


ASKED: list[Asking] = []


def asking(knocks: bool = True, **options: Any) -> tuple[list[dict[str, Any]], list[Any]]:
    """The messages of the asking end, and the exchanges that it made."""
    made: list[Any] = []

    def exchange(_sock: Any, *words: Any) -> dict[str, Any]:
        made.append(words)
        return {"size": words[0]}

    ASKED.clear()
    fake = SimpleNamespace(**{n: getattr(socket, n) for n in dir(socket) if n.isupper()})
    fake.socket = Asking
    with inside(udp_latency) as program, pytest.MonkeyPatch.context() as patch:
        patch.setattr(udp_latency, "socket", fake)
        patch.setattr(udp_latency, "knock", lambda _sock, token: knocks and token.hex() == TOKEN)
        patch.setattr(udp_latency, "exchange", exchange)
        patch.setattr(udp_latency, "copying", lambda: 1e-10)
        told: Any = {"to": "192.0.2.1", "port": 7, "token": TOKEN, "sizes": [1, 9], "seconds": 2}
        if options.pop("stop", False):
            protocol.stopping.set()
        job: Any = {**told, **options}
        udp_latency.main(job)
    return program.messages, made


def test_each_size_is_warmed_up_and_then_measured() -> None:
    messages, made = asking(count=5)
    assert made == [(1, 0.2, None), (1, 2.0, 5), (9, 0.2, None), (9, 2.0, 5)]
    assert messages == [{"size": 1}, {"size": 9}, {"copying": 1e-10}]
    (sock,) = ASKED
    assert (sock.family, sock.kind) == (socket.AF_INET, socket.SOCK_DGRAM)
    assert sock.to == ("192.0.2.1", 7)
    assert sock.timeout is None  # the kernel's own time-out needs no further system call
    patience = struct.pack("ll", 0, 500_000)
    assert sock.options == [(socket.SOL_SOCKET, socket.SO_RCVTIMEO, patience)]
    asking(v6=True, port=None)
    assert (ASKED[0].family, ASKED[0].to) == (socket.AF_INET6, ("192.0.2.1", 0))


def test_stop_ends_it_after_the_size_that_runs() -> None:
    messages, made = asking(stop=True)
    assert len(made) == 2
    assert messages == [{"size": 1}, {"copying": 1e-10}]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"to": "192.0.2.9"}, "cannot reach 192.0.2.9: Network is unreachable"),
        ({"to": "192.0.2.8"}, "cannot reach 192.0.2.8: odd"),
        ({"knocks": False}, "192.0.2.1 does not answer: is there a firewall?"),
    ],
)
def test_an_end_that_is_not_there_is_one_sentence(options: Any, said: str) -> None:
    messages, made = asking(**options)
    assert (messages[0], made) == ({"error": said}, [])


def test_copying_is_the_best_of_three_a_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 0.5, 1.0, 1.25, 2.0, 2.375])
    monkeypatch.setattr(udp_latency, "time", SimpleNamespace(perf_counter=lambda: next(times)))
    assert udp_latency.copying() == 0.25 / (32 << 20)
    assert list(times) == []


def test_between_the_clock_readings_are_two_calls() -> None:
    """Counted by the interpreter, over a real pair of sockets: what it calls in each round trip."""
    called: list[str] = []

    def heard(_frame: object, event: str, what: object) -> None:
        if event == "c_call":
            called.append(getattr(what, "__name__", ""))

    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with near, far, pytest.MonkeyPatch.context() as patch:
        patch.setattr(udp_latency, "stamped", lambda *_: [])
        thread = threading.Thread(target=lambda: [far.send(far.recv(99)) for _ in range(3)])
        thread.start()
        sys.setprofile(heard)
        try:
            found = udp_latency.exchange(near, 8, 60.0, 3)
        finally:
            sys.setprofile(None)
        thread.join()
    assert (found["requests"], found["lost"]) == (3, 0)
    turns = " ".join(called).split("pack_into ")[1:]
    assert [turn.split()[:4] for turn in turns[:3]] == [
        ["perf_counter", "send", "recv_into", "perf_counter"]
    ] * 3
