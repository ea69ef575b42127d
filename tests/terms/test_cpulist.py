"""CPU lists and masks are read and written as the kernel does."""

import pytest
from folded import folded
from hypothesis import given
from hypothesis import strategies as st

from nettop.terms import cpulist

CPUS = st.sets(st.integers(0, 3000), max_size=60)


@folded(
    ("text", "cpus"),
    [
        ("0-3,8\n", (0, 1, 2, 3, 8)),
        ("", ()),
        ("\n", ()),
        ("(null)\n", ()),
        ("0\n", (0,)),
        ("1150-1151", (1150, 1151)),
        ("8,0-1", (0, 1, 8)),
    ],
)
def test_lists(text: str, cpus: tuple[int, ...]) -> None:
    assert cpulist.parse(text) == cpus


@folded(
    ("mask", "cpus"),
    [
        ("f\n", (0, 1, 2, 3)),
        ("00000010,00000000,00000000,00000000", (100,)),
        ("ff,00000001", (0, 32, 33, 34, 35, 36, 37, 38, 39)),
        ("0033", (0, 1, 4, 5)),
        ("0x3", (0, 1)),
        ("00000000,00000000", ()),
        ("ffffffffffffffff", tuple(range(64))),
    ],
)
def test_masks(mask: str, cpus: tuple[int, ...]) -> None:
    assert cpulist.parse_mask(mask) == cpus


@folded("text", ["x", "3-1", "1-", "-1", "1--2", "0-9999999", "1 2", "٣", "1,,2"])
def test_what_is_no_list_says_so(text: str) -> None:
    with pytest.raises(ValueError, match="not a CPU list"):
        cpulist.parse(text)


@folded("mask", ["", "g", "1,,2", "123456789,1", "-1", "f" * 20000, ",".join(["1"] * 9999)])
def test_what_is_no_mask_says_so(mask: str) -> None:
    with pytest.raises(ValueError, match="not a CPU mask"):
        cpulist.parse_mask(mask)


@given(CPUS)
def test_writing_then_reading_is_the_identity(cpus: set[int]) -> None:
    assert cpulist.parse(cpulist.text(cpus)) == tuple(sorted(cpus))
    assert cpulist.parse_mask(cpulist.mask(cpus)) == tuple(sorted(cpus))


def test_as_short_as_the_kernel_writes() -> None:
    assert cpulist.text((3, 1, 2, 0, 8)) == "0-3,8"
    assert cpulist.text((0, 1)) == "0-1"
    assert cpulist.text(()) == ""
    assert cpulist.mask(()) == "0"
    assert cpulist.mask((100,)) == "00000010,00000000,00000000,00000000"
    with pytest.raises(ValueError, match="not a CPU number"):
        cpulist.mask((-1,))


@given(st.text(max_size=60))
def test_any_text_is_a_set_or_a_clear_error(text: str) -> None:
    for read in (cpulist.parse, cpulist.parse_mask):
        try:
            cpus = read(text)
        except ValueError:
            continue
        assert cpus == tuple(sorted(set(cpus)))
