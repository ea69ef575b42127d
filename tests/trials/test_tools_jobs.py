"""What each tool starts at both ends, for how long it waits, and what it makes of the answers."""

import errno
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from fake_ends import trial

from nettop.collect import packet_sockets
from nettop.host.bpf import rings
from nettop.trials.result import Options
from nettop.trials.run import Trial, TrialError
from nettop.trials.tools import _losses, bulk, capture, pktgen, udp_latency, udp_sweep

HERE = "127.0.0.1"
PORT = {"port": 7009}
Answers = Callable[[str, Any], list[dict[str, Any]]]


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


def second(start: float, received: int, **more: Any) -> dict[str, Any]:
    return {"start": start, "seconds": 1.0, "received": received, "retransmits": 1, "states": [],
            **more}  # fmt: skip


TOTAL = {"total": 3000, "poured": 0, "lasted": 3.0}


@pytest.mark.parametrize(
    ("options", "streams", "pours"),
    [
        ({}, 1, 1), ({"streams": 3}, 3, 3), ({"streams": 3, "reverse": True}, 3, 0),
        ({"streams": 3, "bidirectional": True}, 6, 3),
        ({"streams": 3, "bidirectional": True, "reverse": True}, 6, 3),
    ],
)  # fmt: skip
def test_bulk_shares_its_streams(
    waits: list[float], options: dict[str, Any], streams: int, pours: int
) -> None:
    every = Options(
        to=HERE, seconds=2, length=9, window=8, mss=7, congestion="bbr", rate=5.0, port=1234,
        cpu_here=(1,), cpu_there=(2,), **options,
    )  # fmt: skip
    seconds = [second(0, 10), second(1, 1000), second(2, 2000)]
    one, near, far = trial(every, lambda *_: [*seconds, TOTAL], lambda *_: [PORT, TOTAL])
    found = bulk.measure(one)
    common = {"streams": streams, "seconds": 3.0, "length": 9, "window": 8, "mss": 7,
              "congestion": "bbr", "rate": 5.0, "v6": False, "at": HERE, "of": HERE,
              "zero_copy": False, "busy_poll": None}  # fmt: skip
    ((script, job),) = far.started
    token = job.pop("token")
    assert (script, job) == ("bulk", {**common, "port": 1234, "cpus": (2,)})
    assert near.started == [
        ("bulk", {**common, "token": token, "to": HERE, "port": 7009, "pours": pours, "cpus": (1,)})
    ]
    assert waits == [33.0, 30]
    assert [i.start for i in found.intervals] == [1, 2]
    assert (found.bits_per_second, found.bytes, found.lasted) == (12_000, 6000, 3.0)
    assert (found.retransmits, found.sent_bits_per_second, found.details) == (3, None, {})


def test_bulk_with_files_is_measured_with_and_without_each() -> None:
    every = Options(to=HERE, seconds=2, file="/data", into="/out")
    seconds = [second(0, 10), second(1, 1000), second(2, 2000)]
    one, _, far = trial(every, lambda *_: [*seconds, TOTAL], lambda *_: [PORT, TOTAL])
    found = bulk.measure(one)
    jobs = [(job.get("file"), job.get("into")) for _, job in far.started]
    assert jobs == [(None, None), (None, "/out"), ("/data", None), ("/data", "/out")]
    assert found.bytes == 4 * 6000
    rows = found.details["transfers"]
    assert [(row["from"], row["to"]) for row in rows] == [  # type: ignore[attr-defined]
        ("memory", "memory"), ("memory", "disk"), ("disk", "memory"), ("disk", "disk"),
    ]  # fmt: skip
    wrong, *_ = trial(Options(to=HERE, file="/data", bidirectional=True), lambda *_: [], None)
    with pytest.raises(TrialError, match="need one direction"):
        bulk.measure(wrong)


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ({(False, False): 9e9, (True, False): 3e9}, "the disk that is read: 33%"),
        ({(False, False): 9e9, (False, True): 3e9}, "the disk that is written: 33%"),
        ({(False, False): 9e9, (True, False): 8e9, (False, True): 4e9, (True, True): 3e9},
         "the disk that is written: 44%"),
        ({(False, False): 9e9, (True, False): 8.5e9, (True, True): 1e9}, "the network, or a core"),
        ({(False, False): 0.0, (True, False): 0.0}, "the network, or a core"),
    ],
)  # fmt: skip
def test_the_slower_disk_or_the_network_limits(
    rates: dict[tuple[bool, bool], float], said: str
) -> None:
    assert str(bulk.compared(rates)["limit"]).startswith(said)


