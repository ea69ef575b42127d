"""The limit that the headline names, from sample to sample, for a log: one entry per change.

Another owner, direction or stage is a change; other figures are not. The first limit is reported at
once. Another one has to last as long as a verdict of `steady`, since flows of about the same rate
take turns as the busiest one, and short connections come and go.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...terms.dataclass import dataclass
from . import Limit, words
from .interfaces import flow_key, foremost
from .steady import LASTS


@dataclass(slots=True)
class Headline:
    """Remembers the limit reported last, and the one that would replace it."""

    limit: Limit | None = None  # reported last; None: nothing was reported, or it ended
    _last: Limit | None = None  # of the sample before
    _rival: Limit | None = None
    _since: float | None = None  # monotonic time of the first sample of the rival

    def changes(self, limits: Sequence[Limit], at: float) -> bool:
        """Whether the sample at `at` (monotonic seconds) changes the limit to report."""
        limit = self._last = self._choose(limits)
        if _same(limit, self.limit):
            self._since = None
            return False
        if self._since is None or not _same(limit, self._rival):
            self._rival, self._since = limit, at
        if self.limit is not None and at - self._since < LASTS:
            return False
        self.limit, self._since = limit, None
        return True

    def _choose(self, limits: Sequence[Limit]) -> Limit | None:
        """The flow of the sample before while it moves enough; else the busiest."""
        last = flow_key(self._last) if self._last is not None else None
        return foremost(words.moving(limits), last)


def _same(one: Limit | None, other: Limit | None) -> bool:
    """Whether both are the same stage of one flow or process; a process may get its name later."""
    if one is None or other is None:
        return one is other
    return (one.direction, one.stage.stage, one.stage.end) == (
        other.direction, other.stage.stage, other.stage.end,
    ) and (one.target == other.target or words.owner(one) == words.owner(other))  # fmt: skip
