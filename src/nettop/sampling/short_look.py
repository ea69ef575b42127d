"""When the screen counts drops and failed calls in the kernel.

Each call and each drop of the host pays for the count, so it runs shortly: a few seconds of each
minute, and longer when something begins that it may explain.
"""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import Final

FIRST: Final = 3.0  # seconds after the start: the first pictures come before it
EVERY: Final = 60.0  # seconds from one look to the next
SHORT: Final = 2.0
LONG: Final = 5.0  # when a problem begins, or the host was changed
REST: Final = 10.0  # seconds between a look and a long one


class ShortLook:
    """When looks begin and end; `at` is the time of the source in seconds."""

    def __init__(self, at: float) -> None:
        """The first one begins in `FIRST` seconds."""
        self._next, self._length = at + FIRST, SHORT
        self._until = at
        self._known: set[str] | None = None  # problems since the last look of the minute

    def runs(self, at: float) -> bool:
        """Whether to count now; begins a look that is due."""
        if at >= self._next:
            if self._length == SHORT:
                self._known = None
            self._until, self._next, self._length = at + self._length, at + EVERY, SHORT
        return at < self._until

    def judged(self, at: float, problems: Collection[str]) -> None:
        """These problems hold: a new one is looked at for longer, once in a minute."""
        known, self._known = self._known, {*(self._known or ()), *problems}
        new = known is not None and not known.issuperset(problems)
        if new and at >= self._until + REST:
            self.changed(at)

    def changed(self, at: float) -> None:
        """The host is not as it was: a long look is due."""
        if self._next < inf:
            self._next, self._length = at, LONG

    def refused(self) -> None:
        """The kernel refuses to count, and will refuse it again."""
        self._next, self._until = inf, -inf
