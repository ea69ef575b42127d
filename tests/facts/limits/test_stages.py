"""Each stage of a flow, made by figures: what limits, how full it is, what it could carry."""

from typing import Any

import pytest
from flow_tables import HOST, task
from folded import folded
from limit_frames import AWAY, RECEIVES, TARGET, flow, limits, moment

from nettop.collect import classes, pause, qdiscs, sysctls, throttling
from nettop.facts.limits.stages.cpu import Thread
from nettop.facts.limits.words import line

FULL = {"notsent": 0, "wmem_queued": 60_000, "sndbuf": 65_536, "min_rtt": 30_000, "rtt": 30_000}


def tbf(second: float, rate: float, used: float, backlog: int) -> qdiscs.Row:
    sent = int(rate / 8 * used * second)
    return qdiscs.Row("eth0", "root", "1:", "tbf", True, backlog, 9, sent, rate=rate)


SENDING: dict[str, tuple[dict[str, Any], str, str]] = {
    "thread": ({"ran": 0.94}, "thread", "here"),
    "thread that waits for a core": ({"ran": 0.5, "waited": 0.45}, "thread", "here"),
    "interrupts on its core": (
        {"ran": 0.7, "idle": (0.0, 1.0, 1.0, 1.0), "softirq": 0.28}, "thread", "here"
    ),
    "interrupts on a core with idle time": (
        {"ran": 0.3, "idle": (0.4, 1.0, 1.0, 1.0), "softirq": 0.3}, "unknown", "there"
    ),
    "stopped": ({"ran": 0.2, "state": "T"}, "stopped", "here"),
    "quota": ({"ran": 0.2, "group": "/one/two", "throttled": 0.9}, "thread", "here"),
    "most of a quota that is seldom used up": (
        {"ran": 0.18, "group": "/one/two", "throttled": 0.1, "gauges": {"notsent": 0}},
        "application", "here",
    ),
    "a quota that is often used up": (
        {"ran": 0.18, "group": "/one/two", "throttled": 0.4, "gauges": {"notsent": 0}},
        "thread", "here",
    ),
    "sleeping writer": ({"gauges": {"notsent": 0}, "rates": {"busy_time": 100_000}},
                        "application", "here"),
    "constant writer": ({"gauges": {"notsent": 0}}, "application", "here"),
    "writer that waits for a core most of the time": (
        {"ran": 0.22, "waited": 0.53, "gauges": {"notsent": 0}}, "thread", "here"
    ),
    "writer that paces itself and uses half of a core": (
        {"ran": 0.55, "waited": 0.1, "gauges": {"notsent": 0}}, "application", "here"
    ),
    "send buffer by its clock": ({"gauges": {"notsent": 0}, "rates": {"sndbuf_limited": 900_000}},
                                 "sndbuf", "here"),
    "send buffer in flight": ({"gauges": FULL}, "sndbuf", "here"),
    "a buffer that is full of what waits farther on": (
        {"gauges": {**FULL, "sndbuf": 4_000_000, "wmem_queued": 3_900_000, "min_rtt": 100}},
        "peer", "there",
    ),
    "a window that is closed or a buffer that is full, in turns": (
        {"rates": {"rwnd_limited": 400_000, "sndbuf_limited": 300_000},
         "gauges": {"min_rtt": 100, "rtt": 30_000}},
        "peer", "there",
    ),
    "throttled in bursts that fill the buffer": (
        {"gauges": FULL, "ran": 0.05, "group": "/one", "throttled": 1.0}, "thread", "here"
    ),
    "pacing": ({"gauges": {"max_pacing_rate": 130_000_000}}, "pacing", "here"),
    "slow reader": ({"rates": {"rwnd_limited": 950_000}}, "peer", "there"),
    "slow reader far away": ({"rates": {"rwnd_limited": 950_000},
                              "gauges": {"min_rtt": 20_000, "unacked": 0}}, "peer", "there"),
    "window over delay": ({"rates": {"rwnd_limited": 950_000},
                           "gauges": {"min_rtt": 20_000, "snd_wnd": 2_500_000}}, "rwnd", "there"),
    "congestion window": ({"gauges": {"unacked": 400, "min_rtt": 4000, "rtt": 4500}},
                          "cwnd", "here"),
    "loss": ({"gauges": {"unacked": 380, "min_rtt": 4000, "rtt": 4500},
              "rates": {"total_retrans": 800}}, "path", "there"),
    "loss under BBR, which paces": (
        {"gauges": {"unacked": 200, "min_rtt": 4000, "rtt": 4500, "congestion": "bbr",
                    "delivery_rate": 130_000_000}, "rates": {"total_retrans": 8000}},
        "path", "there",
    ),
    "BBR, which paces without loss": (
        {"gauges": {"min_rtt": 100, "rtt": 5000, "congestion": "bbr", "pacing_rate": 150_000_000,
                    "delivery_rate": 900_000_000}}, "path", "there",
    ),
    "BBR on a short path": (
        {"gauges": {"congestion": "bbr", "pacing_rate": 150_000_000}}, "unknown", "there"
    ),
    "heavy loss under BBR, whose window is not full": (
        {"gauges": {"unacked": 40, "min_rtt": 100, "rtt": 5000, "congestion": "bbr",
                    "pacing_rate": 400_000_000, "delivery_rate": 400_000_000},
         "rates": {"total_retrans": 15_000}}, "path", "there",
    ),
    "a small window over delay and a sender that paces": (
        {"rates": {"rwnd_limited": 350_000},
         "gauges": {"min_rtt": 20_000, "snd_wnd": 2_700_000, "unacked": 1600, "cwnd": 4000}},
        "rwnd", "there",
    ),
    "a window of which half is in flight": (
        {"rates": {"rwnd_limited": 350_000},
         "gauges": {"min_rtt": 20_000, "snd_wnd": 2_700_000, "unacked": 900, "cwnd": 4000}},
        "unknown", "there",
    ),
    "less than a segment held back": ({"gauges": {"notsent": 1000}}, "application", "here"),
    "nothing visible": ({}, "unknown", "there"),
}  # fmt: skip


