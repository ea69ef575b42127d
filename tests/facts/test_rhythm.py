"""Bursts of drops and failed calls, and their period."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from nettop.collect._counted import PART, Moment, moments
from nettop.facts.rhythm import Rhythm, rhythms, sentences


def comb(
    begins: Iterable[int], events: int = 100, parts: int = 2, thread: str = "cron"
) -> list[Moment]:
    """Bursts of so many parts, with so many events each."""
    return [
        Moment(begin + at, events, "NO_SOCKET", thread) for begin in begins for at in range(parts)
    ]


def test_bursts_at_equal_distances_have_a_period_and_the_thread_that_ran() -> None:
    found = rhythms(comb(range(7, 600, 100)))
    assert found == [Rhythm("NO_SOCKET", 200, 2 * PART, 6, 100 * PART, "cron")]
    assert sentences(found) == ["20 ms of 200 drops (NO_SOCKET) every 840 ms, while cron ran"]


def test_without_equal_distances_their_number_is_told() -> None:
    (found,) = rhythms([*comb((0, 40, 200), thread="a"), *comb((300,), thread="b")])
    assert (found.bursts, found.period, found.thread) == (4, None, "")
    assert sentences([found]) == ["20 ms of 200 drops (NO_SOCKET) 4 times"]


def test_two_bursts_have_no_period_and_an_idle_core_is_no_thread() -> None:
    (found,) = rhythms(comb((0, 100), thread="swapper/1"))
    assert (found.period, found.thread) == (None, "")


def test_what_never_rests_what_is_rare_and_what_comes_once_is_no_rhythm() -> None:
    assert rhythms([]) == []
    assert rhythms(comb(range(600), parts=1)) == []
    assert rhythms(comb(range(0, 600, 8), parts=4)) == []
    assert rhythms(comb(range(0, 600, 100), events=2)) == []
    assert rhythms(comb((5,))) == []


def test_a_trickle_between_bursts_is_left_out_and_a_stream_beside_them_is_not() -> None:
    trickle = [Moment(at, 1, "NO_SOCKET", "other") for at in range(600)]
    (found,) = rhythms(comb(range(0, 600, 50), events=1000) + trickle)
    assert (found.period, found.thread) == (50 * PART, "cron")
    stream = [Moment(at, 4, "NO_SOCKET", "other") for at in range(600)]
    assert rhythms(comb(range(0, 600, 100), events=100) + stream) == []


def test_each_kind_has_its_own_rhythm_and_normal_drops_have_none() -> None:
    calls = [one._replace(what="sendto/ENOBUFS") for one in comb(range(0, 900, 300), parts=1)]
    normal = [one._replace(what="TCP_OLD_DATA") for one in comb(range(0, 600, 100))]
    found = rhythms([*calls, *normal, *comb(range(0, 600, 100))])
    assert [one.what for one in found] == ["NO_SOCKET", "sendto/ENOBUFS"]
    assert sentences(found[1:]) == [
        "10 ms of 100 failed sendto (ENOBUFS) every 2.52 s, while cron ran"
    ]


@given(st.text())
def test_any_text_gives_moments_or_none(text: str) -> None:
    for one in moments(text):
        assert one.part >= 0
        assert one.thread


def test_a_line_is_a_moment() -> None:
    text = "1.000\nNO_SOCKET 3 - here 1 udp 9\n@17 3 NO_SOCKET a thread\n@x 3 a b\n@1 2\n"
    assert moments(text) == [Moment(17, 3, "NO_SOCKET", "a thread")]


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 10**6)), max_size=60))
def test_any_moments_give_bursts_that_are_apart(drawn: list[tuple[int, int]]) -> None:
    every = [Moment(part, events, "x/y", "a") for part, events in drawn]
    for one in rhythms(every):
        assert one.bursts >= 2
        assert one.period is None or one.period > one.lasts
        assert one.bursts * one.events <= 2 * one.bursts * sum(events for _, events in drawn)
