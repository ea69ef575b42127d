"""The program that runs a command at an end, the protocol, the memory walker."""

import ctypes
import errno
import io
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from far_program import Clock, inside
from hang import HANG

from nettop.trials.far import neighbour, program, protocol

HERE = "127.0.0.1"


@pytest.fixture(autouse=True)
def not_stopped(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    monkeypatch.setattr(protocol, "children", [])
    monkeypatch.setattr(program, "children", protocol.children)
    started: list[subprocess.Popen[str]] = []

    class Popen(subprocess.Popen[str]):
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Popen)
    yield
    for process in started:  # the program leaves them to the end of its process
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    protocol.stopping.clear()


def bound(kind: int, port: int = 0) -> socket.socket:
    sock = socket.socket(socket.AF_INET, kind)
    sock.bind((HERE, port))
    return sock


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_port_is_free_for_both_protocols_or_another_is(kind: int) -> None:
    with bound(kind) as taken:
        port = taken.getsockname()[1]
        other = program.free_port(port, HERE)
        assert other not in (0, port)
    assert program.free_port(port, HERE) == port
    assert program.free_port(4711, "192.0.2.1") == 4711  # the program says what is wrong


def test_who_listens_is_read_from_the_kernels_tables() -> None:
    with bound(socket.SOCK_STREAM) as tcp, bound(socket.SOCK_DGRAM) as udp:
        port = tcp.getsockname()[1]
        assert not program.listening(port)
        tcp.listen()
        assert program.listening(port)
        assert program.listening(udp.getsockname()[1])


@pytest.mark.parametrize(
    ("table", "row", "listens"),
    [
        ("tcp", "0: 0100007F:1389 00000000:0000 0A", True),
        ("tcp", "0: 0100007F:1389 0100007F:1389 01", False),  # a connection
        ("tcp6", "0: 00000000000000000000000001000000:1389 00:0000 0A", True),
        ("udp", "0: 0100007F:1389 00000000:0000 07", True),
        ("udp6", "0: 00000000000000000000000000000000:1389 00:0000 07", True),
        ("udp", "0: 0100007F:1388 00000000:1389 07", False),  # the other end's port
        ("raw", "0: 0100007F:1389 00000000:0000 07", False),
    ],
)
def test_each_table_counts_by_its_own_port(
    monkeypatch: pytest.MonkeyPatch, table: str, row: str, listens: bool
) -> None:
    def opened(path: str) -> Any:
        if path == f"/proc/net/{table}":
            return io.StringIO("  sl  local_address:1389 rem_address 0A\n" + row + "\n")
        raise FileNotFoundError(path)

    monkeypatch.setattr(program, "open", opened, raising=False)
    assert program.listening(0x1389) is listens


def ran(*argv: str, **options: Any) -> list[dict[str, Any]]:
    job: Any = {"argv": argv, **options}
    with inside(program) as one:
        program.main(job)
        assert one.watched == 1
        assert one.pinned == [options.get("cpus")]
    return one.messages


def test_both_streams_and_the_exit_code_are_told() -> None:
    told = ran("sh", "-c", "echo a; echo 'b  ' >&2; printf '\\377'; exit 3", cpus=[0])
    (pid,) = (one.pop("pid") for one in told if "pid" in one)  # among the lines of the program
    assert sorted(map(str, told[:-1])) == sorted(
        ["{'err': 'b  '}", "{'out': 'a'}", "{'out': '\ufffd'}", "{'port': 0}"]
    )
    assert told[-1] == {"exit": 3}
    assert protocol.children == [pid]


def test_a_program_has_no_input_and_a_group_of_its_own() -> None:
    told = ran("sh", "-c", "cat; ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat")
    (out,) = (one["out"] for one in told if "out" in one)
    assert [int(out)] == [one["pid"] for one in told if "pid" in one]


