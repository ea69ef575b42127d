"""Lines of a file of the host: the longest that is read, wherever it begins."""

from __future__ import annotations

import pytest

from nettop.files import bounds

MOST = bounds.BOUNDS["line"].most


@pytest.mark.parametrize("before", [0, 1, MOST // 2, MOST // 2 + 1])
@pytest.mark.parametrize("after", [b"", b"\n", b"\nrest\n"])
def test_a_line_of_the_bound_is_read_and_a_longer_one_is_not(before: int, after: bytes) -> None:
    start = b"y" * (before - 1) + b"\n" if before else b""
    bounds.must_have_lines(start + b"x" * MOST + after)
    with pytest.raises(OSError, match="line"):
        bounds.must_have_lines(start + b"x" * (MOST + 1) + after)
