"""The built-in UDP tools and the capture: histograms, sweeps, knees, losses, filters."""

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.trials.far import capture as far_capture
from nettop.trials.far import pktgen, udp_sink, udp_source
from nettop.trials.far.schema import HelperOptions, LinkState, Message, UdpStep
from nettop.trials.result import Options
from nettop.trials.run import Trial, TrialError, nobody
from nettop.trials.tools import capture, udp_latency, udp_sweep
from nettop.trials.tools.capture import Captured


def test_a_histogram_of_tenths_of_microseconds_is_read() -> None:
    found = udp_latency.latency([(100, 1), (219, 500), (220, 480), (300, 10), (5000, 9)])
    assert (found.min, found.p50, found.p99, found.max) == (10.05, 21.95, 30.05, 500.05)
    assert found.p999 == 500.05
    assert found.count == 1000
    assert sum(count for _, count in found.histogram) == 1000


def test_the_width_at_half_height_is_a_gaussians() -> None:
    draw = random.Random(2)
    seen: dict[int, int] = {}
    for _ in range(100_000):
        place = int(10 * draw.gauss(200, 4))
        seen[place] = seen.get(place, 0) + 1
    found = udp_latency.latency(sorted(seen.items()))
    assert found.fwhm == pytest.approx(2.355 * 4, rel=0.15)


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**6)), max_size=50))
def test_any_histogram_is_ordered_or_empty(bins: list[tuple[int, int]]) -> None:
    try:
        found = udp_latency.latency(bins)
    except ValueError:
        assert not any(count for _, count in bins)
    else:
        assert found.min <= found.p50 <= found.p99 <= found.p999 <= found.max
        assert sum(count for _, count in found.histogram) == found.count