def test_the_address_and_a_free_port_are_put_into_the_words() -> None:
    with bound(socket.SOCK_DGRAM) as taken:
        port = taken.getsockname()[1]
        told = ran("echo", "{address}:{port}", "-{port}", at=HERE, port=port)
    used = next(one["port"] for one in told if "port" in one)
    assert used not in (0, port)
    assert {"out": f"{HERE}:{used} -{used}"} in told
    assert {"out": "{address}"} not in ran("echo", "{address}")
    assert {"out": "0"} in ran("echo", "{port}")


def test_a_foreign_address_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "192.0.2.1 is not an address of this end"
    assert ran("true", at="192.0.2.1", port=9) == [{"error": said}]
    monkeypatch.setattr(program, "address_of", lambda _: (_ for _ in ()).throw(OSError("odd")))
    assert ran("true", at="192.0.2.1", port=9) == [{"error": "odd"}]


def test_what_is_not_installed_and_what_may_not_be_run(tmp_path: Any) -> None:
    assert ran("no-such-program-here") == [{"absent": "no-such-program-here"}]
    plain = tmp_path / "plain"
    plain.write_text("text")
    plain.chmod(0o755)
    assert ran(str(plain)) == [{"error": f"{plain}: Exec format error"}]


def test_what_no_folder_has_is_absent_though_one_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    denied = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: (_ for _ in ()).throw(denied))
    assert ran("no-such-program-here") == [{"absent": "no-such-program-here"}]
    assert ran("sh") == [{"error": "sh: Permission denied"}]


def test_with_wait_the_port_is_told_when_somebody_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def listening(port: int) -> bool:
        asked.append(port)
        return len(asked) > 2

    monkeypatch.setattr(program, "listening", listening)
    monkeypatch.setattr(program, "ENDS", ((signal.SIGINT, HANG),))
    words = ("sh", "-c", "sleep 60")
    with inside(program) as one:
        one.heard = lambda message: protocol.stopping.set() if "port" in message else None
        program.main({"argv": words, "at": HERE, "port": 47123, "wait": True})
    (port,) = (message["port"] for message in one.messages if "port" in message)
    assert asked == [port] * 3
    assert one.messages[-1] == {"exit": -signal.SIGINT}
    asked.clear()
    assert any(message.get("port") for message in ran("true", at=HERE, port=47123))
    assert asked == []


def test_waiting_ends_with_the_program_and_after_half_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(program, "listening", lambda _port: False)
    assert ran("false", at=HERE, port=47123, wait=True)[-1] == {"exit": 1}
    clock = Clock()
    fake = SimpleNamespace(monotonic=clock, sleep=clock.sleep)
    monkeypatch.setattr(program, "time", fake)
    with inside(program) as one:
        one.heard = lambda message: protocol.stopping.set() if "port" in message else None
        program.main({"argv": ["sleep", "60"], "at": HERE, "port": 47123, "wait": True})
    assert 30 <= clock.now < 30.1


class Stubborn:
    """A process that ends at the n-th signal; 0: it has ended already."""

    pid = 4711

    def __init__(self, ends_at: int) -> None:
        self.ends_at, self.waits = ends_at, []

    waits: list[float]

    def wait(self, seconds: float) -> int:
        self.waits.append(seconds)
        if len(self.waits) < self.ends_at:
            raise subprocess.TimeoutExpired("x", seconds)
        return 0


@pytest.mark.parametrize("ends_at", [0, 1, 2, 3, 4])
def test_a_program_is_interrupted_then_ended_then_killed(
    monkeypatch: pytest.MonkeyPatch, ends_at: int
) -> None:
    sent: list[tuple[int, int]] = []

    def killpg(group: int, number: int) -> None:
        sent.append((group, number))
        if not ends_at:
            raise ProcessLookupError

    monkeypatch.setattr(os, "killpg", killpg)
    one: Any = Stubborn(ends_at)
    program.end(one)
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)[: max(1, ends_at)]
    assert sent == [(4711, number) for number in signals]
    assert one.waits == [2.0, 1.0, 1.0][:ends_at]