@folded(("case", "stage", "end"), SENDING.values(), ids=SENDING)
def test_what_limits_a_sender(case: dict[str, Any], stage: str, end: str) -> None:
    found = flow(limits(lambda second: moment(second, **case)))
    assert (found.target, found.direction) == (TARGET, "tx")
    assert (found.stage.stage, found.stage.end) == (stage, end), line(found)
    assert found.rate == pytest.approx(1e9)


def test_what_bbr_measured_of_a_flow_that_wants_no_more_is_no_capacity() -> None:
    gauges = {"notsent": 0, "rtt": 5000, "congestion": "bbr", "pacing_rate": 150_000_000}
    found = flow(limits(lambda s: moment(s, gauges={**gauges, "delivery_rate": 140_000_000})))
    assert found.stage.stage == "application"
    assert all(one.stage != "path" for one in found.ladder)


BEHIND = {**AWAY, "recv_q": 500_000, "rmem_alloc": 610_000}  # a tenth of the buffer
LATE = {**AWAY, "recv_q": 250_000, "rmem_alloc": 310_000}  # a twentieth of it
RECEIVING: dict[str, tuple[dict[str, Any], str, str]] = {
    "thread": ({"ran": 0.94, "gauges": BEHIND}, "thread", "here"),
    "thread that polls": ({"ran": 1.0}, "peer", "there"),
    "busy thread that reads all": ({"ran": 0.94, "gauges": {**BEHIND, "rmem_alloc": 590_000}},
                                   "peer", "there"),
    "busy thread beside its interrupts": (
        {"ran": 0.75, "idle": (0.0,) * 4, "softirq": 0.21}, "thread", "here"),
    "thread that waits for a core that others and interrupts use": (
        {"ran": 0.12, "waited": 0.57, "idle": (0.0,) * 4, "softirq": 0.42,
         "gauges": {**AWAY, "recv_q": 3000}}, "peer", "there"),
    "the same with data that waits": (
        {"ran": 0.12, "waited": 0.57, "idle": (0.0,) * 4, "softirq": 0.42, "gauges": LATE},
        "thread", "here"),
    "thread that waits for a core": (
        {"ran": 0.7, "waited": 0.21, "gauges": LATE}, "thread", "here"),
    "thread that waits for a core and reads all": (
        {"ran": 0.02, "waited": 0.57, "gauges": {**LATE, "rmem_alloc": 290_000}}, "peer", "there"),
    "thread that polls and waits for a core": (
        {"ran": 0.56, "waited": 0.44, "gauges": {**AWAY, "recv_q": 9000}}, "peer", "there"),
    "slow reader": ({"gauges": {**AWAY, "recv_q": 3_000_000, "rmem_alloc": 4_000_000}},
                    "application", "here"),
    "reader that waits for a core while data waits": (
        {"ran": 0.15, "waited": 0.5,
         "gauges": {**AWAY, "recv_q": 3_000_000, "rmem_alloc": 4_000_000}}, "thread", "here",
    ),
    "buffer over delay": ({"gauges": {**AWAY, "rcvbuf": 131_072, "rcv_rtt": 20_000},
                           "rates": {"bytes_received": 3_000_000}}, "rcvbuf", "here"),
    "a larger buffer that the program chose": (
        {"gauges": {**AWAY, "rcvbuf": 300_000, "rcv_rtt": 20_000},
         "rates": {"bytes_received": 8_900_000}}, "rcvbuf", "here",
    ),
    "a buffer of twice what arrives in a round trip": (
        {"gauges": {**AWAY, "rcvbuf": 300_000, "rcv_rtt": 20_000},
         "rates": {"bytes_received": 7_500_000}}, "peer", "there",
    ),
    "a window without scaling": (
        {"gauges": {**AWAY, "rcvbuf": 433_702, "rcv_rtt": 20_000, "wscale": False},
         "rates": {"bytes_received": 2_600_000}}, "rcvbuf", "here",
    ),
    "the same rate with scaling": (
        {"gauges": {**AWAY, "rcvbuf": 433_702, "rcv_rtt": 20_000, "wscale": True, "rcv_wscale": 7},
         "rates": {"bytes_received": 2_600_000}}, "peer", "there",
    ),
    "keeps up": ({}, "peer", "there"),
}  # fmt: skip


