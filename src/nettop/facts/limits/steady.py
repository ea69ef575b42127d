"""A verdict is held: it changes only when another one lasts.

In the first five seconds of a target the verdict follows each look, because each look knows more
than the one before. After that, another stage must last for three seconds, and the held stage must
have limited for less than a quarter of the window. Within a minute after a change, the held stage
must not have limited at all, for ten seconds. A held stage stays while it is a joint limit of the
new look.

For a log, the limit that the headline names has one entry per change. Another owner, direction or
stage is a change; other figures are not. The first limit is reported at once. Another one has to
last as long as a verdict of `steady`, since flows of about the same rate take turns as the busiest
one, and short connections come and go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import Final

from ...terms.dataclass import dataclass
from . import Limit, Reading, words
from .interfaces import flow_key, foremost

FRESH: Final = 5.0
LASTS: Final = 3.0
AFTER: Final = 10.0
MINUTE: Final = 60.0
LOST: Final = 0.25  # of wall time: a held stage that limits for less can be replaced
GONE: Final = 0.05  # the same within a minute after a change
NEARLY: Final = 0.9  # of what a stage carries in use: it is as full as a moment ago
WINDOW: Final = ("peer", "rwnd")  # two names for one clock of the kernel (rwnd_limited)

Key = tuple[str, str, str, str | None]
Stage = tuple[str, str]


@dataclass(slots=True)
class _Held:
    """The reported verdict on one target, and the one that would replace it."""

    stage: Stage
    since: float  # wall clock
    limit: Limit
    shown: Limit | None = None  # `limit` with the time since which it holds
    begun: float = 0.0
    changed: float = float("-inf")
    rival: Stage | None = None
    rival_at: float = 0.0


@dataclass(slots=True)
class Steady:
    """The verdicts of a host from frame to frame."""

    held: dict[Key, _Held] = field(default_factory=dict)

    def hold(self, limits: Iterable[Limit], at: float, wall: float) -> tuple[Limit, ...]:
        """The verdicts at `at` (monotonic) and `wall` seconds; targets that are gone drop out."""
        out = []
        now: dict[Key, _Held] = {}
        for limit in limits:
            key = (limit.over, limit.target, limit.direction, limit.namespace)
            seen = (limit.stage.stage, limit.stage.end)
            held = self.held.get(key)
            if held is None:
                held = _Held(seen, wall, limit, begun=at)
            elif seen == held.stage:
                held.rival = None
            elif not _follows(held.limit, limit) and not _settled(held, seen, limit, at):
                now[key] = held
                out.append(_kept(held, limit))
                continue
            else:
                if at - held.begun > FRESH:
                    held.changed = at
                held.stage, held.since, held.rival = seen, wall, None
            now[key] = held
            if held.shown is None or held.limit is not limit or held.shown.since != held.since:
                held.limit, held.shown = limit, replace(limit, since=held.since)
            out.append(held.shown)
        self.held = now
        return tuple(out)


def _follows(held: Limit, limit: Limit) -> bool:
    """Whether an interface follows the verdict of a flow, as before: those are held themselves."""
    return limit.flow is not None and held.flow is not None


def _settled(held: _Held, seen: Stage, limit: Limit, at: float) -> bool:
    """Whether the verdict changes now."""
    if at - held.begun <= FRESH:
        return True
    if held.stage[0] in limit.joint:
        held.rival = None
        return False
    if held.rival != seen:
        held.rival, held.rival_at = seen, at
    recent = at - held.changed < MINUTE
    names = WINDOW if held.stage[0] in WINDOW else (held.stage[0],)
    still = max((one.held for one in limit.ladder if one.stage in names), default=0.0)
    if still >= (GONE if recent else LOST):
        held.rival_at = at
        return False
    return at - held.rival_at >= (AFTER if recent else LASTS)


def _kept(held: _Held, limit: Limit) -> Limit:
    """The held stage with the present figures.

    A link may carry a little less than counts as full for a moment: what waits before it then,
    in the ring, waits for the link.
    """
    stage = next((one for one in limit.ladder if (one.stage, one.end) == held.stage), None)
    kept: Reading = stage if stage is not None else held.limit.stage
    if kept.held <= 0.0 and (kept.utilisation or 0.0) >= NEARLY:
        kept = replace(kept, held=min(limit.stage.held, kept.utilisation or 0.0))
    joint = tuple(dict.fromkeys((limit.stage.stage, *limit.joint)))
    rest = tuple(one for one in limit.ladder if one is not stage)
    same = limit.next is not None and limit.next.stage == kept.stage
    return replace(
        limit, stage=kept, joint=tuple(one for one in joint if one != kept.stage),
        next=None if same else limit.next, ladder=(kept, *rest), since=held.since,
        flow=held.limit.flow, pid=held.limit.pid, process=held.limit.process,
    )  # fmt: skip


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
