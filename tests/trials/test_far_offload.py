"""Zero copy, segments of datagrams and busy polling at the far end, and kernels that refuse."""

import errno
import socket
import struct
from types import SimpleNamespace
from typing import Any

import pytest
from far_program import inside

from nettop import trials
from nettop.trials import run
from nettop.trials.far import bulk, offload, udp_latency, udp_sink, udp_source
from nettop.trials.result import Options
from nettop.trials.run import TrialError
from nettop.trials.tools.bulk import summarize


class Socket:
    """A socket that refuses an option, fails sends, or has completions to read."""

    def __init__(self, refuses: int = -1, fails: tuple[int, ...] = ()) -> None:
        self.refuses, self.fails = refuses, list(fails)
        self.options: list[tuple[int, int, int]] = []
        self.sent: list[tuple[bytes, int]] = []
        self.errors: list[bytes] = []

    def setsockopt(self, level: int, name: int, value: int) -> None:
        if name == self.refuses:
            raise OSError(errno.ENOPROTOOPT, "Protocol not available")
        self.options.append((level, name, value))

    def send(self, memory: Any, flags: int = 0) -> int:
        if self.fails:
            raise OSError(self.fails.pop(0), "no")
        self.sent.append((bytes(memory), flags))
        return len(memory)

    def recvmsg(self, *_: int) -> Any:
        if not self.errors:
            raise BlockingIOError
        return b"", [(0, 11, self.errors.pop(0))], 0, None


def completion(first: int, last: int, code: int, origin: int = offload.ORIGIN) -> bytes:
    return struct.pack("=I4B2I", 0, origin, 0, code, 0, first, last)


def made(**more: Any) -> tuple[Any, offload.ZeroCopy]:
    sock: Any = Socket(**more)
    return sock, offload.ZeroCopy(sock)


def test_sends_with_zero_copy_are_counted_and_those_that_were_copied() -> None:
    sock, zero = made()
    assert sock.options == [(socket.SOL_SOCKET, offload.SO_ZEROCOPY, 1)]
    assert zero.send(memoryview(b"abc")) == 3
    assert sock.sent == [(b"abc", offload.MSG_ZEROCOPY)]
    sock.errors += [completion(0, 3, 0), completion(4, 4, 1), completion(5, 9, 1, origin=2), b"x"]
    zero.read()
    assert (zero.sends, zero.copied) == (5, 1)


def test_completions_are_read_now_and_then_and_where_the_socket_is_full() -> None:
    sock, zero = made()
    sock.errors = [completion(0, 0, 0)]
    for _ in range(offload.OFTEN - 1):
        zero.send(memoryview(b"a"))
    assert zero.sends == 0
    zero.send(memoryview(b"a"))
    assert zero.sends == 1
    sock.errors, sock.fails = [completion(1, 2, 0)], [errno.EAGAIN]
    with pytest.raises(BlockingIOError):
        zero.send(memoryview(b"a"))
    assert zero.sends == 3


def test_a_full_limit_of_completions_is_a_plain_send() -> None:
    sock, zero = made(fails=(errno.ENOBUFS,))
    assert zero.send(memoryview(b"ab")) == 2
    assert sock.sent == [(b"ab", 0)]


def test_a_kernel_that_refuses_is_one_sentence() -> None:
    said = "this kernel refuses SO_ZEROCOPY: Protocol not available"
    with pytest.raises(offload.Refusal, match=said):
        made(refuses=offload.SO_ZEROCOPY)
    sock: Any = Socket(refuses=offload.SO_BUSY_POLL)
    offload.busy_poll(sock, {})
    with pytest.raises(offload.Refusal, match="this kernel refuses SO_BUSY_POLL: Protocol"):
        offload.busy_poll(sock, {"busy_poll": 50})


