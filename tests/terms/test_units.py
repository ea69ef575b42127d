"""Numbers with units."""

from __future__ import annotations

import pytest

from nettop.terms import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.004, "0"), (0.02, "0.02"), (-0.5, "-0.5"), (9.414, "9.41"), (9.99, "9.99"),
        (10.04, "10"), (52.94, "52.9"), (612.44, "612.4"), (999.94, "999.9"), (1000.4, "1000"),
        (1204.2, "1204"),
    ],
)  # fmt: skip
def test_about_three_digits(value: float, text: str) -> None:
    assert units.digits(value) == text