def test_bulk_adds_up_both_directions_and_names_its_sockets() -> None:
    states = [{"rtt": 30, "cwnd": 5, "mss": 1448, "retrans": 0, "min_rtt": 9},
              {"rtt": 10, "cwnd": 50, "mss": 1400, "retrans": 0}, {}]  # fmt: skip
    near: Any = [second(1, 1000, states=states), second(2, 500, retransmits=4), second(3, 7),
                 {"total": 1500, "poured": 4000, "lasted": 2.0}]  # fmt: skip
    far: Any = [second(1, 100), second(2, 300), {"total": 400, "poured": 1000, "lasted": 4.0}]
    found = bulk.summarize(near, far, 0.0)
    assert [(i.start, i.bits_per_second, i.retransmits) for i in found.intervals] == [
        (1, 8800, 2), (2, 6400, 5),
    ]  # fmt: skip
    assert found.sent_bits_per_second == 8 * 5000 / 4
    assert found.details == {"rtt_us": 20, "min_rtt_us": 9, "cwnd": 50, "mss": 1448}
    only = bulk.summarize(near, [second(1, 0), second(2, 0)], 0.0)  # type: ignore[list-item]
    assert [i.bits_per_second for i in only.intervals] == [8000, 4000, 56]
    assert only.bits_per_second == pytest.approx(12056 / 3)
    assert bulk.summarize([], [], 0.0).bits_per_second == 0.0


@pytest.mark.parametrize(
    ("seconds", "kept"), [((0.51, 0.51), 2), ((0.5, 0.51), 1), ((0.5, 0.5), 2), ((0.0, 1.0), 1)]
)
def test_a_short_second_of_bulk_is_left_out_unless_there_is_none_else(
    seconds: tuple[float, float], kept: int
) -> None:
    near: Any = [second(n, 100, seconds=s) for n, s in enumerate(seconds)]
    assert len(bulk.summarize(near, [], 0.0).intervals) == kept


def test_a_tool_that_starts_both_ends_needs_a_peer() -> None:
    for tool in (bulk, udp_sweep, udp_latency, capture):
        one, *_ = trial(Options(to=HERE), lambda *_: [], None)
        with pytest.raises(TrialError, match="--peer is required"):
            tool.measure(one)


@pytest.mark.parametrize(
    ("more", "sizes", "each", "patience"),
    [
        ({}, udp_latency.SIZES, None, None), ({"length": 9}, (9,), 2.0, 24.0),
        ({"sizes": (1, 2)}, (1, 2), 1.0, 26.0), ({"sizes": tuple(range(1, 41))}, None, 0.2, 108.0),
        ({"length": 9, "count": 5}, (9,), 2.0, 600.0),
    ],
)  # fmt: skip
def test_latency_shares_its_seconds_among_its_sizes(
    waits: list[float], more: Any, sizes: Any, each: float | None, patience: float | None
) -> None:
    options = Options(to=HERE, seconds=2, port=5, cpu_here=(1,), cpu_there=(2,), **more)
    answer = {"size": 9, "requests": 3, "lost": 1, "stamped": [5.0, 7.0], "histogram": [(100, 2)]}
    one, near, far = trial(options, lambda *_: [answer], lambda *_: [PORT])
    found = udp_latency.measure(one)
    job = far.started[0][1]
    token = job.pop("token")
    assert job == {"port": 5, "cpus": (2,), "busy_poll": None, "at": HERE, "of": HERE}
    asked = near.started[0][1]
    assert asked["sizes"] == (sizes or more["sizes"])
    assert asked["seconds"] == (each or 2 / len(asked["sizes"]))
    assert waits == [pytest.approx(patience or (asked["seconds"] + 2) * len(asked["sizes"]) + 20)]
    assert {k: v for k, v in asked.items() if k not in ("sizes", "seconds")} == {
        "to": HERE, "port": 7009, "v6": False, "count": more.get("count"), "cpus": (1,),
        "token": token, "busy_poll": None,
    }  # fmt: skip
    assert found.loss is not None
    assert (found.loss.sent, found.loss.received) == (3, 2)
    rows: Any = found.details["sizes"]
    (row,) = rows
    assert (row["size"], row["count"], row["kernel_p50"]) == (9, 2, 5.0)