@pytest.mark.parametrize(
    ("program", "more"),
    [
        (bulk, {"busy_poll": 9, "streams": 1, "seconds": 1, "to": "127.0.0.1", "port": 1,
                "token": "00", "pours": 1}),
        (udp_latency, {"busy_poll": 9, "to": "127.0.0.1", "port": 1, "token": "00", "sizes": [1],
                       "seconds": 1}),
        (udp_sink, {"segments": 4, "at": "127.0.0.1", "of": "127.0.0.1", "token": "00"}),
    ],
)  # fmt: skip
def test_each_end_passes_the_refusal_on(
    program: Any, more: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise offload.Refusal("this kernel refuses it")

    for name in ("busy_poll", "switch"):
        monkeypatch.setattr(program, name, refuse, raising=False)
    with inside(program) as running:
        program.main(more)
        assert running.messages[-1] == {"error": "this kernel refuses it"}


def test_merged_datagrams_are_told_apart() -> None:
    stamp = struct.pack("qq", 7, 5)
    segments = (offload.SOL_UDP, offload.UDP_GRO, struct.pack("i", 100) + b"\0\0\0\0")
    stamped = (socket.SOL_SOCKET, 35, stamp)
    assert offload.merged([stamped, segments], 350) == (stamp, 100)
    assert offload.merged([segments], 350) == (None, 100)
    assert offload.merged([stamped], 350) == (stamp, 350)


def test_segments_of_one_call_are_numbered_each_and_the_last_call_is_shorter() -> None:
    sock: Any = Socket()
    assert udp_source.segmented(sock, 20, 3, 5, 0.0, 2) == 5
    assert sock.options == [(offload.SOL_UDP, offload.UDP_SEGMENT, 20)]
    assert [len(data) for data, _ in sock.sent] == [40, 40, 20]
    heads = [udp_source.HEAD.unpack_from(data, at)
             for data, _ in sock.sent for at in range(0, len(data), 20)]  # fmt: skip
    assert heads == [(3, number) for number in range(5)]


def test_a_first_call_that_fails_is_a_refusal_and_a_later_one_is_a_loss() -> None:
    sock: Any = Socket(fails=(errno.EIO,))
    with pytest.raises(offload.Refusal, match="this kernel refuses UDP_SEGMENT"):
        udp_source.segmented(sock, 20, 0, 4, 0.0, 2)
    later: Any = Socket()
    calls = []

    def send(memory: Any) -> int:
        calls.append(len(memory))
        if len(calls) == 2:
            raise OSError(errno.ENOBUFS, "full")
        return len(memory)

    later.send = send
    assert udp_source.segmented(later, 20, 0, 6, 0.0, 2) == 4


def test_the_sink_counts_each_datagram_of_a_merged_one(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"".join(struct.pack("!II", 0, n).ljust(20, b"\0") for n in (0, 1, 2))[:52]
    segments = (offload.SOL_UDP, offload.UDP_GRO, struct.pack("i", 20))
    stamp = (socket.SOL_SOCKET, 35, struct.pack("qq", 9, 0))
    answers: list[Any] = [(len(data), [stamp, segments])]

    def receive(view: list[bytearray], _room: int) -> Any:
        if not answers:
            raise TimeoutError
        size, ancillary = answers.pop()
        view[0][:size] = data
        return size, ancillary, 0, None

    stopped = SimpleNamespace(is_set=lambda: not answers)
    monkeypatch.setattr(udp_sink, "stopping", stopped)
    points: dict[int, udp_sink.PointCount] = {}
    sock: Any = SimpleNamespace(recvmsg_into=receive)
    udp_sink.gather(sock, points, b"token")
    assert (points[0].received, points[0].highest, points[0].last) == (3, 2, 9.0)


def test_bulk_says_how_many_sends_were_copied() -> None:
    told: Any = [{"zero_copied": 3, "copied": 1}, {"zero_copied": 1, "copied": 0}]
    found = summarize(told, [], 0.0).details
    assert found == {"zero_copy_sends": 4, "zero_copy_copied_percent": 25.0}
    assert summarize([], [], 0.0).details == {}


@pytest.mark.parametrize(
    ("option", "value", "has"),
    [("zero_copy", True, {"bulk", "iperf3"}), ("busy_poll", 50, {"bulk", "udp-latency"}),
     ("segments", 8, {"rfc2544", "udp-sweep"})],
)  # fmt: skip
def test_an_option_is_refused_by_the_tools_that_lack_it(
    option: str, value: object, has: set[str]
) -> None:
    words: dict[str, Any] = {option: value}
    taking = set()
    for name in trials.names():
        try:
            run._takes(trials.tool(name), Options(**words))
            taking.add(name)
        except TrialError as error:
            said = f"{name} does not support --{option.replace('_', '-')}; tools that do: "
            assert str(error) == said + ", ".join(sorted(has))  # noqa: PT017
    assert taking == has
