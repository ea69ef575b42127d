"""Every vector is a published figure or follows from IEEE 802.3 arithmetic."""

from functools import partial

import pytest
from folded import folded
from hypothesis import given
from hypothesis import strategies as st

from nettop.terms import formulas as f

G = 1e9
M = 1e6


@folded(
    ("rate", "frame", "packets"),
    [
        (1 * G, 64, 1_488_095.24),
        (1 * G, 1518, 81_274.38),
        (1 * G, 1522, 81_063.55),
        (1 * G, 9018, 13_830.49),
        (10 * G, 64, 14_880_952.38),
        (40 * G, 64, 59_523_809.52),
        (100 * G, 64, 148_809_523.81),
        (100 * M, 64, 148_809.52),
    ],
)
def test_packet_rates_of_a_full_link(rate: float, frame: int, packets: float) -> None:
    assert f.max_packets(rate, frame) == pytest.approx(packets, abs=0.006)


@folded(
    ("mtu", "options", "megabits"),
    [
        (1500, {}, 941.482),
        (1500, {"timestamps": False}, 949.285),
        (9000, {}, 990.042),
        (9000, {"timestamps": False}, 991.370),
        (1500, {"ipv6": True}, 928.479),
        (1500, {"ipv6": True, "timestamps": False}, 936.281),
        (1500, {"vlans": 1}, 939.040),
        (1500, {"vlans": 1, "timestamps": False}, 946.822),
    ],
)
def test_tcp_goodput(mtu: int, options: dict[str, bool], megabits: float) -> None:
    goodput = partial(f.tcp_goodput, G, mtu)
    assert goodput(**options) / M == pytest.approx(megabits, abs=6e-4)


def test_tcp_goodput_in_bytes() -> None:
    assert f.tcp_goodput(G, 1500) / 8 == pytest.approx(117_685_306, abs=1)


@pytest.mark.parametrize(
    ("mtu", "vlans", "megabits"), [(1500, 0, 957.087), (9000, 0, 992.697), (1500, 1, 954.604)]
)
def test_udp_goodput(mtu: int, vlans: int, megabits: float) -> None:
    assert f.udp_goodput(G, mtu, vlans=vlans) / M == pytest.approx(megabits, abs=6e-4)


def test_udp_over_ipv6_pays_twenty_bytes_more() -> None:
    assert f.udp_payload(1500) - f.udp_payload(1500, ipv6=True) == 20


def test_segment_sizes() -> None:
    assert f.mss(1500) == 1448
    assert f.mss(1500, timestamps=False) == 1460
    assert f.mss(9000) == 8948
    assert f.mss(1500, ipv6=True) == 1428


def test_udp_on_the_wire() -> None:
    assert f.udp_wire_bytes(8000) == 8066
    assert f.wire_seconds(8066, 10 * G) == pytest.approx(6.4528e-6)
    assert f.wire_seconds(8066, 9.3 * G) == pytest.approx(6.938e-6, abs=1e-9)
    assert f.udp_wire_bytes(8972) == 9038


def test_a_short_packet_is_padded() -> None:
    assert f.wire_bytes(1) == f.wire_bytes(46) == 84
    assert f.frame_bytes(1) == 64
    assert f.frame_bytes(1500) == 1518
    assert f.frame_bytes(9000, 1) == 9022


def test_counters_against_the_wire() -> None:
    pps = f.max_packets(G, 1518)
    assert f.counted_to_wire(pps * 1514, pps) == pytest.approx(G)
    assert f.counted_to_wire(pps * 1518, pps, fcs=True) == pytest.approx(G)


def test_payload_of_full_tcp_packets() -> None:
    pps = f.max_packets(G, 1518)
    assert f.counted_to_payload(pps * 1514, pps) == pytest.approx(f.tcp_goodput(G, 1500))
    assert f.counted_to_payload(pps * 1518, pps, fcs=True) == pytest.approx(f.tcp_goodput(G, 1500))
    assert f.counted_to_payload(60, 1) == 0


@folded(
    ("rate", "rtt", "size"),
    [
        (10 * G, 4.04e-3, 5.05e6),
        (10 * G, 36.1e-3, 45.125e6),
        (10 * G, 72.9e-3, 91.125e6),
        (G, 62.7e-3, 7.8375e6),
        (G, 80.3e-3, 10.0375e6),
        (10 * G, 240e-6, 300e3),
        (100 * G, 50e-3, 625e6),
    ],
)
def test_bandwidth_delay_product(rate: float, rtt: float, size: float) -> None:
    assert f.bdp(rate, rtt) == pytest.approx(size)


