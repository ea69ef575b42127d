"""Buckets of times: every time has one, and its middle is near."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from nettop.host.bpf import assembler as a
from nettop.host.bpf import delays
from nettop.terms.braille import histogram
from nettop.terms.buckets import above, middle, quantile, span

BUCKETS = range(4 * 62)


def code(parts: a.Parts) -> int:
    """Of an instruction."""
    (one,) = parts
    assert isinstance(one, a.Instruction)
    return one.code


STEPS: dict[
    int, Callable[[int, int, int], int]
] = {  # code → the register after it, of its value before, the other register, and the number
    code(a.move(0, 0)): lambda _old, of, _number: of,
    code(a.add(0, 0)): lambda old, of, _number: old + of,
    code(a.negate(0)): lambda old, _of, _number: -old,
    code(a.number(0, 0)): lambda _old, _of, number: number,
    code(a.change(0, "+", 0)): lambda old, _of, number: old + number,
    code(a.change(0, ">>", 0)): lambda old, _of, number: old >> number,
}
PROGRAM = delays.since()


def bucket(time: int) -> int:
    """What the program in the kernel stores (`bpf.delays.since`) so long after it began at 0."""
    registers, at = [0] * 11, 0
    while at < len(PROGRAM):
        one = PROGRAM[at]
        at += 1
        if isinstance(one, str):
            continue
        old, of, number = registers[one.to], registers[one.of], int(one.value)
        if one.code == a.CALL:
            registers[a.R0] = time
        elif one.code in STEPS:
            registers[one.to] = STEPS[one.code](old, of, number)
        elif one.code == code(a.when(0, "<", 0, "")) and old < number:
            at = PROGRAM.index(str(one.offset))
    return registers[a.R9]


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
