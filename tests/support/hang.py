"""The only bound of time in the tests: it ends what hangs, and judges nothing.

A test waits for a condition, never for a number of seconds: how fast a machine is says nothing of
nettop. Whatever waits for a process, a socket or a terminal gives up after `HANG`.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

HANG: Final = 600.0  # seconds; no step of a test takes a hundredth of it
_PAUSE: Final = 0.02  # seconds between two looks at a condition
Value = TypeVar("Value")


def until(true: Callable[[], Value], what: object = "it did not come to pass") -> Value:
    """Wait until `true()` is true, and return what it returned; AssertionError if it hangs."""
    end = time.monotonic() + HANG
    while not (found := true()):
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(_PAUSE)
    return found