def test_a_sweep_of_datagrams_is_every_size_at_every_spacing(waits: list[float]) -> None:
    options = Options(to=HERE, seconds=8, port=5, sizes=(18, 100), spacings=(2.0, 0.5),
                      cpu_here=(1,), cpu_there=(2,))  # fmt: skip
    sent = [{"point": n, "sent": 100, "lasted": 1e-3, "busy": 1.0} for n in range(5)]
    got = [{"point": n, "received": 100, "reordered": n, "lasted": 1e-3, "gaps": [], "busy": 2.0}
           for n in range(4)]  # fmt: skip
    one, near, far = trial(options, lambda *_: list(sent), lambda *_: [PORT, *got])
    found = udp_sweep.measure(one)
    job = near.started[0][1]
    assert [(p["size"], p["spacing"], p["count"]) for p in job["points"]] == [
        (18, 2e-6, udp_sweep._count(2.0, 2.0)), (18, 0.5e-6, udp_sweep._count(2.0, 0.5)),
        (100, 2e-6, udp_sweep._count(2.0, 2.0)), (100, 0.5e-6, udp_sweep._count(2.0, 0.5)),
    ]  # fmt: skip
    assert (job["pause"], job["v6"], job["port"], job["cpus"]) == (0.25, False, 7009, (1,))
    assert job["token"] == far.started[0][1]["token"]
    assert (far.started[0][1]["port"], far.started[0][1]["cpus"]) == (5, (2,))
    assert far.ends[0].stopped == 1
    assert waits == [3 * 8 + 4 + 30, 30]
    assert found.loss is not None
    assert (found.loss.sent, found.loss.received, found.loss.reordered) == (400, 400, 6)
    one, near, _ = trial(replace(options, count=7), lambda *_: list(sent), lambda *_: [PORT, *got])
    udp_sweep.measure(one)
    assert {p["count"] for p in near.started[0][1]["points"]} == {7}


def pair(offered: int, captured: int) -> tuple[Answers, Answers]:
    def here(script: str, _options: Any) -> list[dict[str, Any]]:
        counts = {"packets": captured, "dropped": offered - captured}
        return [PORT] if script == "udp_sink" else [{"capturing": "lo"}, counts]

    return here, lambda *_: [{"sent": offered, "lasted": 0.5, "busy": 9.0}]


def test_a_capture_is_offered_each_size_in_turn(waits: list[float]) -> None:
    options = Options(to=HERE, seconds=3, port=5, sizes=(18, 54), rate=1e6, window=4096,
                      cpu_here=(1,), cpu_there=(2,))  # fmt: skip
    one, near, far = trial(options, *pair(1000, 990))
    found = capture.measure(one)
    assert near.started[0] == ("udp_sink", {"port": 5, "at": HERE, "deaf": True})
    ring = {"interface": "lo", "port": 7009, "v6": False, "cpus": (1,), "ring": 4096}
    assert near.started[1:] == [("capture", ring)] * 2
    assert [end.stopped for end in near.ends] == [0, 1, 1]
    assert [job["points"] for _, job in far.started] == [
        [{"size": size, "seconds": 1.5, "rate": 1e6 / (8 * (size + 46))}] for size in (18, 54)
    ]
    assert {key: far.started[0][1][key] for key in ("to", "port", "v6", "cpus")} == {
        "to": HERE, "port": 7009, "v6": False, "cpus": (2,),
    }  # fmt: skip
    assert waits == [21.5, 20, 21.5, 20]
    assert found.loss is not None
    assert (found.loss.sent, found.loss.received) == (2000, 1980)
    assert found.bits_per_second == 990 * 8 * 100 / 0.5
    rows: Any = found.details["points"]
    assert rows[0] == {
        "size": 18, "frame": 64, "offered_pps": 2000, "sent": 1000, "captured": 990, "dropped": 10,
        "loss": pytest.approx(1.0), "capture_bits": 990 * 8 * 64 / 0.5, "generator_busy": 9.0,
    }  # fmt: skip
    assert found.details["interface"] == "lo"


