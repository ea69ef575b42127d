"""A running trial: a client and a server, their output, its time and its progress."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_ends import FakePeer, trial
from folded import folded

from nettop import trials
from nettop.trials import run as runner
from nettop.trials.end import Cancelled, PeerError
from nettop.trials.result import Options
from nettop.trials.run import OUTPUT, Trial, TrialError
from nettop.trials.tools import (
    _client_server,
    iperf3,
)

HERE = "127.0.0.1"


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each end is followed at most."""
    seconds: list[float] = []
    follow = Trial.follow

    def followed(self: Trial, end: Any, most: float) -> Any:
        seconds.append(most)
        return follow(self, end, most)

    monkeypatch.setattr(Trial, "follow", followed)
    return seconds


@pytest.mark.parametrize("peer", [True, False])
@pytest.mark.parametrize("one_shot", [True, False])
def test_a_server_there_and_a_client_here(waits: list[float], peer: bool, one_shot: bool) -> None:
    options = Options(to=HERE, seconds=2, cpu_here=(1,), cpu_there=(2,))
    server = [{"port": 99, "pid": 1}, {"out": "served"}, {"exit": 0}]
    client = [{"pid": 1}, {"out": "a"}, {"out": "b"}, {"err": "e"}, {"exit": 1}]
    one, near, far = trial(
        options, lambda *_: list(client), (lambda *_: list(server)) if peer else None
    )
    found = _client_server.run_both(
        one, ["s", "{port}"], lambda port: ["c", str(port)], 50, one_shot=one_shot
    )
    assert found == ("a\nb", "served" if peer else "")
    assert near.started == [("program", {"argv": ["c", "99" if peer else "50"], "cpus": (1,)})]
    assert waits == [23.0, 10][: 1 + peer]
    if peer:
        assert far.started == [
            (
                "program",
                {"argv": ["s", "{port}"], "cpus": (2,), "at": HERE, "port": 50, "wait": True},
            )
        ]
        assert far.ends[0].stopped == (not one_shot)


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([{"err": "x"}, {"err": "why"}, {"exit": 1}], "c: why"), ([{"exit": 3}], "c: exit code 3"),
        ([{"out": " "}, {"exit": 1}], "c: exit code 1"),
    ],
)  # fmt: skip
def test_a_client_that_fails_silently_is_an_error(messages: Any, said: str) -> None:
    one, *_ = trial(Options(to=HERE, port=7), lambda *_: [{"pid": 1}, *messages], None)
    with pytest.raises(TrialError, match=f"^{said}$"):
        _client_server.run_both(one, ["s"], lambda port: ["c"] if port == 7 else [], 50)
    fine, *_ = trial(Options(to=HERE), lambda *_: [{"exit": 0}], None)
    assert _client_server.run_both(fine, ["s"], lambda _port: ["c"], 50) == ("", "")


@folded(
    ("text", "value"), [("1.5", 1.5), ("-1e17", -1e17), ("1e18", None), ("nan", None), ("x", None)]
)
def test_a_number_of_a_tool_is_plausible(text: str, value: float | None) -> None:
    assert _client_server.number(text) == value


def read_by(name: str) -> set[str]:
    """The options that a tool reads, by the attributes in its source and in that of `capture`."""
    source = Path(str(trials.tool(name).__file__)).read_text()
    if "capture.sweep(" in source:
        source += (Path(str(trials.__file__)).parent / "tools/capture.py").read_text()
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    of = ("o", "options", "trial.options")
    names = {node.attr for node in nodes if ast.unparse(node.value) in of}
    names |= {"pid"} if "import watched" in source else set()
    return names & {field.name for field in fields(Options)} - set(runner.COMMON)


@folded("name", trials.names())
def test_a_tool_takes_the_options_that_it_reads(name: str) -> None:
    takes = set(trials.tool(name).TAKES.split())
    own = {"pid"} if name in ("tcpdump", "netsniff") else set()  # they end the program themselves
    assert takes == read_by(name) - own


