"""The rate after a fix: the ladder without the stage that it relieves."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
from folded import folded

from nettop.facts.limits import Interval, Limit, Reading
from nettop.facts.limits.following import Calibration, bound, following, independent, predict
from nettop.facts.limits.stages import declared
from nettop.facts.limits.words import document, doubted, stage, verdict
from nettop.facts.limits.words import predicted as in_words
from nettop.facts.limits.words import prediction_data as predicted

G: float = 1e9


def step(
    stage: str, capacity: Interval | None = None, held: float = 0.0, name: str = ""
) -> Reading:
    end = "there" if stage in ("rwnd", "path", "peer") else "here"
    return Reading(stage, end, name or f"the {stage}", capacity=capacity, held=held)


WIRE = step("wire", (9.1 * G, 9.4 * G))


def limit(*ladder: Reading, rate: float | None = G, joint: tuple[str, ...] = ()) -> Limit:
    """A flow that the first step limits, with its next stage as `judge` finds it."""
    first, rest = (
        ladder[0],
        (
            step if step.stage in joint else independent(step, ladder[0], rate or 0.0)
            for step in ladder[1:]
        ),
    )
    one = Limit(
        "flow", "a>b", "tx", rate, 0.0, first, joint, None, (first, *rest), process="iperf3"
    )
    return replace(one, next=following(one))


SNDBUF = step("sndbuf", (0.9 * G, 1.1 * G), held=1.0)


def test_the_next_stage_by_capacity_is_the_most() -> None:
    slow = step("thread", (2 * G, 3 * G))
    found = predict(limit(SNDBUF, slow, WIRE), ("sndbuf",))
    assert found is not None
    assert (found.rate, found.next) == ((G, 3 * G), slow)
    assert found.expected == 2.5 * G
    assert found.gain == 1.5 * G


@folded(
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


@folded(
    ("name", "times", "most"),
    [
        ("send buffer 4 MiB, net.ipv4.tcp_wmem", {"net.ipv4.tcp_wmem": 4.0}, 4.4),
        ("send buffer 4 MiB, net.ipv4.tcp_wmem", {"net.ipv4.tcp_wmem": 16.0}, 9.4),
        ("send buffer 4 MiB, net.ipv4.tcp_wmem", {"net.ipv4.tcp_rmem": 4.0}, 9.4),
        # of another size than the sysctl's: nothing is known of how it grows
        ("send buffer 1 MiB, net.ipv4.tcp_wmem or SO_SNDBUF", {"net.ipv4.tcp_wmem": 4.0}, 9.4),
    ],
)
def test_a_buffer_that_a_fix_makes_larger_carries_as_much_more(
    name: str, times: dict[str, float], most: float
) -> None:
    """And is what limits next, where nothing on the way carries less."""
    found = predict(limit(replace(SNDBUF, name=name), WIRE), ("sndbuf",), times)
    assert found is not None
    assert found.next is not None
    assert found.rate[1] == pytest.approx(most * G)
    assert found.next.stage == ("sndbuf" if most < 9 else "wire")
    alone = predict(limit(replace(SNDBUF, name=name)), ("sndbuf",), times)
    assert (alone is not None) == (name.endswith("wmem") and "net.ipv4.tcp_wmem" in times)


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
    "other",
    [
        Reading("thread", "here", "iperf3[7]", reach=(2 * G, 50 * G)),  # less than half used
        Reading("thread", "here", "iperf3[7]", utilisation=0.9, capacity=(1.1 * G, G), held=0.9),
        step("rwnd", (0.9 * G, 1.1 * G), held=0.8),  # full already: it may not grow
    ],
)
def test_a_stage_that_may_be_next_leaves_the_bound_only(other: Reading) -> None:
    """The link is known, but it is not known whether the other stage comes before it."""
    found = predict(limit(SNDBUF, other, WIRE), ("sndbuf",))
    assert found is not None
    assert found.next is None
    assert (found.rate, found.bound) == ((G, 9.4 * G), WIRE)
    assert found.expected == 9.25 * G
    assert in_words(found) == (
        "iperf3 sends 1 Gb/s; with this fix at most 9.4 Gb/s (the link); next: not known"
    )
    assert verdict(found.limit).endswith("; next: not known, at most 9.4 Gb/s (the link)")
    assert predicted(found)["next"] is None
    assert document(found.limit)["next"] is None


def ladders(count: int) -> Iterator[Limit]:
    """Random ladders of flows that move 1 Gb/s."""
    draw = Random(17)
    for _ in range(count):
        steps = [
            Reading(
                name, "here", f"the {name}", utilisation=draw.random(), held=draw.choice((0, 0.9)),
                capacity=around if draw.random() < 0.6 else None,
                reach=around if name in ("thread", "core") and draw.random() < 0.5 else None,
            )
            for name in draw.sample(tuple(declared()), draw.randint(1, 6))
            if (around := (draw.uniform(0.5, 5) * G, draw.uniform(5, 20) * G))
        ]  # fmt: skip
        first, *rest = [replace(steps[0], held=1.0), *steps[1:]]
        yield limit(
            first, *rest, joint=tuple(s.stage for s in rest if s.held)[: draw.choice((0, 1))]
        )


def test_a_prediction_says_what_the_limit_says_is_next() -> None:
    """If the fix relieves all that limits: the same stage, or not known with the same bound."""
    known = 0
    for one in ladders(2000):
        found = predict(one, {one.stage.stage, *one.joint})
        assert (found is None) == ("at most" not in verdict(one) and one.next is None), one
        if found is None:
            continue
        known += found.next is not None
        assert found.next == one.next
        assert found.bound == bound(one)
        assert predicted(found)["next"] == document(one)["next"]
        assert ("next: not known" in in_words(found)) == ("next: not known" in verdict(one))
        if found.next is not None:
            assert f"next: {stage(found.next)} (" in verdict(one)
            assert in_words(found).endswith(f"then limited by {stage(found.next)}")
    assert 200 < known < 1500


@folded(
    ("count", "inside", "failed"),
    [(2, 0, False), (3, 1, True), (3, 2, False), (4, 2, False), (5, 2, True)],
)
def test_predictions_fail_below_half_of_at_least_three(
    count: int, inside: int, failed: bool
) -> None:
    assert bool(doubted(Calibration(count, inside))) == failed
    assert doubted(None) == ""


CPU = step("thread", (1.1 * G, 1.4 * G), name="iperf3[7]")
TINY = replace(step("rcvbuf", (0.9 * G, 1.1 * G), held=1.0), piece=2048.0)  # of a buffer of 8 KiB


@folded(
    ("first", "cpu"),
    [
        (TINY, CPU),
        (replace(TINY, stage="sndbuf"), CPU),
        (replace(TINY, stage="rwnd", end="there"), CPU),
        (TINY, replace(CPU, stage="core", name="core 1, which takes the interrupts")),
    ],
)
def test_a_cpu_that_handles_little_at_a_time_is_no_bound_once_that_is_lifted(
    first: Reading, cpu: Reading
) -> None:
    """Behind 8 KiB a thread carried 0.6 Gb/s, and 7.9 Gb/s behind 32 MiB."""
    one = limit(first, cpu, WIRE)
    found = predict(one, (first.stage,))
    assert found is not None
    assert (found.next, found.bound) == (None, WIRE)
    assert verdict(one).endswith("next: not known, at most 9.4 Gb/s (the link)")
    assert predict(limit(first, cpu), (first.stage,)) is None
    other = replace(limit(first, WIRE), ladder=(replace(first, held=1.0), cpu))
    assert following(limit(first, WIRE), other) is None  # its CPU handles as little


def test_a_cpu_that_handles_whole_segments_bounds_the_rate() -> None:
    large = replace(TINY, piece=65536.0)
    found = predict(limit(large, CPU, WIRE), ("rcvbuf",))
    assert found is not None
    assert found.next == CPU


def test_a_small_buffer_and_a_cpu_that_wait_for_each_other_bound_neither() -> None:
    busy = replace(CPU, held=0.9)
    both = limit(TINY, busy, WIRE, joint=("thread",))
    for relieved in ("rcvbuf", "thread"):
        found = predict(both, (relieved,))
        assert found is not None
        assert (found.next, found.bound) == (None, WIRE)
    assert predict(limit(TINY, busy, joint=("thread",)), ("rcvbuf",)) is None