@pytest.mark.parametrize(("more", "sizes", "each"), [({"length": 9}, 1, 1.0), ({}, None, 0.3)])
def test_a_capture_without_sizes(more: Any, sizes: int | None, each: float) -> None:
    one, near, far = trial(Options(to=HERE, seconds=1, **more), *pair(10, 12))
    found = capture.measure(one)
    assert len(far.started) == (sizes or len(capture.PAYLOADS))
    point = far.started[0][1]["points"][0]
    assert (point["seconds"], point["rate"]) == (max(each, 1 / len(far.started)), 0.0)
    assert (near.started[0][1]["port"], near.started[1][1]["ring"]) == (0, 0)
    assert found.loss is not None
    assert found.loss.percent == 0  # what others sent to the port is no loss


def test_an_end_of_a_capture_that_breaks_off_is_one_sentence() -> None:
    here, there = pair(10, 10)
    with pytest.raises(TrialError, match="the generator ended early"):
        capture.measure(trial(Options(to=HERE, length=9), here, lambda *_: [])[0])
    with pytest.raises(TrialError, match="the generator sent nothing"):
        capture.measure(trial(Options(to=HERE, length=9), *pair(0, 0))[0])

    def ended(script: str, options: Any) -> list[dict[str, Any]]:
        return here(script, options)[: 1 if script == "capture" else None]

    with pytest.raises(TrialError, match="the capture ended early"):
        capture.measure(trial(Options(to=HERE, length=9), ended, there)[0])


ROW = {"sent": 1000, "lasted": 1.0}


@pytest.mark.parametrize(
    ("speed", "more", "framed"),
    [
        (1, {"subsystem": "pci"}, True), (1, {"subsystem": "pci", "driver": "virtio_net"}, False),
        (1, {}, False), (None, {"subsystem": "pci"}, False), (100, {"subsystem": "pci"}, False),
    ],
)  # fmt: skip
def test_framing_is_corrected_on_a_full_real_link_only(speed: Any, more: Any, framed: bool) -> None:
    link = {"speed": speed, **more} if speed else more
    found = capture.row(1454, ROW, {"packets": 100, "dropped": 0}, link)  # type: ignore[arg-type]
    assert ("framed_loss" in found) is framed
    assert found["captured"] == 100


def test_of_a_watched_capture_only_the_losses_are_known() -> None:
    found = capture.row(18, ROW, {"dropped": 7, "early": 2}, {})  # type: ignore[arg-type]
    assert (found["captured"], found["dropped"], found["dropped_early"]) == (993, 7, 2)
    assert capture.row(18, ROW, {"dropped": 7000}, {})["captured"] == 0  # type: ignore[arg-type]
    nothing: Any = {"sent": 0, "lasted": 0.0}
    found = capture.row(18, nothing, {"dropped": 0}, {})
    assert (found["loss"], found["offered_pps"]) == (0.0, 0.0)


def sockets(*rows: tuple[int, int | None, int | None]) -> Any:
    return [SimpleNamespace(inode=i, drops=d, ring_version=r) for i, d, r in rows]