def test_a_child_is_in_its_own_group_and_dies_with_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(os, "setpgid", lambda *words: asked.append(words))
    libc = SimpleNamespace(prctl=lambda *words: asked.append(words))
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: libc)
    program.prepare()
    assert asked == [(0, 0), (1, signal.SIGKILL)]


# the protocol


def test_a_message_is_a_line_of_json_and_flushed(capsys: pytest.CaptureFixture[str]) -> None:
    protocol.send(port=1, error="a\nb")
    assert capsys.readouterr().out == '{"port": 1, "error": "a\\nb"}\n'


class Left(Exception):  # noqa: N818
    """The program left."""


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The process groups that were killed; leaving raises Left."""
    killed: list[int] = []

    def killpg(group: int, number: int) -> None:
        assert number == signal.SIGKILL
        killed.append(group)
        if group == 2:
            raise ProcessLookupError

    def leave(code: int) -> None:
        raise Left(code)

    monkeypatch.setattr(os, "killpg", killpg)
    monkeypatch.setattr(os, "_exit", leave)
    return killed


@pytest.mark.parametrize("closed", [BrokenPipeError(), ValueError("I/O on closed file")])
def test_with_nobody_to_read_it_leaves(
    monkeypatch: pytest.MonkeyPatch, left: list[int], closed: Exception
) -> None:
    def flush() -> None:
        raise closed

    protocol.children.extend([1, 2, 3])
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(write=len, flush=flush))
    with pytest.raises(Left, match=r"^0$"):
        protocol.send(port=1)
    assert left == [1, 2, 3]


class Lines:
    """Input lines, one of which is an error."""

    def __init__(self, *lines: str | Exception) -> None:
        self.lines = lines

    def __iter__(self) -> Iterator[str]:
        for line in self.lines:
            if isinstance(line, Exception):
                raise line
            yield line


@pytest.mark.parametrize(
    ("lines", "stops"),
    [
        (("stop\n",), True), ((" stop \n", "more\n"), True), (("go\n",), False), ((), False),
        ((OSError(),), False), ((ValueError(),), False), (("stop\n", OSError()), True),
    ],
)  # fmt: skip
def test_stop_is_heard_and_the_end_of_input_ends_it(
    monkeypatch: pytest.MonkeyPatch, left: list[int], lines: tuple[Any, ...], stops: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", Lines(*lines))
    with pytest.raises(Left):
        protocol._read_input()
    assert protocol.stopping.is_set() is stops


def test_signals_and_input_are_watched(monkeypatch: pytest.MonkeyPatch, left: list[int]) -> None:
    handlers: dict[int, Callable[..., None]] = {}
    heard = threading.Event()
    names = {n: getattr(signal, n) for n in ("SIGTERM", "SIGINT", "SIGHUP", "SIGKILL")}
    fake = SimpleNamespace(**names, signal=handlers.__setitem__)
    monkeypatch.setattr(protocol, "signal", fake)
    monkeypatch.setattr(protocol, "_read_input", heard.set)
    protocol.watch_input()
    assert heard.wait(HANG)
    assert set(handlers) == {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    for handler in handlers.values():
        with pytest.raises(Left):
            handler(15, None)


def test_it_runs_on_the_cpus_that_were_named(
    monkeypatch: pytest.MonkeyPatch, left: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def pin(*words: Any) -> None:
        asked.append(words)
        if words[1] == [1, 99]:
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "sched_setaffinity", pin)
    protocol.pin(None)
    protocol.pin([])
    protocol.pin([3])
    assert asked == [(0, [3])]
    with pytest.raises(Left):
        protocol.pin([1, 99])
    assert capsys.readouterr().out == '{"error": "cannot run on CPU 1,99: Invalid argument"}\n'


# the memory walker


def test_memory_is_copied_until_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbour, "SIZE", 64)
    with inside(neighbour) as one:
        one.heard = lambda _message: protocol.stopping.set()
        neighbour.main({"cpus": [1]})
    assert one.messages == [{"walking": os.getpid()}]
    assert (one.pinned, one.watched) == ([[1]], 1)
