"""A reader at the other end that is behind, told by the window that its host offers."""

from typing import Any

import pytest
from limit_frames import AWAY, RECEIVES, flow, limits, moment

from nettop.facts.limits import Limit
from nettop.facts.limits.words import line

FULL = {"cwnd": 400, "unacked": 400, "rtt": 8000, "min_rtt": 30}


def seen(windows: tuple[int, ...], **more: Any) -> Limit:
    """The limit of a sender to which these windows are offered, in turns."""

    def at(second: float) -> Any:
        gauges = {**FULL, "snd_wnd": windows[int(second) % len(windows)], **more.get("gauges", {})}
        return moment(second, gauges=gauges, rates=more.get("rates"))

    return flow(limits(at))


def test_a_window_that_shrinks_by_more_than_is_in_flight() -> None:
    found = seen((27_000_000, 25_000_000, 21_000_000))
    assert (found.stage.stage, found.stage.end) == ("peer", "there"), line(found)
    assert "reads late" in found.stage.because
    assert next(one for one in found.ladder if one.stage == "cwnd").held == 0.0


@pytest.mark.parametrize(
    ("windows", "more"),
    [
        ((3_000_000,), {}),  # a queue on the path leaves the window as it is
        ((3_000_000, 2_990_000), {}),
        ((100_000, 1_000_000, 1_000_000, 9_000_000, 20_000_000, 30_000_000, 40_000_000), {}),
        ((27_000_000, 21_000_000), {"gauges": {"rtt": 90}}),  # acknowledged at once
        ((27_000_000, 21_000_000), {"rates": {"total_retrans": 900}}),  # segments are lost
    ],
    ids=["the same", "about the same", "it grows", "no late acknowledgment", "loss"],
)
def test_what_is_no_late_reader(windows: tuple[int, ...], more: dict[str, Any]) -> None:
    found = seen(windows, **more)
    assert found.stage.stage != "peer", line(found)


def test_a_full_window_counts_with_the_time_in_which_it_was_closed() -> None:
    found = seen((900_000,), rates={"rwnd_limited": 450_000}, gauges={"unacked": 100})
    assert found.stage.stage != "peer", line(found)
    both = seen((900_000,), rates={"rwnd_limited": 450_000, "sndbuf_limited": 100_000},
                gauges={"unacked": 100})  # fmt: skip
    assert both.stage.stage == "peer", line(both)


@pytest.mark.parametrize(
    ("least", "flying", "stage"),
    [(17_000_000, 300, "peer"), (25_000_000, 300, "application"), (17_000_000, 0, "application")],
    ids=["much is unread", "less is unread", "nothing is in flight"],
)
def test_a_writer_that_has_room_between_its_bursts(least: int, flying: int, stage: str) -> None:
    def at(second: float) -> Any:
        burst = int(second) % 3 == 0
        gauges = {"notsent": 500_000 * burst, "unacked": 400 if burst else flying,
                  "wmem_queued": 600_000, "cwnd": 4000, "rtt": 8000, "min_rtt": 30,
                  "snd_wnd": 27_000_000 if burst else least}  # fmt: skip
        return moment(second, gauges=gauges, ran=0.2)

    found = flow(limits(at))
    assert found.stage.stage == stage, line(found)


QUOTA: dict[str, Any] = {  # of a reader: it reads in bursts, in which the writer runs
    "ran": 0.33, "waited": 0.27, "rates": {"rwnd_limited": 80_000, "sndbuf_limited": 300_000},
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "stage", "joint"),
    [
        ({}, "peer", ("thread",)),
        ({"notsent": 0}, "peer", ()),
        ({"rates": {"rwnd_limited": 330_000}, "least": 400}, "rwnd", ("thread",)),
        ({"rates": {"rwnd_limited": 250_000}}, "thread", ()),
        ({"rates": {"rwnd_limited": 250_000}, "notsent": 0}, "application", ()),
        ({"ran": 0.6, "rates": {"rwnd_limited": 150_000}}, "thread", ()),
        ({"ran": 0.7}, "thread", ()),
    ],
    ids=["reads late", "room between bursts", "window", "sleeps longer", "sleeps by choice",
         "it waits too little", "full thread"],
)  # fmt: skip
def test_a_reader_for_which_the_writer_sleeps(
    more: dict[str, Any], stage: str, joint: tuple[str, ...]
) -> None:
    gauges = {"notsent": 500_000, "least": 30}
    case = {**QUOTA, **{name: value for name, value in more.items() if name not in gauges}}
    notsent, least = (more.get(name, value) for name, value in gauges.items())

    def at(second: float) -> Any:
        window = 20_000_000 - 600_000 * (int(second) % 3)
        return moment(second, **case, gauges={
            "notsent": notsent, "unacked": 500, "cwnd": 4000, "rtt": 500, "min_rtt": least,
            "snd_wnd": window})  # fmt: skip

    found = flow(limits(at))
    assert (found.stage.stage, found.joint) == (stage, joint), line(found)


# A reader that is once behind by chance, though some data is unread in every sample.


LITTLE = {**AWAY, "recv_q": 90_000, "rmem_alloc": 110_000}
MUCH = {**AWAY, "recv_q": 2_000_000, "rmem_alloc": 2_400_000}  # two fifths of the buffer


@pytest.mark.parametrize(
    ("behind", "stage"), [((4,), "peer"), ((3, 4), "thread")], ids=["once", "repeatedly"]
)
def test_how_often_a_reader_that_waits_for_its_core_must_be_behind(
    behind: tuple[int, ...], stage: str
) -> None:
    found = flow(
        limits(
            lambda second: moment(
                second, rates=RECEIVES, ran=0.1, waited=0.6,
                gauges=MUCH if second in behind else LITTLE,
            ),
            8,
        )
    )  # fmt: skip
    assert found.stage.stage == stage, line(found)


def test_what_a_busy_reader_that_reads_all_could_carry_is_not_known() -> None:
    """It may poll, or interrupts of other work may share its core."""
    found = flow(limits(lambda s: moment(s, rates=RECEIVES, gauges=LITTLE, ran=0.96), 8))
    (thread,) = (one for one in found.ladder if one.stage == "thread")
    assert (found.stage.stage, found.next, thread.capacity) == ("peer", None, None)
    half = flow(limits(lambda s: moment(s, rates=RECEIVES, gauges=LITTLE, ran=0.7), 8))
    assert half.next is not None
    assert half.next.stage == "thread"