def test_an_option_that_a_tool_does_not_obey_is_refused() -> None:
    said = r"^bulk does not support --udp; tools that do: iperf, iperf3, nuttcp, sockperf$"
    with pytest.raises(TrialError, match=said):
        runner.run("bulk", Options(udp=True))


@folded(
    ("more", "words"),
    [
        ({}, ""), ({"streams": 4}, "-P 4"), ({"reverse": True}, "-R"), ({"udp": True}, "-u -b 0"),
        ({"bidirectional": True, "reverse": True}, "--bidir"), ({"rate": 9e6}, "-b 9000000"),
        ({"rate": 9e6, "udp": True, "streams": 3}, "-P 3 -u -b 3000000"), ({"mss": 9}, "-M 9"),
        ({"length": 9, "window": 8, "congestion": "bbr"}, "-l 9 -w 8 -C bbr"),
        ({"zero_copy": True}, "-Z"), ({"cpu_here": (1,), "cpu_there": (2,)}, "-A 1/2"),
        ({"cpu_here": (1, 2), "cpu_there": (3,)}, ""), ({"cpu_here": (1,)}, ""),
    ],
)  # fmt: skip
def test_options_are_iperf3s(more: Any, words: str) -> None:
    for seconds, whole in ((2.0, 3), (0.1, 1), (1.6, 3)):
        options = Options(to=HERE, seconds=seconds, **more)
        argv = ["iperf3", "-c", HERE, "-p", "9", "-J", "-t", str(whole)]
        assert iperf3.client(options, 9) == [*argv, *words.split()]


# a running trial


def test_a_trial_is_followed_until_it_ends_or_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, *_ = trial(Options(seconds=2, warmup=3), lambda *_: [], None)
    assert one.length == 5
    clock = [100.0]
    monkeypatch.setattr("nettop.trials.run.time", SimpleNamespace(monotonic=lambda: clock[0]))

    class Silent:
        where = "here"

        def receive(self, seconds: float) -> Any:
            assert 0 < seconds <= 1
            clock[0] += 1.0
            raise TimeoutError

    silent: Any = Silent()
    with pytest.raises(TrialError, match="the trial did not end within 7 s"):
        list(one.follow(silent, 7.0))
    assert (clock[0], one.begun) == (107.0, 100.0)
    list(one.follow(FakePeer(lambda *_: [{}]).start("x", {}), 7.0))  # type: ignore[arg-type]
    assert one.begun == 100.0
    one.cancel.set()
    with pytest.raises(Cancelled):
        list(one.follow(silent, 7.0))


def test_output_is_bounded_and_needs_an_end() -> None:
    one, *_ = trial(Options(), lambda *_: [], None)

    def output(*messages: dict[str, Any]) -> Any:
        end: Any = FakePeer(lambda *_: list(messages)).start("program", {})
        return one.output(end, 5.0)

    half = "x" * (OUTPUT // 2)
    assert output({"out": half}, {"err": half}, {"exit": 2}) == (2, half, half)
    with pytest.raises(PeerError, match=f"at ssh b printed more than {OUTPUT >> 20} MiB"):
        output({"out": half}, {"err": half + "y"}, {"exit": 0})
    with pytest.raises(PeerError, match="the helper at ssh b ended early"):
        output({"out": "x"})


def test_progress_goes_to_the_watcher(monkeypatch: pytest.MonkeyPatch) -> None:
    one, *_ = trial(Options(seconds=2), lambda *_: [], None)
    asked: list[Any] = []

    @contextmanager
    def unused() -> Iterator[None]:
        yield

    def progress(*words: Any) -> list[str]:
        asked.append(words)
        return ["a", "b"]

    seen: list[Any] = []
    monkeypatch.setattr(one.samples, "progress", progress)
    one.watch = seen.append
    one.begun = 4.0
    one.pump()
    assert (asked, seen) == ([(one.options, 4.0, 3.0)], ["a", "b"])
