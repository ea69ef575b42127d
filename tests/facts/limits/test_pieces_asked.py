"""A send buffer that a piece fills, and one that the program made small."""

from typing import Any

from asleep import asleep
from folded import folded
from limit_frames import flow, limits, moment

from nettop.collect import sysctls
from nettop.facts.limits.words import line

FAR = {"rtt": 32_000, "min_rtt": 30_000, "notsent": 0, "unacked": 40, "sndbuf": 69_120,
       "wmem_queued": 68_000, "congestion": "bbr", "cwnd": 100}  # fmt: skip


def asked(
    s: float, call: str, kind: str, *, questions: int, pieces: int = 22, **gauges: Any
) -> Any:
    """A server of pieces of 64 KiB, so many of them a second."""
    row = asleep(7, 7, 5, "iperf3", "S", call, kind, "socket:[101]")
    rates = {"bytes_acked": pieces * 65536, "bytes_received": 8 * questions,
             "data_segs_in": questions, "sndbuf_limited": 400_000}  # fmt: skip
    return moment(s, rates=rates, gauges={**FAR, **gauges}, ran=0.02, more={"waits": [row]})


@folded(("call", "kind", "questions", "gauges", "stage"), [
    ("recvfrom", "input", 22, {}, "request"),
    ("recvfrom", "input", 22, {"notsent": 9000, "delivery_rate": 1_500_000}, "request"),
    ("sendto", "output", 22, {}, "sndbuf"),  # it waits for room
    # one question for many pieces, or a path that takes far longer than a round trip for one
    ("recvfrom", "input", 2, {"notsent": 40_000, "delivery_rate": 1_500_000, "unacked": 85},
     "path"),
])  # fmt: skip
def test_a_piece_that_fills_the_send_buffer_waits_for_the_next_question(
    call: str, kind: str, questions: int, gauges: Any, stage: str
) -> None:
    found = flow(limits(lambda s: asked(s, call, kind, questions=questions, **gauges)))
    assert found.stage.stage == stage, line(found)


@folded(("size", "owner", "least"), [
    (32_768, "SO_SNDBUF", 32_768), (69_120, "tcp_wmem", 69_120),
])  # fmt: skip
def test_a_full_send_buffer_carries_its_size_in_a_round_trip(
    size: int, owner: str, least: int
) -> None:
    """BBR paces at what it lets it measure: it is full in less than half of the time."""

    def at(s: float) -> Any:
        triple = [sysctls.Row("net.ipv4.tcp_wmem", "4096\t16384\t4194304")]
        tables = asked(s, "sendto", "output", questions=0, pieces=14, sndbuf=size,
                       wmem_queued=size - 500, notsent=0.5 * size, cwnd=400)  # fmt: skip
        return {**tables, "sysctls": triple}

    found = flow(limits(at))
    one = next(step for step in found.ladder if step.stage == "sndbuf")
    whole = 8 * least / 0.03
    assert one.capacity is not None
    assert one.capacity[0] < whole < one.capacity[1] < 2 * whole
    assert owner in one.name