@pytest.mark.parametrize(
    ("window", "rtt", "rate"),
    [
        (256_000, 240e-6, 8.533e9),
        (87_380, 62.7e-3, 11.149e6),
        (393_216, 0.235e-3, 13.386e9),
        (524_288, 0.235e-3, 17.848e9),
    ],
)
def test_window_cap(window: int, rtt: float, rate: float) -> None:
    assert f.window_cap(window, rtt) == pytest.approx(rate, rel=1e-4)


@pytest.mark.parametrize(
    ("offered", "taken", "percent"), [(1000, 933, 6.7), (10000, 635, 93.65), (2500, 846, 66.16)]
)
def test_percent_loss(offered: float, taken: float, percent: float) -> None:
    assert f.loss_percent(offered, taken) == pytest.approx(percent)


@pytest.mark.parametrize(("size", "megabits"), [(576, 966.44), (1500, 986.84), (9000, 997.78)])
def test_framing_ceiling(size: int, megabits: float) -> None:
    assert f.framing_ceiling(G, size) / M == pytest.approx(megabits, abs=0.005)


def test_a_full_link_is_not_loss() -> None:
    assert f.framed_loss_percent(987 * M, G, 1500) == pytest.approx(0, abs=0.02)
    assert f.framed_loss_percent(507 * M, G, 576) == pytest.approx(47.5, abs=0.05)


def test_capture_rate() -> None:
    assert f.capture_rate(81_274.38, 1518, 1) / M == pytest.approx(987.0, abs=0.01)


@folded(
    ("gigabits", "milliseconds"),
    [(1, 33.554), (10, 3.355), (25, 1.342), (40, 0.839), (100, 0.336)],
)
def test_pause_time(gigabits: int, milliseconds: float) -> None:
    assert f.pause_seconds(0xFFFF, gigabits * G) * 1e3 == pytest.approx(milliseconds, abs=6e-4)


@folded(
    ("usecs", "interrupts", "within"),
    [(80, 12_500, 0), (84, 12_000, 100), (62, 16_000, 150), (30, 33_000, 400), (10, 100_000, 0)],
)
def test_interrupt_cap(usecs: int, interrupts: int, within: int) -> None:
    assert f.interrupt_cap(usecs) == pytest.approx(interrupts, abs=within + 1e-6)


def test_packets_that_wait_for_an_interrupt() -> None:
    assert f.packets_per_interrupt(14.88e6, 100) == pytest.approx(1488)


@pytest.mark.parametrize(("pps", "milliseconds"), [(1.488e6, 2.75), (14.88e6, 0.275)])
def test_ring_drain(pps: float, milliseconds: float) -> None:
    assert f.ring_seconds(4096, pps) * 1e3 == pytest.approx(milliseconds, abs=0.005)


@pytest.mark.parametrize(
    ("gigabits", "seconds"), [(1, 34.36), (10, 3.436), (40, 0.859), (100, 0.3436)]
)
def test_sequence_wrap(gigabits: int, seconds: float) -> None:
    assert f.sequence_wrap(gigabits * G) == pytest.approx(seconds, rel=1e-3)


@folded(
    ("gigatransfers", "lanes", "gigabits"),
    [
        (2.5, 4, 8.0),
        (2.5, 8, 16),
        (5, 8, 32),
        (8, 4, 31.5),
        (8, 8, 63.0),
        (8, 16, 126.0),
        (16, 8, 126.0),
        (16, 16, 252),
        (64, 1, 64),
    ],
)
def test_pcie(gigatransfers: float, lanes: int, gigabits: float) -> None:
    assert f.pcie_usable(gigatransfers, lanes) / G == pytest.approx(gigabits, abs=0.07)


def test_latency_slope() -> None:
    assert f.latency_slope(0.0004, 0.00054, 0.0008) == pytest.approx(0.00268)


@given(st.integers(576, 65535), st.sampled_from([M, G, 100 * G]), st.integers(0, 2))
def test_goodput_never_exceeds_the_link(mtu: int, rate: float, vlans: int) -> None:
    assert 0 < f.tcp_goodput(rate, mtu, vlans=vlans) < f.udp_goodput(rate, mtu, vlans=vlans) < rate
