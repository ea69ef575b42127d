"""Bounds of input: each holds for one more and one less."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.files import bounds, draft


@given(st.lists(st.integers(0, 25), max_size=8), st.booleans())
def test_a_line_is_too_long_or_not(lengths: list[int], ends: bool) -> None:
    data = b"\n".join(b"x" * length for length in lengths) + b"\n" * ends
    with pytest.MonkeyPatch.context() as patch:
        short = replace(bounds.BOUNDS["line"], most=16)
        patch.setattr(bounds, "BOUNDS", {**bounds.BOUNDS, "line": short})
        if any(length > 16 for length in lengths):
            with pytest.raises(OSError, match="line"):
                bounds.must_have_lines(data)
        else:
            bounds.must_have_lines(data)


@pytest.mark.parametrize("over", [True, False])
def test_a_file_that_was_written_leaves_nothing_open(over: bool, tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    kept = draft.Draft(str(tmp_path / "a"), 0o600)
    kept.file.write(b"text")
    kept.keep(over=over)
    assert set(os.listdir("/proc/self/fd")) == before
    assert (tmp_path / "a").read_bytes() == b"text"
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


# Lines of a file of the host: the longest that is read, wherever it begins.


MOST = bounds.BOUNDS["line"].most


@pytest.mark.parametrize("before", [0, 1, MOST // 2, MOST // 2 + 1])
@pytest.mark.parametrize("after", [b"", b"\n", b"\nrest\n"])
def test_a_line_of_the_bound_is_read_and_a_longer_one_is_not(before: int, after: bytes) -> None:
    start = b"y" * (before - 1) + b"\n" if before else b""
    bounds.must_have_lines(start + b"x" * MOST + after)
    with pytest.raises(OSError, match="line"):
        bounds.must_have_lines(start + b"x" * (MOST + 1) + after)