@folded(("case", "stage", "end"), RECEIVING.values(), ids=RECEIVING)
def test_what_limits_a_receiver(case: dict[str, Any], stage: str, end: str) -> None:
    case = {"gauges": AWAY, **case, "rates": {**RECEIVES, **case.get("rates", {})}}
    found = flow(limits(lambda second: moment(second, **case)))
    assert (found.direction, found.stage.stage, found.stage.end) == ("rx", stage, end), line(found)


def test_a_shaper_that_loses_tokens_binds_below_its_rate() -> None:
    """Packets always wait in it although half of its rate passes; without them it does not bind."""
    rate = flow(limits(moment)).rate or 0.0
    behind = flow(limits(lambda s: moment(s, queue=tbf(s, 2.1 * rate, 0.5, 90_000))))
    assert behind.stage.stage == "qdisc"
    assert "burst is too small" in behind.stage.because
    assert behind.stage.capacity == pytest.approx((0.9 * rate, 1.1 * rate))
    often = flow(limits(lambda s: moment(s, queue=tbf(s, 2.1 * rate, 0.5, 90_000 * (s % 4 < 3)))))
    assert often.stage.stage != "qdisc"
    bursts = {"busy_time": 450_000}
    paused = flow(limits(lambda s: moment(s, rates=bursts, queue=tbf(s, 2.1 * rate, 0.5, 90_000))))
    assert paused.stage.stage != "qdisc"
    hardly = flow(limits(lambda s: moment(s, queue=tbf(s, 10 * rate, 0.1, 90_000))))
    assert hardly.stage.stage != "qdisc"


def test_a_class_that_shares_a_full_one_is_not_served_late() -> None:
    """Two classes may borrow up to 2 Gb/s of the same one: each gets half."""

    def at(second: float) -> Any:
        half, whole = int(125e6 * second), int(250e6 * second)
        rows = [
            classes.Row("eth0", "1:1", "root", False, 2e9, 2e9, 0, whole),
            classes.Row("eth0", "1:10", "1:1", True, 5e8, 2e9, 70_000, half),
            classes.Row("eth0", "1:20", "1:1", True, 5e8, 2e9, 70_000, whole - half),
        ]
        return moment(second, more={"classes": rows})

    found = flow(limits(at))
    assert (found.stage.stage, found.stage.name) == ("qdisc", "htb class 1:1 of eth0")
    assert not any("served late" in one.because for one in found.ladder)


