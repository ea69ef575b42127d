"""Segments that this host itself drops: nothing is in flight, and the peer's window is open."""

from typing import Any

from folded import folded
from limit_frames import flow, limits, moment

from nettop.collect import drop_reasons
from nettop.facts.limits import Limit
from nettop.facts.limits.words import line

DROPPED = {"notsent": 60_000, "unacked": 0, "backoff": 4, "snd_wnd": 500_000, "mss": 1448}
STILL = {"bytes_acked": 0, "bytes_sent": 0, "delivered": 0}


@folded(("gauges", "refused"), [
    ({}, True),
    ({"snd_wnd": 0}, False),  # the peer takes nothing: probes are right
    ({"backoff": 1}, False),  # a full queue refuses a segment once
    ({"unacked": 3}, False),  # what is in flight gets no answer: not here
    ({"notsent": 0}, False),  # nothing waits
])  # fmt: skip
def test_a_local_drop_is_the_limit(gauges: dict[str, int], *, refused: bool) -> None:
    def at(s: float) -> Any:
        return moment(s, rates=STILL, gauges={**DROPPED, **gauges}, ran=0.0)

    said = [line(one) for one in limits(at)]
    assert any(text.endswith("limited by a drop on this host") for text in said) is refused, said


def drops(port: int = 5001, reason: str = "QDISC_DROP") -> dict[str, Any]:
    row = drop_reasons.Row(reason, "__dev_queue_xmit", "here", "2", "tcp", str(port), 9)
    return {"drop_reasons": [row]}


def said(gauges: dict[str, int], more: dict[str, Any] | None = None, seconds: int = 6) -> Limit:
    def at(s: float) -> Any:
        return moment(s, rates=STILL, gauges={**DROPPED, **gauges}, ran=0.0, more=more)

    return flow(limits(at, seconds))


def test_what_a_queue_does_not_take_does_not_double_the_timer() -> None:
    assert "limited by a drop on this host" in line(said({"backoff": 0}))


def test_a_drop_at_its_port_is_named() -> None:
    assert said({}, drops()).stage.because == (
        "this host drops packets of tcp port 5001 (QDISC_DROP)"
    )
    assert "data waits, none is in flight" in said({}, drops(500)).stage.because


def test_a_short_flow_that_sends_nothing_is_not_limited_elsewhere_beside_own_drops() -> None:
    young = said({"backoff": 0}, drops(), 2)
    assert "limited by a drop on this host" in line(young)
    assert young.ladder[0].kind == "inferred"
    assert "limited elsewhere" in line(said({"backoff": 0}, seconds=2))


LOST = {"unacked": 30, "lost": 30}


def test_segments_that_are_repeated_in_vain_are_not_said_to_be_lost_elsewhere() -> None:
    silent = said(LOST)
    assert "limited by segments without an answer" in line(silent)
    assert silent.stage.end == "there"
    assert silent.stage.because == (
        "no segment is acknowledged: lost at this host, on the way or at the other end, or the "
        "answers are"
    )
    own = said(LOST, drops())
    assert (own.stage.end, own.stage.because) == (
        "here", "no segment is acknowledged: this host drops packets of tcp port 5001 (QDISC_DROP)",
    )  # fmt: skip
    assert "without an answer" not in line(said({**LOST, "backoff": 0}))