def test_latency_against_size_has_a_slope_and_what_explains_it() -> None:
    messages: list[Message] = [
        {
            "size": size,
            "requests": 100,
            "lost": 0,
            "stamped": [],
            "histogram": [(20 + size // 10, 100)],
        }
        for size in (100, 500, 1000)
    ]
    found = udp_latency.summarize([*messages, {"copying": 1e-10}], 1e9)
    assert found.details["us_per_byte"] == pytest.approx(0.01)
    assert found.details["us_at_zero"] == pytest.approx(2.05)
    assert found.details["us_per_byte_explained"] == pytest.approx(2 * (2 * 1e-4 + 8e-3))
    assert found.loss is None
    with pytest.raises(TrialError, match="no request was answered"):
        udp_latency.summarize([{"size": 1, "requests": 5, "lost": 5, "histogram": []}], None)


def sent(count: int, lasted: float, point: int = 0) -> Message:
    return {"point": point, "sent": count, "lasted": lasted, "busy": 50.0}


def test_wire_rate_is_user_data_and_66_bytes_around_it() -> None:
    request: UdpStep = {"size": 8000, "spacing": 6.938e-6}
    got: Message = {
        "received": 1001,
        "lasted": 1000 * 6.938e-6,
        "reordered": 2,
        "gaps": [(13, 1000)],
    }
    found = udp_sweep.row(request, sent(1001, 1001 * 6.938e-6), got)
    assert found["wire_bits"] == pytest.approx(9.3e9, rel=1e-3)  # Manchester 2.2
    assert found["loss"] == 0
    assert found["gap_p50_us"] == 6.5
    nothing = udp_sweep.row(request, sent(1001, 1.0), {})
    assert (nothing["loss"], nothing["wire_bits"], nothing["gap_p50_us"]) == (100.0, 0.0, None)


class Asked(Exception):  # noqa: N818
    """What the sending end was asked for."""


@contextmanager
def listening() -> Iterator[Any]:
    yield SimpleNamespace(wait_for=lambda _word: {"port": 7009})


def asked(_part: str, request: Any) -> Any:
    raise Asked(request)


def test_only_the_interface_that_carries_the_test_decides_its_sizes() -> None:
    """A tunnel of 1280 bytes and a management port of 1 Gbit/s have no part in the path."""
    far: Any = SimpleNamespace(start=lambda _part, _wish: listening())
    here: Any = SimpleNamespace(start=asked)
    trial = Trial(Options(to="127.0.0.1", seconds=1.0), here, far, nobody, threading.Event())
    links: dict[str, LinkState] = {
        "lo": {"mtu": 9000, "speed": 100_000},
        "tun0": {"mtu": 1280, "speed": 1000},
    }
    trial.samples.about["here"] = {"links": links}
    with pytest.raises(Asked) as found:
        udp_sweep.measure(trial)
    sizes = {point["size"] for point in found.value.args[0]["points"]}
    assert (min(sizes), max(sizes)) == (18, 8972)
    assert capture.link(trial) == links["lo"]  # whose speed explains udp-latency's slope
    trial.options = replace(trial.options, interface="tun0")
    assert capture.link(trial) == links["tun0"]
    trial.options = replace(trial.options, interface="gone0")
    assert capture.link(trial) == {}


def test_an_address_beside_the_first_has_its_interface_too(monkeypatch: Any) -> None:
    found = {
        name: [SimpleNamespace(address=one) for one in held]
        for name, held in {
            "eth0": ["10.0.0.1", "fe80::1%eth0"],
            "eth1": ["10.0.0.10", "10.0.0.11", "fe80::1%eth1"],
        }.items()
    }
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: found)
    assert capture.carrier("10.0.0.11") == "eth1"
    assert capture.carrier("fe80::1%eth1") == "eth1"
    with pytest.raises(TrialError, match="give --interface"):
        capture.carrier("10.0.0.12")


def test_the_knee_is_the_closest_spacing_that_was_carried() -> None:
    points: list[UdpStep] = [{"size": 1000, "spacing": gap / 1e6} for gap in (2, 4, 8)]
    offers = [sent(1000, 1000 * gap / 1e6, n) for n, gap in enumerate((2, 4, 8))]
    got: list[Message] = [
        {"point": 0, "received": 600, "lasted": 2.4e-3},
        {"point": 1, "received": 1000, "lasted": 4e-3},
        {"point": 2, "received": 1000, "lasted": 8e-3},
    ]
    found = udp_sweep.summarize(points, offers, got)
    details: Any = found.details
    knee = details["knees"][0]
    assert knee["limit"] == "path"
    assert knee["spacing_us"] == pytest.approx(4.0)
    assert knee["plateau_bits"] == pytest.approx(8 * 1066 / 4e-6, rel=0.01)
    assert found.loss is not None
    assert found.loss.percent == pytest.approx(100 * 400 / 3000)
    easy = udp_sweep.summarize(points[1:], [sent(1000, 4e-3)], [{**got[1], "point": 0}])
    easy_details: Any = easy.details
    assert easy_details["knees"][0]["limit"] == "sender"
    with pytest.raises(TrialError, match="no datagram arrived"):
        udp_sweep.summarize(points, offers, [])


def test_frame_sizes_are_rfc_2544s() -> None:
    assert udp_sweep.sizes(1500, ()) == (18, 82, 210, 466, 978, 1234, 1472)
    assert udp_sweep.sizes(9000, ())[-1] == 8972
    assert udp_sweep.sizes(1500, (99,)) == (99,)


def test_the_sink_counts_order_and_gaps() -> None:
    point = udp_sink.PointCount()
    for sequence, at in ((0, 1.0), (2, 1.00001), (1, 1.00002), (3, 1.00003)):
        point.take(sequence, at)
    assert (point.received, point.reordered) == (4, 1)
    assert sum(point.gaps.values()) == 3


def test_the_busiest_core_counts() -> None:
    before = {"0": [0] * 8, "1": [0] * 8}
    after = {"0": [10, 0, 20, 70, 0, 0, 0, 0], "1": [0, 0, 90, 0, 10, 0, 0, 0]}
    assert udp_source.busy(before, after) == 90.0
    assert udp_source.busy(before, before) == 0.0


def test_a_paced_flood_sleeps_between_batches_and_never_catches_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A clock that only moves when slept, but for one pause of a tenth of a second."""
    now, slept, batches = [0.0], [0.0], [0]

    def clock() -> float:
        now[0] += 1e-7
        if batches[0] == 50:
            batches[0] += 1
            now[0] += 0.1
        return now[0]

    def sleep(seconds: float) -> None:
        assert seconds > 0
        slept[0] += seconds
        now[0] += seconds

    sizes = []

    class Libc:
        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        @staticmethod
        def sendmmsg(_number: int, _batch: Any, want: int, _flags: int) -> int:
            sizes.append(want)
            batches[0] += 1
            return want

    monkeypatch.setattr("ctypes.CDLL", Libc)
    monkeypatch.setattr("time.perf_counter", clock)
    monkeypatch.setattr("time.sleep", sleep)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sent = udp_source.flood(sock, 18, 1.0, 40_000)
        assert sent == sum(sizes)
        assert sent == pytest.approx(0.9 * 40_000, rel=0.01)  # what the pause cost is not sent
        assert slept[0] > 0.85
        assert max(sizes) <= udp_source.BATCH
        assert sorted(sizes)[len(sizes) // 2] == 40  # about a millisecond's worth
        few = len(sizes)
        assert udp_source.flood(sock, 18, 1.0, 10) == 9
        assert sizes[few:] == [1] * 9


def test_capture_loss_is_the_papers_and_corrected_for_framing() -> None:
    """Valente Table 27: 1500-byte frames on a full gigabit, 987 Mbit/s, were no loss at all."""
    count = 82236  # frames/s on a full gigabit link: each takes 1520 bytes of it
    got: Captured = {"packets": count, "dropped": 0}
    real: LinkState = {"speed": 1000, "subsystem": "pci", "driver": "igb"}
    found = capture.row(1454, sent(count, 1.0), got, real)
    assert found["frame"] == 1500
    assert found["capture_bits"] == pytest.approx(986.8e6, rel=1e-3)
    assert found["framed_loss"] == pytest.approx(0, abs=0.01)
    paced = capture.row(1454, sent(count // 2, 1.0), {**got, "packets": count // 2}, real)
    assert paced["loss"] == 0
    assert "framed_loss" not in paced  # half of the link was never sent
    lossy = capture.row(1454, sent(100, 1.0), {"packets": 93, "dropped": 7}, {})
    assert lossy["loss"] == pytest.approx(7.0)
    assert "framed_loss" not in lossy


def test_a_ring_has_its_size_in_blocks_of_powers_of_two() -> None:
    assert far_capture.shape(64 << 20) == (1 << 20, 64)
    assert far_capture.shape(4 << 20) == (64 << 10, 64)
    assert far_capture.shape(1 << 20) == (16 << 10, 64)
    assert far_capture.shape(512 << 10) == (16 << 10, 32)
    assert far_capture.shape(1) == (16 << 10, 2)


def run_filter(program: list[tuple[int, int, int, int]], packet: bytes) -> bool:
    """A classic BPF machine, as far as these filters use one."""
    a = x = at = 0
    while True:
        code, true, false, k = program[at]
        at += 1
        if code in (0x28, 0x48):
            place = k + (x if code == 0x48 else 0)
            a = int.from_bytes(packet[place : place + 2], "big")
        elif code == 0x30:
            a = packet[k]
        elif code == 0xB1:
            x = 4 * (packet[k] & 15)
        elif code == 0x15:
            at += true if a == k else false
        elif code == 0x45:
            at += true if a & k else false
        elif code == 0x06:
            return k > 0
        else:
            raise AssertionError(hex(code))


def datagram(
    port: int, *, v6: bool, protocol: int = 17, fragment: int = 0, words: int = 5
) -> bytes:
    if v6:
        head = bytes([0x60, 0, 0, 0, 0, 8, protocol, 64]) + bytes(32)
        kind = 0x86DD
    else:
        head = bytes([0x40 + words, 0, 0, 28, 0, 0]) + fragment.to_bytes(2, "big")
        head += bytes([64, protocol]) + bytes(10 + 4 * (words - 5))
        kind = 0x0800
    return (
        bytes(12) + kind.to_bytes(2, "big") + head + bytes(2) + port.to_bytes(2, "big") + bytes(4)
    )


@pytest.mark.parametrize("v6", [False, True])
def test_the_filter_takes_its_port_and_nothing_else(v6: bool) -> None:
    program = far_capture.filtered(7009, v6)
    assert run_filter(program, datagram(7009, v6=v6))
    assert not run_filter(program, datagram(7010, v6=v6))
    assert not run_filter(program, datagram(7009, v6=v6, protocol=6))
    assert not run_filter(program, datagram(7009, v6=not v6))
    if not v6:
        assert run_filter(program, datagram(7009, v6=False, words=7))
        assert not run_filter(program, datagram(7009, v6=False, fragment=100))


def test_a_point_has_the_datagrams_of_its_seconds_but_never_too_few() -> None:
    assert udp_sweep._count(0.5, 100.0) == 5_000
    assert udp_sweep._count(0.005, 0.0) == udp_sweep._count(0.005, 1.0) == 5_000
    assert udp_sweep._count(60.0, 100.0) == udp_sweep.MOST
    assert udp_sweep._count(0.001, 100.0) == 200


def test_without_pktgen_its_program_says_so_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[dict[str, object]] = []
    monkeypatch.setattr(pktgen, "FOLDER", str(tmp_path / "pktgen"))
    monkeypatch.setattr(pktgen, "send", lambda **message: messages.append(message))
    pktgen.main(HelperOptions())
    assert [list(one) for one in messages] == [["error"]]
    assert "modprobe pktgen" in str(messages[0]["error"])