def test_losses_of_a_process_are_those_of_its_packet_sockets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = sockets((5, 10, None), (6, 3, None), (7, 100, None), (8, None, 3))
    open_ = {9: {5: 3, 6: 4, 8: 11}}
    monkeypatch.setattr(_losses, "descriptors", lambda pid: open_.get(pid, {1: 3}))
    monkeypatch.setattr(packet_sockets, "read", lambda _source: rows)
    assert _losses.sockets(9) == _losses.Sockets(queues=13, rings=[11])
    for odd, said in (
        (sockets((5, None, None)), "does not report the losses"),
        (sockets((2, 1, None)), "has no packet socket"),
    ):
        rows[:] = odd
        with pytest.raises(TrialError, match=said):
            _losses.sockets(9)
    monkeypatch.setattr(
        _losses, "descriptors", lambda _: (_ for _ in ()).throw(ProcessLookupError(3, "gone"))
    )
    with pytest.raises(TrialError, match="of process 9: gone"):
        _losses.sockets(9)


def test_losses_are_counted_from_the_start_over_the_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    queues = iter([2**32 - 5, 3, 10])
    text = " lo: 1 2 3 {} 5 6 7 8 9 10 11 12\n"
    reads = iter([text.format(100), text.format(104), text.format(50), ""])
    monkeypatch.setattr(_losses, "sockets", lambda _pid: _losses.Sockets(next(queues), []))
    monkeypatch.setattr(
        capture, "read", lambda path: next(reads) if path == "/proc/net/dev" else ""
    )
    one, *_ = trial(Options(to=HERE, pid=9), lambda *_: [], lambda *_: [])
    where: Any = SimpleNamespace(interface="lo")
    with capture.watched(one, where) as counts:
        assert counts() == {"dropped": 12, "early": 4, "told": _losses.OF_QUEUE}
        assert counts()["dropped"] == 15
    assert capture.dropped("lo") == 0


def test_a_ring_that_its_owner_asked_counts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_losses, "EACH", 600)
    reads = iter([[5, 7], [6, 9], [2, 9], [2, 9]])
    with _losses.followed(lambda: next(reads)) as lost:
        assert [lost(), lost(), lost()] == [3, 5, 5]


def test_a_ring_that_is_closed_ends_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = [7]

    def lost(_rings: Any, _descriptor: int) -> int:
        if counts:
            return counts.pop()
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(rings.Rings, "__init__", lambda *_: None)
    monkeypatch.setattr(rings.Rings, "lost", lost)
    monkeypatch.setattr(rings.Rings, "close", lambda _: None)
    monkeypatch.setattr(_losses, "sockets", lambda _pid: _losses.Sockets(0, [3]))
    with (
        pytest.raises(TrialError, match="process 9 closed its ring: Bad file descriptor"),
        _losses.losses(9) as (of_it, _told),
    ):
        of_it()


def test_the_sockets_of_this_process_are_found() -> None:
    import os
    import socket

    with socket.socket() as one:
        inode = os.fstat(one.fileno()).st_ino
        assert inode in _losses.descriptors(os.getpid())
    assert inode not in _losses.descriptors(os.getpid())


def test_pktgen_is_told_the_path_and_the_size(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    result = (
        "Result: OK: 5000(c5000+d0) usec, 9 (60byte,0frags)\n  1800pps 1Mb/sec (864bps) errors: 1"
    )
    monkeypatch.setattr(pktgen, "neighbour", lambda to: f"mac of {to}")
    cases: list[tuple[Any, Any, float]] = [
        ({}, {"interface": "lo", "count": 1_000_000, "size": 60, "cpu": 0}, 70.0),
        ({"interface": "eth9", "count": 10_000, "length": 100, "cpu_here": (3, 4)},
         {"interface": "eth9", "count": 10_000, "size": 142, "cpu": 3}, 60.1),
    ]  # fmt: skip
    for more, wanted, most in cases:
        one, near, _ = trial(
            Options(to=HERE, **more), lambda *_: [{"running": "lo"}, {"result": result}], None
        )
        found = pktgen.measure(one)
        assert near.started == [("pktgen", {**wanted, "to": HERE, "mac": f"mac of {HERE}"})]
        assert waits.pop() == most
        assert (found.bits_per_second, found.lasted) == (864.0, 0.005)
        assert found.details == {"pps": 1800, "packets": 9, "size": 60, "errors": 1}
    one, *_ = trial(Options(to=HERE), lambda *_: [], None)
    with pytest.raises(TrialError, match="pktgen: no output"):
        pktgen.measure(one)
