"""A verdict is held: it changes only when another one lasts.

In the first five seconds of a target the verdict follows each look, because each look knows more
than the one before. After that, another stage must last for three seconds, and limit for clearly
more of the time than the held one does. Within a minute after a change it must last for ten, and
limit for twice as much of the time. A held stage stays while it is a joint limit of the new look.

The stages that limit as well are held in the same way: another set of them must last for ten
seconds, so that a sentence does not name another one with each look.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Final

from ...terms.dataclass import dataclass
from . import Limit, Reading

FRESH: Final = 5.0
LASTS: Final = 3.0
AFTER: Final = 10.0
MINUTE: Final = 60.0
LOST: Final = 0.25  # of wall time: a held stage that limits for less can be replaced
GONE: Final = 0.05  # the same within a minute after a change
WEAKER: Final = 0.75  # of the time in which the new stage limits: one with less can be replaced
FAINT: Final = 0.5  # the same within a minute after a change
NEARLY: Final = 0.9  # of what a stage carries in use: it is as full as a moment ago
WINDOW: Final = ("peer", "rwnd")  # two names for one clock of the kernel (rwnd_limited)

Key = tuple[str, str, str, str | None]
Stage = tuple[str, str]


@dataclass(slots=True)
class _Held:
    """The reported verdict on one target, and since when another one would replace it."""

    stage: Stage
    since: float  # wall clock
    limit: Limit
    joint: tuple[str, ...] = ()  # the stages that are told to limit as well
    shown: Limit | None = None  # `limit` with the time since which it holds, and these stages
    begun: float = 0.0
    changed: float = float("-inf")
    weak: float | None = None  # since when another stage limits more; whichever that is
    others: tuple[str, ...] = ()  # the stages that would be told instead, and since when
    others_at: float = 0.0


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
            held = now[key] = self.held.get(key) or _Held(seen, wall, limit, limit.joint, begun=at)
            if seen == held.stage:
                held.weak = None
            elif not _follows(held.limit, limit) and not _settled(held, limit, at):
                kept = _kept(held, limit)
                out.append(replace(kept, joint=_partners(held, kept, at)))
                continue
            else:
                if at - held.begun > FRESH:
                    held.changed = at
                held.stage, held.since, held.weak, held.joint = seen, wall, None, limit.joint
            joint = _partners(held, limit, at)
            shown = held.shown
            if (
                held.limit is not limit
                or shown is None
                or shown.since != held.since
                or shown.joint != joint
            ):
                held.limit, held.shown = limit, replace(limit, since=held.since, joint=joint)
            out.append(held.shown or limit)
        self.held = now
        return tuple(out)


def _partners(held: _Held, limit: Limit, at: float) -> tuple[str, ...]:
    """The stages that are told to limit as well; other ones, or none, once that has lasted."""
    fresh = at - held.begun <= FRESH or _follows(held.limit, limit)
    if fresh or not held.joint or {*limit.joint} == {*held.joint}:
        held.joint = held.others = limit.joint
    if {*limit.joint} != {*held.others}:
        held.others, held.others_at = limit.joint, at
    elif at - held.others_at >= AFTER:
        held.joint = limit.joint
    return held.joint


def _follows(held: Limit, limit: Limit) -> bool:
    """Whether an interface follows the verdict of a flow, as before: those are held themselves."""
    return limit.flow is not None and held.flow is not None


def _settled(held: _Held, limit: Limit, at: float) -> bool:
    """Whether the verdict changes now."""
    if at - held.begun <= FRESH:
        return True
    if held.stage[0] in limit.joint:
        held.weak = None
        return False
    recent = at - held.changed < MINUTE
    names = WINDOW if held.stage[0] in WINDOW else (held.stage[0],)
    still = max((one.held for one in limit.ladder if one.stage in names), default=0.0)
    least, part = (GONE, FAINT) if recent else (LOST, WEAKER)
    if still >= max(least, part * limit.stage.held):
        held.weak = None
    elif held.weak is None:
        held.weak = at
    return held.weak is not None and at - held.weak >= (AFTER if recent else LASTS)


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
