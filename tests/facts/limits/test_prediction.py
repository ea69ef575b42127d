"""The rate after a fix: the ladder without the stage that it relieves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nettop.facts.limits import Interval, Limit, Reading
from nettop.facts.limits.document import document, predicted
from nettop.facts.limits.prediction import Calibration, predict
from nettop.facts.limits.words import doubted
from nettop.facts.limits.words import predicted as in_words

G: float = 1e9


def step(
    stage: str, capacity: Interval | None = None, held: float = 0.0, name: str = ""
) -> Reading:
    end = "there" if stage in ("rwnd", "path", "peer") else "here"
    return Reading(stage, end, name or f"the {stage}", capacity=capacity, held=held)


WIRE = step("wire", (9.1 * G, 9.4 * G))


def limit(*ladder: Reading, rate: float | None = G, joint: tuple[str, ...] = ()) -> Limit:
    """A flow that the first step limits."""
    return Limit(
        "flow", "a>b", "tx", rate, stage=ladder[0], joint=joint, ladder=ladder, process="iperf3"
    )


SNDBUF = step("sndbuf", (0.9 * G, 1.1 * G), held=1.0)


def test_the_next_stage_by_capacity_is_the_most() -> None:
    slow = step("thread", (2 * G, 3 * G))
    found = predict(limit(SNDBUF, slow, WIRE), ("sndbuf",))
    assert found is not None
    assert (found.rate, found.next) == ((G, 3 * G), slow)
    assert found.expected == 2.5 * G
    assert found.gain == 1.5 * G


@pytest.mark.parametrize(
    ("one", "relieved"),
    [
        (limit(SNDBUF, WIRE), ("core", "ring")),  # another stage limits
        (limit(SNDBUF, WIRE), ()),
        (limit(SNDBUF, step("thread")), ("sndbuf",)),  # no capacity is known
        (limit(SNDBUF), ("sndbuf",)),
        (limit(SNDBUF, WIRE, rate=None), ("sndbuf",)),  # a UDP socket: its rate is not known
        (limit(SNDBUF, step("thread", (0.2 * G, 0.4 * G))), ("sndbuf",)),  # a wrong estimate
    ],
)
def test_nothing_is_predicted(one: Limit, relieved: tuple[str, ...]) -> None:
    assert predict(one, relieved) is None


def test_a_joint_limit_that_stays_is_the_next_one() -> None:
    thread = step("thread", (G, 1.1 * G), held=0.9)
    both = limit(SNDBUF, thread, WIRE, joint=("thread",))
    for relieved, next_, most in (
        (("sndbuf",), thread, 1.1 * G), (("thread",), SNDBUF, 1.1 * G),
        (("sndbuf", "thread"), WIRE, 9.4 * G),
    ):  # fmt: skip
        found = predict(both, relieved)
        assert found is not None
        assert (found.rate, found.next) == ((G, most), next_)


def test_a_stage_that_is_full_already_leaves_no_gain() -> None:
    """An interface counts headers: at a full link its rate is above what TCP carries."""
    wire = step("wire", (0.91 * G, 0.94 * G), held=0.97)
    found = predict(limit(step("ring", held=0.8), wire, rate=0.97 * G), ("ring",))
    assert found is not None
    assert found.rate == (0.97 * G, 0.97 * G)
    assert found.gain == 0.0
    assert in_words(found).endswith("with this fix no more, then limited by the link")


def test_of_two_shapers_only_the_slower_one_is_lifted() -> None:
    slow, fast = step("qdisc", (0.9 * G, G), 1.0, "tbf"), step("qdisc", (4 * G, 5 * G), name="fq")
    found = predict(limit(slow, fast, WIRE), ("qdisc",))
    assert found is not None
    assert (found.rate, found.next) == ((G, 5 * G), fast)


@pytest.mark.parametrize(
    "other",
    [
        step("cwnd", (0.8 * G, 1.2 * G), held=0.9),  # the round trip is that of its queue
        step("path", (0.7 * G, 1.4 * G), held=0.9),  # the losses are those of its queue
        step("rwnd", (0.9 * G, 1.1 * G), held=0.9),
        step("sndbuf", (0.9 * G, 1.1 * G), held=0.9),  # full of what waits in the queue
    ],
)
def test_what_a_full_queue_makes_look_full_is_no_bound(other: Reading) -> None:
    shaper = step("qdisc", (0.9 * G, G), held=1.0)
    found = predict(limit(shaper, other, WIRE, joint=(other.stage,)), ("qdisc",))
    assert found is not None
    assert found.next == WIRE


def test_a_buffer_that_is_not_full_bounds_a_flow_behind_a_queue() -> None:
    buffer = step("sndbuf", (2 * G, 4 * G))
    found = predict(limit(step("qdisc", (0.9 * G, G), 1.0), buffer, WIRE), ("qdisc",))
    assert found is not None
    assert found.rate == (G, 4 * G)


@pytest.mark.parametrize(
    ("other", "bounds"),
    [
        (step("cwnd", (1.1 * G, 1.9 * G)), False),  # it grows until a segment is lost
        (step("rwnd", (1.1 * G, 1.9 * G)), False),  # the peer's autotuning follows the rate
        (step("rwnd", (0.9 * G, 1.1 * G), held=0.8), True),
        (step("path", (1.1 * G, 1.9 * G)), True),
        (step("pacing", (1.8 * G, 2 * G)), True),
        (step("rcvbuf", (2 * G, 4 * G)), True),
    ],
)
def test_a_window_that_grows_is_no_bound(other: Reading, bounds: bool) -> None:
    found = predict(limit(SNDBUF, other, WIRE), ("sndbuf",))
    assert found is not None
    assert (found.next == other) == bounds


def test_the_next_limit_of_the_other_end_on_this_host_counts() -> None:
    reader = step("thread", (1.5 * G, 2 * G), name="reader[8]")
    found = predict(replace(limit(SNDBUF, WIRE), next=reader), ("sndbuf",))
    assert found is not None
    assert found.next == reader


def test_words_and_document() -> None:
    found = predict(limit(SNDBUF, WIRE), ("sndbuf",))
    assert found is not None
    assert in_words(found) == (
        "iperf3 sends 1 Gb/s; with this fix at most 9.4 Gb/s, then limited by the link"
    )
    following = {"stage": "wire", "end": "here", "name": "the wire", "capacity": [9.1e9, 9.4e9]}
    assert predicted(found) == {"rate": [G, 9.4 * G], "next": following}
    assert document(replace(found.limit, next=WIRE))["next"] == following
    known = replace(found, earlier=Calibration(4, 1, 0.3))
    assert predicted(known)["earlier"] == {"count": 4, "inside": 1, "failed": True}


@pytest.mark.parametrize(
    ("count", "inside", "failed"),
    [(2, 0, False), (3, 1, True), (3, 2, False), (4, 2, False), (5, 2, True)],
)
def test_predictions_fail_below_half_of_at_least_three(
    count: int, inside: int, failed: bool
) -> None:
    assert bool(doubted(Calibration(count, inside))) == failed
    assert doubted(None) == ""
