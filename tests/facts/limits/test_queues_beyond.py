"""A queue that this end does not see: packets wait below TCP, and no window is full."""

from typing import Any

import pytest
from limit_frames import flow, limits, moment

from nettop.collect import classes, qdiscs
from nettop.facts.limits import Limit
from nettop.facts.limits.words import line

# of a container that sends 8.6 Mb/s through a shaper of the host around it
HELD = {"rtt": 117_000, "min_rtt": 100, "cwnd": 180, "unacked": 88, "wmem_alloc": 130_000}


def seen(*, backlog: int = 0, wait: int | None = None, **gauges: Any) -> Limit:
    """The limit of that flow; `wait`: the last second in which packets wait below TCP."""

    def at(second: float) -> Any:
        now = {**HELD, **gauges}
        if wait is not None and second > wait:
            now["wmem_alloc"] = 0
        queue = qdiscs.Row("eth0", "root", "8001:", "fq_codel", True, backlog, 0, 0, 0)
        return moment(second, gauges=now, rates={"bytes_acked": 1_075_000, "segs_out": 750},
                      ran=0.01, queue=queue)  # fmt: skip

    return flow(limits(at))


def test_packets_that_wait_where_no_queue_is_seen_wait_beyond_this_end() -> None:
    found = seen()
    assert (found.stage.stage, found.stage.end) == ("path", "there"), line(found)
    assert found.stage.name == "queue beyond this end"
    assert "127 KiB of its packets wait below TCP" in found.stage.because
    assert found.stage.capacity is not None
    assert found.stage.capacity[0] <= 8.6e6 <= found.stage.capacity[1]


@pytest.mark.parametrize(
    "other",
    [{"backlog": 90_000}, {"wait": 3}, {"notsent": 0}, {"rtt": 390}, {"unacked": 110},
     {"wmem_alloc": 0}],
    ids=["a queue here has them", "in half of the time", "nothing to send", "a short queue",
         "a full window", "nothing waits below"],
)  # fmt: skip
def test_what_is_no_queue_beyond(other: dict[str, Any]) -> None:
    assert seen(**other).stage.name != "queue beyond this end"


def dropping(kind: str, lost: int, **more: Any) -> Limit:
    """The limit of a flow with a small window, where a qdisc drops so many packets a second."""

    def at(second: float) -> Any:
        queue = qdiscs.Row("eth0", "ingress", "ffff:", kind, False, 0, 0, 0, 0, lost * int(second))
        gauges = {"cwnd": 4, "unacked": 1, **more.get("gauges", {})}
        return moment(second, gauges=gauges, rates={"bytes_acked": 250_000, "segs_out": 180,
                      **more.get("rates", {})}, ran=0.01, queue=queue)  # fmt: skip

    return flow(limits(at))


def test_filters_that_drop_limit_if_nothing_else_does() -> None:
    found = dropping("clsact", 90)
    assert (found.stage.stage, found.stage.end) == ("qdisc", "here"), line(found)
    assert found.stage.name == "filters of clsact ffff: of eth0"
    assert "90 packets/s dropped" in found.stage.because


@pytest.mark.parametrize(
    ("kind", "lost", "other", "stage"),
    [
        ("clsact", 0, {}, "unknown"),
        ("ingress", 90, {}, "unknown"),
        ("clsact", 90, {"rates": {"rwnd_limited": 600_000}}, "peer"),
    ],
    ids=["nothing dropped", "what arrives", "a slow reader"],
)
def test_filters_that_do_not_limit(kind: str, lost: int, other: dict[str, Any], stage: str) -> None:
    assert dropping(kind, lost, **other).stage.stage == stage


def test_an_hfsc_class_limits_by_its_upper_curve() -> None:
    def at(second: float) -> Any:
        queue = qdiscs.Row("eth0", "root", "1:", "hfsc", True, 0, 0, 0)
        sent = int(1_500_000 * second)
        leaf = classes.Row("eth0", "1:10", "1:", True, 6e6, 12e6, 90_000, sent, kind="hfsc")
        gauges = {**HELD, "unacked": 20}
        return moment(second, gauges=gauges, rates={"bytes_acked": 1_430_000}, queue=queue,
                      more={"classes": [leaf]})  # fmt: skip

    found = flow(limits(at))
    assert (found.stage.stage, found.stage.end) == ("qdisc", "here"), line(found)
    assert found.stage.name == "hfsc class 1:10 of eth0"


@pytest.mark.parametrize(
    ("kind", "ceiling", "limit"),
    [("htb", 2e6, 2e6), ("htb", None, 1e6), ("hfsc", 2e6, 2e6), ("hfsc", None, None)],
)
def test_the_limit_of_a_class(kind: str, ceiling: float | None, limit: float | None) -> None:
    assert classes.Row("eth0", "1:1", "1:", True, 1e6, ceiling, kind=kind).limit == limit
