"""Buckets of times: every time has one, and its middle is near."""

from hypothesis import given
from hypothesis import strategies as st

from nettop.terms.braille import histogram
from nettop.terms.buckets import FINE, above, middle, quantile, span

BUCKETS = range(4 * 62)


def bucket(time: int) -> int:
    """As the program in the kernel does it (`bpf.delays.since`)."""
    number = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if time >> shift >= FINE:
            time >>= shift
            number += FINE * shift
    return number + time


def test_buckets_follow_one_another_without_a_gap() -> None:
    ends = [sum(span(one)) for one in BUCKETS]
    assert [span(one)[0] for one in BUCKETS] == [0, *ends[:-1]]


@given(st.integers(8, 2**62))
def test_a_time_lies_in_its_bucket_and_near_its_middle(time: int) -> None:
    low, width = span(bucket(time))
    assert low <= time < low + width
    assert abs(middle(bucket(time)) * 1e9 - time) <= 0.125 * time + 1


def test_quantiles_and_what_is_above() -> None:
    counts = {bucket(1000): 98, bucket(10**7): 1, bucket(10**9): 1}
    assert quantile(counts, 0.5) == middle(bucket(1000))
    assert quantile(counts, 0.99) == middle(bucket(10**7))
    assert quantile(counts, 1.0) == middle(bucket(10**9))
    assert (above(counts, 0.008), above(counts, 0.5), above(counts, 2)) == (2, 1, 0)


# Distributions as plots.


def test_bins_span_the_range_and_the_tallest_fills_the_rows() -> None:
    assert histogram([(0.0, 4), (1.0, 2), (2.0, 1), (3.0, 4)], 2) == ("⣧⣸",)
    assert histogram([(0.0, 8), (3.0, 4)], 2, 2) == ("⡇ ", "⡇⢸")


def test_a_rare_value_is_never_lost() -> None:
    assert histogram([(0.0, 1_000_000), (100.0, 1)], 3) == ("⡇ ⢀",)


def test_one_value_or_none_is_no_error() -> None:
    assert histogram([(7.0, 3)], 2) == ("⡇ ",)
    assert histogram([], 5) == ()
    assert histogram([(1.0, 0)], 5) == ()
    assert histogram([(1.0, 1)], 0) == ()
