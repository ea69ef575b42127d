"""Cases of a test that are alike: some in `make test`, all of them in `make nightly`."""

from collections.abc import Iterable
from typing import Any

import pytest


def thinned(cases: Iterable[Any], every: int) -> list[Any]:
    """Each case; all but the first of `every` get the mark `nightly`."""
    return [
        pytest.param(case, marks=pytest.mark.nightly) if number % every else case
        for number, case in enumerate(cases)
    ]
