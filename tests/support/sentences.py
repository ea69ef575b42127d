"""Faults of the code that a test tells its author: sentences, without a traceback."""

from collections.abc import Iterable

import pytest


def no_fault(sentences: Iterable[str]) -> None:
    """Fail with these sentences, one a line; pass if there are none. Each says what to do."""
    found = list(sentences)
    if found:
        pytest.fail("\n".join(found), pytrace=False)
