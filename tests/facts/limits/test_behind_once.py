"""A reader that is once behind by chance, though some data is unread in every sample."""

from __future__ import annotations

import pytest
from limit_frames import AWAY, RECEIVES, flow, limits, moment

from nettop.facts.limits.words import line

LITTLE = {**AWAY, "recv_q": 90_000, "rmem_alloc": 110_000}
MUCH = {**AWAY, "recv_q": 2_000_000, "rmem_alloc": 2_400_000}  # two fifths of the buffer


@pytest.mark.parametrize(
    ("behind", "stage"),
    [((), "peer"), ((4,), "peer"), ((3, 4, 5), "application")],
    ids=["never", "once", "repeatedly"],
)
def test_how_often_a_reader_must_be_behind(behind: tuple[int, ...], stage: str) -> None:
    found = flow(
        limits(
            lambda second: moment(
                second, rates=RECEIVES, gauges=MUCH if second in behind else LITTLE
            ),
            8,
        )
    )
    assert found.stage.stage == stage, line(found)


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