@folded(
    ("gauges", "backlog", "stage"),
    [
        ({}, 9000, "qdisc"),
        ({}, 0, "unknown"),
        ({"pacing_rate": 100_000_000}, 9000, "unknown"),
        ({"notsent": 0}, 9000, "application"),
        ({"unacked": 400}, 9000, "cwnd"),
    ],
    ids=["late", "nothing in it", "TCP paces slower", "nothing waits", "window full"],
)
def test_fq_that_sends_a_flow_late(gauges: dict[str, Any], backlog: int, stage: str) -> None:
    queue = qdiscs.Row("eth0", "root", "1:", "fq", True, backlog, 6, flow_rate=1.4e9)
    allowed = {"pacing_rate": 300_000_000, "min_rtt": 4000, "rtt": 4500, **gauges}
    found = flow(limits(lambda s: moment(s, queue=queue, gauges=allowed)))
    assert found.stage.stage == stage, line(found)


def test_who_set_the_send_buffer_is_named() -> None:
    def at(second: float, most: int) -> Any:
        named = [sysctls.Row("net.ipv4.tcp_wmem", f"4096 16384 {most}")]
        return moment(second, gauges=FULL, more={"sysctls": [*HOST["sysctls"][:1], *named]})

    assert "SO_SNDBUF" in flow(limits(lambda s: at(s, 4_194_304))).stage.name
    assert "tcp_wmem" in flow(limits(lambda s: at(s, 65_536))).stage.name


@pytest.mark.parametrize("group", [None, "cpu:/three", "cpu:/one/twofold"])
def test_a_quota_of_another_cgroup_does_not_limit_the_thread(group: str | None) -> None:
    found = flow(limits(lambda s: {
        **moment(s, ran=0.2, group="cpu:/one/two", throttled=0.9),
        "threads": [moment(s, ran=0.2, group=group)["threads"][0]],
    }))  # fmt: skip
    assert found.stage.stage != "thread"


def test_a_cgroup_in_which_nothing_ran_was_not_throttled() -> None:
    still = [throttling.Row("cpu:/one", 2.0, 9, 9)]
    found = flow(limits(lambda s: {
        **moment(s, ran=0.2, group="cpu:/one", throttled=0.9), "throttling": still,
    }))  # fmt: skip
    assert found.stage.stage != "thread"


@pytest.mark.parametrize(("idle", "stage"), [(0.0, "thread"), (0.5, "unknown")])
def test_a_full_core_speaks_for_a_process_whose_time_is_not_known(idle: float, stage: str) -> None:
    cores = (idle, 1.0, 1.0, 1.0)
    process = {"processes": [task(7, "iperf3", 0, 0.0)], "threads": []}
    found = flow(limits(lambda s: moment(s, idle=cores, more=process), 1))
    assert found.stage.stage == stage


@pytest.mark.parametrize(("frames", "binds"), [(20, False), (200, True)])
def test_pause_frames_bind_from_a_tenth_of_the_time(frames: int, binds: bool) -> None:
    """A frame holds a link of 10 Gb/s for 3.4 ms (IEEE 802.3 annex 31B)."""

    def at(second: float) -> Any:
        row = pause.Row("eth0", rx=True, tx=True, rx_frames=int(frames * second))
        return moment(second, more={"pause": [row]})

    assert (flow(limits(at)).stage.stage == "pause") is binds


def test_a_thread_of_a_process_is_as_busy_as_it_ran() -> None:
    """Where nothing is known of its core, nothing is taken from its time."""
    assert Thread("a[1]", 0.3, 0.0, 0.0, 0.0, None, None, None).used == 0.3


@folded("case", SENDING)
def test_a_window_has_a_capacity_only_where_it_limits(case: str) -> None:
    """Both windows grow once nothing else limits: what they would allow now means nothing."""
    found = flow(limits(lambda second: moment(second, **SENDING[case][0])))
    for one in found.ladder:
        if one.stage in ("cwnd", "rwnd"):
            limiting = one is found.ladder[0] or one.stage in found.joint
            assert (one.capacity is not None) is limiting
